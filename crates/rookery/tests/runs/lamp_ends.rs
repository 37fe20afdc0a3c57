//! LAMP runs that do not go their way: killed or interrupted in every phase, with another run at
//! the same work, with too little memory, on a host that lacks something.

use std::{
    fs::{self, File},
    io::{BufRead, BufReader},
    path::PathBuf,
    process::{Child, Command, ExitStatus, Stdio},
};

use crate::common::{
    Place, code, host_state, lamp_tests, measured, root_tests, text, tiny_study, went_to_its_end,
};

/// One LAMP guest of `kind` for a few seconds, with a database of a size that no other test uses.
fn study(place: &Place, kind: &str, memory: &str) -> String {
    let text = tiny_study(kind, if kind == "bare" { "1" } else { "0.5" }, "")
        .replace("kind = \"embedded\"", "kind = \"lamp\"")
        .replace("1MB per guest", "2MB per guest")
        .replace("guests = [1, 2]", "guests = 1")
        .replace("\"128MiB per guest\"", memory)
        .replace("drain = \"2s\"", "drain = \"5s\"\ntimeout = \"20s\"");
    place.study("lamp.toml", &text)
}

/// Templates of this place alone.
fn own_templates(place: &Place) -> PathBuf {
    place.dir.path().join("templates")
}

fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill")
        .args([name, &child.id().to_string()])
        .status()
        .expect("kill");
    assert!(sent.success());
}

/// Start the command, send it the signal at the first event with `moment` in it, and await its end.
fn signalled_at(command: &mut Command, moment: &str, name: &str) -> ExitStatus {
    let mut child = command
        .arg("--json")
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("rookery starts");
    let mut events = BufReader::new(child.stdout.take().expect("piped"))
        .lines()
        .map_while(Result::ok);
    assert!(
        events.any(|event| event.contains(moment)),
        "`{moment}` never came"
    );
    signal(&child, name);
    events.for_each(drop);
    child.wait().expect("reaped")
}

/// What the runs of this place, and no others, have on this host.
fn traces(place: &Place) -> Vec<String> {
    let runs = names(&place.runs());
    let ids: Vec<&str> = runs
        .iter()
        .filter_map(|run| run.rsplit('-').next())
        .collect();
    let directory = place.dir.path().display().to_string();
    let ours = |line: &String| line.contains(&directory) || ids.iter().any(|id| line.contains(id));
    let labelled = |process: &fs::DirEntry| {
        let environ = fs::read(process.path().join("environ")).unwrap_or_default();
        let mut variables = environ.split(|byte| *byte == 0).map(text);
        let run =
            variables.find_map(|variable| variable.strip_prefix("ROOKERY_RUN=").map(str::to_owned));
        run.is_some_and(|run| ids.contains(&run.as_str()))
    };
    let processes = fs::read_dir("/proc")
        .expect("proc")
        .flatten()
        .filter(labelled);
    let processes = processes.map(|process| format!("process {}", process.file_name().display()));
    host_state()
        .into_iter()
        .filter(ours)
        .chain(processes)
        .collect()
}

/// Nothing of the runs of this place is on the host; after a kill `clean` has to see to that.
fn assert_nothing_left(place: &Place, clean: bool, when: &str) {
    if clean {
        let cleaned = place.rookery(&["clean"]).output().expect("rookery starts");
        assert_eq!(
            code(&cleaned),
            0,
            "{when}: {}{}",
            text(&cleaned.stdout),
            text(&cleaned.stderr)
        );
    }
    let left = traces(place);
    assert!(left.is_empty(), "{when}: {left:#?}");
}

/// Names in a directory of templates.
fn names(templates: &std::path::Path) -> Vec<String> {
    let entries = fs::read_dir(templates).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect()
}

