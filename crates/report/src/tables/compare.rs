//! Two runs against each other: the tables.

use rookery_analysis::compare::{Comparison, Difference, Finding, Metric, Verdict};

use super::Table;
use crate::prose::{
    compare::{change, detectable, value, verdict},
    format,
};

fn heads(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// What else differs; names of settings and values as they were stored.
pub(crate) fn difference_table(differences: &[Difference]) -> Table {
    let joined = |values: &[String]| {
        if values.is_empty() {
            "\u{2013}".to_owned()
        } else {
            values.join("; ")
        }
    };
    Table {
        label: String::new(),
        heads: heads(&["what", "base", "new"]),
        rows: differences
            .iter()
            .map(|difference| {
                vec![
                    difference.what.clone(),
                    joined(&difference.base),
                    joined(&difference.new),
                ]
            })
            .collect(),
    }
}

/// All metrics over all points together.
pub(crate) fn overall_table(comparison: &Comparison) -> Table {
    let row = |finding: &Finding| {
        let metric = finding.metric;
        let mark = if metric.is_primary() { "*" } else { "" };
        vec![
            format!("{}{mark}", comparison.name_of(metric)),
            value(metric, finding.base),
            value(metric, finding.new),
            change(finding),
            verdict(finding),
            detectable(finding),
        ]
    };
    Table {
        label: format!(
            "Over {} together, geometric means (* = named beforehand, decides the exit code):",
            format::counted(comparison.overall_points, "point")
        ),
        heads: heads(&[
            "metric",
            "base",
            "new",
            "change (95 %)",
            "verdict",
            "detectable",
        ]),
        rows: comparison
            .overall
            .iter()
            .filter(|_| comparison.overall_points > 0)
            .map(row)
            .collect(),
    }
}

/// One row per point with the primary metrics; nothing where there is only one.
pub(crate) fn brief_table(comparison: &Comparison) -> Table {
    let metrics: Vec<Metric> = comparison.primary().map(|finding| finding.metric).collect();
    let mut names = vec!["point".to_owned(), "trials".to_owned()];
    names.extend(metrics.iter().map(|metric| comparison.name_of(*metric)));
    let cell = |finding: &Finding| match finding.verdict {
        Verdict::Better | Verdict::Worse => format!("{} {}", change(finding), verdict(finding)),
        _ => change(finding),
    };
    let rows = comparison
        .points
        .iter()
        .filter(|_| comparison.points.len() > 1)
        .map(|point| {
            let mut row = vec![
                point.label.clone(),
                format!("{} / {}", point.base_trials, point.new_trials),
            ];
            let primary = point
                .findings
                .iter()
                .filter(|finding| finding.metric.is_primary());
            row.extend(primary.map(cell));
            row
        });
    Table {
        label: "Point by point; called better or worse only where chance is excluded for all \
                points together:"
            .to_owned(),
        heads: names,
        rows: rows.collect(),
    }
}

/// Everything of every point.
pub(crate) fn full_table(comparison: &Comparison) -> Table {
    let rows = comparison.points.iter().flat_map(|point| {
        let row = |finding: &Finding| {
            vec![
                point.label.clone(),
                format!("{} / {}", point.base_trials, point.new_trials),
                comparison.name_of(finding.metric),
                value(finding.metric, finding.base),
                value(finding.metric, finding.new),
                change(finding),
                verdict(finding),
                detectable(finding),
            ]
        };
        point.findings.iter().map(row)
    });
    Table {
        label: "Point by point".to_owned(),
        heads: heads(&[
            "point",
            "trials",
            "metric",
            "base",
            "new",
            "change (95 %)",
            "verdict",
            "detectable",
        ]),
        rows: rows.collect(),
    }
}
