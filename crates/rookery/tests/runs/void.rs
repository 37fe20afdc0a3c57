//! Void trials are run again.

use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::common::{Place, code, root_tests, text, tiny_study};

/// Processes that keep a CPU from everybody else while they live.
struct Busy(Vec<Child>);

impl Busy {
    /// Six on each of these CPUs, preferred so much that even what this binary runs gets a fiftieth
    /// of it: what needs more than that is late without end, however quick the machine is.
    fn new(cpus: &[u64]) -> Self {
        let spin = |cpu: &u64| {
            let mut command = Command::new("nice");
            command
                .args(["-n", "-20", "taskset", "-c", &cpu.to_string()])
                .args(["sh", "-c", "while :; do :; done"])
                .stdin(Stdio::null());
            command.spawn().expect("nice starts")
        };
        let all = cpus.iter().flat_map(|cpu| [cpu; 6]);
        Self(all.map(spin).collect())
    }

    /// One for each CPU of this machine, which takes what is left of it.
    fn beside() -> Self {
        let cpus = std::thread::available_parallelism().map_or(2, usize::from);
        let spin = |_| {
            let mut command = Command::new("sh");
            command
                .args(["-c", "while :; do :; done"])
                .stdin(Stdio::null());
            command.spawn().expect("sh starts")
        };
        Self((0..cpus).map(spin).collect())
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// The CPUs that a study gives its driver here.
fn driver_cpus(place: &Place, text_of: &str) -> Vec<u64> {
    let study = place.study("planned.toml", text_of);
    let output = place
        .rookery(&["plan", &study, "--json"])
        .output()
        .expect("rookery starts");
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    let plan: Value = serde_json::from_slice(&output.stdout).expect("a plan");
    let cpus = plan["driver_cpus"].as_array().expect("the driver's CPUs");
    cpus.iter().filter_map(Value::as_u64).collect()
}

#[test]
fn work_beside_a_run_is_named_and_voids_its_trials() {
    let place = Place::new();
    let text_of = tiny_study("bare", "1", "").replace("other_work = 1", "other_work = 0.25");
    let study = place.study("disturbed.toml", &text_of);
    let busy = Busy::beside();
    let output = place
        .rookery(&["run", &study])
        .output()
        .expect("rookery starts");
    drop(busy);
    let told = text(&output.stderr);
    assert!(
        told.contains("before the first trial other programs used") && told.contains("(sh "),
        "{told}"
    );
    let run = place.export();
    let voided = run["reasons"].as_array().expect("reasons");
    let named = |reason: &Value| {
        let words = reason["reason"].as_str().unwrap_or_default();
        reason["code"] == "other-work" && words.contains("(sh ") && words.contains("limit 25 %")
    };
    assert!(voided.iter().any(named), "{voided:#?}");
    let programs = run["other_programs"].as_array().expect("programs");
    assert!(
        programs.iter().any(|program| program["name"] == "sh"),
        "{programs:#?}"
    );
}

#[test]
fn a_trial_made_void_by_a_busy_driver_cpu_is_run_again_and_counted_once() {
    // Only root may prefer a process.
    if !root_tests() {
        return;
    }
    let place = Place::new();
    let text_of = tiny_study("bare", "1", "").replace("retry_void = 0", "retry_void = 8");
    let busy = Busy::new(&driver_cpus(&place, &text_of));
    let (mut child, events) = place.under_load(&text_of);
    let mut busy = Some(busy);
    let events: Vec<Value> = events
        .inspect(|line| {
            // The first trial has been judged: the machine is its own again.
            if line.contains("\"trial-ended\"") {
                busy = None;
            }
        })
        .map(|line| serde_json::from_str(&line).expect("an event"))
        .collect();
    let status = child.wait().expect("rookery ends");
    assert_eq!(status.code(), Some(0), "{events:#?}");
    let retried: Vec<&Value> = events
        .iter()
        .filter(|event| event["event"] == "retried")
        .collect();
    assert!(!retried.is_empty(), "{events:#?}");
    assert_eq!(retried[0]["attempt"], 2);

    let run = place.export();
    let trials = run["trials"].as_array().expect("trials");
    let of_point = |point: u64, status: &str| {
        let own = trials.iter().filter(|trial| trial["point"] == point);
        own.filter(|trial| trial["status"] == status).count()
    };
    for point in [1, 2] {
        assert_eq!(of_point(point, "done"), 1, "{trials:#?}");
    }
    let void: usize = [1, 2].map(|point| of_point(point, "void")).iter().sum();
    assert!(void >= 1 && void == retried.len(), "{trials:#?}");
    let seeds: std::collections::BTreeSet<String> = trials
        .iter()
        .map(|trial| trial["seed"].to_string())
        .collect();
    assert_eq!(seeds.len(), trials.len(), "each attempt has a fresh seed");

    let report = place
        .rookery(&["report", "latest"])
        .output()
        .expect("rookery starts");
    assert_eq!(code(&report), 0);
    let report = text(&report.stdout);
    assert!(report.contains("run again,"), "{report}");
}
