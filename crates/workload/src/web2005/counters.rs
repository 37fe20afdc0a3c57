//! What users count beside the times of pages.

use serde::{Deserialize, Serialize};

use super::{
    Chain, Model, PageCount, PageTable, Profile, besim::ledger, info::METRICS, rules::Rules,
};
use crate::{
    MetricValue, Proof,
    data_driven::{RecordCount, Steps, merge_records, records_of},
    metric::with_values,
};

/// The counters of one guest, or of several. What has no other word is counted in the window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Web2005Counters {
    /// Which of the three workloads.
    pub model: Model,
    /// Length of the window, s.
    pub window_s: f64,
    /// Simultaneous sessions.
    pub users: u64,
    /// Mean think time, s.
    pub think_s: f64,
    /// Users were connected over TLS, at least for the pages that the original encrypted.
    pub encrypted: bool,
    /// Other pages were not encrypted.
    #[serde(default)]
    pub mixed: bool,
    /// How browsers behaved.
    #[serde(default)]
    pub profile: Profile,
    /// Bytes per second that one user received at most; none = without limit.
    pub rate_bytes_per_s: Option<u64>,
    /// What a window must keep to pass.
    pub rules: Rules,
    /// By page type, in the order of [`Model::pages`].
    pub pages: Vec<PageCount>,
    /// Sessions that ended.
    pub sessions: u64,
    /// Of them, those whose user left without an end.
    pub left: u64,
    /// Full handshakes of TLS.
    pub tls_handshakes: u64,
    /// Handshakes that resumed a session of TLS.
    pub tls_resumed: u64,
    /// What users were told that the back-end has written, over the whole trial.
    pub records: Vec<RecordCount>,
    /// Which state followed which, over the whole trial.
    #[serde(flatten)]
    pub steps: Steps,
}

impl Web2005Counters {
    /// Those of a workload that counted nothing.
    #[must_use]
    pub fn new(model: Model) -> Self {
        Self {
            model,
            window_s: 0.0,
            users: 0,
            think_s: model.think_s().0,
            encrypted: false,
            mixed: false,
            profile: Profile::default(),
            rate_bytes_per_s: None,
            rules: Rules::default(),
            pages: vec![PageCount::default(); model.pages().len()],
            sessions: 0,
            left: 0,
            tls_handshakes: 0,
            tls_resumed: 0,
            records: records_of(ledger::rows(model).iter().copied()),
            steps: model.steps(),
        }
    }

    /// All page types together.
    #[must_use]
    pub fn total(&self) -> PageCount {
        let mut all = PageCount::default();
        self.pages.iter().for_each(|page| all.merge(page));
        all
    }

    /// The per-page table of the window.
    #[must_use]
    pub fn table(&self) -> PageTable {
        PageTable::new(self.model, &self.pages)
    }

    /// So many records of a kind were acknowledged, or asked for without an answer.
    pub fn told(&mut self, what: &str, count: u64, acknowledged: bool) {
        if let Some(record) = self.records.iter_mut().find(|record| record.what == what) {
            let sum = if acknowledged {
                &mut record.acknowledged
            } else {
                &mut record.unanswered
            };
            *sum = sum.saturating_add(count);
        }
    }

    /// Pages of the window, of those that so many sessions ask for at its mean response time, 0 to
    /// 1 and above; `None` where that is not known.
    #[must_use]
    pub fn offered(&self) -> Option<f64> {
        let all = self.total();
        let right = all.right();
        if right == 0 || self.window_s <= 0.0 || self.users == 0 {
            return None;
        }
        let response_s = all.response_us as f64 / 1e6 / right as f64;
        let chain = Chain::new(self.model);
        let asked = chain.pages_per_s(self.users as f64, self.think_s, response_s);
        (asked > 0.0).then(|| all.requests as f64 / self.window_s / asked)
    }

    /// Every metric that has a value, in the order of the workload's list.
    #[must_use]
    pub fn metrics(&self) -> Vec<MetricValue> {
        let all = self.total();
        let count = |count: u64| Some(count as f64);
        let per_second = |count: f64| {
            if self.window_s > 0.0 {
                count / self.window_s
            } else {
                0.0
            }
        };
        let share = |part: u64, of: u64| (of > 0).then(|| 100.0 * part as f64 / of as f64);
        let right = all.right();
        let modern = self.profile.modern();
        let mean = |sum: f64| (right > 0).then(|| sum / right as f64);
        with_values(
            &METRICS,
            [
                Some(60.0 * per_second(right as f64)),
                share(all.good, all.requests),
                share(all.good + all.tolerable, all.requests),
                share(all.fail, all.requests),
                share(all.invalid, all.requests),
                mean(all.response_us as f64 / 1e3),
                mean(all.bytes as f64),
                (all.response_us > 0).then(|| all.bytes as f64 / (all.response_us as f64 / 1e6)),
                Some(per_second(all.bytes as f64 / f64::from(1 << 20))),
                count(all.objects),
                share(all.not_modified, all.objects),
                modern.and(count(all.fresh)),
                modern.and(mean(all.body_bytes as f64)),
                modern.and(mean(all.first_byte_us as f64 / 1e3)),
                modern.and(share(all.late_first_bytes, right)),
                count(self.sessions),
                count(self.left),
                self.offered().map(|offered| 100.0 * offered),
            ],
        )
    }

