//! What other programs do to the bridge, the mounts and the control groups of a living run is
//! survived or told: every trial has a status and a reason, and nothing is left.

use std::{fs, path::Path, process::Command};

use crate::common::{
    Place, assert_host_as, code, host_state, measured, root_tests, text, tiny_study,
};

#[test]
fn a_bridge_that_somebody_deletes_is_told_and_made_again() {
    meddled_with(|run, _| {
        let network = format!("--net=/run/rookery/netns/rookery-{run}");
        shell(&format!("nsenter {network} ip link delete br0"));
    });
}

#[test]
fn a_mount_that_somebody_takes_away_is_in_no_trials_way() {
    meddled_with(|_, runs| {
        let mounts = fs::read_to_string("/proc/self/mountinfo").expect("mounts");
        let inside = runs.canonicalize().expect("runs").display().to_string();
        let ours: Vec<&str> = mounts
            .lines()
            .filter_map(|line| line.split(' ').nth(4))
            .filter(|place| place.starts_with(&inside))
            .collect();
        assert!(!ours.is_empty(), "no mount below {inside}:\n{mounts}");
        for place in ours.iter().rev() {
            shell(&format!("umount --lazy {place}"));
        }
    });
}

#[test]
fn a_control_group_that_somebody_removes_is_in_no_later_trials_way() {
    meddled_with(|run, _| {
        let script = format!(
            "for top in /sys/fs/cgroup/*/rookery/{run} /sys/fs/cgroup/rookery/{run}; do \
               [ -d $top ] || continue; \
               find $top -depth -type d | while read group; do \
                 while read process; do \
                   echo $process > ${{top%/rookery/*}}/cgroup.procs || true; \
                 done < $group/cgroup.procs; \
                 rmdir $group; \
               done; \
             done"
        );
        shell(&script);
    });
}

/// A run of two trials; while the first is under load, `meddle` gets the run's id and the directory
/// of runs.
fn meddled_with(meddle: impl Fn(&str, &Path)) {
    if !root_tests() {
        return;
    }
    let place = Place::with_planted_fault();
    let before = host_state();
    let (mut run, events) = place.under_load(
        &tiny_study("container", "0.25", "").replace("steady = \"1s\"", "steady = \"3s\""),
    );
    meddle(&id_of_run(&place), &place.runs());
    let told: Vec<String> = events.collect();
    let status = run.wait().expect("reaped");
    let said = format!("{status}: {told:#?}\n{}", place.run_log());
    // 5: a guest failed, 6: void on a busy machine.
    assert!(matches!(status.code(), Some(0 | 5 | 6)), "{said}");
    let export = place.export();
    let trials = export["trials"].as_array().expect("trials");
    assert_eq!(trials.len(), 2, "{said}");
    for trial in trials {
        let mut reasons = export["reasons"].as_array().expect("reasons").iter();
        let told = reasons.any(|reason| reason["trial"] == trial["trial"]);
        assert!(trial["status"] == "done" || told, "{trial}\n{said}");
    }
    let second = trials.iter().find(|trial| trial["trial"] == 2);
    assert!(
        second.is_some_and(measured),
        "the second trial: {second:?}\n{said}"
    );
    let cleaned = place.rookery(&["clean"]).output().expect("rookery starts");
    let cleaned_said = text(&cleaned.stdout) + &text(&cleaned.stderr);
    assert_eq!(code(&cleaned), 0, "{cleaned_said}\n{said}");
    assert_host_as(&before);
}

/// Directories of runs are called after study and run.
fn id_of_run(place: &Place) -> String {
    let runs = fs::read_dir(place.runs()).expect("runs");
    let names = runs.filter_map(|run| run.expect("a run").file_name().into_string().ok());
    let ids = names.filter_map(|name| name.rsplit_once('-').map(|(_, id)| id.to_owned()));
    ids.last().expect("a run")
}

fn shell(script: &str) {
    let done = Command::new("sh").args(["-c", script]).output();
    let done = done.expect("sh starts");
    assert!(done.status.success(), "{script}: {}", text(&done.stderr));
}
