//! Which operation follows which.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::random::weighted_index;

/// Sums of rows may differ from 1 by this: thirds written with four digits are accepted.
const SUM_TOLERANCE: f64 = 1e-3;

/// How users go from operation to operation. Operations are named by their places in the list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Walk {
    /// Each drawn anew.
    Weights {
        /// One weight for each operation.
        weights: Vec<f64>,
        /// Operations of a session; `None` = a session has no end.
        session: Option<u32>,
    },
    /// As the operation before says.
    Matrix(Matrix),
    /// One after the other; the session ends behind the last.
    Script(Vec<usize>),
}

/// Where a user is on its walk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The operation that was last; `None` at the begin of a session.
    last: Option<usize>,
    /// Operations of the session so far.
    steps: u32,
}

/// The probability that one operation follows another. Every row sums to 1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Rows", into = "Rows")]
pub struct Matrix {
    rows: Rows,
}

/// The numbers of a matrix.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rows {
    /// What a session begins with: one probability for each operation.
    pub start: Vec<f64>,
    /// For each operation what comes next: one probability for each operation, and last the one
    /// that the session ends.
    pub next: Vec<Vec<f64>>,
}

/// Why numbers are no matrix. Operations are named by their places; `None` is the start.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
pub enum MatrixError {
    /// There are more or fewer numbers than operations.
    #[error("a row has {found} numbers, where {expected} are needed")]
    Shape {
        /// The row.
        row: Option<usize>,
        /// Numbers in it.
        found: usize,
        /// Numbers that must be in it.
        expected: usize,
    },
    /// A number is no probability.
    #[error("{value} is no probability from 0 to 1")]
    NoProbability {
        /// The row.
        row: Option<usize>,
        /// The number.
        value: f64,
    },
    /// A row does not sum to 1.
    #[error("the row sums to {sum}, not to 1")]
    WrongSum {
        /// The row.
        row: Option<usize>,
        /// Its sum.
        sum: f64,
    },
    /// Some sessions end, but those that come here never do.
    #[error("a session that comes here never ends")]
    Endless {
        /// The operation.
        row: usize,
    },
}

impl MatrixError {
    /// The row that it is about; `None` is the start.
    #[must_use]
    pub fn row(self) -> Option<usize> {
        match self {
            Self::Shape { row, .. }
            | Self::NoProbability { row, .. }
            | Self::WrongSum { row, .. } => row,
            Self::Endless { row } => Some(row),
        }
    }
}

impl TryFrom<Rows> for Matrix {
    type Error = MatrixError;

    fn try_from(rows: Rows) -> Result<Self, MatrixError> {
        let operations = rows.next.len();
        check_row(None, &rows.start, operations)?;
        for (index, row) in rows.next.iter().enumerate() {
            check_row(Some(index), row, operations + 1)?;
        }
        let matrix = Self { rows };
        if let Some(row) = matrix.trap() {
            return Err(MatrixError::Endless { row });
        }
        Ok(matrix)
    }
}

fn check_row(row: Option<usize>, numbers: &[f64], expected: usize) -> Result<(), MatrixError> {
    if numbers.len() != expected {
        let found = numbers.len();
        return Err(MatrixError::Shape {
            row,
            found,
            expected,
        });
    }
    if let Some(&value) = numbers.iter().find(|value| !(0.0..=1.0).contains(*value)) {
        return Err(MatrixError::NoProbability { row, value });
    }
    let sum: f64 = numbers.iter().sum();
    if (sum - 1.0).abs() > SUM_TOLERANCE {
        return Err(MatrixError::WrongSum { row, sum });
    }
    Ok(())
}

impl From<Matrix> for Rows {
    fn from(matrix: Matrix) -> Self {
        matrix.rows
    }
}

impl Matrix {
    /// The numbers.
    #[must_use]
    pub fn rows(&self) -> &Rows {
        &self.rows
    }

    /// Whether sessions end at all.
    #[must_use]
    pub fn ends(&self) -> bool {
        self.reached().into_iter().any(|row| self.end(row) > 0.0)
    }

    fn end(&self, row: usize) -> f64 {
        self.rows.next[row].last().copied().unwrap_or_default()
    }

    /// The operations that a session can come to.
    fn reached(&self) -> Vec<usize> {
        let mut seen = vec![false; self.rows.next.len()];
        let mut found: Vec<usize> = Vec::new();
        let mut from: &[f64] = &self.rows.start;
        let mut at = 0;
        loop {
            for (index, seen) in seen.iter_mut().enumerate() {
                if from[index] > 0.0 && !*seen {
                    *seen = true;
                    found.push(index);
                }
            }
            let Some(next) = found.get(at) else {
                return found;
            };
            from = &self.rows.next[*next];
            at += 1;
        }
    }

    /// An operation from which no session ends, where some do end.
    fn trap(&self) -> Option<usize> {
        if !self.ends() {
            return None;
        }
        let reached = self.reached();
        let mut leads_out = vec![false; self.rows.next.len()];
        // Each pass finds at least one more, or nothing is left to find.
        for _ in 0..=reached.len() {
            for &row in &reached {
                let numbers = &self.rows.next[row];
                let to_one = (0..leads_out.len()).any(|to| leads_out[to] && numbers[to] > 0.0);
                leads_out[row] = leads_out[row] || to_one || self.end(row) > 0.0;
            }
        }
        reached.into_iter().find(|row| !leads_out[*row])
    }
}

