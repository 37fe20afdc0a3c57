//! The data dictionary: every table and column in words, as Markdown.

use std::fmt::Write as _;

use rookery_store::CellKind;
use rookery_workload::WorkloadKind;

use crate::TABLES;

/// Every table with its columns.
#[must_use]
pub fn tables() -> String {
    let mut out = String::new();
    for table in TABLES {
        let _ = writeln!(
            out,
            "\n### `{}`: one row per {}\n\n| column | type | meaning |\n|---|---|---|",
            table.name, table.row
        );
        for column in table.columns {
            let _ = writeln!(
                out,
                "| `{}` | {} | {} |",
                column.name,
                kind(column.kind),
                column.meaning.replace('|', "\\|")
            );
        }
    }
    out.push('\n');
    out
}

/// The metrics of every workload.
#[must_use]
pub fn metrics() -> String {
    let mut out = "\n| workload | metric | unit | meaning |\n|---|---|---|---|\n".to_owned();
    for workload in WorkloadKind::ALL {
        let info = workload.info();
        for metric in info.metrics {
            let _ = writeln!(
                out,
                "| {} | `{}` | {} | {} |",
                info.name,
                metric.name,
                metric.unit,
                metric.meaning.replace('|', "\\|")
            );
        }
    }
    out.push('\n');
    out
}

fn kind(kind: CellKind) -> &'static str {
    match kind {
        CellKind::Whole => "whole number",
        CellKind::Number => "number",
        CellKind::Flag => "true or false",
        CellKind::Text => "text",
    }
}
