//! Tables as CSV files: RFC 4180, UTF-8, with a head line.

use std::{
    borrow::Cow,
    fs::File,
    io::{self, BufWriter, IntoInnerError, Write},
    path::{Path, PathBuf},
};

use rookery_store::Cell;

use crate::{ExportError, Table, TableWriter};

/// One CSV file per table in a directory.
#[derive(Debug)]
pub struct CsvFiles {
    directory: PathBuf,
    open: Option<(PathBuf, BufWriter<File>)>,
}

impl CsvFiles {
    /// Files in `directory`, which is made if need be.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn create(directory: &Path) -> Result<Self, ExportError> {
        std::fs::create_dir_all(directory).map_err(|error| ExportError::write(directory, error))?;
        Ok(Self {
            directory: directory.to_owned(),
            open: None,
        })
    }

    fn line<'c>(&mut self, fields: impl Iterator<Item = Cow<'c, str>>) -> Result<(), ExportError> {
        let Some((path, file)) = &mut self.open else {
            return Ok(());
        };
        let write = || -> io::Result<()> {
            for (index, field) in fields.enumerate() {
                let comma = if index == 0 { "" } else { "," };
                write!(file, "{comma}{field}")?;
            }
            write!(file, "\r\n")
        };
        write().map_err(|error| ExportError::write(path, error))
    }
}

impl TableWriter for CsvFiles {
    fn begin(&mut self, table: &'static Table) -> Result<(), ExportError> {
        let path = self.directory.join(format!("{}.csv", table.name));
        let file = File::create(&path).map_err(|error| ExportError::write(&path, error))?;
        self.open = Some((path, BufWriter::new(file)));
        self.line(table.columns.iter().map(|column| column.name.into()))
    }

    fn row(&mut self, cells: &[Cell<'_>]) -> Result<(), ExportError> {
        self.line(cells.iter().map(field))
    }

    fn end(&mut self) -> Result<(), ExportError> {
        let Some((path, file)) = self.open.take() else {
            return Ok(());
        };
        file.into_inner()
            .map_err(IntoInnerError::into_error)
            .and_then(|file| file.sync_all())
            .map_err(|error| ExportError::write(&path, error))
    }
}

/// One field of a line, quoted where it must be. Nothing is an empty field.
fn field<'c>(cell: &'c Cell<'_>) -> Cow<'c, str> {
    match cell {
        Cell::Null => "".into(),
        Cell::Whole(number) => number.to_string().into(),
        Cell::Number(number) if number.is_finite() => number.to_string().into(),
        Cell::Number(_) => "".into(),
        Cell::Flag(flag) => flag.to_string().into(),
        Cell::Text(text) => quoted(defused(text)),
    }
}

/// Text that a spreadsheet would take for a formula is led by a quote; a number is none.
fn defused(text: &str) -> Cow<'_, str> {
    let formula =
        text.starts_with(['=', '+', '-', '@', '\t', '\r']) && text.parse::<f64>().is_err();
    if formula {
        format!("'{text}").into()
    } else {
        text.into()
    }
}

fn quoted(text: Cow<'_, str>) -> Cow<'_, str> {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\"")).into()
    } else {
        text
    }
}
