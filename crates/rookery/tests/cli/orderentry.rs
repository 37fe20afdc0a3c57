//! `rookery load|verify|drive orderentry`: what is refused before any database is touched, in clear
//! words and without passwords.

use crate::common::{Place, code, text};

fn refused(args: &[&str], exit: i32, words: &[&str]) {
    let place = Place::new();
    let output = place.rookery(args).output().expect("rookery starts");
    let said = text(&output.stderr);
    assert_eq!(code(&output), exit, "{args:?}: {said}");
    for word in words {
        assert!(said.contains(word), "{args:?}: {said}");
    }
    assert!(!said.contains("secret"), "the password stays out: {said}");
}

#[test]
fn targets_that_say_no_database_are_refused() {
    refused(&["verify", "orderentry"], 2, &["--target"]);
    refused(
        &[
            "verify",
            "orderentry",
            "--target",
            "oracle://u:secret@127.0.0.1/d",
        ],
        2,
        &["oracle", "help:"],
    );
    refused(
        &[
            "load",
            "orderentry",
            "--target",
            "mysql://u:secret@127.0.0.1",
        ],
        2,
        &["no database"],
    );
}

#[test]
fn foreign_targets_need_a_word() {
    for command in ["verify", "load", "drive"] {
        let target = "postgresql://u:secret@192.0.2.1/d";
        refused(
            &[command, "orderentry", "--target", target],
            2,
            &["not this machine", "--confirm-target 192.0.2.1"],
        );
    }
}

#[test]
fn a_server_that_is_not_there_is_named() {
    for target in [
        "mysql://u:secret@127.0.0.1:1/d",
        "postgresql://u:secret@127.0.0.1:1/d",
        "mysql://u:secret@/d?socket=/nowhere/my.sock",
        "postgresql://u:secret@/d?host=/nowhere",
    ] {
        let answer = ["no database server answers", "help:"];
        refused(&["verify", "orderentry", "--target", target], 5, &answer);
        // Nor does the password stand in the most talkative log.
        refused(
            &["-vvv", "verify", "orderentry", "--target", target],
            5,
            &answer,
        );
    }
}

#[test]
fn settings_that_make_no_sense_are_refused() {
    let target = ["--target", "postgresql://u@127.0.0.1:1/d"];
    let with = |more: &[&'static str]| [&["drive", "orderentry"][..], &target, more].concat();
    refused(&with(&["--pacing", "fast"]), 2, &["none, spec, scaled"]);
    refused(&with(&["--pacing", "rate=0"]), 2, &["rate = 0"]);
    refused(&with(&["--statements", "odd"]), 2, &["plain, batched"]);
    refused(&with(&["--terminals", "0"]), 2, &["terminals"]);
    refused(
        &[
            "load",
            "orderentry",
            "--target",
            target[1],
            "--divisor",
            "3",
        ],
        2,
        &["divisor 3"],
    );
}
