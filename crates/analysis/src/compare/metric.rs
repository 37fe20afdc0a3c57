//! What is compared: one number per trial for each metric.

use rookery_stats::{Goal, Measurement};
use rookery_workload::UnitOfWork;
use serde::Serialize;

use crate::{Run, TrialData, cpu, loads};

/// A number that every trial has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Metric {
    /// Units of work per minute of all guests.
    Throughput,
    /// Mean response time of a unit of work, ms.
    UnitMean,
    /// Median of it.
    UnitP50,
    /// Its 95th percentile.
    UnitP95,
    /// Its 99th percentile.
    UnitP99,
    /// The largest 95th percentile of a single request, ms.
    RequestP95,
    /// Failed and unfinished requests, as a share of all that were started.
    Errors,
    /// CPU time that the guests used for one unit of work, ms.
    CpuPerUnit,
    /// Time in which the last database of a trial was made, s.
    LoadTime,
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
    /// Those of trials with users, in the order in which they are shown.
    pub const OF_USERS: [Self; 8] = [
        Self::Throughput,
        Self::UnitP95,
        Self::CpuPerUnit,
        Self::Errors,
        Self::UnitMean,
        Self::UnitP50,
        Self::UnitP99,
        Self::RequestP95,
    ];

    /// Those that are compared between runs: where all of them load databases and nothing else,
    /// their times.
    pub(super) fn of_runs<'r>(mut runs: impl Iterator<Item = &'r Run>) -> &'static [Self] {
        if runs.all(loads::alone) {
            &[Self::LoadTime]
        } else {
            &Self::OF_USERS
        }
    }

    /// Whether its overall comparison is one of those that were named beforehand and decide how a
    /// comparison ends.
    #[must_use]
    pub fn is_primary(self) -> bool {
        matches!(
            self,
            Self::Throughput | Self::UnitP95 | Self::CpuPerUnit | Self::Errors | Self::LoadTime
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

    /// Its name in tables and sentences, in the words of the workload whose throughput counts
    /// `unit`.
    #[must_use]
    pub fn name(self, unit: &UnitOfWork) -> String {
        let of_unit = |what: &str| format!("{} {what}", unit.singular);
        match self {
            Self::Throughput => unit.rate.to_owned(),
            Self::UnitMean => of_unit("mean"),
            Self::UnitP50 => of_unit("p50"),
            Self::UnitP95 => of_unit("p95"),
            Self::UnitP99 => of_unit("p99"),
            Self::RequestP95 => "worst request p95".to_owned(),
            Self::Errors => "errors".to_owned(),
            Self::CpuPerUnit => format!("guest CPU per {}", unit.singular),
            Self::LoadTime => "load time".to_owned(),
        }
    }

    /// Its value in a trial; `None` where nothing was measured that could be compared.
    pub(crate) fn of(self, trial: &TrialData) -> Option<f64> {
        if self == Self::LoadTime {
            return Some(loads::of_trial(trial)?.total_s()).filter(|time| *time > 0.0);
        }
        let (record, measured) = trial.valid()?;
        let unit = measured.main_operation();
        let percentile = |p: f64| Some(measured.latencies(unit).percentile_us(p)? as f64 / 1000.0);
        let value = match self {
            Self::Throughput => Some(measured.units_per_minute()),
            Self::UnitMean => measured.latencies(unit).mean_us().map(|us| us / 1000.0),
            Self::UnitP50 => percentile(50.0),
            Self::UnitP95 => percentile(95.0),
            Self::UnitP99 => percentile(99.0),
            Self::RequestP95 => worst_request_ms(measured),
            Self::Errors => {
                let (started, bad) = measured.started_and_bad();
                (started > 0).then(|| bad as f64 / started as f64)
            }
            Self::CpuPerUnit => {
                let cores = cpu::guest_cores(&record.resources, measured)?;
                Some(cores * 60_000.0 / measured.units_per_minute())
            }
            Self::LoadTime => None,
        }?;
        // Of nothing there is no ratio.
        (value.is_finite() && (value > 0.0 || self.scale() == Scale::Share)).then_some(value)
    }
}

impl Scale {
    /// Onto the scale.
    pub(crate) fn on(self, value: f64) -> f64 {
        match self {
            Self::Ratio => value.ln(),
            Self::Share => value,
        }
    }

    /// Back from the scale: a value.
    pub(crate) fn value(self, on_scale: f64) -> f64 {
        match self {
            Self::Ratio => on_scale.exp(),
            Self::Share => on_scale,
        }
    }

    /// Back from the scale: a change, as a share.
    pub(crate) fn change(self, on_scale: f64) -> f64 {
        match self {
            Self::Ratio => on_scale.exp() - 1.0,
            Self::Share => on_scale,
        }
    }
}

fn worst_request_ms(measured: &Measurement) -> Option<f64> {
    let worst = measured
        .request_names()
        .into_iter()
        .filter_map(|name| measured.latencies(name).percentile_us(95.0))
        .max()?;
    Some(worst as f64 / 1000.0)
}
