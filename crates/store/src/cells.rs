//! Typed access to one row that is not trusted.

use rookery_stats::BlobError;
use rookery_workload::Counters;
use rusqlite::{
    Row,
    types::{Type, Value, ValueRef},
};
use serde::{Serialize, de::DeserializeOwned};

/// No count, size or duration of a real run is larger; bounds every sum over a hostile file.
const MAX_COUNT: u64 = 1 << 48;

/// What is wrong with one column of a row.
#[derive(Debug, thiserror::Error)]
pub enum CellError {
    /// The row has no such column, or the database cannot read it.
    #[error("{column}: {source}")]
    Unreadable {
        /// The column.
        column: String,
        /// The database's words.
        source: rusqlite::Error,
    },
    /// A value that must be there is NULL.
    #[error("{column} is missing")]
    Missing {
        /// The column.
        column: String,
    },
    /// The value is of another type.
    #[error("{column} is not {expected} but {found}")]
    Type {
        /// The column.
        column: String,
        /// What belongs there.
        expected: &'static str,
        /// What is there.
        found: Type,
    },
    /// Text in another encoding.
    #[error("{column} is not UTF-8 text")]
    NotUtf8 {
        /// The column.
        column: String,
    },
    /// A number that no run can have.
    #[error("{column} is out of range: {value}")]
    OutOfRange {
        /// The column.
        column: String,
        /// The number.
        value: i64,
    },
    /// A flag that is neither set nor not set.
    #[error("{column} is neither 0 nor 1 but {value}")]
    Flag {
        /// The column.
        column: String,
        /// The number.
        value: u64,
    },
    /// A document, or a name of a list, that cannot be read.
    #[error("{column}: {source}")]
    Json {
        /// The column.
        column: String,
        /// What the reader says.
        source: serde_json::Error,
    },
    /// A document with a number that no run can have.
    #[error("{column} holds a number that is out of range")]
    Number {
        /// The column.
        column: String,
    },
    /// A list of CPUs with something else in it.
    #[error("{column}: `{text}` is not a CPU")]
    Cpu {
        /// The column.
        column: String,
        /// What is there.
        text: String,
    },
    /// A histogram that cannot be read.
    #[error("{column}: {source}")]
    Histogram {
        /// The column.
        column: String,
        /// What is wrong with it.
        source: BlobError,
    },
}

/// A row; every reader names the column that is wrong.
pub(crate) struct Cells<'r>(pub(crate) &'r Row<'r>);

