//! The figure of throughput against users and guests: trials, the fitted law with its band, and the ideal. Pure.

use rookery_model::fit::{Fitted, Severity};

use crate::{
    Analysis, Run,
    figure::{Datum, Figure, Mark, Panel, Place, Row, Series, Table},
    format,
    interval::Estimate,
    scaling::{Scaling, Step, law_name},
};

/// Points of a drawn curve, beside the loads that were tried.
const CURVE_POINTS: u32 = 24;
/// How far beyond the largest load a curve is drawn.
const BEYOND: f64 = 1.5;

/// One panel for each line; `None` without one.
pub(crate) fn figure(run: &Run, analysis: &Analysis) -> Option<Figure> {
    let lines = &analysis.scaling;
    let searched = if lines.iter().any(|line| line.of_searches > 0) {
        " Trials of searches are among them."
    } else {
        ""
    };
    (!lines.is_empty()).then(|| Figure {
        id: "scaling",
        title: "How throughput grows, and the law that it follows".to_owned(),
        caption: format!(
            "{}. Dots: means of good trials, whiskers as elsewhere.{searched} Line: the chosen law, with the band in which 95 % of single trials are \
             expected; dashed beyond the largest load that was tried. Grey dashes: in proportion to the smallest load, the ideal. Upright line: peak \
             or knee of the law, its 95 % interval shaded.",
            crate::loop_type::loop_type(run)
        ),
        panels: lines.iter().map(panel).collect(),
        remarks: remarks(lines),
        tables: vec![growth(lines)],
        folded: vec![laws(lines)],
    })
}

/// Lines of which the sentences stand under the figure; the table has all.
const MOST_REMARKS: usize = 6;

fn remarks(lines: &[Scaling]) -> Vec<String> {
    let mut all: Vec<String> = lines
        .iter()
        .take(MOST_REMARKS)
        .map(|line| format!("{}: {}", line.label, line.sentences().join(" ")))
        .collect();
    if lines.len() > MOST_REMARKS {
        all.push(format!(
            "{} more lines stand in the table of laws.",
            lines.len() - MOST_REMARKS
        ));
    }
    all
}

fn panel(line: &Scaling) -> Panel {
    let mean = |step: &Step| Estimate::of(&step.values, None, Vec::new);
    let data = line
        .steps
        .iter()
        .filter_map(|step| Some(Datum::of(Place::Number(step.n), &mean(step)?)));
    let mut series = vec![Series {
        name: "trials".to_owned(),
        mark: Mark::Scatter,
        data: data.collect(),
    }];
    series.extend(curve(line));
    series.extend(ideal(line));
    let bend = line
        .bend()
        .filter(|(_, n, _)| *n <= BEYOND * line.judgement.largest);
    let unit = line.grows.unit();
    Panel {
        label: format!("{unit}: {}", line.label),
        x_title: unit.to_owned(),
        rows: vec![Row {
            y_title: "orders/min".to_owned(),
            series,
        }],
        window: bend.and_then(|(_, _, interval)| interval).map(|ends| {
            (
                ends.low.max(0.0),
                ends.high.min(BEYOND * line.judgement.largest),
            )
        }),
        lines: bend
            .map(|(name, n, _)| (n, format!("{name} {}", format::load(n))))
            .into_iter()
            .collect(),
        ..Panel::default()
    }
}

/// The chosen law within the loads that were tried, and beyond them.
fn curve(line: &Scaling) -> Vec<Series> {
    let Some((choice, fitted)) = line.chosen() else {
        return Vec::new();
    };
    let largest = line.judgement.largest;
    let name = choice.model.name();
    let mut places: Vec<f64> = (1..=CURVE_POINTS)
        .map(|i| largest * f64::from(i) / f64::from(CURVE_POINTS))
        .collect();
    places.extend(line.steps.iter().map(|step| step.n));
    places.sort_by(f64::total_cmp);
    places.dedup();
    places.retain(|n| *n >= line.steps.first().map_or(0.0, |first| first.n));
    let beyond: Vec<f64> = (0..=6)
        .map(|i| largest * (1.0 + (BEYOND - 1.0) * f64::from(i) / 6.0))
        .collect();
    let along = |places: &[f64]| places.iter().map(|n| on_curve(line, fitted, *n)).collect();
    vec![
        Series {
            name: name.to_owned(),
            mark: Mark::Fit,
            data: along(&places),
        },
        Series {
            name: format!("{name}, beyond what was tried"),
            mark: Mark::Beyond,
            data: along(&beyond),
        },
    ]
}

