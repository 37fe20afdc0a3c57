//! Studies whose guests are virtual machines: the whole road, a machine that goes away under load,
//! a run that is killed.
//!
//! A machine takes ten seconds and more to come up where it is translated. One study always runs;
//! the others run with `ROOKERY_VM_TESTS=1`, and say so where they do not.

use std::{fs, process::Command, time::Duration};

use crate::common::{
    Place, assert_host_as, code, host_state, root_tests, text, tiny_study, went_to_its_end,
};
use serde_json::Value;

/// Whether the tests that take minutes are to run.
pub(crate) fn long_tests() -> bool {
    let wanted = std::env::var("ROOKERY_VM_TESTS").is_ok_and(|value| value == "1");
    if !wanted {
        eprintln!("SKIPPED: it takes minutes; ROOKERY_VM_TESTS=1 runs it");
    }
    wanted && root_tests()
}

/// Machines of 256 MiB for a few seconds, `guests` of them.
fn study(guests: u32, steady: &str) -> String {
    tiny_study("vm", "1", "")
        .replace("guests = [1, 2]", &format!("guests = {guests}"))
        .replace("128MiB per guest", "256MiB per guest")
        // Code is translated as it first runs: the first orders take longer than all others.
        .replace("settle = \"300ms\"", "settle = \"6s\"")
        .replace("steady = \"1s\"", &format!("steady = \"{steady}\""))
        .replace("drain = \"2s\"", "drain = \"20s\"\ntimeout = \"30s\"")
        .replace("6 per guest", "2 per guest")
        // Whether a translated machine on a busy host keeps limits is not the question here.
        .replace(
            "[qos]\np95 = \"5s\"\nerrors = 0.01\nmin_operations = 10\n",
            "",
        )
}

/// What LAMP machines need beyond [`study`].
fn lamp_study(guests: u32, steady: &str) -> String {
    study(guests, steady)
        .replace(
            "kind = \"embedded\"",
            "kind = \"lamp\"\nbuffer_pool = \"warm\"",
        )
        .replace("256MiB per guest", "512MiB per guest")
}

fn number(value: &Value, key: &str) -> u64 {
    value[key]
        .as_u64()
        .unwrap_or_else(|| panic!("{key} of {value}"))
}

/// The run of a study that is performed now, with a trial that ended well.
fn performed(place: &Place, text_of: &str) -> Value {
    place.done("machines.toml", text_of).1
}

/// Every machine sold something, and its database holds what its users were told of.
fn orders_agree(run: &Value, guests: usize) {
    let audits = run["audits"].as_array().expect("audits");
    assert_eq!(audits.len(), guests, "{audits:?}\n{}", run["trials"]);
    for audit in audits {
        assert_eq!(
            number(audit, "found"),
            number(audit, "acknowledged"),
            "{audit}"
        );
        assert_eq!(audit["consistent"], true, "{audit}");
        assert!(number(audit, "acknowledged") > 0, "{audit}");
    }
}

fn in_force<'r>(run: &'r Value, name: &str) -> &'r str {
    let rows = run["tunings"].as_array().expect("tunings");
    let row = rows
        .iter()
        .find(|row| row["guest"] == "g1" && row["name"] == name);
    row.unwrap_or_else(|| panic!("{name} is not among {rows:?}"))["effective"]
        .as_str()
        .expect("text")
}

#[test]
fn machines_walk_the_whole_road_and_leave_nothing() {
    if !root_tests() {
        return;
    }
    let place = Place::new();
    let before = host_state();
    let gathering = "[network]\ncoalesce = 16\n\n[host]";
    let run = performed(&place, &study(2, "10s").replace("[host]", gathering));
    orders_agree(&run, 2);
    assert_eq!(in_force(&run, "network.coalesce"), "16");
    let accelerator = in_force(&run, "vm.accelerator");
    assert!(
        accelerator.starts_with("KVM") || accelerator.starts_with("TCG"),
        "{accelerator}"
    );
    assert_eq!(in_force(&run, "vm.disk.cache"), "writeback");
    assert_host_as(&before);
}

#[test]
fn lamp_machines_walk_the_whole_road_and_leave_nothing() {
    if !long_tests() {
        return;
    }
    let place = Place::new();
    let before = host_state();
    orders_agree(&performed(&place, &lamp_study(2, "15s")), 2);
    assert_host_as(&before);
}

/// The emulators of the run in `place`.
fn emulators(place: &Place) -> Vec<String> {
    let run = fs::read_dir(place.runs())
        .expect("runs")
        .flatten()
        .next()
        .expect("a run");
    let run = run.file_name().to_string_lossy().into_owned();
    let label = format!("ROOKERY_RUN={}", run.rsplit('-').next().expect("an id"));
    let processes = fs::read_dir("/proc").expect("proc").flatten();
    let numbers = processes.filter(|entry| {
        let read = |name: &str| fs::read(entry.path().join(name)).unwrap_or_default();
        let labelled = read("environ")
            .split(|byte| *byte == 0)
            .any(|variable| variable == label.as_bytes());
        labelled && text(&read("cmdline")).contains("qemu-system")
    });
    numbers
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect()
}

fn kill(pid: &str) {
    assert!(
        Command::new("kill")
            .args(["-9", pid])
            .status()
            .expect("kill")
            .success()
    );
}

#[test]
fn a_machine_that_is_destroyed_under_load_has_every_order_that_its_users_were_told_of() {
    if !long_tests() {
        return;
    }
    let place = Place::new();
    let (mut child, events) = place.under_load(&lamp_study(1, "40s"));
    std::thread::sleep(Duration::from_secs(15));
    let victims = emulators(&place);
    assert_eq!(victims.len(), 1, "{victims:?}");
    kill(&victims[0]);
    let told: Vec<String> = events.collect();
    child.wait().expect("rookery ends");
    let run = place.export();
    assert_eq!(run["trials"][0]["status"], "failed", "{told:?}");
    let audit = &run["audits"][0];
    assert_eq!(audit["killed"], true, "{audit}");
    let told_of = number(audit, "acknowledged");
    assert!(told_of > 0, "it died under load: {audit}");
    assert!(
        (told_of..=told_of + number(audit, "unanswered")).contains(&number(audit, "found")),
        "{audit}"
    );
}

#[test]
fn a_killed_run_of_machines_is_cleaned_away_and_resumed() {
    if !long_tests() {
        return;
    }
    let place = Place::new();
    let before = host_state();
    let (mut child, _) = place.under_load(&study(2, "10s"));
    kill(&child.id().to_string());
    child.wait().expect("reaped");
    let clean = place.rookery(&["clean"]).output().expect("rookery starts");
    assert_eq!(
        code(&clean),
        0,
        "{}\n{}",
        text(&clean.stdout),
        text(&clean.stderr)
    );
    let left: Vec<String> = host_state().difference(&before).cloned().collect();
    assert!(
        left.is_empty(),
        "{left:#?}\nclean said:\n{}",
        text(&clean.stdout)
    );
    let done = place
        .rookery(&["run", "--resume", "latest", "-q"])
        .output()
        .expect("rookery starts");
    assert!(
        went_to_its_end(&done),
        "{}\n{}",
        text(&done.stdout),
        text(&done.stderr)
    );
    orders_agree(&place.export(), 2);
    assert_host_as(&before);
}
