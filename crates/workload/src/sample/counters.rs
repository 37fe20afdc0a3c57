//! What the sample workload counts beside the times of its operations.

use serde::{Deserialize, Serialize};

use super::{TransitionMatrix, info::METRICS, matrix::OPERATION_COUNT};
use crate::{MetricValue, Proof, ProofRow, UnitRates, metric::with_values};

/// The records that a load adds.
pub const NEW_RECORDS: &str = "new records";
/// The bytes of the texts of those records.
pub const NEW_BYTES: &str = "bytes of new records";

/// Counters of the sample workload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SampleCounters {
    /// Length of the window, s.
    pub window_s: f64,
    /// Records read one by one in the window.
    pub read: u64,
    /// Lists in the window.
    pub lists: u64,
    /// Records read by lists in the window.
    pub listed: u64,
    /// Records written in the window.
    pub written: u64,
    /// Time of all writes in the window, ms.
    pub writing_ms: f64,
    /// Records whose write was acknowledged over the whole trial.
    pub written_from_start: u64,
    /// Bytes of their texts.
    pub bytes_from_start: u64,
    /// Writes that were sent but whose outcome no answer told.
    pub unanswered: u64,
    /// Bytes of their texts.
    pub unanswered_bytes: u64,
    /// How often each operation was drawn after each other, over the whole trial.
    pub transitions: [[u64; OPERATION_COUNT]; OPERATION_COUNT],
    /// The matrix that they were drawn from.
    pub matrix: TransitionMatrix,
}

impl SampleCounters {
    /// Every metric, in the order of the workload's list.
    #[must_use]
    pub fn metrics(&self) -> Vec<MetricValue> {
        let count = |count: u64| Some(count as f64);
        with_values(
            &METRICS,
            [
                Some(self.per_minute(self.written)),
                count(self.read),
                count(self.listed),
                count(self.written),
                (self.written > 0).then(|| self.writing_ms / self.written as f64),
                count(self.written_from_start),
                count(self.unanswered),
            ],
        )
    }

    /// Acknowledged writes are in the server with every byte; unanswered ones may be.
    #[must_use]
    pub fn proof(&self) -> Proof {
        Proof {
            rows: vec![
                ProofRow::new(NEW_RECORDS, self.written_from_start, self.unanswered),
                ProofRow::new(NEW_BYTES, self.bytes_from_start, self.unanswered_bytes),
            ],
        }
    }

    /// Writes and all requests per minute: a write comes with the reads and lists around it.
    #[must_use]
    pub fn unit_rates(&self) -> UnitRates {
        let requests = self
            .read
            .saturating_add(self.lists)
            .saturating_add(self.written);
        UnitRates {
            units_per_minute: self.per_minute(self.written),
            requests_per_minute: self.per_minute(requests),
        }
    }

    fn per_minute(&self, count: u64) -> f64 {
        if self.window_s > 0.0 {
            60.0 * count as f64 / self.window_s
        } else {
            0.0
        }
    }

    /// Add what another guest counted in the same window. Guests of a trial share one matrix.
    pub fn merge(&mut self, other: &Self) {
        if self.drawn() == 0 {
            self.matrix = other.matrix;
        }
        // Guests of a trial share the window; one that counted nothing may not know it.
        self.window_s = self.window_s.max(other.window_s);
        self.writing_ms += other.writing_ms;
        let counts = [
            (&mut self.read, other.read),
            (&mut self.lists, other.lists),
            (&mut self.listed, other.listed),
            (&mut self.written, other.written),
            (&mut self.written_from_start, other.written_from_start),
            (&mut self.bytes_from_start, other.bytes_from_start),
            (&mut self.unanswered, other.unanswered),
            (&mut self.unanswered_bytes, other.unanswered_bytes),
        ];
        let transitions = self.transitions.iter_mut().flatten();
        let others = other.transitions.into_iter().flatten();
        for (mine, others) in counts.into_iter().chain(transitions.zip(others)) {
            *mine = mine.saturating_add(others);
        }
    }

    /// Operations that were drawn.
    fn drawn(&self) -> u64 {
        self.transitions.iter().flatten().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Counters;

    #[test]
    fn guests_together_are_counted_together() {
        let mut all = SampleCounters {
            window_s: 30.0,
            read: 100,
            lists: 10,
            written: 40,
            writing_ms: 80.0,
            written_from_start: 50,
            bytes_from_start: 500,
            transitions: [[1; 3]; 3],
            ..SampleCounters::default()
        };
        all.merge(&SampleCounters {
            window_s: 30.0,
            written: 20,
            writing_ms: 10.0,
            written_from_start: 25,
            bytes_from_start: 250,
            unanswered: 1,
            unanswered_bytes: 10,
            transitions: [[2; 3]; 3],
            ..SampleCounters::default()
        });
        assert_eq!(all.transitions, [[3; 3]; 3]);
        assert_eq!(
            all.proof().rows,
            [
                ProofRow::new(NEW_RECORDS, 75, 1),
                ProofRow::new(NEW_BYTES, 750, 10)
            ]
        );
        let rates = all.unit_rates();
        assert_eq!(rates.units_per_minute, 120.0);
        assert_eq!(rates.requests_per_minute, 340.0);
        assert_eq!(Counters::Sample(all).metric("write_mean_ms"), Some(1.5));
    }

    #[test]
    fn nothing_counted_is_no_mean() {
        assert_eq!(
            Counters::Sample(SampleCounters::default()).metric("write_mean_ms"),
            None
        );
    }
}
