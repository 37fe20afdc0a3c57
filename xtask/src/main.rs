//! The project's tasks: `cargo xtask ci | tidy | docs | bench`.

#![allow(
    clippy::print_stdout,
    reason = "a task talks to the person who called it"
)]

mod bench;
mod ci;
mod deny;
mod docs;
mod left;
mod root;
mod tidy;

use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask COMMAND

  ci              everything that must hold, cheapest check first
  tidy            layers, sizes of files, cycles of modules, rooms of workloads, tables of docs/;
                  --shrink takes out of the lists in xtask/ what is right by now
  docs            write the tables of docs/ that follow from files of the project
  deny            third-party crates: licences, sources, bans, duplicates (deny.toml)
  bench data      DVD Store generator: rows/s, MB/s against the disk, memory
  bench driver    CPU per request against wrk; `databases`: per transaction against sysbench and
                  pgbench; `users`: 10 000 thinking users
  bench guests    40 container guests: clone, start, removal
  bench load      our load against LOAD DATA; `orderentry`: also against PostgreSQL's COPY
  bench mva       queueing solvers against Octave's package queueing, on random networks
  bench open      open loads: punctuality, and what open and closed loads report of a freeze
  bench pages     the PHP pages against minimal ones with the same queries
  bench simulate  the simulator's events per second, for 10 to 200 000 users
";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let result = match words.as_slice() {
        ["ci"] => ci::run(),
        ["tidy"] => tidy::run(false),
        ["deny"] => deny::run(&root::directory()),
        ["tidy", "--shrink"] => tidy::run(true),
        ["docs"] => docs::write(),
        ["bench", what, ..] => bench::run(what, &args[2..]),
        _ => {
            eprint!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error}");
            ExitCode::FAILURE
        }
    }
}
