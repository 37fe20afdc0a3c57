//! `rookery data web2005`: a file set.

use std::{path::PathBuf, thread};

use clap::Args;
use rookery_stack::web2005::{FilesetOptions, write_fileset};

use super::args::ShapeArgs;
use crate::{
    exit::{Code, Failure},
    output,
    progress::bytes_bar,
    signals,
};

/// What can be typed.
#[derive(Debug, Args)]
pub(crate) struct DataWeb2005Args {
    #[command(flatten)]
    shape: ShapeArgs,
    /// Directory to write to; it is made if it does not exist
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Threads [default: all CPUs]
    #[arg(long)]
    threads: Option<usize>,
    /// Refuse a set of more bytes
    #[arg(long, value_name = "BYTES")]
    max_bytes: Option<u64>,
    /// No progress
    #[arg(long, short)]
    quiet: bool,
}

pub(crate) fn run(args: &DataWeb2005Args) -> Result<Code, Failure> {
    let shape = args.shape.shape()?;
    let stop = signals::stop_flag()?;
    let options = FilesetOptions {
        threads: args
            .threads
            .unwrap_or_else(|| thread::available_parallelism().map_or(1, usize::from)),
        max_bytes: args.max_bytes,
        stop: &stop,
    };
    let bar = bytes_bar(args.quiet);
    let written = write_fileset(&args.out, &shape, &options, &|progress| {
        bar.set_length(progress.total_bytes);
        bar.set_position(progress.bytes);
    });
    bar.finish_and_clear();
    let written = written.map_err(|error| {
        let code = if signals::came(&stop) {
            Code::Interrupted
        } else {
            Code::Store
        };
        Failure::from_error(code, &error)
    })?;
    let manifest = &written.manifest;
    let megabytes = manifest.bytes as f64 / 1e6;
    let time = match written.seconds {
        Some(seconds) => format!(
            "in {seconds:.2} s: {:.0} MB/s",
            megabytes / seconds.max(1e-9)
        ),
        None => "there already".to_owned(),
    };
    output::result(format!(
        "{} files, {megabytes:.1} MB {time} in {}\nsha256 of the list {}",
        manifest.files,
        args.out.display(),
        manifest.digest
    ));
    Ok(Code::Done)
}
