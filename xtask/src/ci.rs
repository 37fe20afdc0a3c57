//! Everything that must hold before a change lands, cheapest check first.

use std::{
    process::{Child, Command, ExitStatus},
    thread,
    time::{Duration, Instant},
};

use crate::left::{self, Before};

/// Longest time of one check, far above what it takes: what hangs must be told from what is slow,
/// with its name.
const LIMIT: Duration = Duration::from_secs(30 * 60);
/// How long before the limit it is written down what runs.
const TELL: Duration = Duration::from_secs(5);

/// Run every check; the first failure ends it. What the checks leave on the host is a failure as
/// well.
pub(crate) fn run() -> Result<(), String> {
    let before = Before::look();
    let checked = checks();
    println!("== what is left");
    let clean = before.compare();
    if let (Err(_), Err(left)) = (&checked, &clean) {
        println!("{left}");
    }
    checked.and(clean)
}

fn checks() -> Result<(), String> {
    step("format", "cargo", &["fmt", "--all", "--check"], &[])?;
    println!("== tidy");
    crate::tidy::run(false)?;
    println!("== deny");
    crate::deny::run(&crate::root::directory())?;
    cargo_deny()?;
    step(
        "lints",
        "cargo",
        &[
            "clippy",
            "--workspace",
            "--all-targets",
            "--locked",
            "--",
            "-D",
            "warnings",
        ],
        &[],
    )?;
    step(
        "docs",
        "cargo",
        &["doc", "--workspace", "--no-deps", "--locked", "--quiet"],
        &[("RUSTDOCFLAGS", "-D warnings")],
    )?;
    // All of them, that one run shows all that fails.
    step(
        "tests",
        "cargo",
        &["test", "--workspace", "--locked", "--no-fail-fast"],
        &machines(),
    )?;
    println!("== fuzz");
    crate::fuzz::run(&[])?;
    println!("== chaos");
    crate::chaos::run(&CHAOS)?;
    odbc()
}

/// 40 interruptions, on the templates that the tests have built. Of the building of templates and of
/// machines, which take minutes, the tests interrupt one each; `cargo xtask chaos` does all.
const CHAOS: [&str; 4] = [
    "--kinds",
    "containers,volumes,database,settings,lamp",
    "--templates",
    "target/tmp/templates",
];

/// How many tests boot machines: a few, unless the caller says otherwise.
fn machines() -> Vec<(&'static str, &'static str)> {
    match std::env::var_os("ROOKERY_VM_TESTS") {
        Some(_) => Vec::new(),
        None => vec![("ROOKERY_VM_TESTS", "few")],
    }
}

/// The same rules by cargo-deny, only where it is installed.
fn cargo_deny() -> Result<(), String> {
    let found = Command::new("cargo").args(["deny", "--version"]).output();
    if !found.is_ok_and(|output| output.status.success()) {
        println!("== cargo-deny: SKIPPED, it is not installed; the rules were checked above");
        return Ok(());
    }
    step(
        "cargo-deny",
        "cargo",
        &["deny", "--offline", "check", "licenses", "bans", "sources"],
        &[],
    )
}

/// What links the ODBC manager: only where it is.
fn odbc() -> Result<(), String> {
    let found = Command::new("odbcinst").arg("--version").output();
    if !found.is_ok_and(|output| output.status.success()) {
        println!(
            "== odbc: SKIPPED, there is no odbcinst here; install unixodbc-dev, odbcinst, \
             odbc-mariadb, odbc-postgresql and libsqliteodbc"
        );
        return Ok(());
    }
    step(
        "odbc lints",
        "cargo",
        &[
            "clippy",
            "-p",
            "rookery-oltp",
            "--features",
            "odbc",
            "--all-targets",
            "--locked",
            "--",
            "-D",
            "warnings",
        ],
        &[],
    )?;
    step(
        "odbc tests",
        "cargo",
        &[
            "test",
            "-p",
            "rookery-oltp",
            "--features",
            "odbc",
            "--test",
            "it",
            "--locked",
            "odbc::",
        ],
        &[],
    )
}

fn step(name: &str, program: &str, args: &[&str], env: &[(&str, &str)]) -> Result<(), String> {
    println!("== {name}: {program} {}", args.join(" "));
    let started = Instant::now();
    // `timeout` ends the whole group, so that no test outlives its check.
    let mut child = Command::new("timeout")
        .args(["--kill-after=60", &LIMIT.as_secs().to_string(), program])
        .args(args)
        .envs(env.iter().copied())
        .envs([left::mark()])
        .spawn()
        .map_err(|error| format!("cannot start {program}: {error}"))?;
    let status =
        wait(&mut child, started).map_err(|error| format!("cannot wait for {program}: {error}"))?;
    if status.code() == Some(124) {
        return Err(format!(
            "{name} did not end within {} minutes; what ran at last is listed above",
            LIMIT.as_secs() / 60
        ));
    }
    if !status.success() {
        return Err(format!(
            "{name} failed ({status}); repeat it with: {program} {}",
            args.join(" ")
        ));
    }
    println!(
        "== {name}: done in {:.0} s",
        started.elapsed().as_secs_f64()
    );
    Ok(())
}

/// Wait for the end of a check; shortly before it would be ended, list what runs.
fn wait(child: &mut Child, started: Instant) -> std::io::Result<ExitStatus> {
    let mut told = false;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if !told && started.elapsed() + TELL >= LIMIT {
            told = true;
            println!("== about to be ended; what runs:");
            let _ = Command::new("ps")
                .args(["-eo", "pid,ppid,etimes,stat,args", "--forest"])
                .status();
        }
        thread::sleep(Duration::from_millis(200));
    }
}
