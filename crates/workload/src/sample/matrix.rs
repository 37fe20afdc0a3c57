//! Which operation follows which.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::SampleOperation;
use crate::random::weighted_index;

/// Rows and columns of the matrix.
pub const OPERATION_COUNT: usize = SampleOperation::ALL.len();
/// Sums of rows may differ from 1 by this: thirds written with four digits are accepted.
const SUM_TOLERANCE: f64 = 1e-3;

/// The probability that one operation follows another: rows are the operation that was, columns the
/// one that comes next, both in the order of [`SampleOperation::ALL`]. Every row sums to 1.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(
    try_from = "[[f64; OPERATION_COUNT]; OPERATION_COUNT]",
    into = "[[f64; OPERATION_COUNT]; OPERATION_COUNT]"
)]
pub struct TransitionMatrix([[f64; OPERATION_COUNT]; OPERATION_COUNT]);

/// Why numbers are no matrix of transitions.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
pub enum MatrixError {
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
}

impl Default for TransitionMatrix {
    /// Mostly reads; a write is often followed by a look at its surroundings.
    fn default() -> Self {
        Self([[0.6, 0.2, 0.2], [0.7, 0.1, 0.2], [0.4, 0.4, 0.2]])
    }
}

impl TryFrom<[[f64; OPERATION_COUNT]; OPERATION_COUNT]> for TransitionMatrix {
    type Error = MatrixError;

    fn try_from(rows: [[f64; OPERATION_COUNT]; OPERATION_COUNT]) -> Result<Self, MatrixError> {
        for (operation, row) in SampleOperation::ALL.into_iter().zip(rows) {
            let name = operation.name();
            if let Some(value) = row.into_iter().find(|value| !(0.0..=1.0).contains(value)) {
                return Err(MatrixError::NoProbability { row: name, value });
            }
            let sum: f64 = row.iter().sum();
            if (sum - 1.0).abs() > SUM_TOLERANCE {
                return Err(MatrixError::WrongSum { row: name, sum });
            }
        }
        Ok(Self(rows))
    }
}

impl From<TransitionMatrix> for [[f64; OPERATION_COUNT]; OPERATION_COUNT] {
    fn from(matrix: TransitionMatrix) -> Self {
        matrix.0
    }
}

impl TransitionMatrix {
    /// The probabilities, row by row.
    #[must_use]
    pub fn rows(&self) -> &[[f64; OPERATION_COUNT]; OPERATION_COUNT] {
        &self.0
    }

    /// The operation after `last`, for a uniform `draw` in `[0, 1)`.
    #[must_use]
    pub fn next(&self, last: SampleOperation, draw: f64) -> SampleOperation {
        weighted_index(&self.0[last.index()], draw).map_or(last, |next| SampleOperation::ALL[next])
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn rows_that_do_not_sum_to_one_are_refused() {
        let error =
            |rows| TransitionMatrix::try_from(rows).map_err(|error: MatrixError| error.to_string());
        let even = [0.5, 0.25, 0.25];
        assert_eq!(
            error([even, [0.5, 0.4, 0.2], even]),
            Err("the row of `list` sums to 1.1, not to 1".to_owned())
        );
        assert_eq!(
            error([even, even, [1.5, -0.5, 0.0]]),
            Err("1.5 in the row of `write` is no probability from 0 to 1".to_owned())
        );
        assert!(error([even, even, [f64::NAN, 0.5, 0.5]]).is_err());
        assert!(error([[0.3333, 0.3333, 0.3333], even, even]).is_ok());
    }

    #[test]
    fn what_the_matrix_excludes_never_follows() {
        let ring = TransitionMatrix::try_from([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])
            .expect("rows sum to 1");
        for draw in [0.0, 0.5, 1.0 - f64::EPSILON] {
            assert_eq!(
                ring.next(SampleOperation::Read, draw),
                SampleOperation::List
            );
            assert_eq!(
                ring.next(SampleOperation::List, draw),
                SampleOperation::Write
            );
            assert_eq!(
                ring.next(SampleOperation::Write, draw),
                SampleOperation::Read
            );
        }
    }

    proptest! {
        #[test]
        fn operations_follow_with_their_probabilities(
            weights in prop::array::uniform3(0.01_f64..1.0)
        ) {
            let sum: f64 = weights.iter().sum();
            let row = weights.map(|weight| weight / sum);
            let matrix = TransitionMatrix::try_from([row; 3]).expect("rows sum to 1");
            let mut counts = [0.0; OPERATION_COUNT];
            for step in 0..1000 {
                let next = matrix.next(SampleOperation::List, f64::from(step) / 1000.0);
                counts[next.index()] += 1e-3;
            }
            for (count, probability) in counts.iter().zip(row) {
                prop_assert!((count - probability).abs() < 2.1e-3, "{counts:?} of {row:?}");
            }
        }
    }
}
