//! The live page: how fast long runs and large libraries open, and what open pages cost a trial.

mod client;
mod stores;
mod trials;

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use self::client::Client;
use super::lamp::median;

const USAGE: &str = "usage: cargo xtask bench live [--pairs N]: N pairs of trials with and without \
                     20 open pages (0: none)";

/// Trials of the long run.
const TRIALS: u32 = 10_000;
/// Runs of the large library.
const RUNS: u32 = 1_000;
/// What they may take.
const OPENS_WITHIN_S: f64 = 2.0;
const LISTS_WITHIN_S: f64 = 1.0;
/// How often each is measured.
const REPEATS: usize = 5;

/// Run `bench live`.
pub(crate) fn run(args: &[String]) -> Result<(), String> {
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let pairs: u32 = match words.as_slice() {
        [] => 5,
        ["--pairs", number] => number
            .parse()
            .map_err(|_| format!("`{number}` is not a whole number\n{USAGE}"))?,
        _ => return Err(USAGE.to_owned()),
    };
    let program = program()?;
    let place = tempfile::tempdir().map_err(|error| error.to_string())?;
    let mut missed = Vec::new();
    missed.extend(long_run(&program, place.path())?);
    missed.extend(library(&program, place.path())?);
    if pairs > 0 {
        missed.extend(trials::compare(&program, place.path(), pairs)?);
    }
    match missed.as_slice() {
        [] => println!("All goals are kept."),
        _ => println!("Missed: {}", missed.join("; ")),
    }
    Ok(())
}

/// The optimised program.
fn program() -> Result<PathBuf, String> {
    let own = std::env::current_exe().map_err(|error| error.to_string())?;
    let program = own.with_file_name("rookery");
    if program.is_file() {
        Ok(program)
    } else {
        Err(format!("there is no {}", program.display()))
    }
}

/// A server of stored runs, ended with the value.
struct Server {
    child: Child,
    url: String,
}

impl Server {
    fn start(program: &Path, runs: &Path) -> Result<Self, String> {
        let log = runs.with_extension("address");
        let file = fs::File::create(&log).map_err(|error| error.to_string())?;
        let child = Command::new(program)
            .args(["live", "--runs"])
            .arg(runs)
            .stdout(Stdio::from(file))
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| error.to_string())?;
        let mut server = Self {
            child,
            url: String::new(),
        };
        let began = Instant::now();
        while began.elapsed() < Duration::from_secs(20) {
            let text = fs::read_to_string(&log).map_err(|error| error.to_string())?;
            if let Some((url, _)) = text.split_once('\n') {
                url.trim().clone_into(&mut server.url);
                return Ok(server);
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Err("the server printed no address".to_owned())
    }

    /// Memory of the process, MiB.
    fn resident_mib(&self) -> f64 {
        let path = format!("/proc/{}/status", self.child.id());
        let text = fs::read_to_string(path).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kib = line.and_then(|line| line.split_whitespace().next());
        kib.and_then(|kib| kib.parse::<f64>().ok())
            .unwrap_or(f64::NAN)
            / 1024.0
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A run of many trials: from the request until the page has all of it.
fn long_run(program: &Path, place: &Path) -> Result<Option<String>, String> {
    let runs = place.join("long");
    stores::long_run(&runs.join("long"), TRIALS)?;
    let (mut first, mut again, mut memory) = (Vec::new(), Vec::new(), Vec::new());
    let mut bytes = 0;
    for _ in 0..REPEATS {
        let server = Server::start(program, &runs)?;
        let client = Client::admitted(&server.url)?;
        let key = client.only_key()?;
        for times in [&mut first, &mut again] {
            let began = Instant::now();
            bytes = client.first_overview(&key)?;
            times.push(began.elapsed().as_secs_f64());
        }
        memory.push(server.resident_mib());
    }
    let (first, again) = (median(&first), median(&again));
    println!(
        "A run of {TRIALS} trials: its page has all of it after {first:.2} s, again after \
         {again:.2} s (medians of {REPEATS}); {:.1} MB sent, the server has {:.0} MiB",
        f64::from(u32::try_from(bytes).unwrap_or(u32::MAX)) / 1e6,
        median(&memory)
    );
    Ok((first > OPENS_WITHIN_S).then(|| format!("the long run opens in {first:.2} s")))
}

/// A library of many runs: from the start of the server until all are listed, and one list.
fn library(program: &Path, place: &Path) -> Result<Option<String>, String> {
    let runs = place.join("library");
    stores::library(&runs, RUNS)?;
    let (mut read, mut listed, mut memory) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..REPEATS {
        let server = Server::start(program, &runs)?;
        let client = Client::admitted(&server.url)?;
        let began = Instant::now();
        client.all_listed(RUNS)?;
        read.push(began.elapsed().as_secs_f64());
        let began = Instant::now();
        client.get("/api/runs")?;
        listed.push(began.elapsed().as_secs_f64());
        memory.push(server.resident_mib());
    }
    let (read, listed) = (median(&read), median(&listed));
    println!(
        "A library of {RUNS} runs: listed {read:.2} s after the first request to a new server, then \
         in {listed:.3} s (medians of {REPEATS}); the server has {:.0} MiB",
        median(&memory)
    );
    Ok((read > LISTS_WITHIN_S).then(|| format!("the library is listed in {read:.2} s")))
}
