//! The metrics of a workload over the trials of a point, from the workload's own list.

use rookery_stats::{Measurement, Summary};
use rookery_workload::{Better, Counters, Metric, MetricValue};

use crate::schema::data;

data! {
    /// A metric of the workload over the good trials of a point, all guests of a trial together.
    #[derive(Clone, Debug, PartialEq)]
    pub struct MetricSummary {
        /// Its name, as in exports.
        pub name: &'static str,
        /// Its unit; empty for a plain number.
        pub unit: &'static str,
        /// Which direction is better.
        pub better: Better,
        /// What it is, in one sentence.
        pub meaning: &'static str,
        /// Its values, one for each trial that has one.
        pub values: Summary,
        /// The same, trial by trial.
        pub trials: Vec<MetricOfTrial>,
    }
}

data! {
    /// A metric of a good trial.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct MetricOfTrial {
        /// Number of the trial.
        pub trial: u32,
        /// The value.
        pub value: f64,
    }
}

/// Every metric that a trial has a number for, in the workload's order.
pub(crate) fn summarise<'a>(
    measured: impl Iterator<Item = (u32, &'a Measurement)>,
) -> Vec<MetricSummary> {
    let trials: Vec<(u32, Counters)> = measured
        .filter_map(|(trial, measured)| {
            let counters = measured.guests.iter().map(|guest| &guest.counters);
            Some((trial, Counters::together(counters)?))
        })
        .collect();
    let Some((_, first)) = trials.first() else {
        return Vec::new();
    };
    let values: Vec<(u32, MetricValue)> = trials
        .iter()
        .flat_map(|(trial, counters)| {
            let values = counters.metrics().into_iter();
            values.map(|value| (*trial, value))
        })
        .collect();
    let info = first.kind().info();
    let summary = |metric: &Metric| {
        let own = values
            .iter()
            .filter(|(_, value)| value.metric.name == metric.name && value.value.is_finite());
        let trials: Vec<MetricOfTrial> = own
            .map(|(trial, value)| MetricOfTrial {
                trial: *trial,
                value: value.value,
            })
            .collect();
        let values: Vec<f64> = trials.iter().map(|trial| trial.value).collect();
        Some(MetricSummary {
            name: metric.name,
            unit: metric.unit,
            better: metric.better,
            meaning: metric.meaning,
            values: Summary::from_values(&values)?,
            trials,
        })
    };
    info.metrics.iter().filter_map(summary).collect()
}
