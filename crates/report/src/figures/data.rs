//! What a figure consists of: panels, rows, series, data and tables. Pure.

use rookery_analysis::estimate::Estimate;

use crate::{prose::format, tables::Table};

/// One figure: one or several panels of which the reader sees one at a time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Figure {
    /// Anchor in the page.
    pub(crate) id: String,
    /// Title.
    pub(crate) title: String,
    /// What it shows and under which conditions.
    pub(crate) caption: String,
    /// At least one.
    pub(crate) panels: Vec<Panel>,
    /// What is to be said beneath it.
    pub(crate) remarks: Vec<String>,
    /// Tables that stand open beneath it.
    pub(crate) tables: Vec<Table>,
    /// Further tables, to be opened.
    pub(crate) folded: Vec<Table>,
    /// The table of an export that holds the values, where they are too many for the page.
    pub(crate) exported_as: Option<&'static str>,
}

/// One drawing.
#[derive(Clone, Debug, Default)]
pub(crate) struct Panel {
    /// Its name in the list of panels.
    pub(crate) label: String,
    /// Title of the x axis.
    pub(crate) x_title: String,
    /// Rows that share the x axis, top first.
    pub(crate) rows: Vec<Row>,
    /// A span of x to be shaded: the window that counts, or an interval.
    pub(crate) window: Option<(f64, f64)>,
    /// Places of x that are marked by a line, with their names.
    pub(crate) lines: Vec<(f64, String)>,
    /// Whether x and y are on logarithmic scales.
    pub(crate) log: (bool, bool),
    /// Whether x is a percentile p, drawn at 100 / (100 - p): each nine takes as much room.
    pub(crate) nines: bool,
    /// Where the y axis of every row ends; `None` = above all data.
    pub(crate) top: Option<f64>,
    /// Where the values of a forest begin and end; `None` = around all data.
    pub(crate) across: Option<(f64, f64)>,
    /// Height in pixels; `None` = by the number of rows.
    pub(crate) height: Option<usize>,
}

/// One system of axes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Row {
    /// Title of the y axis, with the unit.
    pub(crate) y_title: String,
    /// What is drawn.
    pub(crate) series: Vec<Series>,
    /// Values of y that are marked by a line across, with their names: limits.
    pub(crate) levels: Vec<(f64, String)>,
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
    /// Bars that stand on those of the series before.
    Stack,
    /// What carries such bars, not to be seen.
    Floor,
    /// Dots alone.
    Scatter,
    /// Small dots: single trials beside their mean.
    Trials,
    /// Dots alone, values across and names down, with a line at zero.
    Forest,
    /// A line with its ends as a shaded band.
    Fit,
    /// The same, dashed: where nothing was tried.
    Beyond,
    /// Squares whose colour tells the value: places across, series up.
    Heat,
    /// A line that was not chosen, the n-th of them: each has dashes of its own.
    Rival(usize),
}

/// The symbol of a single dot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Symbol {
    /// A dot.
    #[default]
    Dot,
    /// A cross.
    Cross,
    /// An open diamond.
    Open,
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
    /// Limits were missed there.
    pub(crate) broken: bool,
    /// How it is drawn among dots.
    pub(crate) symbol: Symbol,
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
            symbol: Symbol::Dot,
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
            symbol: Symbol::Dot,
        }
    }

    pub(crate) fn new(x: Place, estimate: &Estimate) -> Self {
        Self {
            x,
            y: estimate.mean,
            ends: estimate.ends,
            note: None,
            broken: false,
            symbol: Symbol::Dot,
        }
    }
}

impl Panel {
    /// The same data as a table: one row per place, one column per series.
    pub(crate) fn table(&self) -> Table {
        let series: Vec<(&str, &Series)> = self
            .rows
            .iter()
            .flat_map(|row| {
                row.series
                    .iter()
                    .map(|series| (row.y_title.as_str(), series))
            })
            .filter(|(_, series)| !matches!(series.mark, Mark::Floor | Mark::Trials))
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
            .map(|(_, series)| {
                series
                    .data
                    .iter()
                    .map(|datum| (datum.x.text(), datum))
                    .collect()
            })
            .collect();
        let mut heads = vec![self.x_title.clone()];
        heads.extend(
            series
                .iter()
                .map(|(unit, series)| format!("{} ({unit})", series.name)),
        );
        let row = |place: &&Place| {
            let cells = columns.iter().map(|column| {
                column
                    .get(&place.text())
                    .map_or_else(String::new, |datum| datum.text())
            });
            let place = match place {
                Place::Number(x) if self.nines => format!("p{}", format::trimmed(percentile(*x))),
                place => place.text(),
            };
            std::iter::once(place).chain(cells).collect()
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
        let note = self
            .note
            .as_ref()
            .map_or_else(String::new, |note| format!(", {note}"));
        let broken = if self.broken { ", limits missed" } else { "" };
        format!("{value}{ends}{note}{broken}")
    }
}

/// Where a percentile is drawn on an axis of nines.
pub(crate) fn nines(percentile: f64) -> f64 {
    100.0 / (100.0 - percentile)
}

/// The percentile of such a place, without the noise of the division.
pub(crate) fn percentile(nines: f64) -> f64 {
    (1e6 * (100.0 - 100.0 / nines)).round() / 1e6
}

/// Values of single trials as small dots beside their means; `None` where no point has two.
pub(crate) fn single_trials(values: impl Iterator<Item = (Place, Vec<f64>)>) -> Option<Series> {
    let data: Vec<Datum> = values
        .filter(|(_, values)| values.len() > 1)
        .flat_map(|(place, values)| {
            values.into_iter().map(move |y| Datum {
                x: place.clone(),
                ..Datum::at(0.0, y)
            })
        })
        .collect();
    (!data.is_empty()).then(|| Series {
        name: "single trials".to_owned(),
        mark: Mark::Trials,
        data,
    })
}

pub(crate) fn one_panel(x_title: &str, y_title: &str, series: Vec<Series>) -> Vec<Panel> {
    vec![Panel {
        x_title: x_title.to_owned(),
        rows: vec![Row {
            y_title: y_title.to_owned(),
            series,
            ..Row::default()
        }],
        ..Panel::default()
    }]
}

/// How the ends of a mean are to be read.
pub(crate) const ENDS: &str = "Whiskers: 95 % interval of the mean for three or more repeats, \
                               range for two, interval within the trial for a single one.";

/// What the caption says of points that broke limits.
pub(crate) fn broken_words(series: &[Series]) -> &'static str {
    if series
        .iter()
        .flat_map(|series| &series.data)
        .any(|datum| datum.broken)
    {
        " Pale: limits missed."
    } else {
        ""
    }
}
