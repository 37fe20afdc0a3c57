//! Two runs against each other, as plain text.

use rookery_analysis::compare::Comparison;
use rookery_text::{Zone, wrapped};

use super::{fitted, layers, plain};
use crate::{
    prose::compare::{answer, caveats, runs, title},
    tables::compare::{brief_table, difference_table, overall_table},
};

/// The comparison as plain text for a terminal, in lines of `width`, with times in
/// `zone`.
#[must_use]
pub fn compare_terminal(comparison: &Comparison, width: usize, zone: &Zone) -> String {
    let mut text = format!("{}\n", plain(&title(comparison)));
    for line in runs(comparison, zone) {
        text += &format!("{}\n", plain(&line));
    }
    text += "\n";
    for sentence in answer(comparison) {
        text += &format!("* {}\n", plain(&sentence));
    }
    text += "\n";
    text += &layers(&comparison.layers, width);
    let differences = difference_table(&comparison.differences);
    if !differences.rows.is_empty() {
        text += "Not the same on both sides:\n\n";
    }
    text += &fitted(differences, width);
    for table in [overall_table(comparison), brief_table(comparison)] {
        if !table.rows.is_empty() {
            text += &format!("{}\n\n", table.label);
        }
        text += &fitted(table, width);
    }
    let known = caveats(comparison);
    if !known.is_empty() {
        text += "Caveats:\n";
        for caveat in known {
            text += &format!("- {}\n", plain(&caveat));
        }
    }
    wrapped(&text, width)
}
