//! The command line of Rookery.

mod address;
mod cli;
mod colour;
mod commands;
mod companions;
mod exit;
mod line_error;
mod live_table;
mod logging;
mod networks;
mod one_of;
mod output;
mod problems;
mod progress;
mod signals;
mod studies;
mod study_files;
mod targets;
mod workloads;

use std::process::ExitCode;

fn main() -> ExitCode {
    let (cli, as_json) = cli::parse();
    colour::choose(cli.color);
    match logging::begin(cli.verbose, cli.keeps_log()).and_then(|()| commands::run(&cli)) {
        Ok(code) => code.into(),
        Err(failure) => {
            output::failure(&failure, as_json);
            failure.code.into()
        }
    }
}
