//! What is counted beside the times of operations.

use serde::{Deserialize, Serialize};

use super::info::METRICS;
use crate::{MetricValue, Proof, ProofRow, metric::with_values};

/// The counters of one guest, or of several. What has no other word is counted in the window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HttpCounters {
    /// Length of the window, s.
    pub window_s: f64,
    /// Operations that were answered well.
    pub pages: u64,
    /// Requests: those of operations, redirects and objects.
    pub requests: u64,
    /// Embedded objects that were loaded.
    pub objects: u64,
    /// Of them, those that had not changed.
    pub not_modified: u64,
    /// Embedded objects that users still had.
    pub from_cache: u64,
    /// Redirects that were followed.
    pub redirects: u64,
    /// Bytes of bodies as they were sent.
    pub bytes: u64,
    /// Sessions that ended as the mix says.
    pub sessions: u64,
    /// Full handshakes of TLS.
    pub tls_handshakes: u64,
    /// Handshakes that resumed a session.
    pub tls_resumed: u64,
    /// What operations made on the server, over the whole trial.
    pub records: Vec<RecordCount>,
    /// How often each operation (column; the last is the end of the session) followed each other
    /// (row; the last is the begin of a session), over the whole trial.
    pub transitions: Vec<Vec<u64>>,
    /// The probabilities that they were drawn with.
    pub expected: Vec<Vec<f64>>,
    /// The names of the operations.
    pub operations: Vec<String>,
}

/// One kind of record that operations make.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordCount {
    /// What they are, in the plural.
    pub what: String,
    /// Those of which users were told.
    pub acknowledged: u64,
    /// Those that were asked for, and whose outcome no answer told.
    pub unanswered: u64,
}

impl HttpCounters {
    /// Every metric, in the order of the workload's list.
    #[must_use]
    pub fn metrics(&self) -> Vec<MetricValue> {
        let count = |count: u64| Some(count as f64);
        let per_second = |count: f64| {
            if self.window_s > 0.0 {
                count / self.window_s
            } else {
                0.0
            }
        };
        with_values(
            &METRICS,
            [
                Some(60.0 * per_second(self.pages as f64)),
                Some(per_second(self.requests as f64)),
                count(self.objects),
                count(self.not_modified),
                count(self.from_cache),
                count(self.redirects),
                Some(per_second(self.bytes as f64 / f64::from(1 << 20))),
                count(self.sessions),
                count(self.tls_handshakes),
                count(self.tls_resumed),
            ],
        )
    }

    /// What the server must hold: one row for each kind of record that an operation counts.
    #[must_use]
    pub fn proof(&self) -> Proof {
        let row = |record: &RecordCount| {
            ProofRow::new(&record.what, record.acknowledged, record.unanswered)
        };
        Proof {
            rows: self.records.iter().map(row).collect(),
        }
    }

    /// Adds what another guest counted in the same window. Guests of a trial share one workload.
    pub fn merge(&mut self, other: &Self) {
        self.window_s = self.window_s.max(other.window_s);
        let counts = [
            (&mut self.pages, other.pages),
            (&mut self.requests, other.requests),
            (&mut self.objects, other.objects),
            (&mut self.not_modified, other.not_modified),
            (&mut self.from_cache, other.from_cache),
            (&mut self.redirects, other.redirects),
            (&mut self.bytes, other.bytes),
            (&mut self.sessions, other.sessions),
            (&mut self.tls_handshakes, other.tls_handshakes),
            (&mut self.tls_resumed, other.tls_resumed),
        ];
        for (mine, other) in counts {
            *mine = mine.saturating_add(other);
        }
        self.merge_records(&other.records);
        self.merge_transitions(other);
    }

    fn merge_records(&mut self, others: &[RecordCount]) {
        for other in others {
            match self.records.iter_mut().find(|mine| mine.what == other.what) {
                Some(mine) => {
                    mine.acknowledged = mine.acknowledged.saturating_add(other.acknowledged);
                    mine.unanswered = mine.unanswered.saturating_add(other.unanswered);
                }
                None => self.records.push(other.clone()),
            }
        }
    }

    fn merge_transitions(&mut self, other: &Self) {
        if self.operations.is_empty() {
            self.operations.clone_from(&other.operations);
            self.expected.clone_from(&other.expected);
            self.transitions.clone_from(&other.transitions);
            return;
        }
        if self.operations != other.operations {
            return;
        }
        let rows = self.transitions.iter_mut().zip(&other.transitions);
        for (mine, other) in rows.flat_map(|(mine, other)| mine.iter_mut().zip(other)) {
            *mine = mine.saturating_add(*other);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guests_together_are_counted_together() {
        let one = |acknowledged, unanswered| HttpCounters {
            window_s: 30.0,
            pages: 60,
            records: vec![RecordCount {
                what: "comments".to_owned(),
                acknowledged,
                unanswered,
            }],
            transitions: vec![vec![1, 2]],
            expected: vec![vec![0.5, 0.5]],
            operations: vec!["a".to_owned()],
            ..HttpCounters::default()
        };
        let mut all = HttpCounters::default();
        all.merge(&one(3, 1));
        all.merge(&one(4, 0));
        assert_eq!(all.proof().rows, [ProofRow::new("comments", 7, 1)]);
        assert_eq!(all.transitions, [[2, 4]]);
        assert_eq!(all.metrics()[0].value, 240.0);
    }
}
