//! The summary as plain text.

mod brief;
mod compare;
mod trend;

pub(crate) use brief::{first_answer, render as brief};
pub use compare::compare_terminal;
pub use trend::trend_terminal;

use rookery_analysis::{Analysis, Run, layers::LayeredPoint, points::PointSummary};
use rookery_store::TrialStatus;
use rookery_text::{Zone, wrapped};

use crate::{
    prose::{
        caveats, effects as effect_prose, format, layers as layer_prose, loop_type::loop_type,
        scaling::short, searches::load_and_edge, trust, words,
    },
    tables::{self, Table},
    workloads,
};

/// Counts of trials in words: `5 of 6 trials done, 1 void`.
pub(crate) fn trial_counts(run: &Run) -> String {
    let mut text = format!(
        "{} of {} done",
        run.count(TrialStatus::Done),
        format::counted(run.whole_trials().count(), "trial")
    );
    for status in [
        TrialStatus::Void,
        TrialStatus::Failed,
        TrialStatus::Running,
        TrialStatus::Planned,
        TrialStatus::Skipped,
    ] {
        match run.count(status) {
            0 => {}
            count => text += &format!(", {count} {}", format::status(status)),
        }
    }
    text
}

/// The whole summary, in lines of `width`.
pub(crate) fn render(run: &Run, analysis: &Analysis, width: usize, zone: &Zone) -> String {
    let header = &run.header;
    let mut text = format!("{}\n", plain(&header.title));
    if let Some(question) = &header.study.question {
        text += &format!("{}\n", plain(question));
    }
    if words::simulated(run) {
        text += &format!("{}\n", words::SIMULATED);
    }
    text += &format!(
        "run {}, {}; {}; {}\n\n",
        plain(&header.run_id),
        plain(&zone.to_second(&header.created_at)),
        trial_counts(run),
        loop_type(run)
    );
    for sentence in crate::answer::answer(run, analysis) {
        text += &format!("* {}\n", plain(&sentence));
    }
    text += "\n";
    for table in [
        tables::summary::by_layout(analysis),
        tables::searches::answers(analysis),
        tables::searches::confirmed(analysis),
    ] {
        text += &fitted(table, width);
    }
    if !analysis.searches.is_empty() {
        text += &format!("{}\n\n", load_and_edge(&analysis.searches));
    }
    let of_users = [
        tables::summary::throughput(analysis),
        tables::summary::response_brief(analysis),
        tables::summary::costs(analysis),
        tables::baselines::against(analysis),
        tables::tiles::groups(analysis),
        tables::tiles::scores(analysis),
        tables::weights::table_of(analysis),
    ];
    for table in of_users.into_iter().filter(|_| !analysis.run.loads_alone) {
        text += &fitted(table, width);
    }
    text += &fitted(tables::loads::table_of(analysis), width);
    text += &fitted(tables::arrivals::table(run), width);
    text += &of_workload(run, analysis, width);
    text += &fairness(run, analysis, width);
    text += &layers(&analysis.layers, width);
    text += &effects(analysis, width);
    text += &growth(analysis);
    text += "How far to trust this:\n";
    for line in trust::lines(run, analysis) {
        text += &format!("- {}\n", plain(&line));
    }
    let caveats = caveats::caveats(run, analysis, zone);
    if !caveats.is_empty() {
        text += "\nCaveats:\n";
        for caveat in &caveats {
            text += &format!("- {}\n", plain(caveat));
        }
    }
    wrapped(&text, width)
}

/// What only the run's workload has.
fn of_workload(run: &Run, analysis: &Analysis, width: usize) -> String {
    let brief = workloads::brief(run, analysis);
    let tables = brief.tables.into_iter();
    let mut text: String = tables.map(|table| fitted(table, width)).collect();
    for remark in brief.remarks {
        text += &format!("{}\n\n", plain(&remark));
    }
    text
}

/// How evenly the guests of a point were served; nothing where no point has several.
fn fairness(run: &Run, analysis: &Analysis, width: usize) -> String {
    let row = |summary: &PointSummary| {
        let fairness = summary.fairness.filter(|_| summary.guests.len() > 1)?;
        Some(vec![
            summary.point.label.clone(),
            format!("{:.3}", fairness.jain),
            format::or_none(fairness.max_over_min, |ratio| format!("{ratio:.2}")),
        ])
    };
    let heads = [
        "point",
        "fairness (Jain's index, 1 = even)",
        &format!("most over least per {}", words::person(run)),
    ];
    let rows = analysis.points.iter().filter_map(row).collect();
    fitted(tables::table(&heads, rows), width)
}

/// What each layer costs; nothing where no point stands on several kinds of guest. The sentences
/// are the answer's.
pub(crate) fn layers(points: &[LayeredPoint], width: usize) -> String {
    let mut text = String::new();
    for table in tables::layers::narrow_tables(points) {
        text += &format!("{}:\n\n", table.label);
        text += &fitted(table, width);
    }
    for caveat in layer_prose::caveats(points) {
        text += &format!("{}\n", plain(&caveat));
    }
    if !text.is_empty() && !text.ends_with("\n\n") {
        text += "\n";
    }
    text
}

/// What each level is worth; nothing in a study without factors.
fn effects(analysis: &Analysis, width: usize) -> String {
    let mut text = String::new();
    for worths in [&analysis.effects.overall, &analysis.effects.by_layout] {
        let table = tables::effects::table(worths, analysis.workload.unit);
        // Without errors and detectable changes, which the page has: the lines are long enough.
        let shown = table.heads.len().saturating_sub(3);
        let narrow = |cells: Vec<String>| cells.into_iter().take(shown).collect();
        let table = Table {
            label: table.label,
            heads: narrow(table.heads),
            rows: table.rows.into_iter().map(narrow).collect(),
        };
        text += &fitted(table, width);
    }
    for remark in effect_prose::remarks(&analysis.effects, analysis.workload.unit) {
        text += &format!("{}\n", plain(&remark));
    }
    if !text.is_empty() && !text.ends_with("\n\n") {
        text += "\n";
    }
    text
}

/// What the laws say of throughput against users and guests; nothing where none was fitted.
fn growth(analysis: &Analysis) -> String {
    if analysis.scaling.is_empty() {
        return String::new();
    }
    let mut text = "How throughput grows:\n".to_owned();
    for line in &analysis.scaling {
        let label = plain(&line.label);
        text += &format!("- {}, {label}: {}\n", line.unit, plain(&short(line)));
    }
    text + "\n"
}

/// A table in lines of `width` and an empty line after it; nothing without rows.
fn fitted(table: Table, width: usize) -> String {
    if table.rows.is_empty() {
        return String::new();
    }
    let all_plain = |cells: Vec<String>| cells.iter().map(|cell| plain(cell)).collect();
    let rows = table.rows.into_iter().map(all_plain).collect();
    rookery_text::Table::new(all_plain(table.heads), rows).render(width) + "\n"
}

/// Text from outside without control characters, those that turn the direction of writing included:
/// it must not command the terminal.
pub(crate) fn plain(text: &str) -> String {
    let turns = |c: char| matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    text.chars()
        .map(|c| {
            if c.is_control() || turns(c) {
                '\u{fffd}'
            } else {
                c
            }
        })
        .collect()
}
