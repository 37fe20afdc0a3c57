//! The project's tasks: `cargo xtask ci | tidy | docs | dist | chaos | fuzz | bench`.

#![allow(
    clippy::print_stdout,
    reason = "a task talks to the person who called it"
)]

mod bench;
mod chaos;
mod ci;
mod deny;
mod dist;
mod docs;
mod fuzz;
mod left;
mod root;
mod tidy;

use std::process::ExitCode;

const USAGE: &str = include_str!("usage.txt");

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let result = match words.as_slice() {
        ["ci"] => ci::run(),
        ["tidy"] => tidy::run(false),
        ["deny"] => deny::run(&root::directory()),
        ["tidy", "--shrink"] => tidy::run(true),
        ["docs"] => docs::write(),
        ["dist", ..] => dist::run(&words[1..]),
        ["fuzz", ..] => fuzz::run(&words[1..]),
        ["chaos", ..] => chaos::run(&words[1..]),
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
