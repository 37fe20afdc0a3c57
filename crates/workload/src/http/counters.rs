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
    /// Which operation followed which, over the whole trial.
    #[serde(flatten)]
    pub steps: Steps,
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
        RecordCount::proof(&self.records)
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
        let one = |acknowledged, unanswered| HttpCounters {
            window_s: 30.0,
            pages: 60,
            records: vec![RecordCount {
                what: "comments".to_owned(),
                acknowledged,
                unanswered,
            }],
            steps: Steps {
                transitions: vec![vec![1, 2]],
                expected: vec![vec![0.5, 0.5]],
                operations: vec!["a".to_owned()],
            },
            ..HttpCounters::default()
        };
        let mut all = HttpCounters::default();
        all.merge(&one(3, 1));
        all.merge(&one(4, 0));
        assert_eq!(all.proof().rows, [ProofRow::new("comments", 7, 1)]);
        assert_eq!(all.steps.transitions, [[2, 4]]);
        assert_eq!(all.metrics()[0].value, 240.0);
    }
}
