//! What users count beside the times of their operations.

use serde::{Deserialize, Serialize};

use super::{CmsMatrix, CmsOperation, CmsPace, Contract, NodeKind, info::METRICS};
use crate::{
    MetricValue, Proof,
    data_driven::{RecordCount, Steps, merge_records, records_of},
    metric::with_values,
};

/// The stories that a load adds.
pub const NEW_STORIES: &str = "new stories";
/// The pages that a load adds.
pub const NEW_PAGES: &str = "new pages";

/// What the nodes of a kind are called that a load adds.
#[must_use]
pub fn new_nodes(kind: NodeKind) -> &'static str {
    match kind {
        NodeKind::Story => NEW_STORIES,
        NodeKind::Page => NEW_PAGES,
    }
}

/// What is counted of one operation in the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperationCount {
    /// Those that went well.
    pub completed: u64,
    /// Those that failed by themselves.
    pub primary: u64,
    /// Those that failed because an earlier operation of the same user had failed.
    pub consequential: u64,
    /// Time of those that went well, us.
    pub response_us: u64,
    /// Requests of all of them.
    pub requests: u64,
}

impl OperationCount {
    /// Whatever came of them.
    #[must_use]
    pub fn ended(&self) -> u64 {
        self.completed
            .saturating_add(self.primary)
            .saturating_add(self.consequential)
    }

    fn merge(&mut self, other: &Self) {
        for (mine, other) in [
            (&mut self.completed, other.completed),
            (&mut self.primary, other.primary),
            (&mut self.consequential, other.consequential),
            (&mut self.response_us, other.response_us),
            (&mut self.requests, other.requests),
        ] {
            *mine = mine.saturating_add(other);
        }
    }
}

/// Failures of one class, at one request of one operation, in the window.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailureCount {
    /// The operation.
    pub operation: CmsOperation,
    /// The request within it: `form`.
    pub step: String,
    /// The class: `status 403`.
    pub class: String,
    /// An earlier operation of the same user had failed.
    pub consequential: bool,
    /// How many.
    pub count: u64,
}

/// The counters of one guest, or of several. What has no other word is counted in the window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CmsCounters {
    /// Length of the window, s.
    pub window_s: f64,
    /// Users.
    pub users: u64,
    /// Which contract the site keeps.
    pub contract: Contract,
    /// How long users wait.
    pub pace: CmsPace,
    /// Delays are lengths of cycles, no think times.
    pub cycles: bool,
    /// By operation, in the order of [`CmsOperation::ALL`].
    pub operations: Vec<OperationCount>,
    /// Failures by class.
    pub failures: Vec<FailureCount>,
    /// Bytes of bodies that were received.
    pub bytes: u64,
    /// Nodes that users were told of, over the whole trial.
    pub records: Vec<RecordCount>,
    /// Which operation followed which, over the whole trial.
    pub steps: Steps,
}

impl Default for CmsCounters {
    fn default() -> Self {
        Self::new(&CmsMatrix::default())
    }
}

impl CmsCounters {
    /// Nothing is counted yet of users who walk by this matrix.
    #[must_use]
    pub fn new(matrix: &CmsMatrix) -> Self {
        Self {
            window_s: 0.0,
            users: 0,
            contract: Contract::default(),
            pace: CmsPace::default(),
            cycles: true,
            operations: vec![OperationCount::default(); CmsOperation::ALL.len()],
            failures: Vec::new(),
            bytes: 0,
            records: records_of([NEW_STORIES, NEW_PAGES]),
            steps: matrix.steps(),
        }
    }

    /// What is counted of an operation.
    #[must_use]
    pub fn operation(&self, operation: CmsOperation) -> OperationCount {
        let count = self.operations.get(operation.index());
        count.copied().unwrap_or_default()
    }

    /// An operation failed.
    pub fn failed(
        &mut self,
        operation: CmsOperation,
        step: &str,
        class: &str,
        consequential: bool,
    ) {
        if let Some(count) = self.operations.get_mut(operation.index()) {
            let failed = if consequential {
                &mut count.consequential
            } else {
                &mut count.primary
            };
            *failed += 1;
        }
        self.add_failure(FailureCount {
            operation,
            step: step.to_owned(),
            class: class.to_owned(),
            consequential,
            count: 1,
        });
    }

