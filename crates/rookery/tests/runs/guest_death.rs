//! A guest that dies under load fails its trial with its log; the run goes on; no acknowledged
//! order is lost.

use std::{
    fs,
    process::{Child, Command},
};

use crate::common::{Place, measured, root_tests, text, tiny_study};

/// Processes of guests that the run of `child` made, found by label and by their command line.
fn guest_processes(child: &Child) -> Vec<u32> {
    let run = own_run(child);
    fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let pid: u32 = entry.file_name().to_string_lossy().parse().ok()?;
            let environ = fs::read(entry.path().join("environ")).ok()?;
            let command = fs::read(entry.path().join("cmdline")).ok()?;
            let labelled = run.as_ref().is_some_and(|run| {
                environ
                    .split(|b| *b == 0)
                    .any(|v| v == format!("ROOKERY_RUN={run}").as_bytes())
            });
            (labelled && text(&command).contains("dvdstore")).then_some(pid)
        })
        .collect()
}

/// The id of the run that `child` conducts: it holds the only run directory of its place.
fn own_run(child: &Child) -> Option<String> {
    let cwd = fs::read_link(format!("/proc/{}/cwd", child.id())).ok()?;
    let name = fs::read_dir(cwd.join("runs"))
        .ok()?
        .flatten()
        .next()?
        .file_name()
        .to_string_lossy()
        .into_owned();
    name.rsplit('-').next().map(str::to_owned)
}

fn killed_in_its_trial(kind: &str) {
    let place = Place::among_others();
    let study = tiny_study(kind, "1", "")
        .replace("guests = [1, 2]", "guests = 1")
        .replace("repeats = 1", "repeats = 2");
    let (mut child, events) =
        place.under_load(&study.replace("steady = \"1s\"", "steady = \"4s\""));
    let victim = *guest_processes(&child).first().expect("a guest under load");
    assert!(
        Command::new("kill")
            .args(["-9", &victim.to_string()])
            .status()
            .expect("kill")
            .success()
    );
    let told: Vec<String> = events.collect();
    child.wait().expect("rookery ends");
    let run = place.export();
    let trials = run["trials"].as_array().expect("trials");
    assert_eq!(trials.len(), 2, "{told:?}");
    assert_eq!(trials[0]["status"], "failed", "{told:?}");
    assert!(measured(&trials[1]), "the run goes on: {told:?}");
    assert!(
        run["reasons"].to_string().contains("died under load"),
        "{}",
        run["reasons"]
    );
    let audit = &run["audits"][0];
    assert_eq!(audit["killed"], true, "{audit}");
    let number = |key: &str| audit[key].as_u64().expect(key);
    assert!(number("acknowledged") > 0, "it died under load: {audit}");
    assert!(
        number("found") >= number("acknowledged"),
        "no acknowledged order is lost: {audit}"
    );
    assert!(
        number("found") <= number("acknowledged") + number("unanswered"),
        "{audit}"
    );
}

#[test]
fn a_bare_guest_killed_in_its_trial_fails_it_and_the_run_goes_on() {
    killed_in_its_trial("bare");
}

#[test]
fn a_container_killed_in_its_trial_fails_it_and_the_run_goes_on() {
    if root_tests() {
        killed_in_its_trial("container");
    }
}
