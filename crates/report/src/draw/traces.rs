//! Series as traces of plotly.

use plotly::{
    Bar, Scatter, Trace,
    common::{
        DashType, ErrorData, ErrorType, Fill, HoverInfo, Line, Marker, MarkerSymbol, Mode,
        TextAnchor, TextPosition,
    },
};

use super::{Coordinate, GREY, WHISKER, colours, place, text};
use crate::figures::data::{Datum, Mark, Series, Symbol};

/// Dashes of lines that were not chosen.
const DASHES: [DashType; 4] = [
    DashType::Dot,
    DashType::DashDot,
    DashType::LongDash,
    DashType::LongDashDot,
];

/// The traces of a series; several where it has a band, or symbols of several kinds.
pub(super) fn of(series: &Series, y_axis: &str, colour: &'static str) -> Vec<Box<dyn Trace>> {
    match series.mark {
        Mark::Fit | Mark::Beyond => banded(series, y_axis, colour),
        Mark::Scatter => by_symbol(series, y_axis, colour),
        Mark::Trials => trials(series, y_axis),
        _ => vec![trace(series, y_axis, colour)],
    }
}

/// A line in a shaded band.
fn banded(series: &Series, y_axis: &str, colour: &'static str) -> Vec<Box<dyn Trace>> {
    let bounds: Vec<(Coordinate, (f64, f64))> = series
        .data
        .iter()
        .filter_map(|datum| Some((place(&datum.x), datum.ends?)))
        .collect();
    let edge = |of: fn((f64, f64)) -> f64| {
        let (x, y) = bounds
            .iter()
            .map(|(x, ends)| (x.clone(), of(*ends)))
            .unzip();
        Scatter::new(x, y)
            .name(text(&series.name))
            .y_axis(y_axis)
            .mode(Mode::Lines)
            .line(Line::new().color(colour).width(0.0))
            .hover_info(HoverInfo::Skip)
            .show_legend(false)
    };
    let mut traces: Vec<Box<dyn Trace>> = Vec::new();
    if !bounds.is_empty() {
        traces.push(edge(|(low, _)| low));
        // 0x26 of 0xff: 15 % opaque.
        traces.push(
            edge(|(_, high)| high)
                .fill(Fill::ToNextY)
                .fill_color(format!("{colour}26")),
        );
    }
    let (x, y) = series
        .data
        .iter()
        .map(|datum| (place(&datum.x), datum.y))
        .unzip();
    let line = Line::new().color(colour).width(2.2);
    let line = if series.mark == Mark::Beyond {
        line.dash(DashType::Dash)
    } else {
        line
    };
    traces.push(
        Scatter::new(x, y)
            .name(text(&series.name))
            .y_axis(y_axis)
            .mode(Mode::Lines)
            .line(line),
    );
    traces
}

/// Dots, one trace for each symbol among them; the first stands in the legend.
fn by_symbol(series: &Series, y_axis: &str, colour: &'static str) -> Vec<Box<dyn Trace>> {
    let symbols = [
        (Symbol::Dot, MarkerSymbol::Circle),
        (Symbol::Cross, MarkerSymbol::X),
        (Symbol::Open, MarkerSymbol::DiamondOpen),
    ];
    let mut traces: Vec<Box<dyn Trace>> = Vec::new();
    for (symbol, drawn) in symbols {
        let data: Vec<Datum> = series
            .data
            .iter()
            .filter(|datum| datum.symbol == symbol)
            .cloned()
            .collect();
        if data.is_empty() {
            continue;
        }
        let notes = data
            .iter()
            .map(|datum| text(datum.note.as_deref().unwrap_or_default()))
            .collect();
        let (x, y) = data.iter().map(|datum| (place(&datum.x), datum.y)).unzip();
        let mut scatter = Scatter::new(x, y)
            .name(text(&series.name))
            .legend_group(text(&series.name))
            .y_axis(y_axis)
            .mode(Mode::Markers)
            .hover_text_array(notes)
            .marker(marker(&data, colour).size(9).symbol(drawn))
            .show_legend(traces.is_empty());
        if let Some(whiskers) = whiskers(&data, 0.0) {
            scatter = scatter.error_y(whiskers);
        }
        traces.push(scatter);
    }
    traces
}

/// Single trials: small rings, seen on bars of every colour.
fn trials(series: &Series, y_axis: &str) -> Vec<Box<dyn Trace>> {
    let (x, y) = series
        .data
        .iter()
        .map(|datum| (place(&datum.x), datum.y))
        .unzip();
    let marker = Marker::new()
        .color("#ffffff")
        .size(6)
        .line(Line::new().color("#10161c").width(1.2));
    vec![
        Scatter::new(x, y)
            .name(text(&series.name))
            .y_axis(y_axis)
            .mode(Mode::Markers)
            .marker(marker),
    ]
}

