//! What each level is worth: the table.

use rookery_analysis::effects::{EffectMetric, Worth};

use super::Table;
use crate::prose::{
    effects::{basis, change, verdict},
    format,
};

/// Stands for the head that names the unit of work.
const UNIT_P95: &str = "";

const HEADS: [&str; 10] = [
    "factor",
    "level",
    "against",
    "throughput",
    "verdict",
    UNIT_P95,
    "verdict",
    "errors, before \u{2192} after",
    "rests on",
    "detectable",
];

/// The table of effects over all layouts, or by layout.
pub(crate) fn table(worths: &[Worth], unit: &str) -> Table {
    let by_layout = worths.iter().any(|worth| worth.layout.is_some());
    let name = |head: &&str| match *head {
        UNIT_P95 => EffectMetric::UnitP95.name(unit),
        head => head.to_owned(),
    };
    let mut heads: Vec<String> = HEADS.iter().map(name).collect();
    if by_layout {
        heads.insert(0, "layout".to_owned());
    }
    let row = |worth: &Worth| {
        let mut cells = vec![
            worth.level.key.clone(),
            worth.level.value.clone(),
            worth.reference.clone(),
        ];
        for compared in &worth.compared {
            cells.push(change(compared));
            cells.push(verdict(compared));
        }
        let errors = worth
            .errors
            .map(|share| format::or_none(share, format::percent));
        cells.push(errors.join(" \u{2192} "));
        cells.push(worth.compared.first().map_or_else(String::new, basis));
        let smallest = worth
            .compared
            .first()
            .and_then(|compared| compared.effect?.detectable());
        cells.push(format::or_none(smallest, |share| {
            format!("{} %", format::few(100.0 * share))
        }));
        if let Some(layout) = worth.layout.clone().filter(|_| by_layout) {
            cells.insert(0, layout);
        }
        cells
    };
    Table {
        label: String::new(),
        heads,
        rows: worths.iter().map(row).collect(),
    }
}