fn on_curve(line: &Scaling, fitted: &Fitted, n: f64) -> Datum {
    let band = fitted.predict(n, &line.observations).map(|found| found.run);
    Datum {
        ends: band.map(|ends| (60.0 * ends.low.max(0.0), 60.0 * ends.high)),
        ..Datum::at(n, 60.0 * fitted.throughput(n))
    }
}

/// In proportion to the smallest load, as far as the figure goes upwards.
fn ideal(line: &Scaling) -> Option<Series> {
    let first = line.observations.loads().into_iter().next()?;
    let per_unit = 60.0 * first.mean() / first.n;
    let top = line
        .steps
        .iter()
        .flat_map(|step| &step.values)
        .copied()
        .fold(0.0, f64::max);
    // Further than a little above the trials the line would only press them flat.
    let end = (1.3 * top / per_unit).min(BEYOND * line.judgement.largest);
    Some(Series {
        name: "in proportion".to_owned(),
        mark: Mark::Reference,
        data: vec![
            Datum::at(first.n, per_unit * first.n),
            Datum::at(end, per_unit * end),
        ],
    })
}

/// Throughput, speed-up and efficiency at every load.
fn growth(lines: &[Scaling]) -> Table {
    let heads = [
        "what",
        "load",
        "trials",
        "orders/min",
        "speed-up over the smallest",
        "efficiency of growth",
    ];
    let row = |line: &Scaling, step: &Step| {
        let smallest = line.observations.smallest();
        let mean = Estimate::of(&step.values, None, Vec::new);
        vec![
            line.label.clone(),
            line.grows.counted(step.n),
            step.values.len().to_string(),
            format::or_none(mean.as_ref(), format::estimate),
            format::or_none(step.speed_up.as_ref(), format::factor),
            format::or_none(step.efficiency(smallest).as_ref(), format::ratio),
        ]
    };
    Table {
        label: "Speed-up and efficiency".to_owned(),
        heads: heads.map(str::to_owned).to_vec(),
        rows: lines
            .iter()
            .flat_map(|line| line.steps.iter().map(move |step| row(line, step)))
            .collect(),
    }
}

/// Every law of every line, chosen, lost or refused.
fn laws(lines: &[Scaling]) -> Table {
    let heads = [
        "what",
        "law",
        "held-out error",
        "largest",
        "residuals",
        "AICc",
        "verdict",
    ];
    let mut rows = Vec::new();
    for line in lines {
        for (place, candidate) in line.judgement.candidates.iter().enumerate() {
            let refusals: Vec<&str> = candidate
                .findings
                .iter()
                .filter(|finding| finding.severity == Severity::Refuse)
                .map(|finding| finding.text.as_str())
                .collect();
            let verdict = if line.judgement.chosen == Some(place) {
                "chosen".to_owned()
            } else if candidate.refused() {
                format!("refused: {}", refusals.join("; "))
            } else {
                "lost".to_owned()
            };
            rows.push(vec![
                line.label.clone(),
                law_name(candidate.model).to_owned(),
                format::or_none(candidate.held_out, |error| format::percent(error.mape)),
                format::or_none(candidate.held_out, |error| format::percent(error.largest)),
                format::or_none(candidate.goodness.as_ref(), |goodness| {
                    format::percent(goodness.mape)
                }),
                format::or_none(candidate.goodness.as_ref(), |goodness| {
                    format::number(goodness.aicc)
                }),
                verdict,
            ]);
        }
        let naive = line.judgement.held_out.iter().flat_map(|held| {
            let baselines = [
                ("Last value carried forward", held.baselines.last),
                ("Last value in proportion", held.baselines.linear),
            ];
            baselines.map(|(name, error)| {
                (
                    name,
                    format::percent(error.mape),
                    format::percent(error.largest),
                )
            })
        });
        rows.extend(naive.map(|(name, mean, largest)| {
            let blank = || String::new();
            vec![
                line.label.clone(),
                name.to_owned(),
                mean,
                largest,
                blank(),
                blank(),
                "naive".to_owned(),
            ]
        }));
    }
    Table {
        label: "Laws".to_owned(),
        heads: heads.map(str::to_owned).to_vec(),
        rows,
    }
}
