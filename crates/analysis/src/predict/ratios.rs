//! Percentiles from means: the measured ratio of each percentile to the mean time of an order, by
//! how hard the system is pressed.
//!
//! A formula for percentiles holds for one kind of request; users mix several. So ratios are
//! measured at every load, and carried over to loads of equal pressure (load over the load at which
//! queueing sets in). The model's own percentiles of the whole order are used where they were
//! within 20 % of the measured at every load.

use rookery_workload::WorkloadInfo;

use crate::mean::mean;
use crate::predict::{
    candidates::{Candidates, Method},
    choose::over,
    reading::{PERCENTILES, Reading, Readings},
    shape::Shape,
    structure::State,
};

/// The model's percentiles may be off by this share.
const MODEL_LIMIT: f64 = 0.2;

/// Ratios of one percentile of one operation in one layout.
#[derive(Clone, Debug)]
struct Row {
    shape: Shape,
    operation: String,
    percentile: f64,
    /// At each load, by pressure, ascending.
    points: Vec<RatioAt>,
    /// Scatter of the ratio between trials of one load, a standard deviation of logarithms.
    scatter: f64,
}

/// The ratio at one load.
#[derive(Clone, Copy, Debug)]
struct RatioAt {
    pressure: f64,
    measured: f64,
    /// That of the model for the whole order.
    model: f64,
}

/// All of them.
#[derive(Clone, Debug)]
pub(crate) struct Ratios {
    rows: Vec<Row>,
    /// Percentiles of the unit of work that the model predicts well enough.
    by_model: Vec<f64>,
    workload: &'static WorkloadInfo,
}

impl Ratios {
    /// Of readings, with the pressures of a fitted queueing model.
    pub(crate) fn from_readings(
        readings: &Readings,
        candidates: &Candidates,
        method: Method,
    ) -> Self {
        let mut keys: Vec<(String, f64)> = Vec::new();
        for quantile in readings.all.iter().flat_map(|reading| &reading.quantiles) {
            if !keys
                .iter()
                .any(|(operation, p)| *operation == quantile.operation && *p == quantile.percentile)
            {
                keys.push((quantile.operation.clone(), quantile.percentile));
            }
        }
        let lots: Vec<(State, &[Reading])> = readings
            .lots()
            .into_iter()
            .filter_map(|lot| Some((candidates.state(method, &lot[0].shape, lot[0].load)?, lot)))
            .collect();
        let by_shape = || lots.chunk_by(|(_, a), (_, b)| a[0].shape.same(&b[0].shape));
        let rows = keys.iter().flat_map(|(operation, percentile)| {
            by_shape().filter_map(|lots| row(lots, operation, *percentile))
        });
        let unit = readings.workload.main_operation();
        let holds = |percentile: &f64| {
            let error = |(state, lot): &(State, &[Reading])| {
                let values: Vec<f64> = lot
                    .iter()
                    .filter_map(|reading| value(reading, unit, *percentile))
                    .collect();
                Some((state.quantile_s(*percentile) / mean(&values)? - 1.0).abs())
            };
            let errors: Option<Vec<f64>> = lots.iter().map(error).collect();
            errors.is_some_and(|errors| {
                !errors.is_empty() && errors.iter().all(|error| *error <= MODEL_LIMIT)
            })
        };
        Self {
            rows: rows.collect(),
            by_model: PERCENTILES.into_iter().filter(holds).collect(),
            workload: readings.workload,
        }
    }

    /// Whether the model's own percentile of the unit of work was near the measured one at every
    /// load.
    pub(crate) fn model_holds(&self, percentile: f64) -> bool {
        self.by_model.contains(&percentile)
    }

    /// Requests of which a percentile was measured.
    pub(crate) fn operations(&self, percentile: f64) -> Vec<String> {
        let of = self
            .rows
            .iter()
            .filter(|row| row.percentile == percentile && self.workload.is_request(&row.operation));
        of.map(|row| row.operation.clone()).collect()
    }

    /// The ratio in a state of a layout, and its scatter: as in this layout, or in the measured one
    /// of most similar guests and cores. Between measured pressures it lies on straight lines over
    /// their logarithm. Below the smallest it is that of the smallest; above the largest it changes
    /// as the model's does, because a full closed system answers evenly.
    pub(crate) fn at(
        &self,
        shape: &Shape,
        operation: &str,
        percentile: f64,
        state: &State,
    ) -> Option<(f64, f64)> {
        let distance = |row: &&Row| {
            let cores = (row.shape.capacity() / shape.capacity()).ln().abs();
            let guests = (f64::from(row.shape.guests) / f64::from(shape.guests))
                .ln()
                .abs();
            if row.shape.same(shape) {
                -1.0
            } else {
                cores + guests
            }
        };
        let of = self
            .rows
            .iter()
            .filter(|row| row.operation == operation && row.percentile == percentile);
        let row = of.min_by(|a, b| distance(a).total_cmp(&distance(b)))?;
        let above = row
            .points
            .partition_point(|known| known.pressure < state.pressure);
        let ratio = match (
            above.checked_sub(1).and_then(|i| row.points.get(i)),
            row.points.get(above),
        ) {
            (Some(low), Some(high)) if high.pressure > low.pressure => {
                let share =
                    (state.pressure / low.pressure).ln() / (high.pressure / low.pressure).ln();
                low.measured + share * (high.measured - low.measured)
            }
            (Some(last), None) => {
                last.measured * state.quantile_s(percentile) / state.response_s / last.model
            }
            (_, Some(next)) => next.measured,
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

fn row(lots: &[(State, &[Reading])], operation: &str, percentile: f64) -> Option<Row> {
    let (mut points, mut squares, mut df) = (Vec::new(), 0.0, 0.0);
    for (state, lot) in lots {
        let logs: Vec<f64> = lot
            .iter()
            .filter_map(|reading| {
                Some((value(reading, operation, percentile)? / reading.response_s).ln())
            })
            .collect();
        let Some(centre) = mean(&logs) else { continue };
        // The mean percentile over the mean time, rather than the mean of noisy ratios.
        let values: Vec<f64> = lot
            .iter()
            .filter_map(|reading| value(reading, operation, percentile))
            .collect();
        points.push(RatioAt {
            pressure: state.pressure,
            measured: mean(&values)? / over(lot, |reading| reading.response_s),
            model: state.quantile_s(percentile) / state.response_s,
        });
        squares += logs.iter().map(|log| (log - centre).powi(2)).sum::<f64>();
        df += logs.len() as f64 - 1.0;
    }
    points.sort_by(|a: &RatioAt, b| a.pressure.total_cmp(&b.pressure));
    (!points.is_empty()).then(|| Row {
        shape: lots[0].1[0].shape.clone(),
        operation: operation.to_owned(),
        percentile,
        points,
        scatter: if df > 0.0 { (squares / df).sqrt() } else { 0.0 },
    })
}
