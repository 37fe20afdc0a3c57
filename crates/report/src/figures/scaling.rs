//! The figure of throughput against clients and guests: trials, the fitted law with its band, and
//! the ideal.

use rookery_analysis::{
    Analysis, Run,
    scaling::{BEYOND, BendKind, CurvePlace, Scaling},
};

use super::data::{Datum, Figure, Mark, Panel, Place, Row, Series, single_trials};
use crate::{
    prose::{
        format,
        loop_type::loop_type,
        scaling::{sentences, short_law_name},
    },
    tables::scaling::{growth, laws},
};

/// One panel for each line; `None` without one.
pub(crate) fn figure(run: &Run, analysis: &Analysis) -> Option<Figure> {
    let lines = &analysis.scaling;
    let searched = if lines.iter().any(|line| line.of_searches > 0) {
        " Trials of searches are among them."
    } else {
        ""
    };
    (!lines.is_empty()).then(|| Figure {
        id: "scaling".to_owned(),
        title: "How throughput grows, and the law that it follows".to_owned(),
        caption: format!(
            "{}. Dots: means of good trials, with their 95 % intervals; small dots: single \
             trials.{searched} {} Grey dashes: in proportion to the smallest load, the ideal.",
            loop_type(run),
            curve_words(lines)
        ),
        panels: lines.iter().map(panel).collect(),
        remarks: remarks(lines),
        tables: vec![growth(lines)],
        exported_as: None,
        folded: vec![laws(lines)],
    })
}

/// What the caption says of the curves.
fn curve_words(lines: &[Scaling]) -> String {
    let mut all: Vec<&str> = Vec::new();
    if lines.iter().any(|line| !line.curve.is_empty()) {
        all.push(
            "Line: the chosen law, with the band in which 95 % of single trials are expected, \
             nowhere above what the CPUs of the guests allow. Vertical line: peak or knee of \
             the law, its 95 % interval shaded.",
        );
    }
    if lines.iter().any(|line| !line.beyond.is_empty()) {
        all.push("Dashed: beyond the largest load that was tried.");
    }
    if lines.iter().any(|line| line.curve.is_empty()) {
        all.push("Points alone where fewer than four loads were tried, or no law fits.");
    }
    all.join(" ")
}

/// Lines of which the sentences stand under the figure; the table has all.
const MOST_REMARKS: usize = 6;

fn remarks(lines: &[Scaling]) -> Vec<String> {
    let mut all: Vec<String> = lines
        .iter()
        .take(MOST_REMARKS)
        .map(|line| format!("{}: {}", line.label, sentences(line).join(" ")))
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
    let data = line.steps.iter().filter_map(|step| {
        let mean = step.per_minute.as_ref()?;
        Some(Datum::new(Place::Number(step.load), mean))
    });
    let mut series = vec![Series {
        name: "means".to_owned(),
        mark: Mark::Scatter,
        data: data.collect(),
    }];
    series.extend(single_trials(
        line.steps
            .iter()
            .map(|step| (Place::Number(step.load), step.values.clone())),
    ));
    series.extend(curve(line));
    series.extend(ideal(line));
    let end = BEYOND * line.largest();
    // Where no curve is drawn, nothing bends.
    let bend = line
        .bend
        .filter(|bend| !line.curve.is_empty() && bend.load <= end);
    Panel {
        label: format!("{}: {}", line.unit, line.label),
        x_title: line.unit.to_owned(),
        rows: vec![Row {
            y_title: line.rate.to_owned(),
            series,
            ..Row::default()
        }],
        window: bend
            .and_then(|bend| bend.interval)
            .map(|(low, high)| (low.max(0.0), high.min(end))),
        lines: bend
            .map(|bend| {
                let name = match bend.bend {
                    BendKind::Knee => "knee",
                    BendKind::Peak => "peak",
                };
                (bend.load, format!("{name} {}", format::load(bend.load)))
            })
            .into_iter()
            .collect(),
        ..Panel::default()
    }
}

/// The chosen law within the loads that were tried, and beyond them.
fn curve(line: &Scaling) -> Vec<Series> {
    let Some(chosen) = line.chosen_law() else {
        return Vec::new();
    };
    let name = short_law_name(chosen.law);
    [
        (name.to_owned(), Mark::Fit, &line.curve),
        (
            format!("{name}, beyond what was tried"),
            Mark::Beyond,
            &line.beyond,
        ),
    ]
    .into_iter()
    .filter(|(_, _, places)| !places.is_empty())
    .map(|(name, mark, places)| Series {
        name,
        mark,
        data: places.iter().map(on_curve).collect(),
    })
    .collect()
}

fn on_curve(place: &CurvePlace) -> Datum {
    Datum {
        ends: place.band,
        ..Datum::at(place.load, place.per_minute)
    }
}

/// In proportion to the smallest load, as far as the figure goes upwards.
fn ideal(line: &Scaling) -> Option<Series> {
    let first = line.steps.first()?;
    let per_unit = first.per_minute.as_ref()?.mean / first.load;
    let values = line.steps.iter().flat_map(|step| &step.values);
    let top = values.copied().fold(0.0, f64::max);
    // Further than a little above the trials the line would only press them flat.
    let end = (1.3 * top / per_unit).min(BEYOND * line.largest());
    Some(Series {
        name: "in proportion".to_owned(),
        mark: Mark::Reference,
        data: vec![
            Datum::at(first.load, per_unit * first.load),
            Datum::at(end, per_unit * end),
        ],
    })
}
