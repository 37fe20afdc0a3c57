//! Tables as one JSON document: `format`, and a list of objects for each table.

use std::{
    io::{self, Write},
    path::{Path, PathBuf},
};

use rookery_store::Cell;
use serde_json::Value;

use crate::{ExportError, Table, TableWriter};

/// The version of the form: it grows with every change that a reader of an older one would stumble
/// over.
const FORMAT: u32 = 1;

/// One JSON document, written as its rows come.
#[derive(Debug)]
pub struct JsonDocument<W> {
    out: W,
    path: PathBuf,
    table: Option<&'static Table>,
    /// Rows of the present table so far.
    rows: u64,
}

impl<W: Write> JsonDocument<W> {
    /// Begin a document on `out`; `path` names it in errors.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn begin(mut out: W, path: &Path) -> Result<Self, ExportError> {
        write!(out, "{{\n\"format\": {FORMAT}").map_err(|error| ExportError::write(path, error))?;
        Ok(Self {
            out,
            path: path.to_owned(),
            table: None,
            rows: 0,
        })
    }

    /// End the document and give back what it was written on.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn finish(mut self) -> Result<W, ExportError> {
        let written = self.out.write_all(b"\n}\n").and_then(|()| self.out.flush());
        self.written(written)?;
        Ok(self.out)
    }

    fn written(&self, result: io::Result<()>) -> Result<(), ExportError> {
        result.map_err(|error| ExportError::write(&self.path, error))
    }
}

impl<W: Write> TableWriter for JsonDocument<W> {
    fn begin(&mut self, table: &'static Table) -> Result<(), ExportError> {
        self.table = Some(table);
        self.rows = 0;
        let written = write!(self.out, ",\n\"{}\": [", table.name);
        self.written(written)
    }

    fn row(&mut self, cells: &[Cell<'_>]) -> Result<(), ExportError> {
        let columns = self.table.map_or(&[][..], |table| table.columns);
        let mut line = if self.rows == 0 { "\n{" } else { ",\n{" }.to_owned();
        for (index, (column, cell)) in columns.iter().zip(cells).enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            line += &format!("{comma}\"{}\": {}", column.name, value(cell));
        }
        line.push('}');
        self.rows += 1;
        let written = self.out.write_all(line.as_bytes());
        self.written(written)
    }

    fn end(&mut self) -> Result<(), ExportError> {
        let closed = if self.rows == 0 { "]" } else { "\n]" };
        let written = self.out.write_all(closed.as_bytes());
        self.written(written)
    }
}

fn value(cell: &Cell<'_>) -> Value {
    match cell {
        Cell::Null => Value::Null,
        Cell::Whole(number) => Value::from(*number),
        Cell::Number(number) => Value::from(*number),
        Cell::Flag(flag) => Value::from(*flag),
        Cell::Text(text) => Value::from(text.as_ref()),
    }
}
