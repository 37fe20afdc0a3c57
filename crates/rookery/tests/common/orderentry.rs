//! What the tests of order-entry studies share: a small study, its audits, servers of a run, a
//! server that is killed.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    process::{Command, Stdio},
};

use serde_json::Value;

use super::{Place, metric};

/// A study of a few seconds on a test database.
pub(crate) fn tiny(stack: &str, guest: &str, guests: u32) -> String {
    // A translated machine takes long to come up, and to commit.
    let (ready_within, timeout) = match guest {
        "vm" => ("5min", "30s"),
        _ => ("1min", "10s"),
    };
    format!(
        r#"
title = "tiny order entry"

[workload]
kind = "orderentry"
profile = "mini"
warehouses = 2

[load]
users = 3
ramp_up = "200ms"
settle = "300ms"
steady = "2s"
timeout = "{timeout}"
repeats = 1
retry_void = 0

[stack]
kind = "{stack}"

[guest]
kind = "{guest}"
memory = "384MiB"
ready_within = "{ready_within}"

[host]
overcommit = 2
other_work = 1

[[layout]]
name = "all"
guests = {guests}
"#
    )
}

/// Whether the tests that run this host's own database servers are to run; as
/// [`super::root_tests`].
pub(crate) fn database_tests() -> bool {
    if std::env::var_os("ROOKERY_SKIP_DATABASE_TESTS").is_some_and(|value| value == "1") {
        eprintln!("SKIPPED on request: ROOKERY_SKIP_DATABASE_TESTS=1");
        return false;
    }
    true
}

/// A number of an exported run.
pub(crate) fn number(value: &Value, key: &str) -> u64 {
    value[key]
        .as_u64()
        .unwrap_or_else(|| panic!("{key}: {value}"))
}

/// Every guest committed something, its database holds what terminals were told, and every
/// condition holds.
pub(crate) fn assert_audits(run: &Value, guests: usize) {
    let audits = run["audits"].as_array().expect("audits");
    assert_eq!(audits.len(), guests, "{audits:?}");
    for audit in audits {
        assert_eq!(audit["consistent"], true, "{audit}");
        assert_eq!(
            number(audit, "found"),
            number(audit, "acknowledged"),
            "{audit}"
        );
        assert!(number(audit, "acknowledged") > 0, "{audit}");
    }
}

/// A run of so many guests ends well, with audits, counters and settings.
pub(crate) fn runs_to_its_end(stack: &str, guest: &str, guests: u32) {
    let place = Place::among_others();
    let (_, run) = place.done("tiny.toml", &tiny(stack, guest, guests));
    assert_audits(&run, guests as usize);
    for name in ["nopm", "logical_reads"] {
        let value = metric(&run, &run["guests"][0], name);
        assert!(value > 0.0, "{name}: {value}");
    }
    place.no_password_is_logged();
    let settings = run["tunings"].to_string();
    for name in [
        "orderentry.isolation",
        "orderentry.server",
        "orderentry.statements",
    ] {
        assert!(settings.contains(name), "{name}");
    }
}

/// Servers of the run with this id, by label and name.
pub(crate) fn servers(run: &str, name: &str) -> Vec<u32> {
    let label = format!("ROOKERY_RUN={run}");
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let server = processes.filter_map(|entry| {
        let pid: u32 = entry.file_name().to_string_lossy().parse().ok()?;
        let environ = fs::read(entry.path().join("environ")).ok()?;
        let comm = fs::read_to_string(entry.path().join("comm")).ok()?;
        let labelled = environ
            .split(|byte| *byte == 0)
            .any(|variable| variable == label.as_bytes());
        (labelled && comm.trim() == name).then_some(pid)
    });
    server.collect()
}

/// The number of the process that started this one; 0 of one that has gone.
fn parent(pid: u32) -> u32 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("PPid:"));
    line.and_then(|number| number.trim().parse().ok())
        .unwrap_or(0)
}

/// Runs one bare guest whose server, of this process name, is killed under load: the trial fails,
/// and no order that was told of is lost.
pub(crate) fn killed_in_its_trial(stack: &str, server: &str) {
    let place = Place::among_others();
    let study = place.study(
        "killed.toml",
        &tiny(stack, "bare", 1).replace("steady = \"2s\"", "steady = \"20s\""),
    );
    let mut child = place
        .rookery(&["run", &study, "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("rookery starts");
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    let (mut run, mut killed) = (String::new(), 0);
    for line in lines.by_ref() {
        let Ok(event) = serde_json::from_str::<Value>(&line.expect("a line")) else {
            continue;
        };
        if event["event"] == "run-started" {
            run = event["run"].as_str().expect("the id of the run").to_owned();
        }
        if event["event"] == "load"
            && event["elapsed_s"]
                .as_f64()
                .is_some_and(|elapsed| elapsed > 1.0)
        {
            // PostgreSQL's sessions are processes of the same name: the server is the one that no
            // other has started.
            let all = servers(&run, server);
            let victims: Vec<u32> = all
                .iter()
                .copied()
                .filter(|&pid| !all.contains(&parent(pid)))
                .collect();
            assert_eq!(victims.len(), 1, "one server of the one guest: {victims:?}");
            let pid = victims[0].to_string();
            assert!(
                Command::new("kill")
                    .args(["-9", &pid])
                    .status()
                    .expect("kill")
                    .success()
            );
            killed += 1;
            break;
        }
    }
    lines.for_each(drop);
    child.wait().expect("rookery ends");
    assert_eq!(killed, 1, "there was a load to be killed in");
    let run = place.export();
    assert_eq!(run["trials"][0]["status"], "failed", "{}", run["trials"]);
    assert!(
        run["reasons"].to_string().contains("died under load"),
        "{}",
        run["reasons"]
    );
    let audit = &run["audits"][0];
    assert_eq!(
        (&audit["killed"], &audit["consistent"]),
        (&Value::from(true), &Value::from(true)),
        "{audit}"
    );
    let (told, found) = (number(audit, "acknowledged"), number(audit, "found"));
    assert!(
        told > 0 && (told..=told + number(audit, "unanswered")).contains(&found),
        "{audit}"
    );
}
