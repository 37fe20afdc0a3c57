//! The data of every figure, computed apart from any drawing, so that tests can pin them. Pure.

use rookery_stats::Summary;
use rookery_study::Level;

use crate::{Analysis, PointSummary, Run, capacity, forest, format, timeline};

/// One figure: one or several panels of which the reader sees one at a time.
#[derive(Clone, Debug)]
pub(crate) struct Figure {
    /// Anchor in the page.
    pub(crate) id: &'static str,
    /// Title.
    pub(crate) title: String,
    /// What it shows and under which conditions.
    pub(crate) caption: String,
    /// At least one.
    pub(crate) panels: Vec<Panel>,
}

/// One drawing.
#[derive(Clone, Debug)]
pub(crate) struct Panel {
    /// Its name in the list of panels.
    pub(crate) label: String,
    /// Title of the x axis.
    pub(crate) x_title: String,
    /// Rows that share the x axis, top first.
    pub(crate) rows: Vec<Row>,
    /// A span of x to be shaded: the measured window.
    pub(crate) window: Option<(f64, f64)>,
}

/// One system of axes.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    /// Title of the y axis, with the unit.
    pub(crate) y_title: String,
    /// What is drawn.
    pub(crate) series: Vec<Series>,
}

/// How a series is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    /// Dots joined by lines.
    Dots,
    /// A plain line.
    Line,
    /// A thin dashed line: a reference, not a measurement.
    Reference,
    /// Bars, side by side with those of other series.
    Bars,
    /// Bars of which every place has only one.
    Columns,
    /// Dots alone.
    Scatter,
    /// Dots alone, values across and names down, with a line at zero.
    Forest,
}

/// One named series.
#[derive(Clone, Debug)]
pub(crate) struct Series {
    pub(crate) name: String,
    pub(crate) mark: Mark,
    pub(crate) data: Vec<Datum>,
}

/// Where a datum stands.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Place {
    /// On a number line.
    Number(f64),
    /// At a name.
    Name(String),
}

/// One value with its ends.
#[derive(Clone, Debug)]
pub(crate) struct Datum {
    pub(crate) x: Place,
    pub(crate) y: f64,
    pub(crate) ends: Option<(f64, f64)>,
    /// Printed at the mark.
    pub(crate) note: Option<String>,
    /// Limits were broken there.
    pub(crate) broken: bool,
}

/// Lines of a data table: heads, then rows of cells.
#[derive(Clone, Debug, serde::Serialize)]
pub(crate) struct Table {
    pub(crate) label: String,
    pub(crate) heads: Vec<String>,
    pub(crate) rows: Vec<Vec<String>>,
}

impl Datum {
    pub(crate) fn at(x: f64, y: f64) -> Self {
        let x = Place::Number(x);
        Self {
            x,
            y,
            ends: None,
            note: None,
            broken: false,
        }
    }

    pub(crate) fn named(x: &str, y: f64) -> Self {
        let x = Place::Name(x.to_owned());
        Self {
            x,
            y,
            ends: None,
            note: None,
            broken: false,
        }
    }

    pub(crate) fn of(x: Place, summary: &Summary) -> Self {
        Self {
            x,
            y: summary.mean,
            ends: summary.ends(),
            note: None,
            broken: false,
        }
    }
}

impl Panel {
    /// The same data as a table: one row per place, one column per series.
    pub(crate) fn table(&self) -> Table {
        let series: Vec<(&str, &Series)> = self
            .rows
            .iter()
            .flat_map(|row| row.series.iter().map(|series| (row.y_title.as_str(), series)))
            .collect();
        let mut places: Vec<&Place> = Vec::new();
        let mut seen = std::collections::HashSet::new();
        for datum in series.iter().flat_map(|(_, series)| &series.data) {
            if seen.insert(datum.x.text()) {
                places.push(&datum.x);
            }
        }
        places.sort_by(|a, b| match (a, b) {
            (Place::Number(a), Place::Number(b)) => a.total_cmp(b),
            _ => std::cmp::Ordering::Equal,
        });
        let columns: Vec<std::collections::HashMap<String, &Datum>> = series
            .iter()
            .map(|(_, series)| series.data.iter().map(|datum| (datum.x.text(), datum)).collect())
            .collect();
        let mut heads = vec![self.x_title.clone()];
        heads.extend(series.iter().map(|(unit, series)| format!("{} ({unit})", series.name)));
        let row = |place: &&Place| {
            let cells = columns
                .iter()
                .map(|column| column.get(&place.text()).map_or_else(String::new, |datum| datum.text()));
            std::iter::once(place.text()).chain(cells).collect()
        };
        Table {
            label: self.label.clone(),
            heads,
            rows: places.iter().map(row).collect(),
        }
    }
}

