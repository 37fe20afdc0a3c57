//! Service demands from stored trials: what an order costs in core-seconds, and how that changes
//! with load and with the number of guests.

use rookery_model::demand::{bend, demands, wakeups};
use serde::Serialize;

use crate::{
    mean::mean,
    predict::{error::PredictError, reading::Reading},
};

/// A bend with a larger probability by chance is none.
const BEND_P: f64 = 0.01;
/// A smaller change of the demand over the measured loads is not worth a word.
const BEND_CHANGE: f64 = 0.1;
/// Cores that a line finds at no load may be background or waking up, which looks alike over a few
/// loads but leads to other ceilings. A guest that waits for requests uses next to nothing:
/// background is believed when the line's deviations are below this share of those of waking up.
const BACKGROUND_WORTH: f64 = 0.5;
/// Throughputs of a regression must differ by this factor.
const SPREAD: f64 = 1.2;

/// The demand with one number of guests.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DemandOf {
    /// Guests.
    pub guests: u32,
    /// Core-seconds of an order that are used for prediction: at busy cores, where waking up
    /// counts.
    pub demand_s: f64,
    /// What an order costs more at idle cores, s: waking up. 0 where busy cores grow in proportion
    /// to throughput.
    pub wakeup_s: f64,
    /// 95 % interval of the regression's demand, s; `None` when it rests on one load, or the
    /// scatter is unknown.
    pub interval_s: Option<(f64, f64)>,
    /// Standard error, s; `None` as for the interval.
    pub standard_error_s: Option<f64>,
    /// Cores that each guest uses without load; `None` when it rests on one load.
    pub background_cores: Option<f64>,
    /// Condition number of the regression; above 30 background and demand can hardly be told apart.
    pub condition: Option<f64>,
    /// By how much the slope of busy cores changes from the smallest to the largest throughput, as
    /// a share, where waking up does not explain it; `None` when no change was seen.
    pub changes_by: Option<f64>,
    /// Trials behind it.
    pub trials: usize,
}

/// How the demand grows with the number of guests at constant work: D(G)/D(1) = 1 + c (G - 1).
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Growth {
    /// c; 0 when it is not known.
    pub per_guest: f64,
    /// Numbers of guests that it rests on: it is fitted from three, two only span a line, one says
    /// nothing.
    pub numbers: usize,
}

/// Service demands of one variant.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Calibration {
    /// By number of guests, ascending; at least one.
    pub demands: Vec<DemandOf>,
    /// Growth with the number of guests.
    pub growth: Growth,
    /// Cores that each guest uses without load.
    pub background_cores: f64,
}

impl Calibration {
    /// Of trials with CPU counters.
    ///
    /// # Errors
    /// When no trial has counters or they show no demand.
    pub fn fit(readings: &[Reading]) -> Result<Self, PredictError> {
        let mut numbers: Vec<u32> = readings
            .iter()
            .map(|reading| reading.shape.guests)
            .collect();
        numbers.sort_unstable();
        numbers.dedup();
        let rows_of = |guests: u32| -> Vec<Row> {
            let of = readings
                .iter()
                .filter(|reading| reading.shape.guests == guests);
            of.filter_map(Row::from_reading).collect()
        };
        let regressed: Vec<DemandOf> = numbers
            .iter()
            .filter_map(|guests| regress(*guests, &rows_of(*guests)))
            .collect();
        let backgrounds: Vec<f64> = regressed
            .iter()
            .filter_map(|demand| demand.background_cores)
            .collect();
        let background_cores = mean(&backgrounds).unwrap_or(0.0);
        let shares: Vec<f64> = regressed
            .iter()
            .map(|demand| demand.wakeup_s / demand.demand_s)
            .collect();
        let wakeup_share = mean(&shares).unwrap_or(0.0);
        let demand = |guests: u32| {
            let known = regressed
                .iter()
                .find(|known| known.guests == guests)
                .cloned();
            known.or_else(|| single(guests, &rows_of(guests), background_cores, wakeup_share))
        };
        let demands: Vec<DemandOf> = numbers
            .iter()
            .filter_map(|guests| demand(*guests))
            .collect();
        if demands.is_empty() {
            return Err(PredictError::NoDemand);
        }
        Ok(Self {
            growth: growth(&demands),
            demands,
            background_cores,
        })
    }

    /// Core-seconds of an order with so many guests: as measured, else along the line of growth.
    #[must_use]
    pub fn demand_s(&self, guests: u32) -> f64 {
        let first = &self.demands[0];
        let known = self.demands.iter().find(|known| known.guests == guests);
        known.map_or_else(
            || first.demand_s * line(self.growth.per_guest, first.guests, guests),
            |known| known.demand_s,
        )
    }

    /// What waking up costs over the demand at busy cores, with so many guests.
    #[must_use]
    pub fn wakeup_share(&self, guests: u32) -> f64 {
        let known = self
            .demands
            .iter()
            .find(|known| known.guests == guests)
            .unwrap_or(&self.demands[0]);
        known.wakeup_s / known.demand_s
    }