    /// What users were told is in the back-end's ledger, and what ended without an answer may be.
    #[must_use]
    pub fn proof(&self) -> Proof {
        RecordCount::proof(&self.records)
    }

    /// Adds what another guest counted in the same window. Guests of a trial share one workload.
    pub fn merge(&mut self, other: &Self) {
        if self.users == 0 {
            self.think_s = other.think_s;
            self.encrypted = other.encrypted;
            self.mixed = other.mixed;
            self.profile = other.profile;
            self.rate_bytes_per_s = other.rate_bytes_per_s;
            self.rules = other.rules;
        }
        self.window_s = self.window_s.max(other.window_s);
        for (mine, other) in [
            (&mut self.users, other.users),
            (&mut self.sessions, other.sessions),
            (&mut self.left, other.left),
            (&mut self.tls_handshakes, other.tls_handshakes),
            (&mut self.tls_resumed, other.tls_resumed),
        ] {
            *mine = mine.saturating_add(other);
        }
        for (mine, other) in self.pages.iter_mut().zip(&other.pages) {
            mine.merge(other);
        }
        merge_records(&mut self.records, &other.records);
        self.steps.merge(&other.steps);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        ProofRow,
        web2005::{Band, Delivered, ModernBrowser, PageOutcome},
    };

    fn one(band: Band) -> PageOutcome {
        PageOutcome::Right {
            band,
            delivered: Delivered {
                bytes: 30_000,
                body_bytes: 90_000,
                response_us: 500_000,
                first_byte_us: 600_000,
                objects: 10,
                not_modified: 3,
                fresh: 2,
            },
        }
    }

    #[test]
    fn every_page_is_in_one_band_or_a_validation_error() {
        let mut page = PageCount::default();
        for outcome in [
            one(Band::Good),
            one(Band::Tolerable),
            one(Band::Fail),
            PageOutcome::Invalid,
            PageOutcome::Unanswered,
        ] {
            page.count(outcome);
        }
        assert_eq!(
            page.good + page.tolerable + page.fail + page.invalid,
            page.requests
        );
        assert_eq!((page.right(), page.fail, page.bytes), (3, 2, 90_000));
    }

    #[test]
    fn guests_together_are_counted_together() {
        let mut guest = Web2005Counters::new(Model::Banking);
        guest.users = 10;
        guest.think_s = 1.0;
        guest.window_s = 10.0;
        guest.encrypted = true;
        guest.pages[0].count(one(Band::Good));
        guest.told(ledger::PAYMENTS, 3, true);
        guest.told(ledger::PAYMENT_CENTS, 1234, true);
        guest.told(ledger::PAYMENTS, 2, false);
        guest.told("nothing of this name", 2, false);
        guest.steps.count(None, Some(0));
        let mut all = Web2005Counters::new(Model::Banking);
        all.merge(&guest);
        all.merge(&guest);
        assert_eq!((all.users, all.think_s, all.encrypted), (20, 1.0, true));
        assert_eq!(all.total().requests, 2);
        let rows = all.proof().rows;
        assert_eq!(rows.len(), 7);
        assert_eq!(rows[0], ProofRow::new(ledger::PAYMENTS, 6, 4));
        assert_eq!(rows[1], ProofRow::new(ledger::PAYMENT_CENTS, 2468, 0));
        assert_eq!(all.steps.transitions[17][0], 2);
    }

    #[test]
    fn metrics_are_those_of_the_window() {
        let mut counters = Web2005Counters::new(Model::Support);
        counters.window_s = 2.0;
        for outcome in [
            one(Band::Good),
            one(Band::Good),
            one(Band::Tolerable),
            PageOutcome::Invalid,
        ] {
            counters.pages[1].count(outcome);
        }
        let metrics = counters.metrics();
        let value = |name: &str| {
            let found = metrics.iter().find(|value| value.metric.name == name);
            found.map(|value| value.value)
        };
        assert_eq!(value("pages_per_minute"), Some(90.0));
        assert_eq!(value("good_pct"), Some(50.0));
        assert_eq!(value("tolerable_pct"), Some(75.0));
        assert_eq!(value("validation_error_pct"), Some(25.0));
        assert_eq!(value("mean_response_ms"), Some(500.0));
        assert_eq!(value("weighted_abr"), Some(60_000.0));
        assert_eq!(value("not_modified_pct"), Some(30.0));
        assert_eq!(value("offered_pct"), None);
        assert_eq!(value("late_first_byte_pct"), None, "not of this profile");
        counters.profile = Profile::Modern(ModernBrowser::default());
        let metrics = counters.metrics();
        let value = |name: &str| {
            let found = metrics.iter().find(|value| value.metric.name == name);
            found.map(|value| value.value)
        };
        assert_eq!(value("late_first_byte_pct"), Some(100.0));
        assert_eq!(value("cached_objects"), Some(6.0));
        assert_eq!(value("content_bytes_per_page"), Some(90_000.0));
    }
}
