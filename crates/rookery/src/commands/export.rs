//! `rookery export`: a stored run for other programs.

use std::{
    fs::{self, File},
    io::{self, BufWriter},
    path::{Path, PathBuf},
};

use rookery_export::{CsvFiles, ExportError, JsonDocument, ParquetFiles, Table};
use rookery_store::Store;

use crate::{
    cli::{ExportArgs, ExportFormat},
    commands::report,
    exit::{Code, Failure},
    output,
};

pub(crate) fn run(args: &ExportArgs) -> Result<Code, Failure> {
    let directory = rookery_lab::find(&args.places.runs, &args.run)?;
    let store = report::open(&directory)?;
    let chosen = rookery_export::chosen(&args.tables)?;
    let folder = || args.out.clone().unwrap_or_else(|| directory.join("export"));
    let out = match (args.format, &args.out) {
        (ExportFormat::Csv, _) => tables(&store, &chosen, folder(), CsvFiles::create)?,
        (ExportFormat::Parquet, _) => tables(&store, &chosen, folder(), ParquetFiles::create)?,
        (ExportFormat::Json, Some(out)) => json_file(&store, &chosen, out)?,
        (ExportFormat::Json, None) => {
            return output::stream(|out| {
                let path = Path::new("standard output");
                let mut document = JsonDocument::begin(out, path)?;
                rookery_export::write(&store, &mut document, &chosen)?;
                document.finish().map(|_| ())
            });
        }
    };
    output::result(out.display());
    Ok(Code::Done)
}

/// One file per table, in `folder`.
fn tables<W: rookery_export::TableWriter>(
    store: &Store,
    chosen: &[&'static Table],
    folder: PathBuf,
    create: impl Fn(&Path) -> Result<W, ExportError>,
) -> Result<PathBuf, Failure> {
    let mut writer = create(&folder)?;
    rookery_export::write(store, &mut writer, chosen)?;
    Ok(folder)
}

/// One document, under its name when it is whole.
fn json_file(store: &Store, chosen: &[&'static Table], out: &Path) -> Result<PathBuf, Failure> {
    let failed = |source: io::Error| ExportError::Write {
        path: out.to_owned(),
        source,
    };
    let part = out.with_extension("part");
    let file = BufWriter::new(File::create(&part).map_err(failed)?);
    let mut document = JsonDocument::begin(file, out)?;
    rookery_export::write(store, &mut document, chosen)?;
    document.finish()?;
    fs::rename(&part, out).map_err(failed)?;
    Ok(out.to_owned())
}
