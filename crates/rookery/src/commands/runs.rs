//! `rookery runs`: the stored runs, the newest first.

use std::path::Path;

use rookery_store::{Store, StoreError, TrialStatus};
use serde::Serialize;

use crate::{
    cli::RunsArgs,
    exit::{Code, Failure},
    output,
};

/// What the list says of one run.
#[derive(Debug, Serialize)]
struct Row {
    /// Name of its directory.
    name: String,
    /// Its id; empty where its store cannot be read.
    id: String,
    /// When it was begun, RFC 3339.
    created_at: String,
    /// Title of its study.
    title: String,
    state: State,
    /// Trials by how they ended.
    trials: Trials,
    /// Why its store cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

#[derive(Debug, Default, Serialize)]
struct Trials {
    done: usize,
    void: usize,
    failed: usize,
    left: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum State {
    /// A controller is at work on it.
    Running,
    /// Every planned trial has ended.
    Ended,
    /// Trials are left.
    Interrupted,
    /// Its store is damaged, or of a newer version.
    Unreadable,
}

impl State {
    fn name(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Ended => "ended",
            Self::Interrupted => "interrupted",
            Self::Unreadable => "unreadable",
        }
    }
}

pub(crate) fn run(args: &RunsArgs) -> Result<Code, Failure> {
    let mut rows: Vec<Row> = rookery_lab::runs(&args.runs)
        .iter()
        .take(args.most)
        .map(|directory| row(directory))
        .collect();
    if args.json {
        return output::json(&rows);
    }
    if rows.is_empty() {
        output::text(format!("no runs in {}", args.runs.display()));
        return Ok(Code::Done);
    }
    let width = rows.iter().map(|row| row.name.len()).max().unwrap_or(0);
    for row in &mut rows {
        output::text(line(row, width));
    }
    Ok(Code::Done)
}

fn row(directory: &Path) -> Row {
    let name = directory
        .file_name()
        .map(|name| output::printable(&name.to_string_lossy()))
        .unwrap_or_default();
    read(directory, name.clone()).unwrap_or_else(|error| Row {
        name,
        id: String::new(),
        created_at: String::new(),
        title: String::new(),
        state: State::Unreadable,
        trials: Trials::default(),
        error: Some(output::printable(&error.to_string())),
    })
}

fn read(directory: &Path, name: String) -> Result<Row, StoreError> {
    let store = Store::open_read_only(rookery_lab::store_in(directory))?;
    let header = store.header()?;
    let mut trials = Trials::default();
    for trial in store.trials()? {
        match trial.status {
            TrialStatus::Done => trials.done += 1,
            TrialStatus::Void => trials.void += 1,
            TrialStatus::Failed => trials.failed += 1,
            _ => trials.left += 1,
        }
    }
    Ok(Row {
        name,
        id: header.run_id,
        created_at: header.created_at,
        title: output::printable(&header.title),
        state: match trials.left {
            _ if rookery_lab::is_running(directory) => State::Running,
            0 => State::Ended,
            _ => State::Interrupted,
        },
        trials,
        error: None,
    })
}

/// One line of the list: 80 columns hold the name, the state and what came of the trials.
fn line(row: &Row, width: usize) -> String {
    if let Some(error) = &row.error {
        let first = error.lines().next().unwrap_or_default();
        return format!("{:width$}  {}: {first}", row.name, row.state.name());
    }
    let counts = [
        (row.trials.done, "done"),
        (row.trials.void, "void"),
        (row.trials.failed, "failed"),
        (row.trials.left, "left"),
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
