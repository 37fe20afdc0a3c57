//! What a table is.

use rookery_store::{Cell, CellKind, Store};

use crate::ExportError;

/// A column: its name says its unit.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// Its name, the same in every format.
    pub name: &'static str,
    /// What its cells are.
    pub kind: CellKind,
    /// What it holds, in one sentence.
    pub meaning: &'static str,
    /// How it follows from the columns of the store; its name where it is one of them.
    pub(crate) expression: &'static str,
}

/// Takes the rows of a table, one at a time.
pub(crate) type RowVisitor<'v> = dyn FnMut(&[Cell<'_>]) -> Result<(), ExportError> + 'v;

/// A table of an export.
#[derive(Clone, Copy, Debug)]
pub struct Table {
    /// Its name, the same in every format.
    pub name: &'static str,
    /// What one row is: `trial`, `second of a guest`.
    pub row: &'static str,
    /// Its columns, in order.
    pub columns: &'static [Column],
    pub(crate) source: Source,
}

/// Where rows come from.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Source {
    /// Tables of the store, and the columns to sort by.
    Stored {
        from: &'static str,
        order: &'static str,
    },
    /// A function over the store.
    Computed(fn(&Store, &mut RowVisitor<'_>) -> Result<(), ExportError>),
}

impl Table {
    /// Visit its rows in order; one at a time is in memory.
    ///
    /// # Errors
    /// When the store is damaged, or where `visit` says so.
    pub fn visit(
        &self,
        store: &Store,
        visit: &mut dyn FnMut(&[Cell<'_>]) -> Result<(), ExportError>,
    ) -> Result<(), ExportError> {
        match self.source {
            Source::Computed(rows) => rows(store, visit),
            Source::Stored { from, order } => {
                let selected: Vec<String> = self
                    .columns
                    .iter()
                    .map(|column| format!("{} AS \"{}\"", column.expression, column.name))
                    .collect();
                let sql = format!(
                    "SELECT {} FROM {from} ORDER BY {order}",
                    selected.join(", ")
                );
                let kinds: Vec<(&str, CellKind)> = self
                    .columns
                    .iter()
                    .map(|column| (column.name, column.kind))
                    .collect();
                store.visit_rows(self.name, &sql, &kinds, visit)
            }
        }
    }
}

impl Column {
    /// The column of the store with another name, or computed from several.
    pub(crate) const fn from(self, expression: &'static str) -> Self {
        Self { expression, ..self }
    }
}

pub(crate) const fn whole(name: &'static str, meaning: &'static str) -> Column {
    column(name, CellKind::Whole, meaning)
}

pub(crate) const fn number(name: &'static str, meaning: &'static str) -> Column {
    column(name, CellKind::Number, meaning)
}

pub(crate) const fn flag(name: &'static str, meaning: &'static str) -> Column {
    column(name, CellKind::Flag, meaning)
}

pub(crate) const fn text(name: &'static str, meaning: &'static str) -> Column {
    column(name, CellKind::Text, meaning)
}

const fn column(name: &'static str, kind: CellKind, meaning: &'static str) -> Column {
    Column {
        name,
        kind,
        meaning,
        expression: name,
    }
}