    fn add_failure(&mut self, more: FailureCount) {
        let same = |known: &&mut FailureCount| {
            let key = |one: &FailureCount| (one.operation, one.consequential);
            key(known) == key(&more) && known.step == more.step && known.class == more.class
        };
        match self.failures.iter_mut().find(same) {
            Some(known) => known.count = known.count.saturating_add(more.count),
            None => self.failures.push(more),
        }
    }

    /// A site said that it created a node, or did not answer.
    pub fn created(&mut self, kind: NodeKind, acknowledged: bool) {
        RecordCount::count(&mut self.records, new_nodes(kind), acknowledged);
    }

    /// All operations together.
    #[must_use]
    pub fn total(&self) -> OperationCount {
        let mut all = OperationCount::default();
        self.operations.iter().for_each(|one| all.merge(one));
        all
    }

    /// Operations per second that so many users make at most where delays are lengths of cycles:
    /// users by the mean cycle; `None` where they are think times.
    #[must_use]
    pub fn most_per_s(&self) -> Option<f64> {
        let shares = self.matrix()?.stationary();
        let cycle_s = self.pace.overall_s(&shares);
        (self.cycles && cycle_s > 0.0).then(|| self.users as f64 / cycle_s)
    }

    /// The matrix that users walk by.
    fn matrix(&self) -> Option<CmsMatrix> {
        let row = |row: &Vec<f64>| <[f64; CmsOperation::ALL.len()]>::try_from(row.get(..8)?).ok();
        let rows: Option<Vec<_>> = self.steps.expected.iter().take(8).map(row).collect();
        let rows: [_; CmsOperation::ALL.len()] = rows?.try_into().ok()?;
        CmsMatrix::try_from(rows).ok()
    }

    /// Every metric that has a value, in the order of the workload's list.
    #[must_use]
    pub fn metrics(&self) -> Vec<MetricValue> {
        let all = self.total();
        let count = |count: u64| Some(count as f64);
        let per_second = |count: u64| match self.window_s > 0.0 {
            true => count as f64 / self.window_s,
            false => 0.0,
        };
        let ended = all.ended();
        let of_ended = |part: u64| (ended > 0).then(|| 100.0 * part as f64 / ended as f64);
        let done = all.completed;
        let made = [CmsOperation::CreatePage, CmsOperation::CreateStory]
            .map(|operation| self.operation(operation).completed);
        let told = |of: fn(&RecordCount) -> u64| self.records.iter().map(of).sum::<u64>();
        with_values(
            &METRICS,
            [
                Some(60.0 * per_second(done)),
                Some(per_second(done)),
                of_ended(all.primary.saturating_add(all.consequential)),
                count(all.primary),
                count(all.consequential),
                (done > 0).then(|| all.response_us as f64 / 1e3 / done as f64),
                (ended > 0).then(|| all.requests as f64 / ended as f64),
                count(self.operation(CmsOperation::Logout).completed),
                count(made.iter().sum()),
                Some(60.0 * per_second(made.iter().sum())),
                self.most_per_s()
                    .filter(|most| *most > 0.0)
                    .map(|most| 100.0 * per_second(done) / most),
                Some(per_second(self.bytes) / f64::from(1 << 20)),
                count(told(|record| record.acknowledged)),
                count(told(|record| record.unanswered)),
            ],
        )
    }

    /// What users were told is in the site, and what ended without an answer may be.
    #[must_use]
    pub fn proof(&self) -> Proof {
        RecordCount::proof(&self.records)
    }

