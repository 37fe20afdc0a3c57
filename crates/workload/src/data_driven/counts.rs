//! What is counted of operations that a user wrote down: the steps between them, and the records
//! that they make.

use serde::{Deserialize, Serialize};

use super::Walk;
use crate::{Proof, ProofRow};

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

impl RecordCount {
    /// An operation that makes a record of the kind `what` ended, or its outcome is not known.
    pub fn count(records: &mut [Self], what: &str, acknowledged: bool) {
        if let Some(record) = records.iter_mut().find(|record| record.what == what) {
            if acknowledged {
                record.acknowledged += 1;
            } else {
                record.unanswered += 1;
            }
        }
    }

    /// What the server must hold: one row for each kind of record.
    #[must_use]
    pub fn proof(records: &[Self]) -> Proof {
        let row =
            |record: &Self| ProofRow::new(&record.what, record.acknowledged, record.unanswered);
        Proof {
            rows: records.iter().map(row).collect(),
        }
    }
}

/// Every kind of record that operations count, each once, with none counted yet.
#[must_use]
pub fn records_of<'w>(counted: impl IntoIterator<Item = &'w str>) -> Vec<RecordCount> {
    let mut all: Vec<RecordCount> = Vec::new();
    for what in counted {
        if !all.iter().any(|known| known.what == what) {
            all.push(RecordCount {
                what: what.to_owned(),
                acknowledged: 0,
                unanswered: 0,
            });
        }
    }
    all
}

/// Adds what others counted.
pub fn merge_records(mine: &mut Vec<RecordCount>, others: &[RecordCount]) {
    for other in others {
        match mine.iter_mut().find(|mine| mine.what == other.what) {
            Some(mine) => {
                mine.acknowledged = mine.acknowledged.saturating_add(other.acknowledged);
                mine.unanswered = mine.unanswered.saturating_add(other.unanswered);
            }
            None => mine.push(other.clone()),
        }
    }
}

/// Which operation followed which, over the whole trial.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Steps {
    /// How often each operation (column; the last is the end of the session) followed each other
    /// (row; the last is the begin of a session).
    pub transitions: Vec<Vec<u64>>,
    /// The probabilities that they were drawn with.
    pub expected: Vec<Vec<f64>>,
    /// The names of the operations.
    pub operations: Vec<String>,
}

impl Steps {
    /// No step yet on the walk of operations with these names.
    #[must_use]
    pub fn new<'w>(walk: &Walk, names: impl IntoIterator<Item = &'w str>) -> Self {
        let expected = expected(walk);
        Self {
            transitions: expected.iter().map(|row| vec![0; row.len()]).collect(),
            expected,
            operations: names.into_iter().map(str::to_owned).collect(),
        }
    }

    /// After the operation `from` (none at the begin of a session) came `to` (none at its end).
    pub fn count(&mut self, from: Option<usize>, to: Option<usize>) {
        let last = self.operations.len();
        let row = self.transitions.get_mut(from.unwrap_or(last));
        if let Some(count) = row.and_then(|row| row.get_mut(to.unwrap_or(last))) {
            *count += 1;
        }
    }

    /// Adds those of other users of the same workload.
    pub fn merge(&mut self, other: &Self) {
        if self.operations.is_empty() {
            self.clone_from(other);
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

/// The probabilities of steps: of a matrix all, of weights those within a session, of scripts none.
fn expected(walk: &Walk) -> Vec<Vec<f64>> {
    match walk {
        Walk::Matrix(matrix) => {
            let rows = matrix.rows();
            let mut start = rows.start.clone();
            start.push(0.0);
            let mut all = rows.next.clone();
            all.push(start);
            all
        }
        Walk::Weights { weights, .. } => {
            let sum: f64 = weights.iter().sum();
            let row: Vec<f64> = weights.iter().map(|weight| weight / sum).collect();
            vec![row; weights.len() + 1]
        }
        Walk::Script(_) => Vec::new(),
    }
}
