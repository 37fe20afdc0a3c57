//! `rookery data cms`: users and nodes for bulk loaders of databases.

use std::{ops::ControlFlow, path::PathBuf, time::Instant};

use clap::Args;
use rookery_stack::cms::write_dump;

use super::args::DataArgs;
use crate::{
    exit::{Code, Failure},
    output,
    progress::bytes_bar,
    signals,
};

/// What can be typed.
#[derive(Debug, Args)]
pub(crate) struct DataCmsArgs {
    #[command(flatten)]
    data: DataArgs,
    /// Directory to write to; it is made if it does not exist
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// No progress
    #[arg(long, short)]
    quiet: bool,
}

pub(crate) fn run(args: &DataCmsArgs) -> Result<Code, Failure> {
    let data = args.data.data();
    let stop = signals::stop_flag()?;
    let bar = bytes_bar(args.quiet);
    bar.set_length(data.bytes());
    let began = Instant::now();
    let written = write_dump(&args.out, &data, &|rows| {
        bar.set_position(data.bytes() * rows / data.rows());
        if signals::came(&stop) {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
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
    let seconds = began.elapsed().as_secs_f64();
    output::result(format!(
        "{data}: {} rows, {:.1} MB in {seconds:.2} s ({:.0} rows/s) in {}\nsha256 {}",
        data.rows(),
        written.bytes as f64 / 1e6,
        data.rows() as f64 / seconds.max(1e-9),
        args.out.display(),
        written.digest
    ));
    Ok(Code::Done)
}
