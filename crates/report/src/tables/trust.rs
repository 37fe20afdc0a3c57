//! The checks of a run by kind.

use rookery_analysis::trust::{Checked, Trust};

use super::{Table, table};
use crate::prose::trust::check_name;

/// Checks by kind, with how many trials passed.
pub(crate) fn checks(trust: &Trust) -> Table {
    let heads = [
        "check",
        "passed",
        "warned",
        "at fault",
        "not applicable",
        "for example",
    ];
    let measured = trust
        .checks
        .iter()
        .filter(|checked| checked.passed + checked.warned + checked.faulty > 0);
    table(&heads, measured.map(row).collect())
}

/// Every remark of every trial: a single one is in the table of checks already.
pub(crate) fn remarks(trust: &Trust) -> Table {
    let mut rows: Vec<(u32, Vec<String>)> = Vec::new();
    for checked in &trust.checks {
        rows.extend(checked.remarks.iter().map(|remark| {
            let cells = vec![
                remark.trial.to_string(),
                if remark.counts { "done" } else { "void" }.to_owned(),
                check_name(checked).to_owned(),
                remark.text.clone(),
            ];
            (remark.trial, cells)
        }));
    }
    if rows.len() < 2 {
        rows.clear();
    }
    rows.sort_by_key(|(trial, _)| *trial);
    let rows = rows.into_iter().map(|(_, cells)| cells).collect();
    table(&["trial", "state", "check", "remark"], rows)
}

fn row(checked: &Checked) -> Vec<String> {
    let example = checked.remarks.iter().min_by_key(|remark| remark.counts);
    vec![
        check_name(checked).to_owned(),
        checked.passed.to_string(),
        checked.warned.to_string(),
        checked.faulty.to_string(),
        checked.not_asked.to_string(),
        example.map_or_else(String::new, |remark| {
            format!("trial {}: {}", remark.trial, remark.text)
        }),
    ]
}
