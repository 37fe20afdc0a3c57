//! The runs of a study over time, as plain text.

use rookery_analysis::trend::Trend;
use rookery_text::{Zone, wrapped};

use super::{fitted, plain};
use crate::{
    prose::{compare::value, format, trend::trend_sentences},
    tables::Table,
};

/// The trend of a study for a terminal: what changed, then the newest `most` runs, in lines of
/// `width`, with times in `zone`.
#[must_use]
pub fn trend_terminal(
    title: &str,
    trends: &[Trend],
    most: usize,
    width: usize,
    zone: &Zone,
) -> String {
    let mut text = format!("{}\n\n", plain(title));
    for sentence in trend_sentences(trends, zone) {
        text += &format!("* {}\n", plain(&sentence));
    }
    text += "\n";
    let table = table(trends, most, zone);
    if let Some(all) = trends
        .first()
        .map(|trend| trend.runs.len())
        .filter(|all| *all > most)
    {
        text += &format!("The newest {most} of {}:\n\n", format::counted(all, "run"));
    }
    text += &fitted(table, width);
    wrapped(&text, width)
}

/// The newest runs, one row each; a change is marked at the value of the run that begins it.
fn table(trends: &[Trend], most: usize, zone: &Zone) -> Table {
    let mut heads = vec!["begun".to_owned(), "run".to_owned(), "version".to_owned()];
    heads.extend(trends.iter().map(|trend| trend.name.clone()));
    let runs = trends.iter().max_by_key(|trend| trend.runs.len());
    let runs = runs.map(|trend| trend.runs.as_slice()).unwrap_or_default();
    let from = runs.len().saturating_sub(most);
    let row = |run: &rookery_analysis::trend::TrendRun| {
        let mut row = vec![
            zone.to_minute(&run.created_at),
            run.run_id.clone(),
            run.version.clone(),
        ];
        row.extend(trends.iter().map(|trend| cell(trend, &run.run_id)));
        row
    };
    Table {
        label: String::new(),
        heads,
        rows: runs[from..].iter().map(row).collect(),
    }
}

fn cell(trend: &Trend, run_id: &str) -> String {
    let Some(at) = trend.runs.iter().position(|run| run.run_id == run_id) else {
        return format::NONE.to_owned();
    };
    let text = value(trend.metric, Some(trend.runs[at].value));
    let change = trend.changes.iter().find(|change| change.at == at);
    match change {
        Some(change) if change.better => format!("{text} better"),
        Some(_) => format!("{text} worse"),
        None => text,
    }
}
