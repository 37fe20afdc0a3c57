//! The checks one after another, and how long each took.

use std::{
    io::{self, BufRead as _, BufReader, PipeReader},
    process::{Child, Command, ExitStatus},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use super::{failures::Failures, slowest::Slowest};
use crate::left;

/// Longest time of one check, far above what it takes: what hangs must be told from what is slow,
/// with its name.
const LIMIT: Duration = Duration::from_secs(45 * 60);
/// How long before the limit it is written down what runs.
const TELL: Duration = Duration::from_secs(5);

/// The checks that were done.
#[derive(Debug, Default)]
pub(super) struct Steps {
    times: Vec<(&'static str, Duration)>,
}

impl Steps {
    /// A check of this program itself.
    pub(super) fn own(
        &mut self,
        name: &'static str,
        check: impl FnOnce() -> Result<(), String>,
    ) -> Result<(), String> {
        println!("== {name}");
        let began = Instant::now();
        let checked = check();
        self.ended(name, began);
        checked
    }

    /// A check by cargo.
    pub(super) fn cargo(
        &mut self,
        name: &'static str,
        args: &[&str],
        env: &[(&str, &str)],
    ) -> Result<(), String> {
        println!("== {name}: cargo {}", args.join(" "));
        let began = Instant::now();
        let mut command = limited(args, env);
        let checked = command
            .spawn()
            .and_then(|mut child| wait(&mut child, began))
            .map_err(|error| format!("{name}: cannot run cargo: {error}"))
            .and_then(|status| judged(name, args, status));
        self.ended(name, began);
        checked
    }

    /// Tests by cargo; at their end the slowest are told, and why any failed.
    pub(super) fn tests(
        &mut self,
        name: &'static str,
        args: &[&str],
        env: &[(&str, &str)],
    ) -> Result<(), String> {
        println!("== {name}: cargo {}", args.join(" "));
        let began = Instant::now();
        let ran = followed(limited(args, env), began);
        self.ended(name, began);
        let (status, said) = ran.map_err(|error| format!("{name}: cannot run cargo: {error}"))?;
        println!("{}", said.slowest);
        judged(name, args, status).map_err(|error| format!("{}{error}", said.failures))
    }

    fn ended(&mut self, name: &'static str, began: Instant) {
        let took = began.elapsed();
        println!("== {name}: ended after {:.0} s", took.as_secs_f64());
        self.times.push((name, took));
    }

    /// How long each check took, and all together.
    pub(super) fn table(&self) -> String {
        let line = |name: &str, time: Duration| format!("\n{:>6.0} s  {name}", time.as_secs_f64());
        let lines: String = self
            .times
            .iter()
            .map(|(name, time)| line(name, *time))
            .collect();
        let total = self.times.iter().map(|(_, time)| *time).sum();
        format!("== times of the checks{lines}{}", line("together", total))
    }
}

/// Cargo, its whole group ended by `timeout` at the limit, so that no test outlives its check.
fn limited(args: &[&str], env: &[(&str, &str)]) -> Command {
    let mut command = Command::new("timeout");
    command
        .args(["--kill-after=60", &LIMIT.as_secs().to_string(), "cargo"])
        .args(args)
        .envs(env.iter().copied())
        .envs([left::mark()]);
    command
}

/// What is kept of what tests print.
#[derive(Default)]
struct Said {
    slowest: Slowest,
    failures: Failures,
}

/// Run it, pass on what it says, and keep what is told at the end.
fn followed(mut command: Command, began: Instant) -> io::Result<(ExitStatus, Said)> {
    let (output, said) = io::pipe()?;
    command.stderr(said.try_clone()?).stdout(said);
    let mut child = command.spawn()?;
    // The command holds the writing ends: with them open the output would never end.
    drop(command);
    let (send, received) = mpsc::channel();
    thread::spawn(move || send.send(passed_on(output)));
    let status = wait(&mut child, began)?;
    // A process that a test has left holds its end open; that it is there is told at the end of
    // all.
    let said = received.recv_timeout(TELL).unwrap_or_default();
    Ok((status, said))
}

fn passed_on(output: PipeReader) -> Said {
    let began = Instant::now();
    let mut said = Said::default();
    for line in BufReader::new(output).split(b'\n').map_while(Result::ok) {
        let line = String::from_utf8_lossy(&line);
        println!("{line}");
        said.slowest.line(&line, began.elapsed());
        said.failures.line(&line);
    }
    said
}

fn judged(name: &str, args: &[&str], status: ExitStatus) -> Result<(), String> {
    if status.code() == Some(124) {
        return Err(format!(
            "{name} did not end within {} minutes; what ran at last is listed above",
            LIMIT.as_secs() / 60
        ));
    }
    if !status.success() {
        return Err(format!(
            "{name} failed ({status}); repeat it with: cargo {}",
            args.join(" ")
        ));
    }
    Ok(())
}

/// Wait for the end of a check; shortly before it would be ended, list what runs.
fn wait(child: &mut Child, started: Instant) -> io::Result<ExitStatus> {
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
