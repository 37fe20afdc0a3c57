//! Host settings from the command line: the audit, what is refused, and that everything is
//! bit-equal after whatever end.

use std::{
    collections::BTreeMap,
    fs,
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

use crate::common::{Place, code, root_tests, text, tiny_study, went_to_its_end};

/// Settings of this machine that harm nobody for a moment, and a value for each that differs from
/// the defaults.
const HARMLESS: &[(&str, &str, &str)] = &[
    ("vm.swappiness", "/proc/sys/vm/swappiness", "57"),
    ("vm.dirty_ratio", "/proc/sys/vm/dirty_ratio", "23"),
    (
        "vm.dirty_background_ratio",
        "/proc/sys/vm/dirty_background_ratio",
        "11",
    ),
    ("net.core.somaxconn", "/proc/sys/net/core/somaxconn", "4097"),
    (
        "kernel.sem",
        "/proc/sys/kernel/sem",
        "32001 1024000001 501 32000",
    ),
];
const JOURNAL: &str = "/run/rookery/host-settings.json";

/// The machine is as before afterwards, even when the test fails.
struct Machine {
    before: BTreeMap<&'static str, String>,
}

impl Machine {
    fn new() -> Self {
        assert!(
            !Path::new(JOURNAL).exists(),
            "a profile is applied on this machine: `rookery host revert` first"
        );
        Self { before: settings() }
    }

    fn assert_as_before(&self, when: &str) {
        assert_eq!(settings(), self.before, "bit-equal {when}");
        assert!(!Path::new(JOURNAL).exists(), "no journal is left {when}");
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        for (path, value) in &self.before {
            if fs::read_to_string(path).ok().as_ref() != Some(value) {
                // The test has failed already; this is for whoever uses the machine next.
                let _ = fs::write(path, value);
            }
        }
    }
}

/// Text of the harmless settings' files, and of those that the kernel changes along with them.
fn settings() -> BTreeMap<&'static str, String> {
    let coupled = [
        "/proc/sys/vm/dirty_bytes",
        "/proc/sys/vm/dirty_background_bytes",
    ];
    let paths = HARMLESS.iter().map(|(_, path, _)| *path).chain(coupled);
    paths
        .map(|path| {
            (
                path,
                fs::read_to_string(path).expect("a setting of every kernel"),
            )
        })
        .collect()
}

fn is_changed() -> bool {
    HARMLESS.iter().all(|(_, path, value)| {
        let now = fs::read_to_string(path).expect("readable");
        now.split_whitespace().eq(value.split_whitespace())
    })
}

fn profile(place: &Place) -> String {
    let settings = HARMLESS.iter().map(|(knob, _, value)| {
        format!(
            "[[setting]]\nknob = \"{knob}\"\nvalue \
                                         = \"{value}\"\nreason = \"a test\"\nsource = \"a \
                                         test\"\n"
        )
    });
    let text = format!(
        "name = \"harmless\"\ntitle = \"For a test\"\n{}",
        settings.collect::<String>()
    );
    place.study("harmless.toml", &text)
}

fn hold(place: &Place) -> Child {
    place
        .rookery(&["host", "apply", "--hold", "--profile", &profile(place)])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("rookery starts")
}

fn await_change() {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !is_changed() {
        assert!(Instant::now() < deadline, "the settings do not change");
        sleep(Duration::from_millis(1));
    }
}

fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill")
        .args([name, &child.id().to_string()])
        .status()
        .expect("kill");
    assert!(sent.success());
}

fn said(place: &Place, args: &[&str], expected: i32) -> String {
    let output = place.rookery(args).output().expect("rookery starts");
    let all = format!("{}{}", text(&output.stdout), text(&output.stderr));
    assert_eq!(code(&output), expected, "{args:?}\n{all}");
    all
}

