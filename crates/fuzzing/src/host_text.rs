//! Any text in the place of `/proc`, `/sys` and lists of CPUs.

use rookery_host::{
    Controller, format_cpu_list, parse_cpu_list, parse_mountinfo,
    procfs::{environ_value, parse_cpu_model, parse_idle_us, parse_meminfo, parse_process_stat},
};

pub(crate) fn host_text(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let _ = (parse_idle_us(&text), parse_process_stat(&text));
    let _ = (parse_meminfo(&text), parse_cpu_model(&text));
    assert!(parse_mountinfo(&text).len() <= text.lines().count());
    if let Some(cpus) = parse_cpu_list(&text) {
        assert_eq!(
            parse_cpu_list(&format_cpu_list(cpus.iter().copied())),
            Some(cpus)
        );
    }
    let _ = environ_value(bytes, "ROOKERY_RUN").and_then(Controller::parse);
}
