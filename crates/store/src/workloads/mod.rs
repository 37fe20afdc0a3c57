//! What stores of version 5 held of each workload: the one place of this crate that names them.

mod dvdstore;
mod orderentry;

use serde_json::Value;

use crate::{CellError, cells::Cells};

/// The counters of a guest's row of version 5, as the document that they are since version 6.
pub(crate) fn counters_of_v5(cells: &Cells<'_>) -> Result<Value, CellError> {
    match orderentry::counters(cells)? {
        Some(counters) => Ok(counters),
        None => dvdstore::counters(cells),
    }
}
