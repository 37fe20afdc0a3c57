//! `rookery report`: from the store alone.

use std::path::Path;

use rookery_store::Store;

use crate::{
    cli::ReportArgs,
    exit::{Code, Failure},
    output,
};

pub(crate) fn run(args: &ReportArgs) -> Result<Code, Failure> {
    let directory = rookery_lab::find(&args.places.runs, &args.run)?;
    let store = open(&directory)?;
    let html = args.html.clone().unwrap_or_else(|| directory.join("report.html"));
    if !args.quiet {
        output::result(terminal(&store)?);
    }
    write_html(&store, &html)?;
    output::result(if args.quiet {
        html.display().to_string()
    } else {
        format!("report: {}", html.display())
    });
    Ok(Code::Done)
}

/// Open the store of a run for reading.
pub(crate) fn open(directory: &Path) -> Result<Store, Failure> {
    Store::open_read_only(rookery_lab::store_in(directory)).map_err(|error| Failure::new(Code::Store, error))
}

/// The summary for the terminal.
pub(crate) fn terminal(store: &Store) -> Result<String, Failure> {
    rookery_report::terminal(store).map_err(|error| Failure::new(Code::Store, error))
}

/// Write the HTML report.
pub(crate) fn write_html(store: &Store, path: &Path) -> Result<(), Failure> {
    let html = rookery_report::html(store).map_err(|error| Failure::new(Code::Store, error))?;
    rookery_lab::write_whole(path, html.as_bytes()).map_err(|error| {
        Failure::new(
            Code::Store,
            format!(
                "cannot write the report {}: {error}\n  mend: name another place with --html",
                path.display()
            ),
        )
    })
}
