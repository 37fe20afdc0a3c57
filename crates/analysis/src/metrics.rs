//! The metrics of a workload over the trials of a point, from the workload's own list.

use rookery_stats::{Measurement, Summary};
use rookery_workload::{Better, Counters, MetricValue};

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
    }
}

/// Every metric that a trial has a number for, in the workload's order.
pub(crate) fn summarise<'a>(measured: impl Iterator<Item = &'a Measurement>) -> Vec<MetricSummary> {
    let trials: Vec<Counters> = measured
        .filter_map(|measured| {
            Counters::together(measured.guests.iter().map(|guest| &guest.counters))
        })
        .collect();
    let Some(info) = trials.first().map(|counters| counters.kind().info()) else {
        return Vec::new();
    };
    let values: Vec<MetricValue> = trials.iter().flat_map(Counters::metrics).collect();
    info.metrics
        .iter()
        .filter_map(|metric| {
            let values: Vec<f64> = values
                .iter()
                .filter(|value| value.metric.name == metric.name && value.value.is_finite())
                .map(|value| value.value)
                .collect();
            Some(MetricSummary {
                name: metric.name,
                unit: metric.unit,
                better: metric.better,
                meaning: metric.meaning,
                values: Summary::from_values(&values)?,
            })
        })
        .collect()
}
