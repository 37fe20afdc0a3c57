//! The figures of searches: what each tried, and the largest loads side by side.

use rookery_analysis::{
    Analysis, Run,
    label::levels_after,
    searches::{SearchSummary, TriedLoad, TriedOutcome},
};
use rookery_study::{Over, Purpose, Variant};

use super::data::{Datum, Figure, Mark, Panel, Place, Row, Series, Symbol, one_panel};
use crate::{
    prose::{
        format,
        loop_type::loop_type,
        searches::{loaded, over_memory, sought},
    },
    tables,
};

/// What trials were for, in the order of the legend.
const PURPOSES: [(Purpose, &str); 4] = [
    (Purpose::Study, "of the ladder"),
    (Purpose::Approach, "to approach"),
    (Purpose::Confirm, "to confirm"),
    (Purpose::Above, "to see that more is too much"),
];

/// Every trial of each search: its load, and how much of its limit the binding rule used.
pub(crate) fn probes(run: &Run, analysis: &Analysis) -> Option<Figure> {
    let tried = || {
        analysis
            .searches
            .iter()
            .filter(|searched| !searched.tried.is_empty())
    };
    let panels: Vec<Panel> = tried().filter_map(probe_panel).collect();
    (!panels.is_empty()).then(|| Figure {
        id: "probes".to_owned(),
        title: match over_memory(&analysis.searches) {
            true => "How the least memory was found".to_owned(),
            false => "How the largest loads were found".to_owned(),
        },
        caption: format!(
            "{}. Each trial of a search: its {}, and the value of the rule that binds, as a \
             share of its limit. Dots met the limits, crosses missed \
             them, open diamonds are void. Shaded: the 95 % interval of the edge, where half of \
             the trials meet the limits. Vertical line: the answer. \
             Trials without a value stand in the table alone.",
            loop_type(run),
            match over_memory(&analysis.searches) {
                true => "memory",
                false => "load",
            }
        ),
        panels,
        folded: tried()
            .map(|searched| tables::searches::tried(run, searched))
            .collect(),
        ..Figure::default()
    })
}

fn probe_panel(searched: &SearchSummary) -> Option<Panel> {
    let mut series: Vec<Series> = Vec::new();
    for (purpose, name) in PURPOSES {
        let own = searched
            .tried
            .iter()
            .filter(|tried| tried.purpose == purpose);
        let data: Vec<Datum> = own.filter_map(probe_datum).collect();
        if !data.is_empty() {
            let (name, mark) = (name.to_owned(), Mark::Scatter);
            series.push(Series { name, mark, data });
        }
    }
    let loads = || {
        series
            .iter()
            .flat_map(|series| &series.data)
            .filter_map(|datum| match datum.x {
                Place::Number(load) => Some(load),
                Place::Name(_) => None,
            })
    };
    let (low, high) = (loads().reduce(f64::min)?, loads().reduce(f64::max)?);
    series.push(Series {
        name: "limit".to_owned(),
        mark: Mark::Reference,
        data: vec![Datum::at(low, 100.0), Datum::at(high, 100.0)],
    });
    let (least, most) = (searched.lowest, searched.highest);
    let (edge_low, edge_high) = searched.edge;
    let bounded = edge_low.is_some() || edge_high.is_some();
    let state = if searched.confirmed {
        "confirmed"
    } else {
        "not confirmed"
    };
    let line = searched
        .load
        .map(|load| (load, format!("{}, {state}", loaded(searched, load))));
    Some(Panel {
        label: searched.label.clone(),
        x_title: searched.over.unit().to_owned(),
        rows: vec![Row {
            y_title: "binding value, % of its limit".to_owned(),
            series,
            ..Row::default()
        }],
        window: bounded.then(|| {
            (
                edge_low.unwrap_or(least),
                edge_high.unwrap_or(most).min(most),
            )
        }),
        lines: line.into_iter().collect(),
        log: (high > 4.0 * low, true),
        ..Panel::default()
    })
}

fn probe_datum(tried: &TriedLoad) -> Option<Datum> {
    let binding = tried.binding.as_ref()?;
    let (symbol, state) = match &tried.outcome {
        TriedOutcome::Kept => (Symbol::Dot, "kept"),
        TriedOutcome::Broken { .. } => (Symbol::Cross, "broken"),
        TriedOutcome::Void { .. } => (Symbol::Open, "void"),
    };
    (binding.share > 0.0).then(|| Datum {
        note: Some(format!("trial {}, {state}: {}", tried.trial, binding.rule)),
        symbol,
        ..Datum::at(tried.load, 100.0 * binding.share)
    })
}

