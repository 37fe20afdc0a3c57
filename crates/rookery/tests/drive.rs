//! `rookery app` and `rookery drive`, one against the other.

mod common;

use std::{
    io::{BufRead, BufReader},
    net::TcpListener,
    process::{Child, Command, Stdio},
};

use common::{Place, code, text, went_to_its_end};

struct App(Child);

impl Drop for App {
    fn drop(&mut self) {
        // Nothing is left to do when it is gone already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Start the application on a free port and wait until it says that it serves.
fn app(place: &Place, pages: &str) -> (App, u16) {
    let port = TcpListener::bind("127.0.0.1:0")
        .and_then(|listener| listener.local_addr())
        .expect("a free port")
        .port();
    let database = place.dir.path().join("shop.sqlite").display().to_string();
    let listen = format!("127.0.0.1:{port}");
    let mut child = place
        .rookery(&[
            "app",
            "dvdstore",
            "--database",
            &database,
            "--size",
            "1MB",
            "--listen",
            &listen,
            "--pages",
            pages,
        ])
        .stderr(Stdio::piped())
        .spawn()
        .expect("rookery starts");
    let stderr = child.stderr.take().expect("piped");
    let mut lines = BufReader::new(stderr).lines();
    assert!(
        lines.any(|line| line.is_ok_and(|line| line.starts_with("serving"))),
        "the application says that it serves"
    );
    (App(child), port)
}

fn drive(place: &Place, port: u16, extra: &[&str]) -> serde_json::Value {
    let target = format!("http://127.0.0.1:{port}/ds2");
    let mut args = vec!["drive", "dvdstore", "--target", &target, "--size", "1MB", "--users", "4", "--json"];
    args.extend(["--think-time", "5ms", "--ramp-up", "100ms", "--settle", "200ms", "--steady", "1s"]);
    args.extend(extra);
    let output = place.rookery(&args).output().expect("rookery starts");
    assert!(went_to_its_end(&output), "{}\n{}", text(&output.stdout), text(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("the measurement is JSON")
}

#[test]
fn our_users_drive_our_pages_both_ways() {
    for pages in ["corrected", "faithful"] {
        let place = Place::new();
        let (_app, port) = app(&place, pages);
        let measurement = drive(&place, port, &[]);
        let shop = &measurement["guests"][0]["shop"];
        assert!(shop["n_overall"].as_u64().is_some_and(|orders| orders > 10), "{shop}");
        assert_eq!(
            measurement["guests"][0]["errors"].as_array().map(Vec::len),
            Some(0),
            "{measurement}"
        );
        for operation in measurement["guests"][0]["operations"].as_array().expect("operations") {
            let of = |name: &str| operation["service_us"][name].as_f64();
            // A mean lies above the fastest hundredth of its values, and no percentile above the largest.
            assert!(
                of("p50") <= of("p95") && of("p95") <= of("p99") && of("p99") <= of("max"),
                "{operation}"
            );
            assert!(of("count") < Some(10.0) || of("p99") >= of("mean"), "{operation}");
        }
    }
}

#[test]
fn the_application_ends_gracefully() {
    let place = Place::new();
    let (mut app, _port) = app(&place, "corrected");
    assert!(
        Command::new("kill")
            .args(["-TERM", &app.0.id().to_string()])
            .status()
            .expect("kill")
            .success()
    );
    assert_eq!(app.0.wait().expect("ends").code(), Some(0));
}

#[test]
fn a_target_that_never_answers_is_no_success() {
    let place = Place::new();
    // A listener that accepts and says nothing sensible.
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("an address").port();
    std::thread::spawn(move || {
        for stream in listener.incoming().take(1000) {
            // The client may be gone already.
            let _ = stream.and_then(|mut stream| std::io::Write::write_all(&mut stream, b"\x1b[31m garbage\r\n\r\n"));
        }
    });
    let target = format!("http://127.0.0.1:{port}/ds2");
    let args = [
        "drive",
        "dvdstore",
        "--target",
        &target,
        "--steady",
        "1s",
        "--settle",
        "0s",
        "--think-time",
        "300ms",
        "--ramp-up",
        "0s",
    ];
    let output = place.rookery(&args).output().expect("rookery starts");
    assert_eq!(code(&output), 5, "{}", text(&output.stderr));
    let said = text(&output.stdout) + &text(&output.stderr);
    assert!(said.contains("answered nothing") && said.contains("mend"), "{said}");
    assert!(!said.contains('\u{1b}'), "{said:?}");
}
