//! Which operation follows which.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::{CmsOperation, operation::OPERATION_COUNT};
use crate::{data_driven::Steps, random::weighted_index};

/// Sums of rows may differ from 1 by this.
const SUM_TOLERANCE: f64 = 1e-3;

type Rows = [[f64; OPERATION_COUNT]; OPERATION_COUNT];

/// The probability that one operation follows another: rows are the operation that was, columns the
/// one that comes next, both in the order of [`CmsOperation::ALL`]. Every row sums to 1.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Rows", into = "Rows")]
pub struct CmsMatrix(Rows);

/// Why numbers are no matrix.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
pub enum CmsMatrixError {
    /// A number is no probability.
    #[error("{value} in the row of `{row}` is no probability from 0 to 1")]
    NoProbability {
        /// The operation of the row.
        row: &'static str,
        /// The number.
        value: f64,
    },
    /// A row does not sum to 1.
    #[error("the row of `{row}` sums to {sum}, not to 1")]
    WrongSum {
        /// The operation of the row.
        row: &'static str,
        /// Its sum.
        sum: f64,
    },
    /// An operation that needs a login may follow one behind which no one is logged in, or the
    /// other way round.
    #[error(
        "after `{row}` comes `{next}`, for which a user must {}be logged in",
        not_unless(.logged_in)
    )]
    WrongState {
        /// The operation that was.
        row: &'static str,
        /// The one that comes next.
        next: &'static str,
        /// What the next one needs.
        logged_in: bool,
    },
}

/// What stands before `be logged in`.
fn not_unless(logged_in: &bool) -> &'static str {
    if *logged_in { "" } else { "not " }
}

impl Default for CmsMatrix {
    /// That of the study on hard and solid-state disks under Drupal 6 (E. R. Reid, Sun
    /// Microsystems, 2009), per cent by row.
    fn default() -> Self {
        Self(PER_CENT.map(|row| row.map(|percent| f64::from(percent) / 100.0)))
    }
}

const PER_CENT: [[u8; OPERATION_COUNT]; OPERATION_COUNT] = [
    [20, 40, 20, 15, 5, 0, 0, 0],
    [40, 20, 20, 15, 5, 0, 0, 0],
    [20, 20, 40, 15, 5, 0, 0, 0],
    [0, 0, 0, 0, 0, 40, 30, 30],
    [0, 0, 0, 0, 0, 10, 10, 80],
    [0, 0, 0, 0, 0, 0, 0, 100],
    [0, 0, 0, 0, 0, 0, 0, 100],
    [20, 40, 20, 15, 5, 0, 0, 0],
];

impl TryFrom<Rows> for CmsMatrix {
    type Error = CmsMatrixError;

    fn try_from(rows: Rows) -> Result<Self, CmsMatrixError> {
        for (operation, row) in CmsOperation::ALL.into_iter().zip(rows) {
            let name = operation.name();
            if let Some(value) = row.into_iter().find(|value| !(0.0..=1.0).contains(value)) {
                return Err(CmsMatrixError::NoProbability { row: name, value });
            }
            let sum: f64 = row.iter().sum();
            if (sum - 1.0).abs() > SUM_TOLERANCE {
                return Err(CmsMatrixError::WrongSum { row: name, sum });
            }
            check_states(operation, &row)?;
        }
        Ok(Self(rows))
    }
}

/// Whether a user is logged in behind an operation that went well. What is read is read by users
/// who are not: they log out after what they logged in for.
fn logged_in_after(operation: CmsOperation) -> bool {
    match operation.needs_login() {
        None => false,
        Some(false) => true,
        Some(true) => operation != CmsOperation::Logout,
    }
}

fn check_states(
    operation: CmsOperation,
    row: &[f64; OPERATION_COUNT],
) -> Result<(), CmsMatrixError> {
    let is = logged_in_after(operation);
    for (next, probability) in CmsOperation::ALL.into_iter().zip(row) {
        let needs = next.needs_login().unwrap_or(false);
        if *probability > 0.0 && needs != is {
            return Err(CmsMatrixError::WrongState {
                row: operation.name(),
                next: next.name(),
                logged_in: needs,
            });
        }
    }
    Ok(())
}

