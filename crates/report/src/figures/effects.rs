//! What each level is worth: the forest plot.

use rookery_analysis::{
    Analysis, Run,
    effects::{EffectMetric, Worth},
};
use rookery_stats::Effect;

use super::data::{Datum, Figure, Mark, Panel, Place, Row, Series, Symbol};
use crate::prose::{
    effects::{short_name, verdict},
    loop_type::loop_type,
    words,
};

/// The forest plot: one panel for all layouts, one for each.
pub(crate) fn figure(run: &Run, analysis: &Analysis) -> Option<Figure> {
    let effects = &analysis.effects;
    let mut panels: Vec<Panel> = panel(
        "all layouts together",
        words::unit(run),
        effects.overall.iter(),
    )
    .into_iter()
    .collect();
    for layout in layouts(&effects.by_layout) {
        let own = effects
            .by_layout
            .iter()
            .filter(|worth| worth.layout.as_deref() == Some(layout));
        panels.extend(panel(layout, words::unit(run), own));
    }
    let cut = if panels.iter().any(|panel| panel.across.is_some()) {
        " Whiskers at the edge go on beyond it."
    } else {
        ""
    };
    let better = if analysis.run.loads_alone {
        "Less is better".to_owned()
    } else {
        format!(
            "Throughput: more is better; {} p95: less is better",
            words::unit(run)
        )
    };
    (!panels.is_empty()).then(|| Figure {
        id: "effects".to_owned(),
        title: "What each tuning is worth".to_owned(),
        caption: format!(
            "{}. Change against the reference level, from trials of one block: they ran back to \
             back and differ in factor levels alone. \
             Whiskers: 95 % interval of the mean log ratio over blocks (Student's t). {better}.{cut}",
            loop_type(run),
        ),
        panels,
        ..Figure::default()
    })
}

/// Names of layouts in their order, each once.
fn layouts(worths: &[Worth]) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for name in worths.iter().filter_map(|worth| worth.layout.as_deref()) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

fn panel<'a>(label: &str, unit: &str, worths: impl Iterator<Item = &'a Worth>) -> Option<Panel> {
    let worths: Vec<&Worth> = worths.collect();
    let compared = worths.first().map_or(&[][..], |worth| &worth.compared);
    let series: Vec<Series> = compared
        .iter()
        .map(|compared| compared.metric)
        .map(|metric| Series {
            name: metric.name(unit),
            mark: Mark::Forest,
            data: worths
                .iter()
                .filter_map(|worth| datum(worth, metric))
                .collect(),
        })
        .filter(|series| !series.data.is_empty())
        .collect();
    (!series.is_empty()).then(|| Panel {
        across: across(&series),
        label: label.to_owned(),
        x_title: "comparison".to_owned(),
        rows: vec![Row {
            y_title: "change, %".to_owned(),
            series,
            ..Row::default()
        }],
        ..Panel::default()
    })
}

/// Two blocks alone may give intervals of any width, beside which no change could be seen: these
/// are cut, percent.
fn across(series: &[Series]) -> Option<(f64, f64)> {
    const LEAST: f64 = 25.0;
    let data = || series.iter().flat_map(|series| &series.data);
    let room = data()
        .map(|datum| 4.0 * datum.y.abs())
        .fold(LEAST, f64::max);
    /// Intervals that end within this are shown whole, percent.
    const WHOLE: f64 = 105.0;
    let within = |(low, high): (f64, f64)| low >= -WHOLE && high <= WHOLE;
    if data().filter_map(|datum| datum.ends).all(within) {
        return None;
    }
    // Nothing falls by more than all of it.
    let (from, to) = (-room.min(105.0), room);
    let beyond = |(low, high): (f64, f64)| low < from || high > to;
    data()
        .filter_map(|datum| datum.ends)
        .any(beyond)
        .then_some((from, to))
}

fn datum(worth: &Worth, metric: EffectMetric) -> Option<Datum> {
    let compared = worth
        .compared
        .iter()
        .find(|compared| compared.metric == metric)?;
    let effect: Effect = compared.effect?;
    let percent = |ratio: f64| 100.0 * (ratio - 1.0);
    Some(Datum {
        x: Place::Name(short_name(worth)),
        y: percent(effect.ratio),
        ends: effect
            .interval
            .map(|(low, high)| (percent(low), percent(high))),
        note: Some(verdict(compared)),
        broken: false,
        symbol: Symbol::Dot,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whiskers_of_any_width_leave_the_changes_to_be_seen() {
        let series = |y, ends| Series {
            name: "orders/min".to_owned(),
            mark: Mark::Forest,
            data: vec![Datum {
                ends: Some(ends),
                ..Datum::named("pool: 8 against 1", y)
            }],
        };
        assert_eq!(
            across(&[series(3.0, (-1.0, 7.0))]),
            None,
            "all of it has room"
        );
        assert_eq!(
            across(&[series(0.5, (-24.0, 36.9))]),
            None,
            "an end just beyond the least room is shown"
        );
        assert_eq!(
            across(&[series(3.0, (-60.0, 900.0)), series(1.0, (0.0, 2.0))]),
            Some((-25.0, 25.0))
        );
        assert_eq!(
            across(&[series(-50.0, (-99.0, 2400.0))]),
            Some((-105.0, 200.0))
        );
    }
}
