//! The whole road on containers: root, runc, namespaces.

use std::{fs, path::Path, process::Command};

use serde_json::Value;

use crate::common::{
    Place, assert_host_as, code, host_state, measured, root_tests, text, tiny_study,
};

/// Where `ip netns` keeps its names.
const IP_NETNS: &str = "/run/netns";

#[test]
fn containers_with_fractional_vcpus_walk_the_whole_road_and_leave_nothing() {
    if !root_tests() {
        return;
    }
    let place = Place::among_others();
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
    networks_counted(run["kernel_counts"].as_array().expect("counts"));
    assert_host_as(&before);
    logged_whole(&place.run_log());
}

/// The kernel's counters of the lab's network are there, beside those of the host.
fn networks_counted(counts: &[Value]) {
    let count = |scope: &dyn Fn(&str) -> bool, counter: &str| {
        let own = counts
            .iter()
            .filter(|row| row["counter"] == counter && row["scope"].as_str().is_some_and(scope));
        own.filter_map(|row| row["count"].as_u64()).max()
    };
    let lab = |scope: &str| scope == "lab";
    assert!(count(&lab, "segments_sent") > Some(0), "{counts:#?}");
    assert!(count(&|scope| scope == "host", "major_faults").is_some());
    let of_interface = |scope: &str| scope.starts_with("lab ");
    assert!(
        count(&of_interface, "received_bytes") > Some(0),
        "{counts:#?}"
    );
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

/// The first `ip netns add` since the boot mounts the directory of names on itself, and hides what
/// was mounted in it. In a mount namespace of the test's own, where it is the first.
#[test]
fn a_namespace_that_somebody_else_makes_is_in_no_runs_way() {
    if !root_tests() {
        return;
    }
    let place = Place::among_others();
    let before = host_state();
    let was_there = Path::new(IP_NETNS).exists();
    let name = format!("x-{}", std::process::id());
    let (mut run, events) = place.under_load_within(
        &["unshare", "--mount", "--propagation", "private", "--"],
        &tiny_study("container", "0.25", "").replace("steady = \"1s\"", "steady = \"3s\""),
    );
    let mounts = format!("--mount=/proc/{}/ns/mnt", run.id());
    let script = format!(
        "umount --lazy {IP_NETNS} 2>/dev/null; ip netns add {name} && ip netns delete {name}"
    );
    let made = Command::new("nsenter")
        .args([&mounts, "sh", "-c", &script])
        .status()
        .expect("nsenter");
    assert!(made.success());
    let told: Vec<String> = events.collect();
    let status = run.wait().expect("reaped");
    assert!(matches!(status.code(), Some(0 | 6)), "{status}: {told:#?}");
    let export = place.export();
    for trial in export["trials"].as_array().expect("trials") {
        assert!(measured(trial), "{trial}");
    }
    if !was_there {
        // `ip` made it. Others may have put names there meanwhile.
        let _ = fs::remove_dir(IP_NETNS);
    }
    assert_host_as(&before);
}

/// A `clean` that cannot see the controller leaves its run alone.
#[test]
fn a_clean_in_another_process_namespace_touches_no_living_run() {
    if !root_tests() {
        return;
    }
    let place = Place::new();
    let before = host_state();
    let (mut run, events) = place.under_load(
        &tiny_study("container", "0.25", "").replace("steady = \"1s\"", "steady = \"3s\""),
    );
    let cleaned = place
        .rookery_within(
            &["unshare", "--pid", "--fork", "--mount-proc", "--"],
            &["clean"],
        )
        .output()
        .expect("rookery starts");
    let said = text(&cleaned.stdout) + &text(&cleaned.stderr);
    assert_eq!(code(&cleaned), 0, "{said}");
    let told: Vec<String> = events.collect();
    let status = run.wait().expect("reaped");
    assert!(
        matches!(status.code(), Some(0 | 6)),
        "{status}: {told:#?}\nclean: {said}"
    );
    for trial in place.export()["trials"].as_array().expect("trials") {
        assert!(measured(trial), "{trial}\nclean: {said}");
    }
    assert_host_as(&before);
}