#[test]
fn a_profile_stays_until_it_is_reverted() {
    if !root_tests() {
        return;
    }
    let (place, machine) = (Place::new(), Machine::new());
    let profile = profile(&place);
    let applied = said(&place, &["host", "apply", "--profile", &profile], 0);
    assert!(is_changed(), "{applied}");
    assert!(
        applied.contains(&format!(
            "{} set, 0 as wanted already, 0 not changed",
            HARMLESS.len()
        )),
        "{applied}"
    );
    assert!(said(&place, &["host"], 0).contains("profile harmless is applied"));
    assert!(
        said(&place, &["host", "apply", "--profile", &profile], 4)
            .contains("`rookery host revert` first")
    );
    said(&place, &["clean"], 0);
    assert!(
        is_changed(),
        "clean leaves alone what was applied on purpose"
    );
    let reverted = said(&place, &["host", "revert"], 0);
    assert!(
        reverted.contains("restored   vm.swappiness: 57 -> "),
        "{reverted}"
    );
    machine.assert_as_before("after revert");
    assert!(said(&place, &["host", "revert"], 0).contains("nothing to revert"));
}

#[test]
fn what_is_held_ends_with_ctrl_c() {
    if !root_tests() {
        return;
    }
    let (place, machine) = (Place::new(), Machine::new());
    for name in ["-INT", "-TERM"] {
        let mut child = hold(&place);
        await_change();
        signal(&child, name);
        assert!(child.wait().expect("ends").success());
        machine.assert_as_before(&format!("after {name}"));
    }
}

#[test]
fn after_kill_9_clean_puts_everything_back() {
    if !root_tests() {
        return;
    }
    let (place, machine) = (Place::new(), Machine::new());
    let mut child = hold(&place);
    await_change();
    signal(&child, "-9");
    child.wait().expect("reaped");
    assert!(is_changed(), "nobody has put them back yet");
    let cleaned = said(&place, &["clean"], 0);
    assert!(
        cleaned.contains("host setting vm.swappiness: "),
        "{cleaned}"
    );
    machine.assert_as_before("after clean");

    // At any moment: while it starts, journals, writes, holds.
    for moment in 0..12 {
        let mut child = hold(&place);
        sleep(Duration::from_micros(moment * 700));
        signal(&child, "-9");
        child.wait().expect("reaped");
        said(&place, &["clean"], 0);
        machine.assert_as_before(&format!("after kill -9 at {} us and clean", moment * 700));
    }
}

/// Text of a disk's queue: the scheduler, what it resets, and its own tunables.
fn queue(disk: &Path) -> BTreeMap<String, String> {
    let files = ["scheduler", "nr_requests", "wbt_lat_usec", "read_ahead_kb"]
        .map(|name| disk.join("queue").join(name));
    let tunables = fs::read_dir(disk.join("queue/iosched"))
        .into_iter()
        .flatten()
        .flatten();
    let all = files.into_iter().chain(tunables.map(|entry| entry.path()));
    all.filter_map(|path| Some((path.display().to_string(), fs::read_to_string(&path).ok()?)))
        .collect()
}

/// A loop device that nobody uses and that offers both schedulers; none on machines without the
/// loop module.
fn idle_disk() -> Option<std::path::PathBuf> {
    let disks = fs::read_dir("/sys/block")
        .expect("sysfs")
        .flatten()
        .map(|entry| entry.path());
    let offered =
        |disk: &Path| fs::read_to_string(disk.join("queue/scheduler")).unwrap_or_default();
    let mut idle = disks.filter(|disk| {
        let is_loop = disk
            .file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with("loop"));
        let unused = fs::read_to_string(disk.join("size")).is_ok_and(|size| size.trim() == "0");
        is_loop
            && unused
            && offered(disk).contains("mq-deadline")
            && offered(disk).contains("kyber")
    });
    idle.next()
}

