//! `rookery completions` and `rookery man`: what shells and `man` know of this program.

use std::{fs, io, path::Path};

use clap::CommandFactory as _;

use crate::{
    cli::{Cli, CompletionsArgs, ManArgs},
    exit::{Code, Failure},
    output,
};

/// Print the completions of a shell.
pub(crate) fn completions(args: &CompletionsArgs) -> Result<Code, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "rookery", &mut script);
    output::result(String::from_utf8_lossy(&script));
    Ok(Code::Done)
}

/// Write a manual page for the program and one for each command.
pub(crate) fn man(args: &ManArgs) -> Result<Code, Failure> {
    let written = fs::create_dir_all(&args.out)
        .and_then(|()| clap_mangen::generate_to(Cli::command(), &args.out));
    written.map_err(|error| cannot_write(&args.out, &error))?;
    output::result(args.out.display());
    Ok(Code::Done)
}

fn cannot_write(directory: &Path, error: &io::Error) -> Failure {
    Failure::new(
        Code::Usage,
        format!(
            "cannot write manual pages to {}: {error}",
            directory.display()
        ),
    )
    .help("name a directory that is yours and has room")
}
