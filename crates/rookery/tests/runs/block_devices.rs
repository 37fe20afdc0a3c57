//! Studies on block devices of the host, for which loop devices of the test stand: refused where
//! they hold something, blank after a run, after `clean`, and after a run that went on.

use std::{
    fs,
    io::{Read as _, Seek as _, SeekFrom},
    path::PathBuf,
    process::{Command, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

use super::storage::left;
use crate::common::{
    Place, code, measured,
    orderentry::{assert_audits, database_tests, tiny},
    root_tests, settings_kept, text, tiny_study,
};

/// A loop device that stands for a disk of the host; its file does not lie in the place of a test.
struct Disk {
    _directory: tempfile::TempDir,
    name: String,
}

impl Disk {
    fn new() -> Self {
        Self::of(96)
    }

    /// One of so many MiB; the file has holes.
    fn of(mib: u64) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let file = directory.path().join("disk");
        fs::File::create(&file)
            .and_then(|file| file.set_len(mib << 20))
            .expect("a file");
        let made = Command::new("losetup")
            .args(["--find", "--show"])
            .arg(&file)
            .output()
            .expect("losetup starts");
        assert_eq!(code(&made), 0, "{}", text(&made.stderr));
        Self {
            _directory: directory,
            name: text(&made.stdout).trim().to_owned(),
        }
    }

    fn read(&self) -> Vec<u8> {
        fs::read(&self.name).expect("read")
    }

    fn is_blank(&self) -> bool {
        let mut file = fs::File::open(&self.name).expect("opened");
        [SeekFrom::Start(0), SeekFrom::End(-(1 << 20))]
            .into_iter()
            .all(|end| {
                let mut read = vec![1; 1 << 20];
                file.seek(end).expect("there");
                file.read_exact(&mut read).expect("read");
                read.iter().all(|byte| *byte == 0)
            })
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("losetup")
            .args(["--detach", &self.name])
            .status();
    }
}

/// One and two containers, each on a device of its own.
fn on(disks: &[&Disk], steady: &str) -> String {
    let names: Vec<&str> = disks.iter().map(|disk| disk.name.as_str()).collect();
    let storage = format!(
        "[storage]\npool = \"volume\"\nsize = \"64MiB\"\nblock_devices = {names:?}\natime = \
         \"noatime\"\n\n[host]"
    );
    tiny_study("container", "0.25", "")
        .replace("[host]", &storage)
        .replace("steady = \"1s\"", &format!("steady = \"{steady}\""))
}

#[test]
fn guests_on_devices_of_their_own_are_read_back_and_leave_them_blank() {
    if !root_tests() {
        return;
    }
    let (one, two) = (Disk::new(), Disk::new());
    let place = Place::among_others();
    let (_, run) = place.done("devices.toml", &on(&[&one, &two], "1s"));
    assert_eq!(left(&place), [""; 0]);
    assert!(one.is_blank() && two.is_blank());
    let trials = run["trials"].as_array().expect("trials");
    assert!(trials.iter().all(measured), "{trials:#?}");
    // One guest, and two.
    for (name, asked, count) in [
        ("storage.block_devices", one.name.as_str(), 2),
        ("storage.block_devices", two.name.as_str(), 1),
        ("storage.size", "64MiB", 3),
        ("storage.atime", "noatime", 3),
    ] {
        let kept = settings_kept(&run, name, asked);
        assert_eq!(kept, count, "{name} = {asked}: {}", run["tunings"]);
    }
}

/// The disk of a machine is a whole device, and that of its log another: the host makes the file
/// system of the log, the machine mounts it.
#[test]
fn a_machine_has_whole_devices_for_its_disk_and_its_log() {
    if !(root_tests() && database_tests()) {
        return;
    }
    let (disk, log) = (Disk::of(8 << 10), Disk::of(512));
    let storage = format!(
        "[storage]\npool = \"raw\"\nblock_devices = [{:?}]\n\n[storage.log]\nsize = \
         \"400MiB\"\nblock_devices = [{:?}]\natime = \"noatime\"\n\n[host]",
        disk.name, log.name
    );
    let place = Place::among_others();
    let study = tiny("mariadb", "vm", 1).replace("[host]", &storage);
    let (_, run) = place.done("machine.toml", &study);
    assert_audits(&run, 1);
    assert_eq!(left(&place), [""; 0]);
    assert!(disk.is_blank() && log.is_blank());
    for (name, asked) in [
        ("storage.block_devices", &*disk.name),
        ("storage.log.block_devices", &*log.name),
        ("storage.log.atime", "noatime"),
        ("storage.log.size", "400MiB"),
    ] {
        let kept = settings_kept(&run, name, asked);
        assert_eq!(kept, 1, "{name} = {asked}: {}", run["tunings"]);
    }
}

#[test]
fn devices_that_hold_something_or_are_too_few_are_refused_and_not_touched() {
    if !root_tests() {
        return;
    }
    let (one, two) = (Disk::new(), Disk::new());
    let place = Place::among_others();
    let refused = |disks: &[&Disk], exit: i32, said: &[&str]| {
        let study = place.study("devices.toml", &on(disks, "1s"));
        for command in ["check", "run"] {
            let done = place
                .rookery(&[command, &study])
                .output()
                .expect("rookery starts");
            let words = text(&done.stderr);
            assert_eq!(code(&done), exit, "{words}");
            assert!(said.iter().all(|said| words.contains(said)), "{words}");
        }
    };
    let twice = [
        "a trial would have several volumes on each of",
        "name as many `block_devices`",
    ];
    refused(&[&one], 3, &twice);
    let made = Command::new("mkfs.ext4")
        .args(["-q", "-L", "accounts", &two.name])
        .status()
        .expect("mkfs starts");
    assert!(made.success());
    let before = two.read();
    let holds = ["it holds LABEL=accounts, TYPE=ext4", "wipefs --all"];
    refused(&[&one, &two], 4, &holds);
    assert!(before == two.read() && one.is_blank());
    assert!(!place.runs().exists(), "no run was begun");
}

#[test]
fn a_run_that_was_killed_is_cleaned_from_its_devices() {
    if !root_tests() {
        return;
    }
    let (one, two) = (Disk::new(), Disk::new());
    let place = Place::new();
    let study = place.study("devices.toml", &on(&[&one, &two], "30s"));
    let mut child = place
        .rookery(&["run", &study, "-q"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("rookery starts");
    let deadline = Instant::now() + Duration::from_secs(120);
    while one.is_blank() {
        assert!(
            child.try_wait().expect("waits").is_none(),
            "it ended before it had a volume"
        );
        assert!(Instant::now() < deadline, "nothing is written");
        sleep(Duration::from_millis(20));
    }
    sleep(Duration::from_millis(700));
    child.kill().expect("killed");
    child.wait().expect("reaped");
    let known = place.rookery(&["guests"]).output().expect("rookery starts");
    let known = text(&known.stdout);
    let wanted = format!("dead   volume             {} of", one.name);
    assert!(known.contains(&wanted), "{known}");
    let clean = place.rookery(&["clean"]).output().expect("rookery starts");
    assert_eq!(code(&clean), 0, "{}", text(&clean.stderr));
    assert!(
        text(&clean.stdout).contains(&format!("volume {}", one.name)),
        "{}",
        text(&clean.stdout)
    );
    assert_eq!(left(&place), [""; 0]);
    assert!(one.is_blank() && two.is_blank());
    let records: Vec<PathBuf> = fs::read_dir(place.runs())
        .expect("runs")
        .flatten()
        .flat_map(|run| fs::read_dir(run.path().join("guests/volumes")))
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .collect();
    assert!(records.is_empty(), "{records:?}");
}
