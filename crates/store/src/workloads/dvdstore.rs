//! The counters of DVD Store, which had a column each.

use serde_json::{Map, Value};

use crate::{CellError, cells::Cells};

const COUNTS: [&str; 9] = [
    "n_overall",
    "n_rollbacks_overall",
    "n_login_overall",
    "n_newcust_overall",
    "n_browse_overall",
    "n_purchase_overall",
    "n_purchase_from_start",
    "n_rollbacks_from_start",
    "n_purchase_unanswered",
];
const FIGURES: [&str; 8] = [
    "opm",
    "rt_tot_avg_msec",
    "rt_tot_lastn_max_msec",
    "rollback_rate",
    "rt_login_avg_msec",
    "rt_newcust_avg_msec",
    "rt_browse_avg_msec",
    "rt_purchase_avg_msec",
];

pub(super) fn counters(cells: &Cells<'_>) -> Result<Value, CellError> {
    let mut counters = Map::new();
    counters.insert("workload".to_owned(), "dvdstore".into());
    for column in COUNTS {
        counters.insert(column.to_owned(), cells.count(column)?.into());
    }
    for column in FIGURES {
        // What could not be computed stays null.
        counters.insert(column.to_owned(), cells.optional_real(column)?.into());
    }
    Ok(Value::Object(counters))
}
