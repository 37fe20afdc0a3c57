//! What is counted beside the times of operations.

use serde::{Deserialize, Serialize};

use super::info::METRICS;
use crate::{
    MetricValue, Proof,
    data_driven::{RecordCount, Steps, merge_records},
    metric::with_values,
};

/// The counters of one guest, or of several. What has no other word is counted in the window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SqlCounters {
    /// Length of the window, s.
    pub window_s: f64,
    /// Operations that did well.
    pub operations_done: u64,
    /// Statements of operations that were answered.
    pub statements: u64,
    /// Rows that were answered.
    pub rows: u64,
    /// Transactions that were committed.
    pub transactions: u64,
    /// Attempts after the first.
    pub retries: u64,
    /// Sessions that ended as the mix says.
    pub sessions: u64,
    /// Connections that were made again, over the whole trial.
    pub reconnections: u64,
    /// What operations made in the database, over the whole trial.
    pub records: Vec<RecordCount>,
    /// Which operation followed which, over the whole trial.
    #[serde(flatten)]
    pub steps: Steps,
}

impl SqlCounters {
    /// Every metric, in the order of the workload's list.
    #[must_use]
    pub fn metrics(&self) -> Vec<MetricValue> {
        let count = |count: u64| Some(count as f64);
        let per_second = |count: u64| {
            if self.window_s > 0.0 {
                count as f64 / self.window_s
            } else {
                0.0
            }
        };
        with_values(
            &METRICS,
            [
                Some(60.0 * per_second(self.operations_done)),
                Some(per_second(self.statements)),
                count(self.rows),
                count(self.transactions),
                count(self.retries),
                count(self.sessions),
                count(self.reconnections),
            ],
        )
    }

    /// What the database must hold: one row for each kind of record that an operation counts.
    #[must_use]
    pub fn proof(&self) -> Proof {
        RecordCount::proof(&self.records)
    }

    /// Adds what another guest counted in the same window. Guests of a trial share one workload.
    pub fn merge(&mut self, other: &Self) {
        self.window_s = self.window_s.max(other.window_s);
        let counts = [
            (&mut self.operations_done, other.operations_done),
            (&mut self.statements, other.statements),
            (&mut self.rows, other.rows),
            (&mut self.transactions, other.transactions),
            (&mut self.retries, other.retries),
            (&mut self.sessions, other.sessions),
            (&mut self.reconnections, other.reconnections),
        ];
        for (mine, other) in counts {
            *mine = mine.saturating_add(other);
        }
        merge_records(&mut self.records, &other.records);
        self.steps.merge(&other.steps);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ProofRow;

    #[test]
    fn guests_together_are_counted_together() {
        let one = |acknowledged| SqlCounters {
            window_s: 30.0,
            operations_done: 60,
            records: vec![RecordCount {
                what: "notes".to_owned(),
                acknowledged,
                unanswered: 1,
            }],
            ..SqlCounters::default()
        };
        let mut all = SqlCounters::default();
        all.merge(&one(3));
        all.merge(&one(4));
        assert_eq!(all.proof().rows, [ProofRow::new("notes", 7, 2)]);
        assert_eq!(all.metrics()[0].value, 240.0);
    }
}
