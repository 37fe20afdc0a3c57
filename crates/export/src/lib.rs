//! A stored run as tables for other programs.
//!
//! [`Table`] is the principal type: its name, its columns with their meaning, and where its rows
//! come from. [`TABLES`] are all of them, of which [`chosen`] selects; [`dictionary`] describes
//! them for people. [`write()`] hands their rows, one at a time, to a [`TableWriter`]:
//! [`CsvFiles`], [`JsonDocument`] or [`ParquetFiles`]. No table is ever in memory as a whole.

mod column;
mod csv;
mod dictionary;
mod error;
mod json;
mod parquet;
mod tables;
#[cfg(test)]
mod tests;
mod writer;

pub use column::{Column, Table};
pub use csv::CsvFiles;
pub use dictionary::{metrics, tables as dictionary};
pub use error::ExportError;
pub use json::JsonDocument;
pub use parquet::ParquetFiles;
pub use tables::{TABLES, chosen};
pub use writer::{TableWriter, write};
