//! The command line of Rookery.

mod cli;
mod commands;
mod exit;
mod output;
mod progress;
mod signals;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let cli = cli::Cli::parse();
    match commands::run(&cli) {
        Ok(code) => code.into(),
        Err(failure) => {
            output::error(&failure.message);
            failure.code.into()
        }
    }
}
