//! Percentiles from means: the measured ratio of each percentile to the mean time of an order, by how hard the system is pressed.
//!
//! A formula for percentiles holds for one kind of request; shops mix several. So ratios are measured at every load, and carried over to
//! loads of equal pressure (load over the load at which queueing sets in). The model's own percentiles of the whole order are used where they were
//! within 20 % of the measured at every load.

use rookery_stats::ORDER;

use crate::predict::{
    calibrate::mean,
    candidates::{Candidates, Method},
    choose::over,
    reading::{PERCENTILES, Reading, Readings},
};

/// The model's percentiles may be off by this share.
const MODEL_LIMIT: f64 = 0.2;

/// Ratios of one percentile of one operation.
#[derive(Clone, Debug)]
struct Row {
    operation: String,
    percentile: f64,
    /// (pressure, ratio), ascending.
    points: Vec<(f64, f64)>,
    /// Scatter of the ratio between trials of one load, a standard deviation of logarithms.
    scatter: f64,
}

/// All of them.
#[derive(Clone, Debug)]
pub(crate) struct Ratios {
    rows: Vec<Row>,
    /// Percentiles of the order that the model predicts well enough.
    by_model: Vec<f64>,
}

impl Ratios {
    /// Of readings, with the pressures of a fitted queueing model.
    pub(crate) fn of(readings: &Readings, candidates: &Candidates, method: Method) -> Self {
        let mut keys: Vec<(String, f64)> = Vec::new();
        for quantile in readings.all.iter().flat_map(|reading| &reading.quantiles) {
            if !keys
                .iter()
                .any(|(operation, p)| *operation == quantile.operation && *p == quantile.percentile)
            {
                keys.push((quantile.operation.clone(), quantile.percentile));
            }
        }
        let lots: Vec<(f64, &[Reading])> = readings
            .lots()
            .into_iter()
            .filter_map(|lot| Some((candidates.state(method, &lot[0].shape, lot[0].load)?.pressure, lot)))
            .collect();
        let rows = keys
            .into_iter()
            .filter_map(|(operation, percentile)| row(&lots, operation, percentile));
        let holds = |percentile: &f64| {
            let errors: Option<Vec<f64>> = lots
                .iter()
                .map(|(_, lot)| {
                    let state = candidates.state(method, &lot[0].shape, lot[0].load)?;
                    let measured = mean(
                        &lot.iter()
                            .filter_map(|reading| value(reading, ORDER, *percentile))
                            .collect::<Vec<_>>(),
                    )?;
                    Some((state.quantile_s(*percentile) / measured - 1.0).abs())
                })
                .collect();
            errors.is_some_and(|errors| !errors.is_empty() && errors.iter().all(|error| *error <= MODEL_LIMIT))
        };
        Self {
            rows: rows.collect(),
            by_model: PERCENTILES.into_iter().filter(holds).collect(),
        }
    }

    /// Whether the model's own percentile of the order was near the measured one at every load.
    pub(crate) fn model_holds(&self, percentile: f64) -> bool {
        self.by_model.contains(&percentile)
    }

    /// Requests of which a percentile was measured.
    pub(crate) fn operations(&self, percentile: f64) -> Vec<String> {
        let of = self
            .rows
            .iter()
            .filter(|row| row.percentile == percentile && row.operation != ORDER);
        of.map(|row| row.operation.clone()).collect()
    }

    /// The ratio at a pressure, and its scatter: on straight lines over the logarithm of pressure, as at the ends beyond them.
    pub(crate) fn at(&self, operation: &str, percentile: f64, pressure: f64) -> Option<(f64, f64)> {
        let row = self
            .rows
            .iter()
            .find(|row| row.operation == operation && row.percentile == percentile)?;
        let above = row.points.partition_point(|(known, _)| *known < pressure);
        let ratio = match (above.checked_sub(1).and_then(|i| row.points.get(i)), row.points.get(above)) {
            (Some((low, a)), Some((high, b))) if high > low => a + (b - a) * (pressure / low).ln() / (high / low).ln(),
            (Some((_, ratio)), _) | (None, Some((_, ratio))) => *ratio,
            (None, None) => return None,
        };
        Some((ratio, row.scatter))
    }
}

fn value(reading: &Reading, operation: &str, percentile: f64) -> Option<f64> {
    let found = reading
        .quantiles
        .iter()
        .find(|q| q.operation == operation && q.percentile == percentile);
    found.map(|quantile| quantile.seconds)
}

fn row(lots: &[(f64, &[Reading])], operation: String, percentile: f64) -> Option<Row> {
    let (mut points, mut squares, mut df) = (Vec::new(), 0.0, 0.0);
    for (pressure, lot) in lots {
        let logs: Vec<f64> = lot
            .iter()
            .filter_map(|reading| Some((value(reading, &operation, percentile)? / reading.response_s).ln()))
            .collect();
        let Some(centre) = mean(&logs) else { continue };
        // The mean percentile over the mean time, rather than the mean of noisy ratios.
        let values: Vec<f64> = lot.iter().filter_map(|reading| value(reading, &operation, percentile)).collect();
        points.push((*pressure, mean(&values)? / over(lot, |reading| reading.response_s)));
        squares += logs.iter().map(|log| (log - centre).powi(2)).sum::<f64>();
        df += logs.len() as f64 - 1.0;
    }
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    (!points.is_empty()).then(|| Row {
        operation,
        percentile,
        points,
        scatter: if df > 0.0 { (squares / df).sqrt() } else { 0.0 },
    })
}
