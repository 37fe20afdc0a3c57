//! Everything that must hold before a change lands, cheapest check first.

mod failures;
mod slowest;
mod steps;

use std::process::Command;

use steps::Steps;

use crate::left::Before;

/// Run every check; the first failure ends it. What the checks leave on the host is a failure as
/// well.
pub(crate) fn run() -> Result<(), String> {
    let before = Before::look();
    let mut steps = Steps::default();
    let checked = checks(&mut steps);
    println!("== what is left");
    let clean = before.compare();
    if let (Err(_), Err(left)) = (&checked, &clean) {
        println!("{left}");
    }
    println!("{}", steps.table());
    checked.and(clean)
}

fn checks(steps: &mut Steps) -> Result<(), String> {
    let odbc: &[&str] = if has_odbc() { &ODBC } else { &[] };
    steps.cargo("format", &["fmt", "--all", "--check"], &[])?;
    steps.own("tidy", || crate::tidy::run(false))?;
    steps.own("deny", || crate::deny::run(&crate::root::directory()))?;
    cargo_deny(steps)?;
    let lints = [
        &["clippy", "--workspace", "--all-targets", "--locked"],
        odbc,
    ];
    let lints = [&lints.concat()[..], &["--", "-D", "warnings"]].concat();
    steps.cargo("lints", &lints, &[])?;
    // Without ODBC, so that what then stands in its place is compiled as well.
    steps.cargo(
        "docs",
        &["doc", "--workspace", "--no-deps", "--locked", "--quiet"],
        &[("RUSTDOCFLAGS", "-D warnings")],
    )?;
    let tests = [&["test", "--workspace", "--locked"], odbc].concat();
    let build = [&tests[..], &["--no-run", "--quiet"]].concat();
    steps.cargo("build of tests", &build, &[])?;
    // All of them, that one run shows all that fails.
    let tests = [&tests[..], &["--no-fail-fast"]].concat();
    steps.tests("tests", &tests, &environment())?;
    // Half of what a run by hand gives each target.
    steps.own("fuzz", || crate::fuzz::run(&["--seconds", "5"]))?;
    let program = crate::root::target().join("debug/rookery");
    let templates = crate::root::target().join("tmp/templates");
    let with = [
        ("--program", program.display().to_string()),
        ("--templates", templates.display().to_string()),
    ];
    let with = with
        .iter()
        .flat_map(|(name, value)| [*name, value.as_str()]);
    let words: Vec<&str> = CHAOS.into_iter().chain(with).collect();
    steps.own("chaos", || crate::chaos::run(&words))
}

/// What links the ODBC manager. All packages are chosen with it: fewer would unite the features of
/// fewer third-party crates, and most would be built once more.
const ODBC: [&str; 2] = ["--features", "rookery-oltp/odbc"];

/// Whether the ODBC manager is here.
fn has_odbc() -> bool {
    let found = Command::new("odbcinst").arg("--version").output();
    let is_there = found.is_ok_and(|output| output.status.success());
    if !is_there {
        println!(
            "== odbc: SKIPPED, there is no odbcinst here; install unixodbc-dev, odbcinst, \
             odbc-mariadb, odbc-postgresql and libsqliteodbc"
        );
    }
    is_there
}

/// 20 interruptions of the program and on the templates that the tests have built: another build
/// would unite the features of fewer crates, and so build most of them again. Of the building of
/// templates and of machines, which take minutes, the tests interrupt one each; `cargo xtask chaos`
/// does all, and twice as many.
const CHAOS: [&str; 4] = [
    "--kinds",
    "containers,volumes,database,settings,lamp",
    "--kills",
    "20",
];

/// What tests are told, unless the caller says otherwise: how many of them boot machines, and how
/// many go on at the same time. Most wait for the end of a small load, so that three leave two CPUs
/// time to spare; those that measure take their turn alone.
fn environment() -> Vec<(&'static str, &'static str)> {
    let defaults = [("ROOKERY_VM_TESTS", "few"), ("RUST_TEST_THREADS", "3")];
    let unsaid = |(name, _): &(&'static str, _)| std::env::var_os(name).is_none();
    defaults.into_iter().filter(unsaid).collect()
}

/// The same rules by cargo-deny, only where it is installed.
fn cargo_deny(steps: &mut Steps) -> Result<(), String> {
    let found = Command::new("cargo").args(["deny", "--version"]).output();
    if !found.is_ok_and(|output| output.status.success()) {
        println!("== cargo-deny: SKIPPED, it is not installed; the rules were checked above");
        return Ok(());
    }
    steps.cargo(
        "cargo-deny",
        &["deny", "--offline", "check", "licenses", "bans", "sources"],
        &[],
    )
}
