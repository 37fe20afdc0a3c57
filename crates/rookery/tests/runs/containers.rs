//! The whole road on containers: root, runc, namespaces.

use crate::common::{Place, assert_host_as, host_state, root_tests, tiny_study};

#[test]
fn containers_with_fractional_vcpus_walk_the_whole_road_and_leave_nothing() {
    if !root_tests() {
        return;
    }
    let place = Place::new();
    let before = host_state();
    let (_, run) = place.done("tiny.toml", &tiny_study("container", "0.25", ""));
    for audit in run["audits"].as_array().expect("audits") {
        assert_eq!(audit["found"], audit["acknowledged"], "{audit}");
        assert!(
            audit["acknowledged"]
                .as_u64()
                .is_some_and(|orders| orders > 0),
            "{audit}"
        );
    }
    assert_host_as(&before);
    logged_whole(&place.run_log());
}

/// The log names the trial, and the commands on the host with their duration and exit code.
fn logged_whole(log: &str) {
    assert!(
        log.lines()
            .any(|line| line.contains("run{id=") && line.contains("trial{id=1 ")),
        "{log}"
    );
    let ended = log.lines().any(|line| {
        line.contains("runc") && line.contains("command ended") && line.contains(" ms=")
    });
    assert!(ended, "no command with its duration:\n{log}");
    assert!(
        log.chars().all(|c| c == '\n' || !c.is_control()),
        "control characters"
    );
}