    /// Adds what another guest counted in the same window. Guests of a trial share one workload.
    pub fn merge(&mut self, other: &Self) {
        if self.users == 0 {
            (self.contract, self.pace, self.cycles) = (other.contract, other.pace, other.cycles);
            // Nothing was drawn yet: the matrix is that of the other.
            if self
                .steps
                .transitions
                .iter()
                .flatten()
                .all(|count| *count == 0)
            {
                let steps = Steps {
                    transitions: self.steps.transitions.clone(),
                    ..other.steps.clone()
                };
                self.steps = steps;
            }
        }
        self.window_s = self.window_s.max(other.window_s);
        self.users = self.users.saturating_add(other.users);
        self.bytes = self.bytes.saturating_add(other.bytes);
        for (mine, other) in self.operations.iter_mut().zip(&other.operations) {
            mine.merge(other);
        }
        for failure in &other.failures {
            self.add_failure(failure.clone());
        }
        merge_records(&mut self.records, &other.records);
        self.steps.merge(&other.steps);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Counters, ProofRow};

    fn guest() -> CmsCounters {
        let mut guest = CmsCounters {
            window_s: 10.0,
            users: 20,
            ..CmsCounters::default()
        };
        let page = &mut guest.operations[CmsOperation::FrontPage.index()];
        (page.completed, page.response_us, page.requests) = (90, 900_000, 90);
        let story = &mut guest.operations[CmsOperation::CreateStory.index()];
        (story.completed, story.response_us, story.requests) = (10, 1_100_000, 30);
        guest.failed(CmsOperation::UserLogin, "submit", "status 500", false);
        guest.failed(CmsOperation::CreateStory, "form", "status 403", true);
        guest.failed(CmsOperation::CreateStory, "form", "status 403", true);
        guest.created(NodeKind::Story, true);
        guest.created(NodeKind::Page, false);
        guest.steps.count(None, Some(0));
        guest.steps.count(Some(0), Some(1));
        guest
    }

    #[test]
    fn failures_that_follow_from_others_are_told_apart() {
        let guest = guest();
        let login = guest.operation(CmsOperation::UserLogin);
        let story = guest.operation(CmsOperation::CreateStory);
        assert_eq!((login.primary, login.consequential), (1, 0));
        assert_eq!((story.primary, story.consequential), (0, 2));
        assert_eq!(guest.failures.len(), 2);
        assert_eq!(guest.failures[1].count, 2);
        let metric = |name| Counters::Cms(guest.clone()).metric(name);
        assert_eq!(metric("operations_per_minute"), Some(600.0));
        assert_eq!(metric("operations_per_s"), Some(10.0));
        assert_eq!(metric("primary_failures"), Some(1.0));
        assert_eq!(metric("consequential_failures"), Some(2.0));
        assert_eq!(metric("failed_pct"), Some(300.0 / 103.0));
        assert_eq!(metric("mean_response_ms"), Some(20.0));
    }

    #[test]
    fn guests_together_are_counted_together() {
        let mut all = CmsCounters::default();
        all.merge(&guest());
        all.merge(&guest());
        assert_eq!((all.users, all.total().completed), (40, 200));
        assert_eq!(all.failures.iter().map(|one| one.count).sum::<u64>(), 6);
        assert_eq!(
            all.proof().rows,
            [
                ProofRow::new(NEW_STORIES, 2, 0),
                ProofRow::new(NEW_PAGES, 0, 2)
            ]
        );
        assert_eq!(all.steps.transitions[8][0], 2);
        assert_eq!(all.steps.transitions[0][1], 2);
    }

    #[test]
    fn a_window_without_a_guest_has_the_matrix_of_the_first() {
        let rows = {
            let mut rows = *CmsMatrix::default().rows();
            rows[0] = [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
            rows
        };
        let other = CmsCounters {
            users: 1,
            ..CmsCounters::new(&CmsMatrix::try_from(rows).expect("a matrix"))
        };
        let mut all = CmsCounters::default();
        all.merge(&other);
        assert_eq!(all.steps.expected[0][0], 1.0);
        // Users who never leave the front page, one second each.
        assert!((all.most_per_s().expect("cycles") - 1.0 / 0.993_262).abs() < 1e-4);
    }

    #[test]
    fn cycles_bound_the_throughput_and_think_times_do_not() {
        let mut counters = CmsCounters {
            users: 10,
            ..CmsCounters::default()
        };
        let most = counters.most_per_s().expect("cycles");
        assert!((most - 10.0 / 0.993_262).abs() < 1e-4, "{most}");
        counters.cycles = false;
        assert_eq!(counters.most_per_s(), None);
    }
}
