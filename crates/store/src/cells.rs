//! Typed access to one row that is not trusted.

use rookery_workload::Counters;
use rusqlite::{
    Row,
    types::{Value, ValueRef},
};
use serde::{Serialize, de::DeserializeOwned};

/// No count, size or duration of a real run is larger; bounds every sum over a hostile file.
const MAX_COUNT: u64 = 1 << 48;

/// A row; every reader names the column that is wrong.
pub(crate) struct Cells<'r>(pub(crate) &'r Row<'r>);

impl Cells<'_> {
    fn raw(&self, column: &str) -> Result<ValueRef<'_>, String> {
        self.0
            .get_ref(column)
            .map_err(|error| format!("{column}: {error}"))
    }

    pub(crate) fn optional_text(&self, column: &str) -> Result<Option<String>, String> {
        match self.raw(column)? {
            ValueRef::Null => Ok(None),
            ValueRef::Text(bytes) => match std::str::from_utf8(bytes) {
                Ok(text) => Ok(Some(text.to_owned())),
                Err(_) => Err(format!("{column} is not UTF-8 text")),
            },
            other => Err(format!("{column} is not text but {}", other.data_type())),
        }
    }

    pub(crate) fn text(&self, column: &str) -> Result<String, String> {
        self.optional_text(column)?
            .ok_or_else(|| format!("{column} is missing"))
    }

    pub(crate) fn optional_count(&self, column: &str) -> Result<Option<u64>, String> {
        match self.raw(column)? {
            ValueRef::Null => Ok(None),
            ValueRef::Integer(number) => match u64::try_from(number) {
                Ok(number) if number <= MAX_COUNT => Ok(Some(number)),
                _ => Err(format!("{column} is out of range: {number}")),
            },
            other => Err(format!(
                "{column} is not a whole number but {}",
                other.data_type()
            )),
        }
    }

    pub(crate) fn count(&self, column: &str) -> Result<u64, String> {
        self.optional_count(column)?
            .ok_or_else(|| format!("{column} is missing"))
    }

    pub(crate) fn small(&self, column: &str) -> Result<u32, String> {
        let number = self.count(column)?;
        u32::try_from(number).map_err(|_| format!("{column} is out of range: {number}"))
    }

    pub(crate) fn optional_real(&self, column: &str) -> Result<Option<f64>, String> {
        match self.raw(column)? {
            ValueRef::Null => Ok(None),
            ValueRef::Real(number) => Ok(Some(number)),
            ValueRef::Integer(number) => Ok(Some(number as f64)),
            other => Err(format!(
                "{column} is not a number but {}",
                other.data_type()
            )),
        }
    }

    /// A number; one that could not be computed (stored as NULL) comes back as NaN.
    pub(crate) fn real(&self, column: &str) -> Result<f64, String> {
        Ok(self.optional_real(column)?.unwrap_or(f64::NAN))
    }

    pub(crate) fn flag(&self, column: &str) -> Result<bool, String> {
        match self.count(column)? {
            0 => Ok(false),
            1 => Ok(true),
            other => Err(format!("{column} is neither 0 nor 1 but {other}")),
        }
    }

    pub(crate) fn blob(&self, column: &str) -> Result<Vec<u8>, String> {
        match self.raw(column)? {
            ValueRef::Blob(bytes) => Ok(bytes.to_vec()),
            other => Err(format!("{column} is not a blob but {}", other.data_type())),
        }
    }

    /// One name of an enumeration.
    pub(crate) fn named<T: DeserializeOwned>(&self, column: &str) -> Result<T, String> {
        let name = self.text(column)?;
        serde_json::from_value(serde_json::Value::String(name))
            .map_err(|error| format!("{column}: {error}"))
    }

    /// A JSON document.
    pub(crate) fn json<T: DeserializeOwned>(&self, column: &str) -> Result<T, String> {
        serde_json::from_str(&self.text(column)?).map_err(|error| format!("{column}: {error}"))
    }

    /// The counters of a workload; no number in them is beyond what a count may be.
    pub(crate) fn counters(&self, column: &str) -> Result<Counters, String> {
        let document: serde_json::Value = self.json(column)?;
        if !is_bounded(&document) {
            return Err(format!("{column} holds a number that is out of range"));
        }
        serde_json::from_value(document).map_err(|error| format!("{column}: {error}"))
    }

    /// A JSON document, if there is one.
    pub(crate) fn optional_json<T: DeserializeOwned>(
        &self,
        column: &str,
    ) -> Result<Option<T>, String> {
        let text = self.optional_text(column)?;
        text.map(|text| serde_json::from_str(&text).map_err(|error| format!("{column}: {error}")))
            .transpose()
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
