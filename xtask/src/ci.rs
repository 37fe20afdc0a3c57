//! Everything that must hold before a change lands, cheapest check first.

use std::{process::Command, time::Instant};

/// Run every check; the first failure ends it.
pub(crate) fn run() -> Result<(), String> {
    step("format", "cargo", &["fmt", "--all", "--check"], &[])?;
    println!("== tidy");
    crate::tidy::run()?;
    step(
        "lints",
        "cargo",
        &["clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"],
        &[],
    )?;
    step(
        "docs",
        "cargo",
        &["doc", "--workspace", "--no-deps", "--locked", "--quiet"],
        &[("RUSTDOCFLAGS", "-D warnings")],
    )?;
    step("tests", "cargo", &["test", "--workspace", "--locked"], &[])
}

fn step(name: &str, program: &str, args: &[&str], env: &[(&str, &str)]) -> Result<(), String> {
    println!("== {name}: {program} {}", args.join(" "));
    let started = Instant::now();
    let status = Command::new(program)
        .args(args)
        .envs(env.iter().copied())
        .status()
        .map_err(|error| format!("cannot start {program}: {error}"))?;
    if !status.success() {
        return Err(format!("{name} failed ({status}); repeat it with: {program} {}", args.join(" ")));
    }
    println!("== {name}: done in {:.0} s", started.elapsed().as_secs_f64());
    Ok(())
}
