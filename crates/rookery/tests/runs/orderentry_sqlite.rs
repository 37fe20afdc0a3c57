//! The whole road of order entry on the command line, on SQLite behind `rookery app orderentry`:
//! serve, load, drive, verify; and a server that is killed under its terminals.

use std::{
    io::{BufRead as _, BufReader, Read as _},
    process::{Child, Stdio},
    thread,
    time::Duration,
};

use crate::common::{Place, code, text};

/// A server that ends with its owner.
struct Served {
    process: Child,
    url: String,
}

impl Drop for Served {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Starts a server in the place and waits until it says where it listens.
fn serve(place: &Place, listen: &str) -> Served {
    let data = place.dir.path().display().to_string();
    let mut process = place
        .rookery(&["app", "orderentry", "--data", &data, "--listen", listen])
        .stderr(Stdio::piped())
        .spawn()
        .expect("rookery starts");
    let mut errors = BufReader::new(process.stderr.take().expect("piped"));
    let mut line = String::new();
    errors.read_line(&mut line).expect("readable");
    // What it says later must find a reader.
    thread::spawn(move || errors.read_to_end(&mut Vec::new()));
    let url = line
        .split_whitespace()
        .find(|word| word.starts_with("sqlite+oe://"));
    Served {
        url: url.unwrap_or_else(|| panic!("{line}")).to_owned(),
        process,
    }
}

/// What a command prints that ends well.
fn done(place: &Place, args: &[&str]) -> serde_json::Value {
    let output = place.rookery(args).output().expect("rookery starts");
    assert_eq!(code(&output), 0, "{args:?}: {}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{args:?}: {error}"))
}

#[test]
fn a_killed_server_loses_nothing_that_was_told() {
    let place = Place::among_others();
    let server = serve(&place, "127.0.0.1:0");
    let url = server.url.clone();
    let loaded = done(
        &place,
        &[
            "load",
            "orderentry",
            "--target",
            &url,
            "--divisor",
            "100",
            "--json",
        ],
    );
    assert!(
        loaded["server"]
            .as_str()
            .is_some_and(|server| server.starts_with("SQLite")),
        "{loaded}"
    );
    let drive = [
        "drive",
        "orderentry",
        "--target",
        &url,
        "--profile",
        "mini",
        "--terminals",
        "4",
    ];
    let times = ["--ramp-up", "0s", "--steady", "5s", "--verify", "--json"];
    let report = thread::scope(|scope| {
        let driving = scope.spawn(|| done(&place, &[&drive[..], &times].concat()));
        thread::sleep(Duration::from_secs(2));
        drop(server);
        let address = url
            .trim_start_matches("sqlite+oe://")
            .trim_end_matches('/')
            .to_owned();
        let again = serve(&place, &address);
        let report = driving.join().expect("no panic");
        drop(again);
        report
    });
    assert!(
        report["reconnections"]
            .as_u64()
            .is_some_and(|count| count > 0),
        "{report}"
    );
    assert_eq!(report["ledger_holds"], true, "{report}");
    assert!(
        report["told"][0].as_i64().is_some_and(|count| count > 0),
        "{report}"
    );
}

#[test]
fn a_directory_that_is_not_there_is_named() {
    let place = Place::among_others();
    let output = place
        .rookery(&[
            "app",
            "orderentry",
            "--data",
            "/nowhere",
            "--listen",
            "127.0.0.1:0",
        ])
        .output()
        .expect("rookery starts");
    let said = text(&output.stderr);
    assert_eq!(code(&output), 5, "{said}");
    assert!(
        said.contains("/nowhere") && said.contains("help:"),
        "{said}"
    );
}
