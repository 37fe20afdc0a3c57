//! The figure of forecasts: measured trials, the curve with its band, dashed beyond what was measured.

use rookery_judge::{
    Run,
    predict::{Forecaster, Ranged, Shape},
};
use rookery_report::{FitCurve, FitFigure, FitPoint};

use crate::commands::predict::VariantForecast;

/// Points of a curve.
const POINTS: usize = 60;

/// One page: a figure of the first variant that has a forecast, all its layouts in one.
pub(crate) fn page(run: &Run, all: &[VariantForecast]) -> String {
    let forecasters: Vec<&Forecaster> = all.iter().filter_map(|said| said.forecaster.as_ref()).collect();
    let figure = FitFigure {
        title: format!("Forecast: {}", run.header.title),
        x_title: all.first().map_or("users", |said| said.unit).to_owned(),
        y_title: "orders/min".to_owned(),
        points: forecasters.iter().flat_map(|forecaster| measured(forecaster)).collect(),
        curves: forecasters
            .iter()
            .flat_map(|forecaster| {
                let shapes = forecaster.readings.shapes();
                shapes.iter().flat_map(|shape| curves(forecaster, shape)).collect::<Vec<_>>()
            })
            .collect(),
        largest: forecasters
            .iter()
            .flat_map(|forecaster| forecaster.readings.all.iter().map(|reading| reading.load))
            .fold(0.0, f64::max),
    };
    rookery_report::fit_html(&figure)
}

fn measured(forecaster: &Forecaster) -> Vec<FitPoint> {
    let of = forecaster.readings.all.iter().map(|reading| FitPoint {
        n: reading.load,
        x: 60.0 * reading.x,
    });
    of.collect()
}

fn curves(forecaster: &Forecaster, shape: &Shape) -> Vec<FitCurve> {
    let Some(largest) = forecaster.readings.largest(shape) else {
        return Vec::new();
    };
    let place = |i: usize| (2.0 * largest * i as f64 / POINTS as f64).floor().max(1.0);
    let along: Vec<(f64, Ranged)> = (1..=POINTS)
        .filter_map(|i| Some((place(i), forecaster.forecast(shape, place(i)).numbers.ok()?.orders_per_minute)))
        .collect();
    let levels = &forecaster.readings.levels;
    let label = if levels.is_empty() {
        shape.label()
    } else {
        format!("{}, {levels}", shape.label())
    };
    let curve = |name: &str, of: fn(&Ranged) -> f64| FitCurve {
        name: format!("{label}{name}"),
        points: along.iter().map(|(n, range)| (*n, of(range))).collect(),
        chosen: name.is_empty(),
    };
    vec![
        curve("", |range| range.value),
        curve(", 95 % of a run, low", |range| range.low),
        curve(", 95 % of a run, high", |range| range.high),
    ]
}
