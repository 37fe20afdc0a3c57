//! Rows of a query, one by one: what a table holds, without holding the table.

use rusqlite::types::ValueRef;

use crate::{CellError, Damage, Store, StoreError, cells::Cells};

/// What the cells of a column are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CellKind {
    /// A whole number.
    Whole,
    /// A number.
    Number,
    /// True or false.
    Flag,
    /// Text.
    Text,
}

/// A cell of a row.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell<'a> {
    /// Nothing: not known, or not applicable.
    Null,
    /// A whole number.
    Whole(i64),
    /// A number.
    Number(f64),
    /// True or false.
    Flag(bool),
    /// Text.
    Text(std::borrow::Cow<'a, str>),
}

impl Store {
    /// Visit the rows of a query of `table`, whose columns are of these kinds, in order. One row at
    /// a time is in memory.
    ///
    /// # Errors
    /// When the table is damaged, or where `visit` says so.
    pub fn visit_rows<E: From<StoreError>>(
        &self,
        table: &'static str,
        sql: &str,
        columns: &[(&str, CellKind)],
        mut visit: impl FnMut(&[Cell<'_>]) -> Result<(), E>,
    ) -> Result<(), E> {
        let damaged = |error: rusqlite::Error| self.damaged(table, error);
        let mut statement = self.connection.prepare_cached(sql).map_err(damaged)?;
        let mut rows = statement.query([]).map_err(damaged)?;
        while let Some(row) = rows.next().map_err(damaged)? {
            let read = |(index, (name, kind)): (usize, &(&str, CellKind))| {
                let value = row.get_ref(index).map_err(Damage::from)?;
                cell(name, *kind, value).map_err(Damage::from)
            };
            let cells = columns
                .iter()
                .enumerate()
                .map(read)
                .collect::<Result<Vec<Cell<'_>>, Damage>>()
                .map_err(|error| self.damaged_row(table, &Cells(row), error))?;
            visit(&cells)?;
        }
        Ok(())
    }
}

fn cell<'a>(column: &str, kind: CellKind, value: ValueRef<'a>) -> Result<Cell<'a>, CellError> {
    let wrong = |expected| CellError::Type {
        column: column.to_owned(),
        expected,
        found: value.data_type(),
    };
    match (kind, value) {
        (_, ValueRef::Null) => Ok(Cell::Null),
        (CellKind::Whole, ValueRef::Integer(number)) => Ok(Cell::Whole(number)),
        (CellKind::Whole, _) => Err(wrong("a whole number")),
        (CellKind::Number, ValueRef::Integer(number)) => Ok(Cell::Number(number as f64)),
        (CellKind::Number, ValueRef::Real(number)) => Ok(Cell::Number(number)),
        (CellKind::Number, _) => Err(wrong("a number")),
        (CellKind::Flag, ValueRef::Integer(number @ (0 | 1))) => Ok(Cell::Flag(number == 1)),
        (CellKind::Flag, ValueRef::Integer(number)) => Err(CellError::Flag {
            column: column.to_owned(),
            value: u64::try_from(number).unwrap_or(u64::MAX),
        }),
        (CellKind::Flag, _) => Err(wrong("0 or 1")),
        (CellKind::Text, ValueRef::Text(bytes)) => match std::str::from_utf8(bytes) {
            Ok(text) => Ok(Cell::Text(text.into())),
            Err(_) => Err(CellError::NotUtf8 {
                column: column.to_owned(),
            }),
        },
        (CellKind::Text, _) => Err(wrong("text")),
    }
}