impl Walk {
    /// The next operation, for a uniform `draw` in `[0, 1)`; `None` when the session ends.
    pub fn next(&self, place: &mut Place, draw: f64) -> Option<usize> {
        let next = match self {
            Self::Weights { weights, session } => {
                let over = session.is_some_and(|length| place.steps >= length);
                if over {
                    None
                } else {
                    weighted_index(weights, draw)
                }
            }
            Self::Matrix(matrix) => {
                let operations = matrix.rows.next.len();
                let row = match place.last {
                    Some(last) => &matrix.rows.next[last],
                    None => &matrix.rows.start,
                };
                weighted_index(row, draw).filter(|next| *next < operations)
            }
            Self::Script(list) => list
                .get(rookery_cast::index(u64::from(place.steps)))
                .copied(),
        };
        match next {
            Some(operation) => {
                place.last = Some(operation);
                place.steps = place.steps.saturating_add(1);
            }
            None => *place = Place::default(),
        }
        next
    }

    /// Whether sessions end.
    #[must_use]
    pub fn ends(&self) -> bool {
        match self {
            Self::Weights { session, .. } => session.is_some(),
            Self::Matrix(matrix) => matrix.ends(),
            Self::Script(_) => true,
        }
    }

    /// Whether an operation can be come to.
    #[must_use]
    pub fn reaches(&self, operation: usize) -> bool {
        match self {
            Self::Weights { weights, .. } => weights.get(operation).is_some_and(|w| *w > 0.0),
            Self::Matrix(matrix) => matrix.reached().contains(&operation),
            Self::Script(list) => list.contains(&operation),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matrix(start: &[f64], next: &[&[f64]]) -> Result<Matrix, MatrixError> {
        Matrix::try_from(Rows {
            start: start.to_vec(),
            next: next.iter().map(|row| row.to_vec()).collect(),
        })
    }

    #[test]
    fn rows_that_are_none_are_refused() {
        let good: &[f64] = &[0.5, 0.25, 0.25];
        assert!(matrix(&[1.0, 0.0], &[good, good]).is_ok());
        assert_eq!(
            matrix(&[0.5, 0.6], &[good, good]),
            Err(MatrixError::WrongSum {
                row: None,
                sum: 1.1
            })
        );
        let wrong = matrix(&[1.0, 0.0], &[good, &[0.5, 0.7, -0.2]]);
        assert_eq!(
            wrong,
            Err(MatrixError::NoProbability {
                row: Some(1),
                value: -0.2
            })
        );
        let short = matrix(&[1.0, 0.0], &[good, &[0.5, 0.5]]);
        assert!(matches!(
            short,
            Err(MatrixError::Shape { row: Some(1), .. })
        ));
        assert!(matrix(&[1.0, 0.0], &[&[f64::NAN, 0.5, 0.5], good]).is_err());
    }

    #[test]
    fn a_matrix_that_cannot_end_is_refused_where_others_end() {
        // 0 ends or goes to 1, from which only 1 follows.
        let trap = matrix(&[1.0, 0.0], &[&[0.0, 0.5, 0.5], &[0.0, 1.0, 0.0]]);
        assert_eq!(trap, Err(MatrixError::Endless { row: 1 }));
        let endless = matrix(&[1.0, 0.0], &[&[0.0, 1.0, 0.0], &[1.0, 0.0, 0.0]]);
        assert!(!endless.expect("a ring").ends());
        // What is never reached does not matter.
        let apart = matrix(&[1.0, 0.0], &[&[0.0, 0.0, 1.0], &[0.0, 1.0, 0.0]]);
        assert!(apart.expect("only 0 is reached").ends());
    }

    #[test]
    fn scripts_and_sessions_have_their_length() {
        let script = Walk::Script(vec![2, 0, 2]);
        let weights = Walk::Weights {
            weights: vec![1.0],
            session: Some(2),
        };
        let session = |walk: &Walk| {
            let mut place = Place::default();
            let steps: Vec<_> = std::iter::from_fn(|| walk.next(&mut place, 0.3)).collect();
            assert_eq!(place, Place::default(), "the next session begins anew");
            steps
        };
        assert_eq!(session(&script), [2, 0, 2]);
        assert_eq!(session(&weights), [0, 0]);
    }

    /// Chi-square of the transitions of a matrix, row by row: 2 degrees of freedom, 13.8 is passed
    /// once in a thousand.
    #[test]
    fn operations_follow_with_their_probabilities() {
        use rand_pcg::Pcg32;

        use crate::random::RandomSource as _;

        let rows: [&[f64]; 2] = [&[0.2, 0.5, 0.3], &[0.6, 0.3, 0.1]];
        let walk = Walk::Matrix(matrix(&[0.5, 0.5], &rows).expect("rows sum to 1"));
        let (mut rng, mut place, mut counts) = (Pcg32::new(1, 2), Place::default(), [[0.0; 3]; 2]);
        for _ in 0..100_000 {
            let last = place.last;
            let next = walk.next(&mut place, rng.fraction());
            if let Some(last) = last {
                counts[last][next.unwrap_or(2)] += 1.0;
            }
        }
        for (row, count) in rows.iter().zip(counts) {
            let all: f64 = count.iter().sum();
            let chi: f64 = row
                .iter()
                .zip(count)
                .map(|(share, count)| (count - share * all).powi(2) / (share * all))
                .sum();
            assert!(chi < 13.8, "{count:?} of {row:?}: {chi}");
        }
    }
}
