//! Processes are started in one way: by `rookery_host::bound_command`, whose children end with us,
//! or through the `Host`, which uses it. The few places that must not are listed here, each with
//! its reason.

/// Files that may call `Command::new`.
const PLACES: [&str; 7] = [
    // The one way itself.
    "crates/host/src/bound_command.rs",
    // A guest outlives the thread that starts it; it carries the run's label.
    "crates/guest/src/kinds/bare/guest.rs",
    // So does a run's own libvirt.
    "crates/guest/src/kinds/vm/libvirtd.rs",
    // The NATS server of a fleet lives until `fleet down`; its command line tells whose it is.
    "crates/fleet/src/own_server/process.rs",
    // Inside a guest: its first process, which ends with the guest.
    "crates/guest/src/kinds/vm/agent.rs",
    // Inside a guest: the services below its supervisor.
    "crates/stack/src/supervise/process.rs",
    // A fixture of tests: its hosts end with its value, and their own namespaces with them.
    "crates/testkit/src/pretend_hosts.rs",
];

/// Lines of product code that start a process in another way.
pub(super) fn breaches(name: &str, product: &str) -> Vec<String> {
    if PLACES.contains(&name) {
        return Vec::new();
    }
    product
        .lines()
        .enumerate()
        .filter(|(_, line)| line.contains("Command::new(") && !line.trim_start().starts_with("//"))
        .map(|(number, _)| {
            format!(
                "{name}:{}: starts a process that may outlive us: use \
                 `rookery_host::bound_command`, or say in xtask/src/tidy/processes.rs why not",
                number + 1
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_are_started_in_one_way() {
        let text = "fn a() {\n    let child = Command::new(\"fio\");\n}\n// Command::new(\"x\")\n";
        let found = breaches("crates/host/src/fio.rs", text);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(
            found[0].starts_with("crates/host/src/fio.rs:2: "),
            "{found:?}"
        );
        assert!(breaches(PLACES[0], text).is_empty());
        let bound = "let child = bound_command(\"fio\");";
        assert!(breaches("crates/host/src/fio.rs", bound).is_empty());
    }
}
