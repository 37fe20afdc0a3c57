//! What clippy does with a pure crate's `clippy.toml`: it refuses every effect, however it is
//! imported, and nothing else.

use std::{fs, process::Command};

use super::PURE_RULES;

/// A crate in which each function breaks the rules once, but for the last.
const VIOLATIONS: &str = r#"//! Effects, imported as the house does it.
use std::{env, fs, io, net, path::Path, process, thread, time};

pub fn file() -> Vec<u8> {
    fs::read("x").unwrap_or_default()
}

pub fn open_file() -> bool {
    fs::File::open("x").is_ok()
}

pub fn look() -> bool {
    Path::new("x").exists()
}

pub fn network() -> bool {
    net::TcpStream::connect("127.0.0.1:1").is_ok()
}

pub fn command() -> bool {
    process::Command::new("true").status().is_ok()
}

pub fn task() {
    thread::spawn(|| {});
}

pub fn variable() -> bool {
    env::var("HOME").is_ok()
}

pub fn clock() -> time::Instant {
    time::Instant::now()
}

pub fn calendar() -> time::SystemTime {
    time::SystemTime::now()
}

pub fn words() {
    println!("words");
}

pub fn handle() -> io::Stdout {
    io::stdout()
}

pub fn harmless(since: time::Instant, now: time::Instant) -> time::Duration {
    now.duration_since(since)
}
"#;

/// What clippy must name: one for each function but the last.
const REFUSED: [&str; 11] = [
    "method `std::fs::read`",
    "type `std::fs::File`",
    "method `std::path::Path::exists`",
    "type `std::net::TcpStream`",
    "type `std::process::Command`",
    "method `std::thread::spawn`",
    "method `std::env::var`",
    "method `std::time::Instant::now`",
    "method `std::time::SystemTime::now`",
    "macro `std::println`",
    "method `std::io::stdout`",
];

#[test]
fn clippy_refuses_every_effect_in_a_pure_crate() {
    let dir = tempfile::tempdir().expect("a directory");
    let manifest = "[package]\nname = \"impure\"\nedition = \"2024\"\n[workspace]\n";
    fs::create_dir(dir.path().join("src")).expect("a folder");
    for (name, text) in [
        ("Cargo.toml", manifest),
        ("clippy.toml", PURE_RULES),
        ("src/lib.rs", VIOLATIONS),
    ] {
        fs::write(dir.path().join(name), text).expect("written");
    }
    let output = Command::new(env!("CARGO"))
        .args(["clippy", "--offline", "--quiet", "--", "-D", "warnings"])
        .current_dir(dir.path())
        .env("CARGO_TARGET_DIR", dir.path().join("target"))
        .env_remove("CLIPPY_CONF_DIR")
        .env_remove("RUSTFLAGS")
        .output()
        .expect("cargo starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "clippy took it:\n{said}");
    for refused in REFUSED {
        assert!(
            said.contains(&format!("use of a disallowed {refused}")),
            "not refused: {refused}\n{said}"
        );
    }
    assert!(!said.contains("harmless"), "{said}");
    assert!(
        !said.contains("does not refer to"),
        "a rule names nothing:\n{said}"
    );
}