#[test]
fn a_scheduler_comes_back_with_all_that_it_resets() {
    if !root_tests() {
        return;
    }
    let Some(disk) = idle_disk() else {
        eprintln!(
            "NOT TESTED: this machine has no idle loop device with the schedulers mq-deadline and \
             kyber"
        );
        return;
    };
    let (place, machine) = (Place::new(), Machine::new());
    let set = |file: &str, value: &str| {
        fs::write(disk.join("queue").join(file), value).expect("root may set it")
    };
    let found = queue(&disk);
    let scheduler = found[&disk.join("queue/scheduler").display().to_string()].clone();
    let first = scheduler
        .split('[')
        .nth(1)
        .and_then(|rest| rest.split(']').next())
        .expect("one is chosen");
    set("scheduler", "mq-deadline");
    set("iosched/fifo_batch", "7");
    set("nr_requests", "99");
    let before = queue(&disk);

    let name = disk
        .file_name()
        .expect("named")
        .to_string_lossy()
        .into_owned();
    let setting = |knob: &str, value: &str| {
        format!(
            "[[setting]]\nknob = \"{knob}\"\nvalue = \"{value}\"\ndevices = [\"{name}\"]\nreason \
             = \"r\"\nsource = \"s\"\n"
        )
    };
    let settings = [
        setting("block.scheduler", "kyber"),
        setting("block.nr_requests", "77"),
        setting("block.read_ahead_kb", "512"),
    ];
    let file = place.study(
        "disk.toml",
        &format!("name = \"disk\"\ntitle = \"Disk\"\n{}", settings.concat()),
    );
    let applied = said(&place, &["host", "apply", "--profile", &file], 0);
    let during = queue(&disk);
    let reverted = said(&place, &["host", "revert"], 0);
    let after = queue(&disk);
    set("scheduler", first);
    assert!(applied.contains("3 set"), "{applied}");
    assert_ne!(during, before);
    assert_eq!(after, before, "bit-equal after revert:\n{reverted}");
    assert_eq!(queue(&disk), found, "the disk is left as it was found");
    machine.assert_as_before("in the end");
}

#[test]
fn the_audit_changes_nothing_and_says_where_and_why() {
    let place = Place::new();
    let audit = said(
        &place,
        &["host", "audit", "--profile", "enterprise-storage"],
        0,
    );
    for words in [
        "/proc/sys/vm/swappiness",
        "LAMP and DVD Store study",
        "block.write_cache",
        "--accept-data-loss",
        "recommendations hold",
    ] {
        assert!(audit.contains(words), "`{words}` is missing in:\n{audit}");
    }
    let json = said(&place, &["host", "audit", "--json"], 0);
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let rows = json["settings"].as_array().expect("settings");
    let swappiness = rows
        .iter()
        .find(|row| row["knob"] == "vm.swappiness")
        .expect("a row");
    assert_eq!(
        swappiness["advice"].as_array().map(Vec::len),
        Some(2),
        "two profiles speak of it: {swappiness}"
    );
}

#[test]
fn wrong_profiles_are_refused_before_anything_is_changed() {
    let place = Place::new();
    let unknown = said(
        &place,
        &["host", "apply", "--profile", "enterprise-storag"],
        2,
    );
    assert!(
        unknown.contains("enterprise-storage, few-services, many-connections"),
        "{unknown}"
    );
    let text = "name = \"x\"\ntitle = \"X\"\n[[setting]]\nknob = \"swappiness\"\nvalue = \
                1000\nreason = \"r\"\nsource = \"s\"\n";
    let file = place.study("x.toml", text);
    let wrong = said(&place, &["host", "apply", "--profile", &file], 2);
    assert!(
        wrong.contains("x.toml:4:8") && wrong.contains("did you mean `vm.swappiness`?"),
        "{wrong}"
    );
}

/// The present value of every setting that Rookery knows.
fn audited(place: &Place) -> Vec<(String, String)> {
    let json: serde_json::Value =
        serde_json::from_str(&said(place, &["host", "audit", "--json"], 0)).expect("JSON");
    let rows = json["settings"].as_array().expect("settings").iter();
    rows.map(|row| {
        (
            format!("{} {}", row["path"], row["device"]),
            row["present"].to_string(),
        )
    })
    .collect()
}