impl Place {
    fn text(&self) -> String {
        match self {
            Self::Number(number) => format::trimmed(*number),
            Self::Name(name) => name.clone(),
        }
    }
}

impl Datum {
    fn text(&self) -> String {
        let value = format::number(self.y);
        let ends = self.ends.map_or_else(String::new, |(low, high)| {
            format!(" ({} to {})", format::number(low), format::number(high))
        });
        let note = self.note.as_ref().map_or_else(String::new, |note| format!(", {note}"));
        let broken = if self.broken { ", limits broken" } else { "" };
        format!("{value}{ends}{note}{broken}")
    }
}

/// Every figure that the run can carry, in the order of the page.
pub(crate) fn all(run: &Run, analysis: &Analysis) -> Vec<Figure> {
    let figures = [
        forest::figure(run, analysis),
        scale_up(run, analysis),
        capacity::figure(run, analysis).or_else(|| consolidation(run, analysis)),
        percentiles(run, analysis),
        timeline::figure(run),
        fairness(run, analysis),
    ];
    figures.into_iter().flatten().collect()
}

pub(crate) fn one_panel(x_title: &str, y_title: &str, series: Vec<Series>) -> Vec<Panel> {
    vec![Panel {
        label: String::new(),
        x_title: x_title.to_owned(),
        rows: vec![Row {
            y_title: y_title.to_owned(),
            series,
        }],
        window: None,
    }]
}

/// How the ends of a mean are to be read.
pub(crate) const ENDS: &str = "Whiskers: 95 % interval of the mean for three or more repeats, range for two, none for a single trial.";

/// Throughput of single guests against their vCPUs, or against users when only these vary.
pub(crate) fn scale_up(run: &Run, analysis: &Analysis) -> Option<Figure> {
    let single: Vec<&PointSummary> = analysis.points.iter().filter(|summary| summary.point.guests == 1).collect();
    let varied = |value: &dyn Fn(&PointSummary) -> f64| {
        let mut values: Vec<f64> = single.iter().map(|summary| value(summary)).collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        values.len() > 1
    };
    let by_vcpus = varied(&|summary| summary.point.vcpus.cpus());
    if !by_vcpus && !varied(&|summary| summary.point.load()) {
        return None;
    }
    let place = |summary: &PointSummary| {
        if by_vcpus {
            summary.point.vcpus.cpus()
        } else {
            summary.point.load()
        }
    };
    let mut series: Vec<Series> = Vec::new();
    let variants = &run.header.plan.variants;
    let lines = run
        .header
        .study
        .layouts
        .iter()
        .flat_map(|layout| variants.iter().map(move |variant| (layout, variant)));
    for (layout, variant) in lines {
        let of_line = |summary: &&PointSummary| summary.point.layouts.contains(&layout.name) && summary.point.variant == variant.id;
        let own: Vec<&PointSummary> = single.iter().copied().filter(of_line).collect();
        let line = levels_after(&layout.name, &variant.levels);
        for (name, summaries) in densities(&line, own, by_vcpus) {
            let measured = summaries
                .iter()
                .filter_map(|summary| Some((place(summary), summary.orders_per_minute?, summary.qos.failed > 0)));
            let mut measured: Vec<(f64, Summary, bool)> = measured.collect();
            measured.sort_by(|a, b| a.0.total_cmp(&b.0));
            let datum = |(x, orders, broken): &(f64, Summary, bool)| Datum {
                broken: *broken,
                ..Datum::of(Place::Number(*x), orders)
            };
            let data: Vec<Datum> = measured.iter().map(datum).collect();
            if !data.is_empty() {
                let mark = Mark::Dots;
                series.push(Series { name, mark, data });
            }
        }
    }
    let longest = series.iter().max_by_key(|series| series.data.len())?;
    series.extend(proportional(longest));
    let (x_title, what) = if by_vcpus {
        ("vCPUs of the guest", "vCPUs")
    } else if run.header.study.load.open.is_some() {
        ("arrivals/s", "arrivals")
    } else {
        ("users", "users")
    };
    Some(Figure {
        id: "scale-up",
        title: format!("Scale-up: throughput of one guest against its {what}"),
        caption: format!(
            "{}. {ENDS} Dashed: in proportion to the first point, for comparison.{}",
            crate::loop_type::loop_type(run),
            broken_words(&series)
        ),
        panels: one_panel(x_title, "orders/min", series),
    })
}

