//! Storage from the command line: volumes of a study, what is read back of them, kill -9 in
//! between, measuring with fio.

use std::{
    fs,
    path::Path,
    process::Stdio,
    thread::sleep,
    time::{Duration, Instant},
};

use crate::common::{
    Place, code, measured, root_tests, settings_kept, text, tiny_study, went_to_its_end,
};

const VOLUMES: &str = r#"
[storage]
pool = "volume"
per = "host"
atime = "noatime"
barriers = ["on", "off"]
journal = "writeback"
write_iops = 400
"#;

/// What is left of the runs of a place: devices, mounts, control groups, namespaces. Other runs on
/// this host do not count.
pub(super) fn left(place: &Place) -> Vec<String> {
    let mut left = devices(place.dir.path());
    let directory = place.dir.path().canonicalize().expect("there");
    let mounts = fs::read_to_string("/proc/self/mountinfo").expect("mounts");
    left.extend(
        mounts
            .lines()
            .filter(|line| line.contains(directory.to_str().expect("utf-8")))
            .map(str::to_owned),
    );
    for run in fs::read_dir(place.runs()).into_iter().flatten().flatten() {
        let name = run.file_name().into_string().expect("utf-8");
        let id = name.rsplit('-').next().expect("an id");
        let netns = Path::new("/run/rookery/netns").join(format!("rookery-{id}"));
        let hierarchies = fs::read_dir("/sys/fs/cgroup").expect("cgroups").flatten();
        let groups = hierarchies.map(|hierarchy| hierarchy.path().join("rookery").join(id));
        left.extend(
            groups
                .chain([netns])
                .filter(|path| path.exists())
                .map(|path| path.display().to_string()),
        );
    }
    left
}

/// Loop devices that have a file below this directory.
fn devices(below: &Path) -> Vec<String> {
    let below = below.canonicalize().expect("there");
    let entries = fs::read_dir("/sys/block").expect("devices").flatten();
    let files =
        entries.filter_map(|entry| fs::read_to_string(entry.path().join("loop/backing_file")).ok());
    files
        .filter(|file| Path::new(file.trim_end()).starts_with(&below))
        .collect()
}

#[test]
fn a_study_on_volumes_runs_and_tells_what_was_in_force() {
    if !root_tests() {
        return;
    }
    let place = Place::among_others();
    let text_of_study =
        tiny_study("container", "0.25", "").replace("[host]", &format!("{VOLUMES}\n[host]"));
    let study = place.study(
        "volumes.toml",
        &text_of_study.replace("memory =", "pin = \"node\"\nmemory ="),
    );
    let done = place
        .rookery(&["run", &study, "-q"])
        .output()
        .expect("rookery starts");
    assert!(
        went_to_its_end(&done),
        "{}\n{}",
        text(&done.stdout),
        text(&done.stderr)
    );
    assert_eq!(left(&place), [""; 0]);
    let run = place.export();
    let trials = run["trials"].as_array().expect("trials");
    assert_eq!(trials.len(), 4);
    assert!(trials.iter().all(measured), "{trials:#?}");
    let rows = run["tunings"].as_array().expect("tunings");
    // Two trials of one guest and two of two: half of them with barriers.
    for (name, asked, count) in [
        ("storage.filesystem", "ext4", 6),
        ("storage.atime", "noatime", 6),
        ("storage.barriers", "on", 3),
        ("storage.barriers", "off", 3),
        ("storage.journal", "writeback", 6),
        ("storage.block_size", "4096", 6),
        ("storage.write_iops", "400", 6),
        ("placement.nodes", "0", 6),
        ("placement.memory", "0", 6),
    ] {
        let kept = settings_kept(&run, name, asked);
        assert_eq!(kept, count, "{name} = {asked}: {}", run["tunings"]);
    }
    let pinned: Vec<_> = rows
        .iter()
        .filter(|row| row["name"] == "placement.cpus")
        .collect();
    assert_eq!(pinned.len(), 6, "every guest was looked at");
    assert!(
        pinned
            .iter()
            .all(|row| row["asked"] == row["effective"] && row["asked"] == row["at_end"]),
        "{pinned:#?}"
    );
}

