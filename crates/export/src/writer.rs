//! What a format is: something that takes tables, row by row.

use rookery_store::{Cell, Store};

use crate::{ExportError, Table};

/// Writes tables, one after the other and row by row.
pub trait TableWriter {
    /// A table begins.
    ///
    /// # Errors
    /// When it cannot be written.
    fn begin(&mut self, table: &'static Table) -> Result<(), ExportError>;

    /// A row of that table.
    ///
    /// # Errors
    /// When it cannot be written.
    fn row(&mut self, cells: &[Cell<'_>]) -> Result<(), ExportError>;

    /// The table is complete.
    ///
    /// # Errors
    /// When it cannot be written.
    fn end(&mut self) -> Result<(), ExportError>;
}

/// Write `tables` of a run.
///
/// # Errors
/// When the store is damaged or a table cannot be written.
pub fn write(
    store: &Store,
    writer: &mut dyn TableWriter,
    tables: &[&'static Table],
) -> Result<(), ExportError> {
    for &table in tables {
        writer.begin(table)?;
        table.visit(store, &mut |cells| writer.row(cells))?;
        writer.end()?;
    }
    Ok(())
}
