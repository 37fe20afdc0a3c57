//! Two runs against each other, as plain text.

use rookery_analysis::compare::Comparison;

use super::{aligned, layers, plain};
use crate::{
    prose::compare::{answer, caveats, runs, title},
    tables::compare::{brief_table, difference_table, overall_table},
};

/// The comparison as plain text for a terminal.
#[must_use]
pub fn compare_terminal(comparison: &Comparison) -> String {
    let mut text = format!("{}\n", plain(&title(comparison)));
    for line in runs(comparison) {
        text += &format!("{}\n", plain(&line));
    }
    text += "\n";
    for sentence in answer(comparison) {
        text += &format!("* {}\n", plain(&sentence));
    }
    text += "\n";
    text += &layers(&comparison.layers);
    let differences = difference_table(&comparison.differences);
    if !differences.rows.is_empty() {
        text += "Not the same on both sides:\n\n";
    }
    text += &aligned(differences.heads, differences.rows);
    for table in [overall_table(comparison), brief_table(comparison)] {
        if !table.rows.is_empty() {
            text += &format!("{}\n\n", table.label);
        }
        text += &aligned(table.heads, table.rows);
    }
    let known = caveats(comparison);
    if !known.is_empty() {
        text += "Caveats:\n";
        for caveat in known {
            text += &format!("- {}\n", plain(&caveat));
        }
    }
    text
}