/// A name, and the levels of a variant behind it.
pub(crate) fn levels_after(name: &str, levels: &[Level]) -> String {
    let levels = levels.iter().map(|level| format!(", {}={}", level.short_key(), level.value));
    std::iter::once(name.to_owned()).chain(levels).collect()
}

/// What the caption says of points that broke limits.
pub(crate) fn broken_words(series: &[Series]) -> &'static str {
    if series.iter().flat_map(|series| &series.data).any(|datum| datum.broken) {
        " Pale: limits broken."
    } else {
        ""
    }
}

/// The points of a layout as one series, or, where several loads stand at the same vCPUs, one series per load.
fn densities<'a>(layout: &str, own: Vec<&'a PointSummary>, by_vcpus: bool) -> Vec<(String, Vec<&'a PointSummary>)> {
    let mut sizes: Vec<u32> = own.iter().map(|summary| summary.point.vcpus.0).collect();
    sizes.sort_unstable();
    sizes.dedup();
    if !by_vcpus || sizes.len() == own.len() {
        return vec![(layout.to_owned(), own)];
    }
    let mut groups: Vec<(String, Vec<&PointSummary>)> = Vec::new();
    for summary in own {
        let density = summary.point.load() / summary.point.vcpus.cpus();
        let what = if summary.point.rate_per_s.is_some() {
            "arrivals/s"
        } else {
            "users"
        };
        let name = format!("{layout}, {} {what} per vCPU", format::trimmed(density));
        match groups.iter_mut().find(|(known, _)| *known == name) {
            Some((_, group)) => group.push(summary),
            None => groups.push((name, vec![summary])),
        }
    }
    groups
}

/// The line through the origin and the first point of a series of several.
fn proportional(series: &Series) -> Option<Series> {
    let first = series.data.first().filter(|_| series.data.len() > 1)?;
    let Place::Number(x0) = first.x else { return None };
    let along = series.data.iter().filter_map(|datum| match datum.x {
        Place::Number(x) if x0 > 0.0 => Some(Datum::at(x, first.y * x / x0)),
        _ => None,
    });
    Some(Series {
        name: "in proportion".to_owned(),
        mark: Mark::Reference,
        data: along.collect(),
    })
}

/// The name of a point on an axis, distinct for every point.
fn point_name(summary: &PointSummary) -> String {
    summary.point.label()
}