/// The largest loads of all searches, and the line along which the smallest would grow in
/// proportion; `None` below two.
pub(crate) fn capacity(run: &Run, analysis: &Analysis) -> Option<Figure> {
    let found: Vec<&SearchSummary> = analysis
        .searches
        .iter()
        .filter(|searched| searched.load.is_some())
        .collect();
    let first = found.first()?;
    let unit = first.over.unit();
    if found.len() < 2 {
        return None;
    }
    let (x_title, series) = match first.over {
        Over::Guests => ("guests", by_name(run, &found)),
        Over::Memory => ("search", by_name(run, &found)),
        Over::Users | Over::Rate => by_size(&found),
    };
    let what = match first.over {
        Over::Memory => "The memory of each guest",
        Over::Users | Over::Rate | Over::Guests => "The load of all guests together",
    };
    Some(Figure {
        id: "largest-loads".to_owned(),
        title: format!(
            "The {} within the limits, by layout",
            sought(&analysis.searches)
        ),
        caption: format!(
            "{}. {what}. Whiskers: the 95 % interval of the edge. Pale: not confirmed.{}",
            loop_type(run),
            match first.over {
                Over::Guests | Over::Memory => "",
                Over::Users | Over::Rate =>
                    " Dashed: in proportion to the smallest layout, the ideal.",
            }
        ),
        panels: one_panel(x_title, &format!("{unit} within the limits"), series),
        ..Figure::default()
    })
}

fn datum(searched: &SearchSummary, place: Place) -> Option<Datum> {
    let load = searched.load?;
    let ends = match searched.edge {
        (None, None) => None,
        (low, high) => Some((low.unwrap_or(load), high.unwrap_or(load))),
    };
    Some(Datum {
        x: place,
        y: load,
        ends,
        note: (!searched.confirmed).then(|| "not confirmed".to_owned()),
        broken: !searched.confirmed,
        symbol: Symbol::Dot,
    })
}

/// A column for each search, named by it.
fn by_name(run: &Run, found: &[&SearchSummary]) -> Vec<Series> {
    let of_variant = |variant: &Variant| {
        let own = found
            .iter()
            .filter(|searched| searched.variant == variant.id);
        Series {
            name: match found.first().map(|searched| searched.over) {
                Some(Over::Memory) => "least memory".to_owned(),
                _ => levels_after("largest number of guests", &variant.levels),
            },
            mark: Mark::Columns,
            data: own
                .filter_map(|searched| datum(searched, Place::Name(searched.label.clone())))
                .collect(),
        }
    };
    let series = run.header.plan.variants.iter().map(of_variant);
    series.filter(|series| !series.data.is_empty()).collect()
}

/// Against vCPUs of all guests where these differ, else against the number of guests; a line for
/// each layout of each variant.
fn by_size(found: &[&SearchSummary]) -> (&'static str, Vec<Series>) {
    let vcpus = |searched: &SearchSummary| searched.total_vcpus().unwrap_or(0.0);
    let differ = found
        .iter()
        .any(|searched| (vcpus(searched) - vcpus(found[0])).abs() > 1e-6);
    let place = |searched: &SearchSummary| {
        if differ {
            vcpus(searched)
        } else {
            f64::from(searched.guests)
        }
    };
    let mut series: Vec<Series> = Vec::new();
    for searched in found {
        // One that stands in several layouts is part of each of their lines.
        for layout in &searched.layouts {
            let name = levels_after(layout, &searched.levels);
            let Some(datum) = datum(searched, Place::Number(place(searched))) else {
                continue;
            };
            match series.iter_mut().find(|known| known.name == name) {
                Some(known) => known.data.push(datum),
                None => series.push(Series {
                    name,
                    mark: Mark::Dots,
                    data: vec![datum],
                }),
            }
        }
    }
    for known in &mut series {
        known.data.sort_by(|a, b| number(a).total_cmp(&number(b)));
    }
    if differ {
        series.extend(ideal(found, vcpus));
    }
    let x_title = if differ {
        "vCPUs of all guests"
    } else {
        "guests"
    };
    (x_title, series)
}

fn number(datum: &Datum) -> f64 {
    match datum.x {
        Place::Number(number) => number,
        Place::Name(_) => 0.0,
    }
}

/// From the smallest layout of the first variant upwards, in proportion to its vCPUs.
fn ideal(found: &[&SearchSummary], vcpus: impl Fn(&SearchSummary) -> f64) -> Option<Series> {
    let first = found
        .iter()
        .filter(|searched| searched.variant == found[0].variant);
    let smallest = first.min_by(|a, b| vcpus(a).total_cmp(&vcpus(b)))?;
    let (x0, load) = (vcpus(smallest), smallest.load?);
    let largest = found
        .iter()
        .map(|searched| vcpus(searched))
        .reduce(f64::max)?;
    (x0 > 0.0).then(|| Series {
        name: format!("in proportion to {} vCPU", format::trimmed(x0)),
        mark: Mark::Reference,
        data: vec![Datum::at(x0, load), Datum::at(largest, load * largest / x0)],
    })
}
