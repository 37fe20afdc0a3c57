//! `rookery runs`: the stored runs, the newest first.

use rookery_live::RunSummary;

use crate::{
    cli::RunsArgs,
    exit::{Code, Failure},
    output,
};

pub(crate) fn run(args: &RunsArgs) -> Result<Code, Failure> {
    let rows: Vec<RunSummary> = rookery_lab::runs(&args.runs)
        .iter()
        .take(args.most)
        .map(|directory| RunSummary::read(directory))
        .collect();
    if args.json {
        return output::json(&rows);
    }
    if rows.is_empty() {
        output::text(format!("no runs in {}", args.runs.display()));
        return Ok(Code::Done);
    }
    let width = rows.iter().map(|row| row.name.len()).max().unwrap_or(0);
    for row in &rows {
        output::text(line(row, width));
    }
    Ok(Code::Done)
}

/// One line of the list: 80 columns hold the name, the state and what came of the trials.
fn line(row: &RunSummary, width: usize) -> String {
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
    format!(
        "{:width$}  {:11}  {}  {}\n{:width$}  {}",
        row.name,
        row.state.name(),
        output::zone().to_minute(&row.created_at),
        counts.join(", "),
        "",
        row.title,
    )
}