impl Cells<'_> {
    fn raw(&self, column: &str) -> Result<ValueRef<'_>, CellError> {
        self.0
            .get_ref(column)
            .map_err(|source| CellError::Unreadable {
                column: column.to_owned(),
                source,
            })
    }

    pub(crate) fn optional_text(&self, column: &str) -> Result<Option<String>, CellError> {
        match self.raw(column)? {
            ValueRef::Null => Ok(None),
            ValueRef::Text(bytes) => match std::str::from_utf8(bytes) {
                Ok(text) => Ok(Some(text.to_owned())),
                Err(_) => Err(CellError::NotUtf8 {
                    column: column.to_owned(),
                }),
            },
            other => Err(other_type(column, "text", other)),
        }
    }

    pub(crate) fn text(&self, column: &str) -> Result<String, CellError> {
        self.optional_text(column)?.ok_or_else(|| missing(column))
    }

    pub(crate) fn optional_count(&self, column: &str) -> Result<Option<u64>, CellError> {
        match self.raw(column)? {
            ValueRef::Null => Ok(None),
            ValueRef::Integer(number) => match u64::try_from(number) {
                Ok(number) if number <= MAX_COUNT => Ok(Some(number)),
                _ => Err(CellError::OutOfRange {
                    column: column.to_owned(),
                    value: number,
                }),
            },
            other => Err(other_type(column, "a whole number", other)),
        }
    }

    pub(crate) fn count(&self, column: &str) -> Result<u64, CellError> {
        self.optional_count(column)?.ok_or_else(|| missing(column))
    }

    pub(crate) fn small(&self, column: &str) -> Result<u32, CellError> {
        let number = self.count(column)?;
        u32::try_from(number).map_err(|_| CellError::OutOfRange {
            column: column.to_owned(),
            value: i64::try_from(number).unwrap_or(i64::MAX),
        })
    }

    pub(crate) fn optional_real(&self, column: &str) -> Result<Option<f64>, CellError> {
        match self.raw(column)? {
            ValueRef::Null => Ok(None),
            ValueRef::Real(number) => Ok(Some(number)),
            ValueRef::Integer(number) => Ok(Some(number as f64)),
            other => Err(other_type(column, "a number", other)),
        }
    }

    /// A number; one that could not be computed (stored as NULL) comes back as NaN.
    pub(crate) fn real(&self, column: &str) -> Result<f64, CellError> {
        Ok(self.optional_real(column)?.unwrap_or(f64::NAN))
    }

    pub(crate) fn flag(&self, column: &str) -> Result<bool, CellError> {
        match self.count(column)? {
            0 => Ok(false),
            1 => Ok(true),
            value => Err(CellError::Flag {
                column: column.to_owned(),
                value,
            }),
        }
    }

    pub(crate) fn blob(&self, column: &str) -> Result<Vec<u8>, CellError> {
        match self.raw(column)? {
            ValueRef::Blob(bytes) => Ok(bytes.to_vec()),
            other => Err(other_type(column, "a blob", other)),
        }
    }

    /// One name of an enumeration.
    pub(crate) fn named<T: DeserializeOwned>(&self, column: &str) -> Result<T, CellError> {
        let name = self.text(column)?;
        serde_json::from_value(serde_json::Value::String(name))
            .map_err(|source| not_read(column, source))
    }

    /// A JSON document.
    pub(crate) fn json<T: DeserializeOwned>(&self, column: &str) -> Result<T, CellError> {
        serde_json::from_str(&self.text(column)?).map_err(|source| not_read(column, source))
    }

    /// The counters of a workload; no number in them is beyond what a count may be.
    pub(crate) fn counters(&self, column: &str) -> Result<Counters, CellError> {
        let document: serde_json::Value = self.json(column)?;
        if !is_bounded(&document) {
            return Err(CellError::Number {
                column: column.to_owned(),
            });
        }
        serde_json::from_value(document).map_err(|source| not_read(column, source))
    }

    /// A JSON document, if there is one.
    pub(crate) fn optional_json<T: DeserializeOwned>(
        &self,
        column: &str,
    ) -> Result<Option<T>, CellError> {
        let text = self.optional_text(column)?;
        text.map(|text| serde_json::from_str(&text).map_err(|source| not_read(column, source)))
            .transpose()
    }

    /// What tells this row from others of its table, in words: `trial 3, guest g1`. Empty where
    /// the row has no key that can be read.
    pub(crate) fn key(&self) -> String {
        let value = |column: &&str| match self.0.get_ref(*column).ok()? {
            ValueRef::Integer(number) => Some(format!("{column} {number}")),
            ValueRef::Text(bytes) => {
                let text = String::from_utf8_lossy(bytes);
                let short: String = text.chars().take(MOST_OF_KEY).collect();
                Some(format!("{column} {}", short.escape_debug()))
            }
            _ => None,
        };
        let parts: Vec<String> = KEYS.iter().filter_map(value).collect();
        parts.join(", ")
    }
}

/// Columns that are keys of tables, or parts of them.
const KEYS: [&str; 9] = [
    "trial",
    "attempt",
    "point",
    "guest",
    "operation",
    "position",
    "example",
    "second",
    "note",
];
/// Characters that are shown of a key.
const MOST_OF_KEY: usize = 60;

fn missing(column: &str) -> CellError {
    CellError::Missing {
        column: column.to_owned(),
    }
}

fn other_type(column: &str, expected: &'static str, found: ValueRef<'_>) -> CellError {
    CellError::Type {
        column: column.to_owned(),
        expected,
        found: found.data_type(),
    }
}

fn not_read(column: &str, source: serde_json::Error) -> CellError {
    CellError::Json {
        column: column.to_owned(),
        source,
    }
}

/// Whether every whole number of a document is one that a count may be.
fn is_bounded(document: &serde_json::Value) -> bool {
    use serde_json::Value as Json;
    match document {
        Json::Number(number) => {
            number.is_f64() || number.as_u64().is_some_and(|count| count <= MAX_COUNT)
        }
        Json::Array(elements) => elements.iter().all(is_bounded),
        Json::Object(members) => members.values().all(is_bounded),
        Json::Null | Json::Bool(_) | Json::String(_) => true,
    }
}

/// A count as SQLite keeps it.
pub(crate) fn int(count: u64) -> Value {
    Value::Integer(i64::try_from(count.min(MAX_COUNT)).unwrap_or(i64::MAX))
}

/// The name of a value of an enumeration.
pub(crate) fn name_of<T: Serialize>(value: T) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(name)) => name,
        other => unreachable!("plain enumerations serialise to their names, not to {other:?}"),
    }
}

pub(crate) fn json_of(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).expect("our own types have string keys and finite structure")
}