impl From<CmsMatrix> for Rows {
    fn from(matrix: CmsMatrix) -> Self {
        matrix.0
    }
}

impl CmsMatrix {
    /// The probabilities, row by row.
    #[must_use]
    pub fn rows(&self) -> &[[f64; OPERATION_COUNT]; OPERATION_COUNT] {
        &self.0
    }

    /// What users begin with.
    pub const START: CmsOperation = CmsOperation::FrontPage;

    /// The operation after `last`, for a uniform `draw` in `[0, 1)`.
    #[must_use]
    pub fn next(&self, last: CmsOperation, draw: f64) -> CmsOperation {
        weighted_index(&self.0[last.index()], draw)
            .map_or(Self::START, |next| CmsOperation::ALL[next])
    }

    /// The share that each operation has in the long run, in the order of [`CmsOperation::ALL`],
    /// by repeated multiplication.
    #[must_use]
    pub fn stationary(&self) -> [f64; OPERATION_COUNT] {
        const ROUNDS: usize = 10_000;
        let mut share = [0.0; OPERATION_COUNT];
        share[Self::START.index()] = 1.0;
        for _ in 0..ROUNDS {
            let mut next = [0.0; OPERATION_COUNT];
            for (share, row) in share.iter().zip(&self.0) {
                for (next, probability) in next.iter_mut().zip(row) {
                    *next += share * probability;
                }
            }
            // The mean of both has the same fixed point, and a walk in circles converges, too.
            let mixed: [f64; OPERATION_COUNT] =
                std::array::from_fn(|place| 0.5 * (share[place] + next[place]));
            let moved: f64 = mixed.iter().zip(&share).map(|(a, b)| (a - b).abs()).sum();
            share = mixed;
            if moved < 1e-15 {
                break;
            }
        }
        share
    }

