//! `rookery report`: from the store, and from the ceilings of storage that were measured for the
//! run.

use std::path::Path;

use rookery_analysis::{Analysis, storage::Ceiling};
use rookery_lab::CEILINGS;
use rookery_store::Store;

use crate::{
    cli::ReportArgs,
    exit::{Code, Failure},
    output,
};

pub(crate) fn run(args: &ReportArgs) -> Result<Code, Failure> {
    let directory = rookery_lab::find(&args.places.runs, &args.run)?;
    let store = open(&directory)?;
    if args.json {
        let analysis = Analysis::from_store(&store)?;
        if let Some(html) = &args.html {
            write_html(&store, &directory, html)?;
        }
        return output::json(&analysis);
    }
    let html = args
        .html
        .clone()
        .unwrap_or_else(|| directory.join("report.html"));
    if !args.quiet {
        output::result(terminal(&store)?);
    }
    write_html(&store, &directory, &html)?;
    output::result(if args.quiet {
        html.display().to_string()
    } else {
        format!("report: {}", html.display())
    });
    Ok(Code::Done)
}

/// Open the store of a run for reading.
pub(crate) fn open(directory: &Path) -> Result<Store, Failure> {
    Ok(Store::open_read_only(rookery_lab::store_in(directory))?)
}

/// The tables and sentences for the terminal.
fn terminal(store: &Store) -> Result<String, Failure> {
    Ok(rookery_report::terminal(
        store,
        output::width(),
        &output::zone(),
    )?)
}

/// What a run found in a few lines, and where the rest is.
pub(crate) fn brief(store: &Store, html: &Path) -> Result<String, Failure> {
    let brief = rookery_report::brief(store, output::width(), &output::zone())?;
    Ok(format!(
        "{brief}report: {}\n(`rookery report` prints its tables)\n",
        html.display()
    ))
}

/// The first sentence of the answer.
pub(crate) fn answer(store: &Store) -> Result<String, Failure> {
    Ok(rookery_report::answer(store)?)
}

/// What `rookery host storage --run` kept beside a run's store; nothing where it was never asked.
fn ceilings(directory: &Path) -> Result<Vec<Ceiling>, Failure> {
    rookery_lab::ceilings(directory).map_err(|error| {
        let path = directory.join(CEILINGS);
        Failure::new(
            Code::Store,
            format!("cannot read {}: {error}", path.display()),
        )
        .help("measure again with `rookery host storage --run`, or remove the file")
    })
}

/// Write the HTML report of the run in `directory`.
pub(crate) fn write_html(store: &Store, directory: &Path, path: &Path) -> Result<(), Failure> {
    let html = rookery_report::html(store, &ceilings(directory)?, &output::zone())?;
    rookery_lab::write_whole(path, html.as_bytes()).map_err(|error| {
        Failure::new(
            Code::Store,
            format!("cannot write the report {}: {error}", path.display()),
        )
        .help("name another place with --html")
    })
}

#[cfg(test)]
mod tests {
    use rookery_host::fio::{Ceiling as Measured, CeilingPoint, Pattern};

    use super::*;

    #[test]
    fn what_was_measured_is_what_the_report_reads() {
        let directory = tempfile::tempdir().expect("a directory");
        assert!(
            ceilings(directory.path())
                .expect("none was measured")
                .is_empty()
        );
        let measured = Measured {
            pool: "a volume".to_owned(),
            tool: "fio-3.33".to_owned(),
            file_mib: 64,
            seconds: 2,
            points: vec![CeilingPoint {
                pattern: Pattern::Write,
                block_kib: 16,
                depth: 4,
                iops: 700.5,
                mib_per_s: 10.9,
                mean_us: 1.0,
                p50_us: 1.0,
                p95_us: 1.0,
                p99_us: 1.0,
            }],
        };
        let path = directory.path().join(CEILINGS);
        std::fs::write(
            &path,
            serde_json::to_string(&[measured]).expect("plain numbers"),
        )
        .expect("room");
        let read = ceilings(directory.path()).expect("a list");
        assert_eq!(
            (read[0].pool.as_str(), read[0].points[0].pattern.as_str()),
            ("a volume", "write")
        );
        assert_eq!(
            (read[0].points[0].block_kib, read[0].points[0].iops),
            (16, 700.5)
        );
        std::fs::write(&path, "[{").expect("room");
        assert!(ceilings(directory.path()).is_err());
    }
}
