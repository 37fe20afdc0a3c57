//! `rookery runs`: the stored runs, the newest first.

use rookery_lab::RunLabels;
use rookery_live::RunSummary;
use serde::Serialize;

use crate::{
    cli::RunsArgs,
    exit::{Code, Failure},
    output,
};

pub(crate) fn run(args: &RunsArgs) -> Result<Code, Failure> {
    let rows: Vec<Row> = rookery_lab::runs(&args.place.runs)
        .iter()
        .map(|directory| (directory, RunLabels::read(directory)))
        .filter(|(_, labels)| args.tag.iter().all(|tag| labels.tags.contains(tag)))
        .take(args.most)
        .map(|(directory, labels)| Row {
            summary: RunSummary::read(directory),
            labels,
        })
        .collect();
    if args.json {
        return output::json(&rows);
    }
    if rows.is_empty() {
        output::text(format!("no runs in {}", args.place.runs.display()));
        return Ok(Code::Done);
    }
    let names = rows.iter().map(|row| row.summary.name.len());
    let width = names.max().unwrap_or(0);
    for row in &rows {
        output::text(line(row, width));
    }
    Ok(Code::Done)
}

/// A run of the list.
#[derive(Serialize)]
struct Row {
    #[serde(flatten)]
    summary: RunSummary,
    #[serde(flatten)]
    labels: RunLabels,
}

/// One line of the list: 80 columns hold the name, the state and what came of the trials.
fn line(row: &Row, width: usize) -> String {
    let Row {
        summary: row,
        labels,
    } = row;
    if let Some(error) = &row.error {
        let first = error.lines().next().unwrap_or_default();
        return format!("{:width$}  {}: {first}", row.name, row.state.name());
    }
    let counts = [
        (row.trials.done, "done"),
        (row.trials.void, "void"),
        (row.trials.failed, "failed"),
        (row.trials.left, "left"),
        (row.trials.skipped, "skipped"),
    ];
    let counts: Vec<String> = counts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    let tags: String = labels.tags.iter().map(|tag| format!("  #{tag}")).collect();
    format!(
        "{:width$}  {:11}  {}  {}\n{:width$}  {}{tags}",
        row.name,
        row.state.name(),
        output::zone().to_minute(&row.created_at),
        counts.join(", "),
        "",
        row.title,
    )
}
