//! Metrics as data: what the counters of a workload yield.

use serde::{Deserialize, Serialize};

/// A number that a workload counts or derives, described for tables, exports and readers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Metric {
    /// Its name in tables, exports and the store: lower case, with its unit last where it has one.
    pub name: &'static str,
    /// Its unit; empty for a plain number.
    pub unit: &'static str,
    /// Which direction is better.
    pub better: Better,
    /// What it is, in one sentence.
    pub meaning: &'static str,
}

impl Metric {
    /// A metric of which more is better.
    #[must_use]
    pub const fn higher(name: &'static str, unit: &'static str, meaning: &'static str) -> Self {
        Self::new(name, unit, Better::Higher, meaning)
    }

    /// A metric of which less is better.
    #[must_use]
    pub const fn lower(name: &'static str, unit: &'static str, meaning: &'static str) -> Self {
        Self::new(name, unit, Better::Lower, meaning)
    }

    /// A metric that is neither good nor bad.
    #[must_use]
    pub const fn neither(name: &'static str, unit: &'static str, meaning: &'static str) -> Self {
        Self::new(name, unit, Better::Neither, meaning)
    }

    const fn new(
        name: &'static str,
        unit: &'static str,
        better: Better,
        meaning: &'static str,
    ) -> Self {
        Self {
            name,
            unit,
            better,
            meaning,
        }
    }
}

/// Which direction of a metric is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Better {
    /// More is better.
    Higher,
    /// Less is better.
    Lower,
    /// It says what happened, not how well.
    Neither,
}

/// A metric with its value.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct MetricValue {
    /// What it is.
    pub metric: &'static Metric,
    /// How much, in the metric's unit.
    pub value: f64,
}

/// Pairs metrics with their values; those without a value are left out.
pub(crate) fn with_values<const N: usize>(
    metrics: &'static [Metric; N],
    values: [Option<f64>; N],
) -> Vec<MetricValue> {
    metrics
        .iter()
        .zip(values)
        .filter_map(|(metric, value)| {
            Some(MetricValue {
                metric,
                value: value?,
            })
        })
        .collect()
}