    /// No step yet of a walk by this matrix. A walk has no end; it begins anew where a user begins,
    /// and after a failure.
    #[must_use]
    pub fn steps(&self) -> Steps {
        let width = OPERATION_COUNT + 1;
        let mut expected: Vec<Vec<f64>> = self
            .0
            .iter()
            .map(|row| row.iter().copied().chain([0.0]).collect())
            .collect();
        let mut start = vec![0.0; width];
        start[Self::START.index()] = 1.0;
        expected.push(start);
        Steps {
            transitions: vec![vec![0; width]; width],
            expected,
            operations: CmsOperation::ALL
                .iter()
                .map(|operation| operation.name().to_owned())
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::random::{RandomSource as _, SplitMix64};

    /// The exact shares, as counts of 789.
    const OF_789: [u32; OPERATION_COUNT] = [155, 175, 150, 90, 30, 39, 30, 120];

    #[test]
    fn the_exact_shares_are_stationary() {
        assert_eq!(OF_789.iter().sum::<u32>(), 789);
        for column in 0..OPERATION_COUNT {
            let flow: u32 = OF_789
                .iter()
                .zip(PER_CENT)
                .map(|(share, row)| share * u32::from(row[column]))
                .sum();
            assert_eq!(flow, 100 * OF_789[column], "column {column}");
        }
        let found = CmsMatrix::default().stationary();
        for (found, exact) in found.iter().zip(OF_789) {
            assert!((found - f64::from(exact) / 789.0).abs() < 1e-12, "{found}");
        }
    }

    #[test]
    fn shares_are_those_of_the_published_matrix() {
        let share = CmsMatrix::default().stationary();
        let of = |operations: &[CmsOperation]| -> f64 {
            operations.iter().map(|one| share[one.index()]).sum()
        };
        use CmsOperation::*;
        assert!((of(&[FrontPage, RandomPage, RandomNode]) - 160.0 / 263.0).abs() < 1e-12);
        let (logins, creations) = (of(&[UserLogin, AdminLogin]), of(&[CreatePage, CreateStory]));
        assert!((logins - of(&[Logout])).abs() < 1e-12);
        assert!((creations - 23.0 / 263.0).abs() < 1e-12);
        assert!((creations / logins - 0.575).abs() < 1e-12);
        assert!((1.0 / logins - 6.575).abs() < 1e-12);
    }

    #[test]
    fn the_walk_forgets_its_begin_as_computed() {
        let matrix = CmsMatrix::default();
        let stationary = matrix.stationary();
        let mut share = [0.0; OPERATION_COUNT];
        share[CmsMatrix::START.index()] = 1.0;
        let mut distances = Vec::new();
        for _ in 0..10 {
            let mut next = [0.0; OPERATION_COUNT];
            for (share, row) in share.iter().zip(matrix.rows()) {
                for (next, probability) in next.iter_mut().zip(row) {
                    *next += share * probability;
                }
            }
            share = next;
            let all = share.iter().zip(stationary);
            distances.push(0.5 * all.map(|(a, b)| (a - b).abs()).sum::<f64>());
        }
        for (steps, distance) in [(3, 0.0355), (5, 0.0039), (10, 1.7e-5)] {
            let found: f64 = distances[steps - 1];
            assert!(
                (found / distance - 1.0).abs() < 0.03,
                "after {steps}: {found}"
            );
        }
    }

    #[test]
    fn every_login_is_followed_by_one_logout_after_at_most_one_creation() {
        let matrix = CmsMatrix::default();
        let mut source = SplitMix64::new(7);
        let (mut last, mut logged_in, mut created) = (CmsMatrix::START, false, 0);
        for _ in 0..100_000 {
            last = matrix.next(last, source.fraction());
            match last.needs_login() {
                Some(needs) => assert_eq!(needs, logged_in),
                None => assert!(!logged_in, "what is read is read by anonymous users"),
            }
            match last {
                CmsOperation::UserLogin | CmsOperation::AdminLogin => {
                    (logged_in, created) = (true, 0);
                }
                CmsOperation::CreatePage | CmsOperation::CreateStory => created += 1,
                CmsOperation::Logout => logged_in = false,
                _ => {}
            }
            assert!(created <= 1);
        }
    }

    #[test]
    fn matrices_that_cannot_be_walked_are_refused() {
        let change = |row: CmsOperation, numbers: [f64; OPERATION_COUNT]| {
            let mut rows = *CmsMatrix::default().rows();
            rows[row.index()] = numbers;
            CmsMatrix::try_from(rows).expect_err("refused").to_string()
        };
        assert_eq!(
            change(
                CmsOperation::Logout,
                [0.5, 0.6, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
            ),
            "the row of `logout` sums to 1.1, not to 1"
        );
        assert_eq!(
            change(
                CmsOperation::Logout,
                [0.5, 0.5, 0.2, 0.0, 0.0, 0.0, 0.0, -0.2]
            ),
            "-0.2 in the row of `logout` is no probability from 0 to 1"
        );
        assert_eq!(
            change(
                CmsOperation::FrontPage,
                [0.5, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.5]
            ),
            "after `front-page` comes `logout`, for which a user must be logged in"
        );
        assert_eq!(
            change(
                CmsOperation::UserLogin,
                [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
            ),
            "after `user-login` comes `front-page`, for which a user must not be logged in"
        );
    }

    #[test]
    fn steps_expect_the_matrix_and_begin_at_the_front_page() {
        let steps = CmsMatrix::default().steps();
        assert_eq!(steps.expected.len(), 9);
        for row in &steps.expected {
            assert!((row.iter().sum::<f64>() - 1.0).abs() < 1e-9);
        }
        assert_eq!(steps.expected[8][0], 1.0);
        assert_eq!(steps.expected[0][8], 0.0, "a walk has no end");
    }

    proptest! {
        #[test]
        fn what_the_matrix_excludes_never_follows(draw in 0.0..1.0_f64, row in 0..8_usize) {
            let last = CmsOperation::ALL[row];
            let next = CmsMatrix::default().next(last, draw);
            prop_assert!(CmsMatrix::default().rows()[row][next.index()] > 0.0);
        }
    }
}