#[test]
fn a_root_that_is_being_built_leaves_nothing() {
    if !root_tests() {
        return;
    }
    let place = Place::new();
    let templates = own_templates(&place);
    let study = study(&place, "container", "\"512MiB per guest\"");
    let run = || {
        let mut command = place.rookery(&["run", &study]);
        command.env("ROOKERY_TEMPLATES", &templates);
        command
    };
    for moment in ["fetching packages", "unpacking"] {
        signalled_at(&mut run(), moment, "-9");
        // The kernel ends what mmdebstrap has started: `clean` has nothing to do with it.
        let builders = || host_processes_with(&templates.display().to_string());
        let mut looks = 0;
        while !builders().is_empty() {
            looks += 1;
            assert!(
                looks < 1000,
                "after kill -9 while {moment}: {:?}",
                builders()
            );
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        assert_nothing_left(&place, true, &format!("kill -9 while {moment}"));
    }
    assert!(
        names(&templates).iter().any(|name| name.ends_with(".part")),
        "the dead leave a half"
    );
    let ended = signalled_at(&mut run(), "unpacking", "-INT");
    assert_eq!(ended.code(), Some(130));
    assert_eq!(
        names(&templates),
        [""; 0],
        "the next builder has taken it, and left nothing of its own"
    );
    assert_nothing_left(&place, false, "Ctrl-C while unpacking");
}

/// Command lines that have `word` in them.
fn host_processes_with(word: &str) -> Vec<String> {
    let processes = fs::read_dir("/proc").expect("proc").flatten();
    processes
        .filter_map(|process| fs::read(process.path().join("cmdline")).ok())
        .map(|command| text(&command).replace('\0', " "))
        .filter(|command| command.contains(word))
        .collect()
}

/// Remove the loaded database, so that the next run loads it.
fn forget_the_database(place: &Place) {
    let listed = place
        .rookery(&["template", "list", "--json"])
        .output()
        .expect("rookery starts");
    let listed: serde_json::Value = serde_json::from_slice(&listed.stdout).expect("JSON");
    for template in listed["templates"].as_array().expect("templates") {
        if template["description"]
            .as_str()
            .is_some_and(|what| what.contains("lamp dvdstore 2MB"))
        {
            let digest = template["digest"].as_str().expect("text");
            let removed = place
                .rookery(&["template", "remove", digest])
                .output()
                .expect("rookery starts");
            assert_eq!(code(&removed), 0, "{}", text(&removed.stderr));
        }
    }
}

#[test]
fn a_run_survives_the_end_of_its_controller_in_every_phase() {
    if !root_tests() {
        return;
    }
    let place = Place::new();
    let study = study(&place, "container", "\"512MiB per guest\"");
    forget_the_database(&place);
    let phases = [
        ("starting MariaDB", "-9"),
        ("\"detail\":\"rows", "-INT"),
        ("\"detail\":\"rows", "-9"),
        ("stopping MariaDB", "-INT"),
        ("trial-started", "-9"),
        ("\"load\"", "-INT"),
        ("\"load\"", "-9"),
    ];
    for (number, (moment, name)) in phases.into_iter().enumerate() {
        let mut command = match number {
            0 => place.rookery(&["run", &study]),
            _ => place.rookery(&["run", "--resume", "latest"]),
        };
        let ended = signalled_at(&mut command, moment, name);
        let killed = name == "-9";
        assert_eq!(ended.code(), (!killed).then_some(130), "{name} at {moment}");
        assert_nothing_left(&place, killed, &format!("{name} at {moment}"));
    }
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
    let run = place.export();
    let trials = run["trials"].as_array().expect("trials");
    assert!(
        trials.len() == 1 && trials.iter().all(measured),
        "{trials:?}"
    );
    assert_eq!(run["audits"][0]["consistent"], true, "{}", run["audits"]);
    assert_nothing_left(&place, false, "in the end");
}

#[test]
fn two_runs_share_the_work_of_one_database() {
    if !lamp_tests() {
        return;
    }
    let place = Place::among_others();
    let study = study(&place, "bare", "\"512MiB per guest\"");
    let templates = own_templates(&place);
    let start = |_| {
        let mut command = place.rookery(&["run", &study, "--json"]);
        command
            .env("ROOKERY_TEMPLATES", &templates)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command.spawn().expect("rookery starts")
    };
    let runs: Vec<Child> = (0..2).map(start).collect();
    let outputs = runs
        .into_iter()
        .map(|run| run.wait_with_output().expect("ends"));
    let told: Vec<String> = outputs
        .map(|output| {
            assert!(
                went_to_its_end(&output),
                "{}\n{}",
                text(&output.stdout),
                text(&output.stderr)
            );
            text(&output.stdout)
        })
        .collect();
    let of = |words: &str| told.iter().filter(|told| told.contains(words)).count();
    assert_eq!(of("starting MariaDB"), 1, "one of them loads: {told:?}");
    assert!(
        of("waiting for another run") >= 1,
        "the other waits, and says so: {told:?}"
    );
    assert_nothing_left(&place, false, "after two runs");
}

#[test]
fn waiting_for_another_builder_ends_with_ctrl_c() {
    let place = Place::among_others();
    let templates = own_templates(&place);
    fs::create_dir(&templates).expect("made");
    let other = File::open(&templates).expect("there");
    other.lock().expect("locked as a builder does");
    let study = place.study("tiny.toml", &tiny_study("bare", "1", ""));
    let mut command = place.rookery(&["run", &study]);
    let ended = signalled_at(
        command.env("ROOKERY_TEMPLATES", &templates),
        "waiting for another run",
        "-INT",
    );
    assert_eq!(ended.code(), Some(130));
    assert_nothing_left(&place, false, "Ctrl-C while it waits");
}

#[test]
fn a_guest_without_enough_memory_says_so_and_the_run_goes_on() {
    if !root_tests() {
        return;
    }
    let place = Place::among_others();
    let study = study(
        &place,
        "container",
        "[\"48MiB per guest\", \"512MiB per guest\"]",
    );
    let output = place
        .rookery(&["run", &study, "--json"])
        .output()
        .expect("rookery starts");
    assert!(
        [0, 5, 6].contains(&code(&output)),
        "{}",
        text(&output.stderr)
    );
    let told = text(&output.stdout);
    let ended: Vec<&str> = told
        .lines()
        .filter(|line| line.contains("\"trial-ended\""))
        .collect();
    let lacks = |line: &&&str| {
        line.contains("out of memory: its limit is 48 MiB") && line.contains("help: raise `memory`")
    };
    assert_eq!(
        (ended.len(), ended.iter().filter(lacks).count()),
        (2, 1),
        "{ended:?}"
    );
    let run = place.export();
    assert_eq!(
        run["trials"]
            .as_array()
            .expect("trials")
            .iter()
            .filter(|trial| measured(trial))
            .count(),
        1
    );
    assert_nothing_left(&place, false, "after the run");
}

#[test]
fn a_host_without_mmdebstrap_is_told_so_before_anything_is_made() {
    if !root_tests() {
        return;
    }
    let place = Place::among_others();
    let study = study(&place, "container", "\"512MiB per guest\"");
    let bin = place.dir.path().join("bin");
    fs::create_dir(&bin).expect("made");
    for program in ["runc", "ip"] {
        let path = std::env::var_os("PATH").expect("a path");
        let found = std::env::split_paths(&path)
            .map(|directory| directory.join(program))
            .find(|file| file.is_file());
        std::os::unix::fs::symlink(found.expect("containers need it"), bin.join(program))
            .expect("linked");
    }
    for command in ["check", "run"] {
        let mut command = place.rookery(&[command, &study]);
        let output = command
            .env("PATH", &bin)
            .env("ROOKERY_TEMPLATES", own_templates(&place))
            .output()
            .expect("rookery starts");
        let told = text(&output.stderr);
        assert_eq!(code(&output), 4, "{told}");
        assert!(
            told.contains("mmdebstrap") && told.contains("apt-get install mmdebstrap"),
            "{told}"
        );
    }
    assert!(!place.runs().exists(), "no run was begun");
}
