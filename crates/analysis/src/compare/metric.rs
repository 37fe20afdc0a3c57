//! What is compared: one number per trial for each metric.

use rookery_stats::{Goal, Measurement};
use rookery_store::TrialRecord;
use serde::Serialize;

use crate::cpu;

/// A number that every trial has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Metric {
    /// Orders per minute of all guests.
    Throughput,
    /// Mean response time of a whole order, or of a New-Order, ms.
    OrderMean,
    /// Median of it.
    OrderP50,
    /// Its 95th percentile.
    OrderP95,
    /// Its 99th percentile.
    OrderP99,
    /// The largest 95th percentile of a single request, ms.
    RequestP95,
    /// Failed and unfinished requests, as a share of all that were started.
    Errors,
    /// CPU time that the guests used for one order, ms.
    CpuPerOrder,
}

/// On which scale changes of a metric add up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scale {
    /// The logarithm: changes are ratios.
    Ratio,
    /// The number itself: changes are differences of shares.
    Share,
}

impl Metric {
    /// All, in the order in which they are shown.
    pub const ALL: [Self; 8] = [
        Self::Throughput,
        Self::OrderP95,
        Self::CpuPerOrder,
        Self::Errors,
        Self::OrderMean,
        Self::OrderP50,
        Self::OrderP99,
        Self::RequestP95,
    ];

    /// Whether its overall comparison is one of those that were named beforehand and decide how a
    /// comparison ends.
    #[must_use]
    pub fn is_primary(self) -> bool {
        matches!(
            self,
            Self::Throughput | Self::OrderP95 | Self::CpuPerOrder | Self::Errors
        )
    }

    /// Which way is the good one.
    #[must_use]
    pub fn goal(self) -> Goal {
        if self == Self::Throughput {
            Goal::Higher
        } else {
            Goal::Lower
        }
    }

    /// The scale of its changes.
    #[must_use]
    pub fn scale(self) -> Scale {
        if self == Self::Errors {
            Scale::Share
        } else {
            Scale::Ratio
        }
    }

    /// Its name in tables and sentences.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Throughput => "orders/min",
            Self::OrderMean => "order mean",
            Self::OrderP50 => "order p50",
            Self::OrderP95 => "order p95",
            Self::OrderP99 => "order p99",
            Self::RequestP95 => "worst request p95",
            Self::Errors => "errors",
            Self::CpuPerOrder => "guest CPU per order",
        }
    }

    /// Its value in a trial; `None` where nothing was measured that could be compared.
    pub(super) fn of(self, record: &TrialRecord, measured: &Measurement) -> Option<f64> {
        let order = measured.main_operation();
        let percentile = |p: f64| Some(measured.latencies(order).percentile_us(p)? as f64 / 1000.0);
        let value = match self {
            Self::Throughput => Some(measured.units_per_minute()),
            Self::OrderMean => measured.latencies(order).mean_us().map(|us| us / 1000.0),
            Self::OrderP50 => percentile(50.0),
            Self::OrderP95 => percentile(95.0),
            Self::OrderP99 => percentile(99.0),
            Self::RequestP95 => worst_request_ms(measured),
            Self::Errors => {
                let (started, bad) = measured.started_and_bad();
                (started > 0).then(|| bad as f64 / started as f64)
            }
            Self::CpuPerOrder => {
                let cores = cpu::guest_cores(&record.resources, measured)?;
                Some(cores * 60_000.0 / measured.units_per_minute())
            }
        }?;
        // Of nothing there is no ratio.
        (value.is_finite() && (value > 0.0 || self.scale() == Scale::Share)).then_some(value)
    }
}

impl Scale {
    /// Onto the scale.
    pub(super) fn on(self, value: f64) -> f64 {
        match self {
            Self::Ratio => value.ln(),
            Self::Share => value,
        }
    }

    /// Back from the scale: a value.
    pub(super) fn value(self, on_scale: f64) -> f64 {
        match self {
            Self::Ratio => on_scale.exp(),
            Self::Share => on_scale,
        }
    }

    /// Back from the scale: a change, as a share.
    pub(super) fn change(self, on_scale: f64) -> f64 {
        match self {
            Self::Ratio => on_scale.exp() - 1.0,
            Self::Share => on_scale,
        }
    }
}

fn worst_request_ms(measured: &Measurement) -> Option<f64> {
    let requests = measured
        .operation_names()
        .into_iter()
        .filter(|name| rookery_stats::is_request(name));
    let worst = requests
        .filter_map(|name| measured.latencies(name).percentile_us(95.0))
        .max()?;
    Some(worst as f64 / 1000.0)
}
