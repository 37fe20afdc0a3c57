//! The HTML page: everything that is known, put into one template.

mod compare;
mod fit;
mod policy;
mod sheet;

pub use compare::html as compare_html;
pub use fit::{CurvePoint, FitCurve, FitFigure, FitPanel, FitPoint, fit_html};

use minijinja::{Environment, UndefinedBehavior, escape_formatter, value::Serde};
use serde::Serialize;

use rookery_analysis::{Analysis, Run, storage::Ceiling};
use rookery_text::Zone;

use crate::{
    ReportError, draw,
    figures::{
        self,
        data::{Figure, Panel},
    },
    prose::{
        Fact, caveats, effects,
        loop_type::loop_type,
        plain::harmless,
        searches::{load_and_edge, sought},
        trust::{facts, prediction_line},
        words,
    },
    tables::{
        self, Table,
        evidence::{self, Trouble},
        settings::{self, Settings},
    },
    terminal::trial_counts,
    workloads,
};

const TEMPLATE: &str = include_str!("../../template/report.html");
const MACROS: &str = include_str!("../../template/macros.html");
/// The style of all pages.
pub const STYLE: &str = include_str!("../../template/report.css");
const SCRIPT: &str = include_str!("../../template/report.js");

/// The content security policy of every page: what it says of itself in its head, for a server that
/// says it as well.
#[must_use]
pub fn policy() -> String {
    policy::policy(&[draw::LIBRARY, SCRIPT])
}

/// What the template is given; all text in it is escaped there, except the four fields that are
/// ours.
#[derive(Serialize)]
struct Page<'a> {
    title: &'a str,
    question: Option<&'a str>,
    run_id: &'a str,
    created_at: String,
    version: &'a str,
    counts: String,
    loop_type: String,
    answer: Vec<String>,
    by_layout: Table,
    effects: Table,
    effects_by_layout: Table,
    effect_remarks: Vec<String>,
    caveats: Vec<String>,
    simulated: Option<&'static str>,
    prediction: String,
    searches: Table,
    load_and_edge: &'static str,
    sought: &'static str,
    confirmed: Table,
    summary: Table,
    baselines: Table,
    groups: Table,
    scores: Table,
    weights: Table,
    loads: Table,
    response: Table,
    metrics: Table,
    metric_meanings: Table,
    trust: Vec<Fact>,
    checks: Table,
    check_remarks: Table,
    figures: Vec<Drawn>,
    arrivals: Table,
    workload: Option<workloads::Section>,
    facts: Vec<Fact>,
    points: Table,
    trials: Table,
    settings: Settings,
    audits: Table,
    errors: Table,
    troubles: Vec<Trouble>,
    notes: Vec<String>,
    study_file: &'a str,
    study_text: &'a str,
    style: &'static str,
    script: &'static str,
    library: &'static str,
    policy: String,
}

/// A figure ready for the page.
#[derive(Serialize)]
struct Drawn {
    id: String,
    title: String,
    caption: String,
    labels: Vec<String>,
    /// A JSON list with one drawing per label.
    panels: String,
    /// What a screen reader says.
    spoken: String,
    /// The first drawing as SVG, for readers without scripts.
    picture: String,
    remarks: Vec<String>,
    open: Vec<Table>,
    folded: Vec<Table>,
    tables: Vec<Table>,
    exported_as: Option<&'static str>,
}

