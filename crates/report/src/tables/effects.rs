//! What each level is worth: the table.

use rookery_analysis::effects::{Compared, Worth};

use super::Table;
use crate::prose::{
    effects::{basis, change, verdict},
    format,
};

/// The table of effects over all layouts, or by layout.
pub(crate) fn table(worths: &[Worth], unit: &str) -> Table {
    let by_layout = worths.iter().any(|worth| worth.layout.is_some());
    let compared = worths.first().map_or(&[][..], |worth| &worth.compared);
    let of_metric = |compared: &Compared| [compared.metric.name(unit), "verdict".to_owned()];
    let mut heads: Vec<String> = ["factor", "level", "against"].map(str::to_owned).to_vec();
    heads.extend(compared.iter().flat_map(of_metric));
    heads.extend(["errors, before \u{2192} after", "rests on", "detectable"].map(str::to_owned));
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
