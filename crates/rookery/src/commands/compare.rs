//! `rookery compare`: stored runs against each other, with an exit code for gates.

use std::path::{Path, PathBuf};

use rookery_analysis::{
    Run,
    compare::{Comparison, Options, compare},
};

use crate::{
    cli::CompareArgs,
    commands::report,
    exit::{Code, Failure},
    output,
};

pub(crate) fn run(args: &CompareArgs) -> Result<Code, Failure> {
    let (base, new) = (
        directories(args, &args.base, &args.more_base)?,
        directories(args, &args.new, &args.more_new)?,
    );
    refuse_twice(&base, &new)?;
    let options = Options {
        ignore: args.ignore,
    };
    let comparison = compare(&read_all(&base)?, &read_all(&new)?, &options)
        .map_err(|error| Failure::from_error(Code::Usage, &error))?;
    if args.json {
        output::json(&comparison)?;
    } else {
        output::result(rookery_report::compare_terminal(
            &comparison,
            output::width(),
            &output::zone(),
        ));
    }
    if let Some(path) = &args.html {
        write_html(path, &comparison)?;
        if !args.json {
            output::text(format!("\nPage: {}", path.display()));
        }
    }
    Ok(code(&comparison, args.strict))
}

/// How the comparison ends: what cannot be said is no fault, unless asked to be strict, or nothing
/// was compared at all.
fn code(comparison: &Comparison, strict: bool) -> Code {
    if comparison.got_worse() || (strict && comparison.leaves_open()) {
        Code::Worse
    } else if comparison.points.is_empty() {
        // A gate that compared nothing has not passed.
        Code::Nothing
    } else {
        Code::Done
    }
}

/// The run of the argument, and all further ones of its side.
fn directories(args: &CompareArgs, first: &str, more: &[String]) -> Result<Vec<PathBuf>, Failure> {
    let names = std::iter::once(first).chain(more.iter().map(String::as_str));
    names
        .map(|name| rookery_lab::find(&args.places.runs, name).map_err(Failure::from))
        .collect()
}

/// A run compared with itself shows no difference, whatever it is worth.
fn refuse_twice(base: &[PathBuf], new: &[PathBuf]) -> Result<(), Failure> {
    let real = |path: &PathBuf| path.canonicalize().unwrap_or_else(|_| path.clone());
    let all: Vec<PathBuf> = base.iter().chain(new).map(real).collect();
    match all
        .iter()
        .enumerate()
        .find(|(at, path)| all[..*at].contains(path))
    {
        Some((_, path)) => Err(Failure::new(
            Code::Usage,
            format!("the run {} is named twice", path.display()),
        )
        .help("name different runs")),
        None => Ok(()),
    }
}

fn read_all(directories: &[PathBuf]) -> Result<Vec<Run>, Failure> {
    let read = |directory: &PathBuf| -> Result<Run, Failure> {
        let store = report::open(directory)?;
        Ok(Run::read(&store)?)
    };
    directories.iter().map(read).collect()
}

fn write_html(path: &Path, comparison: &Comparison) -> Result<(), Failure> {
    let page = rookery_report::compare_html(comparison, &output::zone())?;
    rookery_lab::write_whole(path, page.as_bytes()).map_err(|error| {
        Failure::new(
            Code::Store,
            format!("cannot write {}: {error}", path.display()),
        )
        .help("name a file in a directory that exists and may be written")
    })
}