/// Put the page together.
pub(crate) fn render(
    run: &Run,
    analysis: &Analysis,
    ceilings: &[Ceiling],
    zone: &Zone,
) -> Result<String, ReportError> {
    let header = &run.header;
    let page = Page {
        title: &header.title,
        question: header.study.question.as_deref(),
        run_id: &header.run_id,
        created_at: zone.to_second(&header.created_at),
        version: &header.rookery_version,
        counts: trial_counts(run),
        loop_type: loop_type(run),
        answer: crate::answer::answer(run, analysis),
        by_layout: tables::summary::by_layout(analysis),
        effects: tables::effects::table(&analysis.effects.overall, words::unit(run)),
        effects_by_layout: tables::effects::table(&analysis.effects.by_layout, words::unit(run)),
        effect_remarks: effects::remarks(&analysis.effects, words::unit(run)),
        caveats: caveats::caveats(run, analysis, zone),
        simulated: words::simulated(run).then_some(words::SIMULATED),
        prediction: prediction_line(run, &analysis.trust.prediction),
        searches: tables::searches::answers(analysis),
        load_and_edge: load_and_edge(&analysis.searches),
        sought: sought(&analysis.searches),
        confirmed: tables::searches::confirmed(analysis),
        summary: summary_table(analysis),
        loads: tables::loads::table_of(analysis),
        baselines: tables::baselines::against(analysis),
        groups: tables::tiles::groups(analysis),
        scores: tables::tiles::scores(analysis),
        weights: tables::weights::table_of(analysis),
        response: tables::summary::response(analysis),
        metrics: tables::metrics::values(&analysis.points),
        metric_meanings: tables::metrics::meanings(&analysis.points),
        trust: facts(run, analysis),
        checks: tables::trust::checks(&analysis.trust),
        check_remarks: tables::trust::remarks(&analysis.trust),
        figures: workloads::figure(run, analysis)
            .iter()
            .chain(&figures::all(run, analysis, ceilings))
            .map(drawn)
            .collect(),
        arrivals: tables::arrivals::table(run),
        workload: workloads::section(run, analysis),
        facts: evidence::facts(run, zone),
        points: evidence::points(run),
        trials: evidence::trials(run, zone),
        settings: settings::settings(run),
        audits: evidence::audits(run),
        errors: evidence::errors(run),
        troubles: evidence::troubles(run),
        notes: notes(run),
        study_file: &header.study_file,
        study_text: &header.study_text,
        style: STYLE,
        script: SCRIPT,
        library: draw::LIBRARY,
        policy: policy(),
    };
    rendered("report.html", TEMPLATE, page)
}

/// A template with its values; text in them is harmless and escaped, unless the template calls it
/// safe.
fn rendered(
    name: &'static str,
    template: &'static str,
    values: impl Serialize,
) -> Result<String, ReportError> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_formatter(|output, state, value| match value.as_str() {
        Some(text) if !value.is_safe() => escape_formatter(output, state, &harmless(text).into()),
        _ => escape_formatter(output, state, value),
    });
    environment.add_template("macros.html", MACROS)?;
    environment.add_template(name, template)?;
    Ok(environment.get_template(name)?.render(Serde(values))?)
}

/// Throughput and costs side by side: the page is wider than a terminal.
fn summary_table(analysis: &Analysis) -> Table {
    if analysis.run.loads_alone {
        return tables::table(&[], Vec::new());
    }
    let mut table = tables::summary::throughput(analysis);
    let costs = tables::summary::costs(analysis);
    table.heads.extend(costs.heads.into_iter().skip(1));
    for (row, more) in table.rows.iter_mut().zip(costs.rows) {
        row.extend(more.into_iter().skip(1));
    }
    table
}

fn drawn(figure: &Figure) -> Drawn {
    let panels: Vec<String> = figure.panels.iter().map(draw::json).collect();
    Drawn {
        id: figure.id.clone(),
        title: figure.title.clone(),
        caption: figure.caption.clone(),
        labels: figure
            .panels
            .iter()
            .map(|panel| panel.label.clone())
            .collect(),
        panels: format!("[{}]", panels.join(",\n")),
        spoken: spoken(figure),
        picture: figure
            .panels
            .first()
            .map_or_else(String::new, |panel| draw::svg(panel, &figure.title)),
        remarks: figure.remarks.clone(),
        open: figure.tables.clone(),
        folded: figure.folded.clone(),
        tables: match figure.exported_as {
            Some(_) => Vec::new(),
            None => figure.panels.iter().map(Panel::table).collect(),
        },
        exported_as: figure.exported_as,
    }
}

/// The title, what stands along the axes, and the first values.
fn spoken(figure: &Figure) -> String {
    /// Values that are read out; the table has all.
    const MOST_VALUES: usize = 8;
    let Some(panel) = figure.panels.first() else {
        return figure.title.clone();
    };
    let table = panel.table();
    let series = panel.rows.iter().flat_map(|row| &row.series).count();
    let values: Vec<String> = table
        .rows
        .iter()
        .take(MOST_VALUES)
        .filter_map(|row| {
            let (place, values) = row.split_first()?;
            let (head, value) = table
                .heads
                .iter()
                .skip(1)
                .zip(values)
                .find(|(_, value)| !value.is_empty())?;
            Some(format!("{place}: {head} {value}"))
        })
        .collect();
    let more = if table.rows.len() > MOST_VALUES || series > 1 {
        " The table below has all values."
    } else {
        ""
    };
    format!("{}. {}.{more}", figure.title, values.join("; "))
}

/// Remarks of the plan and of the run.
fn notes(run: &Run) -> Vec<String> {
    let of_run = run
        .notes
        .iter()
        .map(|note| format!("{}: {}", note.at, note.text));
    run.header
        .plan
        .notes
        .iter()
        .cloned()
        .chain(of_run)
        .collect()
}
