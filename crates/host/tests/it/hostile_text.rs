//! No text, however broken, makes a parser panic; what is written is read back.

use proptest::prelude::*;
use rookery_host::{Cgroups, format_cpu_list, parse_cpu_list, parse_mountinfo, procfs};

proptest! {
    #[test]
    fn any_text_is_survived(text in ".{0,400}", bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let _ = parse_cpu_list(&text);
        let _ = Cgroups::from_mounts(&parse_mountinfo(&text));
        let _ = procfs::parse_idle_us(&text);
        let _ = procfs::parse_process_stat(&text);
        let _ = procfs::parse_meminfo(&text);
        let _ = procfs::parse_cpu_model(&text);
        let _ = procfs::environ_value(&bytes, "KEY");
    }

    /// Numbers of any size in the right places: sums saturate.
    #[test]
    fn absurd_numbers_are_survived(numbers in proptest::collection::vec(any::<u64>(), 0..30)) {
        let words: Vec<String> = numbers.iter().map(u64::to_string).collect();
        let _ = procfs::parse_idle_us(&format!("cpu {}", words.join(" ")));
        let _ = procfs::parse_process_stat(&format!("1 (x) S {}", words.join(" ")));
        let _ = parse_cpu_list(&words.join("-"));
        let _ = procfs::parse_meminfo(&words.iter().map(|word| format!("MemTotal: {word} \
            kB\nMemAvailable: {word} kB\n")).collect::<String>());
    }

    #[test]
    fn a_written_cpu_list_is_read_back(cpus in proptest::collection::btree_set(0_u32..8192, 0..100)) {
        prop_assert_eq!(parse_cpu_list(&format_cpu_list(cpus.iter().copied())), Some(cpus));
    }
}