/// Aggregate throughput of every point; beside each the share of its one-big baseline.
pub(crate) fn consolidation(run: &Run, analysis: &Analysis) -> Option<Figure> {
    let mut series: Vec<Series> = Vec::new();
    for summary in &analysis.points {
        let Some(orders) = &summary.orders_per_minute else { continue };
        let mut datum = Datum::of(Place::Name(point_name(summary)), orders);
        datum.broken = summary.qos.failed > 0;
        datum.note = match summary.point.baseline {
            Some(baseline) if baseline == summary.point.id => Some("baseline".to_owned()),
            _ => summary.efficiency.map(|ratio| format::percent(ratio.value)),
        };
        let name = summary.layouts();
        match series.iter_mut().find(|series| series.name == name) {
            Some(known) => known.data.push(datum),
            None => series.push(Series {
                name,
                mark: Mark::Columns,
                data: vec![datum],
            }),
        }
    }
    (!series.is_empty()).then(|| Figure {
        id: "consolidation",
        title: "Aggregate throughput of every layout, and its share of one big guest".to_owned(),
        caption: format!(
            "{}. All guests of a point together. The percentage is the consolidation efficiency: throughput over that of the one-big \
             point of equal capacity and equal {}. {ENDS}{}",
            crate::loop_type::loop_type(run),
            if run.header.study.load.open.is_some() {
                "arrivals"
            } else {
                "users"
            },
            broken_words(&series)
        ),
        panels: one_panel("point", "orders/min", series),
    })
}

/// Response-time percentiles of each point; one panel per operation, the whole order first.
pub(crate) fn percentiles(run: &Run, analysis: &Analysis) -> Option<Figure> {
    let mut names: Vec<&str> = Vec::new();
    for operation in analysis.points.iter().flat_map(|summary| &summary.operations) {
        if !names.contains(&operation.name.as_str()) {
            names.push(&operation.name);
        }
    }
    names.sort_by_key(|name| *name != rookery_stats::ORDER);
    let panels: Vec<Panel> = names.iter().filter_map(|name| percentile_panel(analysis, name)).collect();
    (!panels.is_empty()).then(|| Figure {
        id: "response-times",
        title: "Response-time percentiles by point".to_owned(),
        caption: format!(
            "{}. Nearest ranks in the merged histograms of all guests and good repeats; successful operations started in the measured \
             window. p99.9 only with ten values beyond it. An order is the sum of its requests, without think time.",
            crate::loop_type::loop_type(run)
        ),
        panels,
    })
}

fn percentile_panel(analysis: &Analysis, operation: &str) -> Option<Panel> {
    let series: Vec<Series> = [50.0, 95.0, 99.0, 99.9]
        .iter()
        .map(|p| {
            let data = analysis.points.iter().filter_map(|summary| {
                let us = summary.operation(operation)?.latencies.supported_percentile_us(*p)?;
                Some(Datum::named(&point_name(summary), us as f64 / 1000.0))
            });
            Series {
                name: format!("p{p}"),
                mark: Mark::Bars,
                data: data.collect(),
            }
        })
        .filter(|series: &Series| !series.data.is_empty())
        .collect();
    let mut panel = one_panel("point", "response time, ms", series).pop()?;
    panel.label = operation.to_owned();
    (!panel.rows[0].series.is_empty()).then_some(panel)
}

/// Mean throughput per user of each guest, for points of several guests.
pub(crate) fn fairness(run: &Run, analysis: &Analysis) -> Option<Figure> {
    let shared = analysis.points.iter().filter(|summary| summary.guests.len() > 1);
    let series: Vec<Series> = shared
        .map(|summary| {
            let data = summary.guests.iter().map(|(guest, rate)| Datum::named(guest, *rate));
            let index = summary.fairness.map_or_else(String::new, fairness_words);
            Series {
                name: format!("{}{index}", point_name(summary)),
                mark: Mark::Scatter,
                data: data.collect(),
            }
        })
        .collect();
    (!series.is_empty()).then(|| Figure {
        id: "fairness",
        title: "Fairness: throughput of each guest per user".to_owned(),
        caption: format!(
            "{}. Mean over the good repeats. Jain's index is 1 when all guests are served alike and 1/n when one takes all.",
            crate::loop_type::loop_type(run)
        ),
        panels: one_panel("guest", "orders/min per user", series),
    })
}

fn fairness_words(fairness: rookery_stats::Fairness) -> String {
    let ratio = fairness
        .max_over_min
        .map_or_else(|| "one got nothing".to_owned(), |ratio| format!("max/min {ratio:.2}"));
    format!(" (Jain {:.3}, {ratio})", fairness.jain)
}
