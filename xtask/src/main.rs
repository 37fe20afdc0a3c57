//! The workshop: `cargo xtask ci | tidy | bench`.

#![allow(
    clippy::print_stdout,
    reason = "a task talks to the person who called it"
)]

mod bench;
mod ci;
mod left;
mod tidy;

use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask COMMAND

  ci               everything that must hold, cheapest check first: format, tidy, lints, docs, tests
  tidy             the house rules: layers, pure crates, file sizes, forbidden words
  bench data       DVD Store generator: rows/s, MB/s against the disk, memory
  bench driver     CPU per request against wrk, per transaction against sysbench and pgbench; `bench driver users` for 10 000 thinking users
  bench guests     40 container guests: clone, start, removal
  bench load       MariaDB: our load against LOAD DATA of the same rows from files; `bench load orderentry` also against PostgreSQL's COPY
  bench mva        queueing solvers against Octave's package queueing, on random networks
  bench open       open loads: how punctual arrivals are, and what open and closed loads tell of a freeze
  bench pages      the PHP pages against minimal ones with the same queries
  bench simulate   the simulator's events per second, for 10 to 200 000 users
";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let result = match words.as_slice() {
        ["ci"] => ci::run(),
        ["tidy"] => tidy::run(),
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
