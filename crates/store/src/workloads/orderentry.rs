//! The counters of order entry, which were a document in a column of their own.

use serde_json::{Map, Value};

use crate::{CellError, cells::Cells};

pub(super) fn counters(cells: &Cells<'_>) -> Result<Option<Value>, CellError> {
    let stored: Option<Map<String, Value>> = cells.optional_json("orderentry_json")?;
    Ok(stored.map(|mut counters| {
        counters.insert("workload".to_owned(), "orderentry".into());
        Value::Object(counters)
    }))
}
