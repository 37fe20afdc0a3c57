//! Short trials on several hosts against the same on one. The hosts are network namespaces of this
//! machine; users think most of the time, so that its CPUs have room for several trials.

use std::{collections::BTreeMap, time::Duration};

use serde_json::Value;

use super::controller::Controller;
use crate::bench::lamp::say;

/// Hosts side by side.
const HOSTS: usize = 3;
/// Trials of the study.
const TRIALS: usize = 40;
/// Most of the time of one host that several may take.
const GOAL: f64 = 0.4;

/// Measure both, and say their ratio.
pub(super) fn compare() -> Result<(), String> {
    let place = tempfile::tempdir().map_err(|error| error.to_string())?;
    let controller = Controller::new(place.path(), HOSTS);
    let entries: Vec<String> = (0..HOSTS)
        .map(|host| controller.hosts.entry(host, ""))
        .collect();
    let one = time_of(&controller, &entries[..1])?;
    let several = time_of(&controller, &entries)?;
    let ratio = several.as_secs_f64() / one.as_secs_f64();
    say(&format!(
        "spread {TRIALS} trials on {HOSTS} hosts / on one: {:.1} s / {:.1} s = {ratio:.2}{}",
        several.as_secs_f64(),
        one.as_secs_f64(),
        if ratio <= GOAL {
            String::new()
        } else {
            format!(", above {GOAL}")
        }
    ))
}

/// How long the study takes on these hosts.
fn time_of(controller: &Controller<'_>, entries: &[String]) -> Result<Duration, String> {
    controller.with_fleet(entries, |file| {
        let (export, took) = controller.run(&study(), &["--spread", file])?;
        let by_host = each_once(&export)?;
        let by_host: Vec<String> = by_host
            .iter()
            .map(|(host, trials)| format!("{host} {trials}"))
            .collect();
        say(&format!(
            "spread {:.1} s, trials by host: {}",
            took.as_secs_f64(),
            by_host.join(", ")
        ))?;
        Ok(took)
    })
}

/// How many trials each host performed.
///
/// # Errors
/// When a trial of the plan was performed by no host, or by several.
fn each_once(export: &Value) -> Result<BTreeMap<String, usize>, String> {
    let rows = export["trial_hosts"].as_array();
    let rows = rows.ok_or("the export has no table of hosts")?;
    let mut by_trial: BTreeMap<u64, usize> = BTreeMap::new();
    let mut by_host: BTreeMap<String, usize> = BTreeMap::new();
    for row in rows {
        let (trial, host) = (row["trial"].as_u64(), row["host"].as_str());
        let (trial, host) = trial.zip(host).ok_or("a trial or host has no name")?;
        *by_trial.entry(trial).or_default() += 1;
        *by_host.entry(host.to_owned()).or_default() += 1;
    }
    let once = by_trial.values().all(|times| *times == 1);
    if once && by_trial.len() == TRIALS {
        return Ok(by_host);
    }
    Err(format!(
        "{} of {TRIALS} trials were performed, once each: {once}",
        by_trial.len()
    ))
}

/// Four users of a server in Rust, who think for 50 ms.
fn study() -> String {
    format!(
        "title = \"Spread\"\nseed = 3\n\n[workload]\nkind = \"sample\"\nthink_time = \"50ms\"\n\n\
         [load]\nusers = 4\nramp_up = \"100ms\"\nsettle = \"500ms\"\nsteady = \"4s\"\n\
         ramp_down = \"100ms\"\nrepeats = {TRIALS}\nretry_void = 0\n\n[qos]\nerrors = 0.5\n\n\
         [stack]\nkind = \"bundled\"\n\n[guest]\nkind = \"bare\"\nmemory = \"128MiB per guest\"\n\n\
         [host]\novercommit = 2\nother_work = 1\n\n\
         [[layout]]\nname = \"one\"\nguests = 1\nvcpus = 1\n"
    )
}

#[cfg(test)]
mod tests {
    use rookery_study::Study;
    use serde_json::json;

    use super::*;

    #[test]
    fn its_study_is_valid() {
        let text = study();
        let study = Study::parse("fleet.toml", &text);
        assert!(study.is_ok(), "{text}: {:?}", study.err());
    }

    #[test]
    fn a_trial_that_is_performed_twice_is_told() {
        let rows = |trials: std::ops::Range<usize>| -> Vec<Value> {
            trials
                .map(|trial| json!({"trial": trial, "host": "a"}))
                .collect()
        };
        let all = json!({"trial_hosts": rows(0..TRIALS)});
        assert_eq!(each_once(&all).expect("each once")["a"], TRIALS);
        let mut twice = rows(0..TRIALS);
        twice.push(json!({"trial": 0, "host": "b"}));
        each_once(&json!({"trial_hosts": twice})).expect_err("one twice");
        each_once(&json!({"trial_hosts": rows(1..TRIALS)})).expect_err("one is missing");
    }
}