fn trace(series: &Series, y_axis: &str, colour: &'static str) -> Box<dyn Trace> {
    let x: Vec<Coordinate> = series.data.iter().map(|datum| place(&datum.x)).collect();
    let y: Vec<f64> = series.data.iter().map(|datum| datum.y).collect();
    let name = text(&series.name);
    if series.mark == Mark::Forest {
        return forest(series, x, y, name, colour);
    }
    match series.mark {
        Mark::Floor => Bar::new(x, y)
            .name(name)
            .y_axis(y_axis)
            .marker(Marker::new().color("rgba(0,0,0,0)"))
            .hover_info(HoverInfo::Skip)
            .show_legend(false),
        Mark::Bars | Mark::Columns | Mark::Stack => {
            let notes = series
                .data
                .iter()
                .map(|datum| note_on(&fill(datum, colour), datum.note.as_deref()))
                .collect();
            let mut bar = Bar::new(x, y)
                .name(name)
                .y_axis(y_axis)
                .marker(marker(&series.data, colour))
                .text_array(notes)
                .text_position(TextPosition::Inside)
                // At the foot: whiskers cross the top.
                .inside_text_anchor(TextAnchor::Start)
                .text_angle(0.0);
            if let Some(whiskers) = whiskers(&series.data, 0.0) {
                bar = bar.error_y(whiskers);
            }
            bar
        }
        mark => {
            let (mode, line) = match mark {
                Mark::Line => (Mode::Lines, Line::new().color(colour).width(1.6)),
                Mark::Rival(number) => (
                    Mode::Lines,
                    Line::new()
                        .color(colour)
                        .width(1.6)
                        .dash(DASHES[number % DASHES.len()].clone()),
                ),
                Mark::Reference => (
                    Mode::Lines,
                    Line::new().color(GREY).width(1.2).dash(DashType::Dash),
                ),
                _ => (Mode::LinesMarkers, Line::new().color(colour).width(2.0)),
            };
            let mut scatter = Scatter::new(x, y)
                .name(name)
                .y_axis(y_axis)
                .mode(mode)
                .line(line)
                .marker(marker(&series.data, colour).size(8));
            if let Some(whiskers) = whiskers(&series.data, 0.0) {
                scatter = scatter.error_y(whiskers);
            }
            scatter
        }
    }
}

/// The colour of a datum: pale where limits were missed.
fn fill(datum: &Datum, colour: &str) -> String {
    if datum.broken {
        colours::pale(colour)
    } else {
        colour.to_owned()
    }
}

/// A note in the colour that is readable on its bar.
fn note_on(fill: &str, note: Option<&str>) -> String {
    note.map_or_else(String::new, |note| {
        format!(
            "<span style=\"color:{}\">{}</span>",
            colours::text_on(fill),
            text(note)
        )
    })
}

/// Marks of one colour; those of broken limits pale.
fn marker(data: &[Datum], colour: &'static str) -> Marker {
    if data.iter().any(|datum| datum.broken) {
        Marker::new().color_array(data.iter().map(|datum| fill(datum, colour)).collect())
    } else {
        Marker::new().color(colour)
    }
}

/// Values across, names down.
fn forest(
    series: &Series,
    names: Vec<Coordinate>,
    values: Vec<f64>,
    name: String,
    colour: &'static str,
) -> Box<dyn Trace> {
    // Both metrics of a comparison have a line of their own.
    let names: Vec<Coordinate> = names
        .into_iter()
        .map(|place| match place {
            Coordinate::Name(place) => Coordinate::Name(format!("{place}<br>{name}")),
            number => number,
        })
        .collect();
    let notes = series
        .data
        .iter()
        .map(|datum| text(&datum.note.clone().unwrap_or_default()))
        .collect();
    let mut scatter = Scatter::new(values, names)
        .name(&name)
        .mode(Mode::Markers)
        .hover_text_array(notes)
        .marker(Marker::new().color(colour).size(9));
    if let Some(whiskers) = whiskers(&series.data, f64::NEG_INFINITY) {
        scatter = scatter.error_x(whiskers);
    }
    scatter
}

/// Error bars, none of them below `least`: a throughput cannot be less than nothing. `None` when no
/// datum has ends.
fn whiskers(data: &[Datum], least: f64) -> Option<ErrorData> {
    data.iter().any(|datum| datum.ends.is_some()).then(|| {
        let reach = |side: &dyn Fn(f64, (f64, f64)) -> f64| {
            data.iter()
                // An answer may lie outside the interval of the edge: it keeps a distance from it.
                .map(|datum| datum.ends.map_or(0.0, |ends| side(datum.y, ends).max(0.0)))
                .collect()
        };
        ErrorData::new(ErrorType::Data)
            .symmetric(false)
            .array(reach(&|y, (_, high)| high - y))
            .array_minus(reach(&|y, (low, _)| y - low.max(least)))
            .color(WHISKER)
            .thickness(1.4)
            .width(5)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whiskers_end_where_values_do() {
        let data = [Datum {
            ends: Some((-5.0, 25.0)),
            ..Datum::at(1.0, 10.0)
        }];
        let below = |least| {
            serde_json::to_value(whiskers(&data, least)).expect("plain numbers")["arrayminus"]
                .clone()
        };
        assert_eq!(below(0.0), serde_json::json!([10.0]));
        assert_eq!(below(f64::NEG_INFINITY), serde_json::json!([15.0]));
    }
}
