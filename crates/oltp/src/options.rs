//! What sessions and loads are opened with, and the words that both share.

use rookery_workload::orderentry::{
    Isolation, Population, SchemaOptions, population::meta_rows, sql::Style,
};
use serde::{Deserialize, Serialize};

/// A row as text; `None` is null.
pub(crate) type TextRow = Vec<Option<String>>;

/// What a session is opened with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionOptions {
    /// Whose statements are prepared.
    pub style: Style,
    /// The isolation level that is asked for.
    pub isolation: Isolation,
}

/// What is loaded, and how.
#[derive(Clone, Debug)]
pub struct LoadOptions {
    /// The rows.
    pub population: Population,
    /// The schema.
    pub schema: SchemaOptions,
    /// Connections that load at once, at least 1.
    pub connections: usize,
    /// Whether tables of the workload that exist are dropped first.
    pub overwrite: bool,
    /// Whether rows are counted and conditions checked at the end.
    pub check: bool,
}

impl LoadOptions {
    /// Everything as usual, over `connections`.
    #[must_use]
    pub fn new(population: Population, connections: usize) -> Self {
        Self {
            population,
            schema: SchemaOptions::default(),
            connections,
            overwrite: false,
            check: true,
        }
    }
}

/// How far a load is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Rows that were sent.
    pub rows: u64,
    /// Bytes that were sent: text, or the binary format of PostgreSQL.
    pub bytes: u64,
}

/// The rows of `oe_meta`.
pub(crate) fn meta_of(
    population: &Population,
    schema: SchemaOptions,
) -> Vec<(&'static str, String)> {
    let mut rows = meta_rows(population);
    rows.push(("foreign_keys", schema.foreign_keys.to_string()));
    rows.push(("history_pk", schema.history_key.to_string()));
    rows.push(("loader_version", env!("CARGO_PKG_VERSION").to_owned()));
    rows
}
