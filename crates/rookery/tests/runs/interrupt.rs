//! Ctrl-C: load stops within seconds, guests go, nothing finished is lost, the run can be resumed.

use std::{
    fs::{self, Permissions},
    io::{BufRead, BufReader},
    os::unix::fs::PermissionsExt,
    path::PathBuf,
    process::{Command, Stdio},
};

use crate::common::{
    Place, assert_host_as, host_state, measured, text, tiny_study, went_to_its_end,
};

#[test]
fn an_interrupted_run_cleans_up_and_goes_on() {
    let place = Place::among_others();
    let before = host_state();
    let study = place.study("tiny.toml", &tiny_study("bare", "1", ""));
    let mut child = place
        .rookery(&["run", &study, "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("rookery starts");
    let mut lines = BufReader::new(child.stdout.take().expect("piped"))
        .lines()
        .map_while(Result::ok);
    assert!(
        lines.by_ref().any(|line| line.contains("\"trial-ended\"")),
        "the first trial ends"
    );
    assert!(
        lines.by_ref().any(|line| line.contains("\"load\"")),
        "the second trial is under load"
    );
    assert!(
        Command::new("kill")
            .args(["-INT", &child.id().to_string()])
            .status()
            .expect("kill")
            .success()
    );
    lines.for_each(drop);
    let output = child.wait_with_output().expect("rookery ends");
    let err = text(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{err}");
    assert!(err.contains("--resume"), "{err}");
    assert_host_as(&before);

    place.study(
        "tiny.toml",
        &tiny_study("bare", "1", "").replace("seed = 7", "seed = 8"),
    );
    let other = other_build(&place);
    let resumed = place
        .rookery_at(&other, &["run", "--resume", "tiny.toml", "-q"])
        .output()
        .expect("rookery starts");
    assert!(went_to_its_end(&resumed), "{}", text(&resumed.stderr));
    let run = place.export();
    let notes = run["notes"].to_string();
    assert!(
        notes.contains("the study file has changed since the run began"),
        "{notes}"
    );
    assert!(
        notes.contains("resumed on a changed host: rookery build was "),
        "{notes}"
    );
    let trials = run["trials"].as_array().expect("trials");
    assert!(
        trials.len() == 2 && trials.iter().all(measured),
        "{trials:?}"
    );
    let attempts = run["attempts"].as_array().expect("attempts");
    assert_eq!(
        attempts.len(),
        3,
        "the first trial once, the interrupted one twice: {attempts:?}"
    );
}

/// A program that does the same, and is another file: what follows an executable's last section is
/// not loaded.
fn other_build(place: &Place) -> PathBuf {
    let mut program = fs::read(env!("CARGO_BIN_EXE_rookery")).expect("the program");
    program.push(b'\n');
    let other = place.dir.path().join("rookery-other");
    fs::write(&other, program).expect("the other program");
    fs::set_permissions(&other, Permissions::from_mode(0o755)).expect("made executable");
    other
}