/// A study of one guest under a key `settings`.
fn study_with_settings(place: &Place, settings: &str, steady: &str) -> String {
    let text = tiny_study("bare", "1", "")
        .replace("[host]", &format!("[host]\nsettings = {settings}"))
        .replace("guests = [1, 2]", "guests = 1")
        .replace("steady = \"1s\"", &format!("steady = \"{steady}\""));
    place.study("settings.toml", &text)
}

#[test]
fn a_study_holds_settings_in_the_trials_that_ask_for_them() {
    if !root_tests() {
        return;
    }
    let (place, machine) = (Place::new(), Machine::new());
    let before = audited(&place);
    let study = study_with_settings(&place, "[\"none\", \"throughput\"]", "1s");
    let output = place
        .rookery(&["run", &study, "-q"])
        .output()
        .expect("rookery starts");
    assert!(went_to_its_end(&output), "{}", text(&output.stderr));
    assert_eq!(audited(&place), before);
    machine.assert_as_before("after a run");
    let run = place.export();
    let rows = run["tunings"].as_array().expect("tunings").iter();
    // Guests have settings of their own, such as where their threads ran.
    let rows: Vec<&serde_json::Value> = rows.filter(|row| row["guest"] == "host").collect();
    let trials: std::collections::BTreeSet<String> =
        rows.iter().map(|row| row["trial"].to_string()).collect();
    assert_eq!(
        trials.len(),
        1,
        "one of two trials asks for settings: {rows:?}"
    );
    let row = rows
        .iter()
        .find(|row| row["name"] == "vm.dirty_ratio")
        .expect("a knob of every kernel");
    assert_eq!(
        (
            &row["guest"],
            &row["asked"],
            &row["effective"],
            &row["at_end"]
        ),
        (&"host".into(), &"40".into(), &"40".into(), &"40".into()),
        "held from the begin to the end"
    );

    let unknown = place.study(
        "unknown.toml",
        &tiny_study("bare", "1", "").replace("[host]", "[host]\nsettings = \"throughputt\""),
    );
    for command in ["check", "plan", "run"] {
        let told = said(&place, &[command, &unknown], 3);
        assert!(
            told.contains("enterprise-storage, few-services, many-connections"),
            "{command}: {told}"
        );
    }
}

/// Run the study, and send it a signal once a trial is under load that holds settings.
fn signalled_while_it_holds(place: &Place, name: &str) -> Child {
    let study = study_with_settings(place, "\"throughput\"", "20s");
    let mut child = place
        .rookery(&["run", &study, "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("rookery starts");
    let lines = BufReader::new(child.stdout.take().expect("piped"))
        .lines()
        .map_while(Result::ok);
    let mut signalled = false;
    for line in lines {
        if !signalled && line.contains("\"load\"") {
            let held = fs::read_to_string("/proc/sys/vm/dirty_ratio").expect("readable");
            assert_eq!(held.trim(), "40", "held under load");
            signal(&child, name);
            signalled = true;
        }
    }
    assert!(signalled, "it never came under load");
    child
}

#[test]
fn settings_of_a_run_go_with_it_however_it_ends() {
    if !root_tests() {
        return;
    }
    let (place, machine) = (Place::new(), Machine::new());
    let before = audited(&place);
    let mut child = signalled_while_it_holds(&place, "-INT");
    assert_eq!(child.wait().expect("ends").code(), Some(130));
    assert_eq!(audited(&place), before);
    machine.assert_as_before("after Ctrl-C in a run");

    let mut child = signalled_while_it_holds(&place, "-9");
    child.wait().expect("reaped");
    assert_ne!(audited(&place), before, "nobody has put them back yet");
    said(&place, &["clean"], 0);
    assert_eq!(audited(&place), before);
    machine.assert_as_before("after kill -9 of a run and clean");
}
