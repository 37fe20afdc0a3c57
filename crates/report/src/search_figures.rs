//! The figures of searches: what each tried, and the largest loads side by side. Pure.

use rookery_judge::search::Tried;
use rookery_model::search::Outcome;
use rookery_stats::qos::Verdict;
use rookery_study::{Over, Purpose, Variant};

use crate::{
    Analysis, Run,
    figure::{Datum, Figure, Mark, Panel, Place, Row, Series, Symbol, one_panel},
    figures::levels_after,
    format, search_tables,
    searches::Searched,
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
            .filter(|searched| !searched.found.tried.is_empty())
    };
    let panels: Vec<Panel> = tried()
        .filter_map(|searched| probe_panel(run, searched))
        .collect();
    (!panels.is_empty()).then(|| Figure {
        id: "probes",
        title: "How the largest loads were found".to_owned(),
        caption: format!(
            "{}. Each trial of a search: its load, and the value of the rule that binds, as a share of its limit. Dots kept the limits, crosses broke \
             them, open diamonds are void. Shaded: the 95 % interval of the edge, where half of the trials keep the limits. Upright line: the answer. \
             Trials without a value stand in the table alone.",
            crate::loop_type::loop_type(run)
        ),
        panels,
        folded: tried().map(|searched| search_tables::tried(run, searched)).collect(),
        ..Figure::default()
    })
}

fn verdict<'a>(run: &'a Run, tried: &Tried) -> Option<&'a Verdict> {
    let trial = run
        .trials
        .iter()
        .find(|trial| trial.row.trial.id == tried.trial)?;
    trial.record.as_ref()?.verdict.as_ref()
}

/// The binding value of a trial over its limit, with the rule in words.
pub(crate) fn share(run: &Run, tried: &Tried) -> Option<(f64, String)> {
    let rule = verdict(run, tried)?.binding_rule()?;
    let share = rule.load().filter(|share| share.is_finite())?;
    Some((share, rule.text()))
}

fn probe_panel(run: &Run, searched: &Searched) -> Option<Panel> {
    let answer = &searched.found.answer;
    let mut series: Vec<Series> = Vec::new();
    for (purpose, name) in PURPOSES {
        let own = searched
            .found
            .tried
            .iter()
            .filter(|tried| tried.purpose == purpose);
        let data: Vec<Datum> = own.filter_map(|tried| probe_datum(run, tried)).collect();
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
    let (least, most) = (searched.search().lowest, searched.search().highest);
    let (edge_low, edge_high) = answer.interval;
    let bounded = edge_low.is_some() || edge_high.is_some();
    let state = if answer.confirmed {
        "confirmed"
    } else {
        "not confirmed"
    };
    let line = answer
        .load
        .map(|load| (load, format!("{}, {state}", searched.loaded(load))));
    Some(Panel {
        label: searched.search().label(),
        x_title: searched.search().over.unit().to_owned(),
        rows: vec![Row {
            y_title: "binding value, % of its limit".to_owned(),
            series,
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

fn probe_datum(run: &Run, tried: &Tried) -> Option<Datum> {
    let (share, rule) = share(run, tried).filter(|(share, _)| *share > 0.0)?;
    let (symbol, state) = match &tried.outcome {
        Outcome::Pass => (Symbol::Dot, "kept"),
        Outcome::Fail { .. } => (Symbol::Cross, "broken"),
        Outcome::Invalid { .. } => (Symbol::Open, "void"),
    };
    Some(Datum {
        note: Some(format!("trial {}, {state}: {rule}", tried.trial)),
        symbol,
        ..Datum::at(tried.load, 100.0 * share)
    })
}

/// The largest loads of all searches, and the line along which the smallest would grow in proportion; `None` below two.
pub(crate) fn capacity(run: &Run, analysis: &Analysis) -> Option<Figure> {
    let found: Vec<&Searched> = analysis
        .searches
        .iter()
        .filter(|searched| searched.found.answer.load.is_some())
        .collect();
    let first = found.first()?;
    let unit = first.search().over.unit();
    if found.len() < 2 {
        return None;
    }
    let over_guests = found
        .iter()
        .any(|searched| searched.search().over == Over::Guests);
    let (x_title, series) = if over_guests {
        ("guests", by_name(run, &found))
    } else {
        by_size(&found)
    };
    Some(Figure {
        id: "largest-loads",
        title: "The largest load within the limits, by layout".to_owned(),
        caption: format!(
            "{}. The load of all guests together. Whiskers: the 95 % interval of the edge. Pale: not confirmed.{}",
            crate::loop_type::loop_type(run),
            if over_guests {
                ""
            } else {
                " Dashed: in proportion to the smallest layout, the ideal."
            }
        ),
        panels: one_panel(x_title, &format!("{unit} within the limits"), series),
        ..Figure::default()
    })
}

fn datum(searched: &Searched, place: Place) -> Option<Datum> {
    let answer = &searched.found.answer;
    let load = answer.load?;
    let ends = match answer.interval {
        (None, None) => None,
        (low, high) => Some((low.unwrap_or(load), high.unwrap_or(load))),
    };
    Some(Datum {
        x: place,
        y: load,
        ends,
        note: (!answer.confirmed).then(|| "not confirmed".to_owned()),
        broken: !answer.confirmed,
        symbol: Symbol::Dot,
    })
}

/// A column for each search, named by it.
fn by_name(run: &Run, found: &[&Searched]) -> Vec<Series> {
    let of_variant = |variant: &Variant| {
        let own = found
            .iter()
            .filter(|searched| searched.search().variant == variant.id);
        Series {
            name: levels_after("largest number of guests", &variant.levels),
            mark: Mark::Columns,
            data: own
                .filter_map(|searched| datum(searched, Place::Name(searched.search().label())))
                .collect(),
        }
    };
    let series = run.header.plan.variants.iter().map(of_variant);
    series.filter(|series| !series.data.is_empty()).collect()
}

/// Against vCPUs of all guests where these differ, else against the number of guests; a line for each layout of each variant.
fn by_size(found: &[&Searched]) -> (&'static str, Vec<Series>) {
    let vcpus = |searched: &Searched| searched.vcpus().unwrap_or(0.0);
    let differ = found
        .iter()
        .any(|searched| (vcpus(searched) - vcpus(found[0])).abs() > 1e-6);
    let place = |searched: &Searched| {
        if differ {
            vcpus(searched)
        } else {
            f64::from(searched.search().guests)
        }
    };
    let mut series: Vec<Series> = Vec::new();
    for searched in found {
        let search = searched.search();
        // One that stands in several layouts is part of each of their lines.
        for layout in &search.layouts {
            let name = levels_after(layout, &search.levels);
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
fn ideal(found: &[&Searched], vcpus: impl Fn(&Searched) -> f64) -> Option<Series> {
    let first = found
        .iter()
        .filter(|searched| searched.search().variant == found[0].search().variant);
    let smallest = first.min_by(|a, b| vcpus(a).total_cmp(&vcpus(b)))?;
    let (x0, load) = (vcpus(smallest), smallest.found.answer.load?);
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