#[test]
fn a_controller_that_is_killed_over_its_volumes_leaves_nothing_after_clean() {
    if !root_tests() {
        return;
    }
    let place = Place::new();
    let text_of_study =
        tiny_study("container", "0.25", "").replace("[host]", &format!("{VOLUMES}\n[host]"));
    let study = place.study(
        "volumes.toml",
        &text_of_study.replace("steady = \"1s\"", "steady = \"30s\""),
    );
    let mut child = place
        .rookery(&["run", &study, "-q"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("rookery starts");
    let deadline = Instant::now() + Duration::from_secs(120);
    while devices(place.dir.path()).is_empty() {
        assert!(
            child.try_wait().expect("waits").is_none(),
            "it ended before it had a volume"
        );
        assert!(Instant::now() < deadline, "no volume appears");
        sleep(Duration::from_millis(5));
    }
    // In the middle of a trial, or of the making of its guests.
    sleep(Duration::from_millis(700));
    child.kill().expect("killed");
    child.wait().expect("reaped");
    assert_eq!(devices(place.dir.path()).len(), 1);
    let known = place.rookery(&["guests"]).output().expect("rookery starts");
    let known = text(&known.stdout);
    assert!(
        known.contains("dead   volume             /dev/loop") && known.contains("-shared.img"),
        "{known}"
    );
    let clean = place.rookery(&["clean"]).output().expect("rookery starts");
    assert_eq!(
        code(&clean),
        0,
        "{}\n{}",
        text(&clean.stdout),
        text(&clean.stderr)
    );
    assert!(
        text(&clean.stdout).contains("volume /dev/loop"),
        "{}",
        text(&clean.stdout)
    );
    assert_eq!(left(&place), [""; 0]);
}

#[test]
fn storage_is_measured_under_the_limits_of_the_study_and_kept_beside_the_run() {
    if !root_tests() {
        return;
    }
    let place = Place::among_others();
    let limited = VOLUMES
        .replace("[\"on\", \"off\"]", "\"off\"")
        .replace("400", "100");
    let text_of_study =
        tiny_study("container", "0.25", "").replace("[host]", &format!("{limited}\n[host]"));
    let study = place.study("limited.toml", &text_of_study.replace("[1, 2]", "1"));
    let done = place
        .rookery(&["run", &study, "-q"])
        .output()
        .expect("rookery starts");
    assert!(
        went_to_its_end(&done),
        "{}\n{}",
        text(&done.stdout),
        text(&done.stderr)
    );
    let args = [
        "host",
        "storage",
        "--run",
        "latest",
        "--depths",
        "1,16",
        "--seconds",
        "1",
        "--size",
        "8",
        "--json",
    ];
    let done = place.rookery(&args).output().expect("rookery starts");
    assert_eq!(code(&done), 0, "{}", text(&done.stderr));
    let ceilings: serde_json::Value = serde_json::from_slice(&done.stdout).expect("JSON");
    assert_eq!(
        ceilings[0]["pool"],
        "a volume with ext4, noatime, no barriers, data=writeback; at most 100 writes/s"
    );
    let points = ceilings[0]["points"].as_array().expect("points");
    assert_eq!(points.len(), 8);
    for point in points.iter().filter(|point| point["pattern"] == "write") {
        // A limit cannot be exceeded but for what the kernel lets through at first.
        assert!(
            point["iops"].as_f64().is_some_and(|iops| iops < 200.0),
            "{point}"
        );
    }
    let kept = fs::read_dir(place.runs())
        .expect("runs")
        .flatten()
        .map(|run| run.path().join("storage.json"));
    let kept: Vec<_> = kept.filter(|path| path.is_file()).collect();
    assert_eq!(
        kept.len(),
        1,
        "beside the one run, and nothing else is left"
    );
    let read: serde_json::Value =
        serde_json::from_slice(&fs::read(&kept[0]).expect("read")).expect("JSON");
    assert_eq!(read, ceilings);
    assert_eq!(fs::read_dir(place.runs()).expect("runs").count(), 1);
    assert_eq!(left(&place), [""; 0]);
}

#[test]
fn without_fio_the_package_is_named() {
    let place = Place::among_others();
    let done = place
        .rookery(&["host", "storage", "."])
        .env("PATH", place.dir.path())
        .output()
        .expect("rookery starts");
    assert_eq!(code(&done), 4, "{}", text(&done.stderr));
    assert!(
        text(&done.stderr).contains("help: apt install fio"),
        "{}",
        text(&done.stderr)
    );
    assert_eq!(fs::read_dir(place.dir.path()).expect("there").count(), 0);
}

#[test]
fn a_file_system_whose_maker_is_missing_is_told_before_anything_is_made() {
    if !root_tests() {
        return;
    }
    let place = Place::among_others();
    let xfs = "[storage]\npool = \"volume\"\nfilesystem = \"xfs\"\n\n[host]";
    let study = place.study(
        "xfs.toml",
        &tiny_study("bare", "1", "").replace("[host]", xfs),
    );
    let done = place
        .rookery(&["run", &study, "-q"])
        .env("PATH", place.dir.path())
        .output()
        .expect("rookery starts");
    let said = text(&done.stderr);
    assert_eq!(code(&done), 4, "{said}");
    assert!(
        said.contains("there is no `mkfs.xfs`") && said.contains("apt install xfsprogs"),
        "{said}"
    );
    assert!(!place.runs().exists(), "no run was begun");
}

#[test]
fn the_plan_shows_storage_and_refuses_what_cannot_be() {
    let place = Place::among_others();
    let wanted = VOLUMES.replace("[\"on\", \"off\"]", "\"off\"");
    let study = place.study(
        "plan.toml",
        &tiny_study("container", "0.25", "").replace("[host]", &format!("{wanted}\n[host]")),
    );
    let plan = place
        .rookery(&["plan", &study, "--anyway"])
        .output()
        .expect("rookery starts");
    let said = text(&plan.stdout);
    assert!(
        said.contains(
            "storage: one volume for all guests, 259 MiB each, ext4, noatime, barriers \
                       off, journal writeback, host cache off, at most 400 writes/s each"
        ),
        "{said}"
    );
    let bare = place.study(
        "bare.toml",
        &tiny_study("bare", "1", "").replace("[host]", &format!("{wanted}\n[host]")),
    );
    let refused = place
        .rookery(&["check", "--file-only", &bare])
        .output()
        .expect("rookery starts");
    assert_eq!(code(&refused), 3);
    assert!(
        text(&refused.stderr).contains("only containers and machines can be held to that"),
        "{}",
        text(&refused.stderr)
    );
}