    /// D(G)/D(smallest G), measured.
    #[must_use]
    pub fn ratios(&self) -> Vec<(u32, f64)> {
        let first = self.demands[0].demand_s;
        self.demands
            .iter()
            .map(|known| (known.guests, known.demand_s / first))
            .collect()
    }
}

/// Growth from one number of guests to another; never below a half, where a line has no meaning any
/// more.
fn line(per_guest: f64, from: u32, to: u32) -> f64 {
    let at = |guests: u32| 1.0 + per_guest * (f64::from(guests) - 1.0);
    (at(to) / at(from)).max(0.5)
}

/// Throughput and busy cores of one guest on average.
#[derive(Clone, Copy, Debug)]
struct Row {
    load: f64,
    x: f64,
    cores: f64,
    /// Share of the layout's cores that are idle.
    idle: f64,
}

impl Row {
    fn from_reading(reading: &Reading) -> Option<Self> {
        let guests = f64::from(reading.shape.guests);
        Some(Self {
            load: reading.load,
            x: reading.x / guests,
            cores: reading.cores? / guests,
            idle: (1.0 - reading.cores? / reading.shape.capacity()).max(0.0),
        })
    }
}

/// U = U0 + X D over all loads of one number of guests; `None` where loads do not differ enough.
fn regress(guests: u32, rows: &[Row]) -> Option<DemandOf> {
    let (x, cores): (Vec<f64>, Vec<f64>) = rows.iter().map(|row| (row.x, row.cores)).unzip();
    let (low, high) = x.iter().fold((f64::INFINITY, 0.0_f64), |(low, high), x| {
        (low.min(*x), high.max(*x))
    });
    if high < SPREAD * low {
        return None;
    }
    let columns: Vec<Vec<f64>> = x.iter().map(|x| vec![*x]).collect();
    let found = demands(&columns, &cores)
        .ok()
        .filter(|found| found.demands[0] > 0.0)?;
    let bent = bend(&x, &cores).filter(|bend| bend.p < BEND_P && bend.change.abs() > BEND_CHANGE);
    let idle: Vec<f64> = rows.iter().map(|row| row.idle).collect();
    let straight: f64 = found.residuals.iter().map(|residual| residual.abs()).sum();
    let intercept = found.background > 2.0 * found.standard_errors[0];
    let waking = wakeups(&x, &cores, &idle)
        .filter(|waking| intercept && straight > BACKGROUND_WORTH * waking.deviation);
    if let Some(waking) = waking {
        return Some(DemandOf {
            guests,
            demand_s: waking.demand,
            wakeup_s: waking.wakeup,
            interval_s: None,
            standard_error_s: None,
            background_cores: Some(0.0),
            condition: None,
            changes_by: None,
            trials: rows.len(),
        });
    }
    // Of a bent line the intercept is no background.
    let at_largest = || {
        let top = rows.iter().map(|row| row.load).fold(0.0, f64::max);
        let of = rows
            .iter()
            .filter(|row| row.load == top)
            .map(|row| row.cores / row.x);
        mean(&of.collect::<Vec<_>>()).filter(|demand| *demand > 0.0)
    };
    Some(DemandOf {
        guests,
        demand_s: bent.and_then(|_| at_largest()).unwrap_or(found.demands[0]),
        wakeup_s: 0.0,
        interval_s: found.intervals[0].map(|interval| (interval.low, interval.high)),
        standard_error_s: Some(found.standard_errors[1]),
        background_cores: Some(if bent.is_some() {
            0.0
        } else {
            found.background
        }),
        condition: Some(found.condition),
        changes_by: bent.map(|bend| bend.change),
        trials: rows.len(),
    })
}

/// The demand from one load, with background and waking up as with other numbers of guests.
fn single(guests: u32, rows: &[Row], background: f64, wakeup_share: f64) -> Option<DemandOf> {
    let of = |row: &Row| (row.cores - background) / row.x / (1.0 + wakeup_share * row.idle);
    let each: Vec<f64> = rows.iter().map(of).collect();
    let demand_s = mean(&each).filter(|demand| *demand > 0.0)?;
    Some(DemandOf {
        guests,
        demand_s,
        wakeup_s: wakeup_share * demand_s,
        interval_s: None,
        standard_error_s: None,
        background_cores: None,
        condition: None,
        changes_by: None,
        trials: rows.len(),
    })
}

/// Least squares of D(G)/D(first) along the line.
fn growth(demands: &[DemandOf]) -> Growth {
    let first = &demands[0];
    let (mut cross, mut squares) = (0.0, 0.0);
    for other in &demands[1..] {
        let distance = f64::from(other.guests) - f64::from(first.guests);
        cross += distance * (other.demand_s / first.demand_s - 1.0);
        squares += distance * distance;
    }
    let slope = if squares > 0.0 { cross / squares } else { 0.0 };
    // From a line through the first number of guests to one through 1.
    let scale = 1.0 - slope * (f64::from(first.guests) - 1.0);
    Growth {
        per_guest: if scale > 0.0 { slope / scale } else { slope },
        numbers: demands.len(),
    }
}
