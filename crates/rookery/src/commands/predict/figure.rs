//! The figure of forecasts: for each measured layout its trials, the curve with its band, dashed
//! beyond what was measured.

use rookery_analysis::{
    Run,
    predict::{Forecaster, Offer, Shape},
};
use rookery_report::{CurvePoint, FitCurve, FitFigure, FitPanel, FitPoint, ReportError};

use crate::commands::predict::VariantForecast;

/// Points of a curve.
const POINTS: usize = 60;

/// One page with a drawing for each measured layout of each variant that has a forecast.
///
/// # Errors
/// When the page cannot be put together: a fault of ours.
pub(crate) fn page(
    run: &Run,
    all: &[VariantForecast],
    numbers: String,
) -> Result<String, ReportError> {
    let forecasters = all.iter().filter_map(|said| said.forecaster.as_ref());
    let panels = forecasters.flat_map(|forecaster| {
        let shapes = forecaster.readings.shapes();
        shapes
            .iter()
            .map(|shape| panel(forecaster, shape))
            .collect::<Vec<_>>()
    });
    rookery_report::fit_html(&FitFigure {
        kicker: "Forecast from a run",
        numbers,
        title: format!("Forecast: {}", run.header.title),
        x_title: all.first().map_or("users", |said| said.unit).to_owned(),
        y_title: run.header.study.workload.kind().info().unit.rate.to_owned(),
        panels: panels.collect(),
    })
}

fn panel(forecaster: &Forecaster, shape: &Shape) -> FitPanel {
    let measured = forecaster.readings.of_shape(shape).map(|reading| FitPoint {
        n: reading.load,
        x: 60.0 * reading.x,
    });
    let levels = &forecaster.readings.levels;
    FitPanel {
        label: if levels.is_empty() {
            shape.label()
        } else {
            format!("{}, {levels}", shape.label())
        },
        points: measured.collect(),
        curves: curve(forecaster, shape).into_iter().collect(),
    }
}

/// The forecast up to twice the largest measured load, and at every measured one; `None` where
/// there is no forecast.
fn curve(forecaster: &Forecaster, shape: &Shape) -> Option<FitCurve> {
    let largest = forecaster.readings.largest(shape)?;
    let step = 2.0 * largest / POINTS as f64;
    let whole = matches!(forecaster.readings.offer, Offer::Closed { .. });
    let mut places: Vec<f64> = (1..=POINTS)
        .map(|i| step * i as f64)
        .map(|load| if whole { load.floor().max(1.0) } else { load })
        .chain(
            forecaster
                .readings
                .of_shape(shape)
                .map(|reading| reading.load),
        )
        .collect();
    places.sort_by(f64::total_cmp);
    places.dedup();
    let mut method = None;
    let point = |n: f64| {
        let numbers = forecaster.forecast(shape, n).numbers.ok()?;
        method = method.or(Some(numbers.method));
        let x = numbers.units_per_minute;
        Some(CurvePoint {
            n,
            x: x.value,
            run: Some((x.low, x.high)),
        })
    };
    let points: Vec<CurvePoint> = places.into_iter().filter_map(point).collect();
    Some(FitCurve {
        name: method?.name().to_owned(),
        points,
        chosen: true,
    })
}
