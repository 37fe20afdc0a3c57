//! Storage that does not hold: a volume that fills up under load, and one whose device loses what
//! is behind it. The trial fails and says why, the run goes on, and the host is as before.

use std::{
    fs::{self, OpenOptions},
    io::Write as _,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;

use crate::common::{Place, assert_host_as, host_state, lamp_tests, measured, root_tests, text};

/// Two trials of a guest on a volume of this size, under content management on this stack.
fn study(stack: &str, memory: &str, size: &str) -> String {
    format!(
        r#"
title = "storage that does not hold"
seed = 7
workload = {{ kind = "cms", nodes = "300 per guest", accounts = "50 per guest", think_time = "50ms" }}
load = {{ users = 6, ramp_up = "200ms", settle = "1s", steady = "4s", drain = "5s", repeats = 2, retry_void = 0 }}
stack = {{ {stack} }}
guest = {{ kind = "container", memory = "{memory}" }}
storage = {{ pool = "volume", size = "{size}" }}
host = {{ overcommit = 4, other_work = 1 }}
[[layout]]
name = "one"
guests = 1
"#
    )
}

const EMBEDDED: &str = r#"kind = "embedded""#;

/// Where the one volume of the run is mounted, and the file behind it.
fn volume(place: &Place) -> (PathBuf, PathBuf) {
    let runs = fs::read_dir(place.runs()).expect("runs").flatten();
    let volumes = runs.map(|run| run.path().join("guests/volumes"));
    let found = volumes.flat_map(|directory| fs::read_dir(directory).into_iter().flatten());
    let paths: Vec<PathBuf> = found.flatten().map(|entry| entry.path()).collect();
    let image = |path: &&PathBuf| path.extension().is_some_and(|name| name == "img");
    let (images, points): (Vec<&PathBuf>, Vec<&PathBuf>) = paths.iter().partition(image);
    match (images.as_slice(), points.as_slice()) {
        ([file], [mounted]) => ((*mounted).clone(), (*file).clone()),
        other => panic!("one volume: {other:?}"),
    }
}

/// Write until nothing more fits.
fn fill(mounted: &Path) {
    let path = mounted.join("ballast");
    for block in [1 << 20, 4096] {
        let block = vec![7_u8; block];
        let mut ballast = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&path)
            .expect("a file on the volume");
        while ballast.write_all(&block).is_ok() {}
        let _ = ballast.sync_all();
    }
}

/// Take away what is behind the device, and tell the device.
fn cut(image: &Path) {
    let file = OpenOptions::new().write(true).open(image);
    file.and_then(|file| file.set_len(1 << 20)).expect("cut");
    let devices = fs::read_dir("/sys/block").expect("devices").flatten();
    let own = devices.filter(|device| {
        let file = fs::read_to_string(device.path().join("loop/backing_file"));
        file.is_ok_and(|file| Path::new(file.trim_end()) == image)
    });
    let own: Vec<_> = own.collect();
    assert_eq!(own.len(), 1, "the loop device of {}", image.display());
    let device = Path::new("/dev").join(own[0].file_name());
    let told = Command::new("losetup")
        .arg("--set-capacity")
        .arg(device)
        .status();
    assert!(told.expect("losetup").success());
}

/// The first trial is spoilt under its load and fails with this reason, the second is measured;
/// nothing is left on the host. Gives the run.
fn spoilt(study: &str, spoil: impl FnOnce(&Place), code: &str) -> Value {
    let place = Place::among_others();
    let before = host_state();
    let (mut child, events) = place.under_load(study);
    spoil(&place);
    let told: Vec<String> = events.collect();
    child.wait().expect("rookery ends");
    let run = place.export();
    let trials = run["trials"].as_array().expect("trials");
    assert_eq!(trials.len(), 2, "{told:?}");
    assert_eq!(trials[0]["status"], "failed", "{}", run["trials"]);
    assert!(measured(&trials[1]), "the run goes on: {told:?}");
    let reasons = run["reasons"].as_array().expect("reasons");
    let first = reasons
        .iter()
        .find(|row| row["trial"] == trials[0]["trial"]);
    assert_eq!(first.expect("a reason")["code"], code, "{reasons:#?}");
    let known = place.rookery(&["guests"]).output().expect("rookery starts");
    let known = text(&known.stdout);
    let directory = place.dir.path().display().to_string();
    assert!(!known.contains(&directory), "{known}");
    assert_host_as(&before);
    run
}

/// What users were told of is there; what had no answer may be.
fn lost_nothing(run: &Value) {
    let audit = &run["audits"][0];
    assert_eq!(audit["consistent"], true, "{audit}");
    let proofs = run["proofs"].as_array().expect("proofs");
    let first = proofs.iter().filter(|row| row["trial"] == audit["trial"]);
    let number =
        |row: &Value, key: &str| row[key].as_u64().unwrap_or_else(|| panic!("{key}: {row}"));
    let mut told = 0;
    for row in first {
        let acknowledged = number(row, "acknowledged");
        let most = acknowledged + number(row, "unanswered");
        assert!(
            (acknowledged..=most).contains(&number(row, "found")),
            "{row}"
        );
        told += acknowledged;
    }
    assert!(told > 0, "{proofs:?}");
}

#[test]
fn a_volume_that_fills_up_fails_its_trial_and_loses_nothing() {
    if !root_tests() {
        return;
    }
    let study = study(EMBEDDED, "128MiB", "48MiB");
    let run = spoilt(&study, |place| fill(&volume(place).0), "storage-full");
    lost_nothing(&run);
}

#[test]
fn a_database_server_whose_volume_fills_up_fails_its_trial_and_loses_nothing() {
    if !(root_tests() && lamp_tests()) {
        return;
    }
    let lamp = r#"kind = "lamp", server = "prefork""#;
    let study = study(lamp, "512MiB", "640MiB");
    let run = spoilt(&study, |place| fill(&volume(place).0), "storage-full");
    lost_nothing(&run);
}

#[test]
fn a_device_that_fails_under_load_fails_its_trial_and_harms_nothing() {
    if !root_tests() {
        return;
    }
    let study = study(EMBEDDED, "128MiB", "48MiB");
    let run = spoilt(&study, |place| cut(&volume(place).1), "storage-failed");
    let detail = run["audits"][0]["detail"].as_str().expect("an audit");
    assert!(detail.contains("the device of its data fails"), "{detail}");
}
