//! The method of Levenberg and Marquardt for a handful of parameters.

use crate::linalg::{Rows, dot, gram, solve, unit_diagonal};

/// Residuals of a curve at given parameters, with their derivatives.
pub(crate) trait Problem {
    /// Weighted residuals, one per run; `false` when the parameters are outside of the curve's
    /// domain.
    fn residuals(&self, parameters: &[f64], into: &mut Vec<f64>) -> bool;
    /// Derivatives of the residuals, one row per run.
    fn jacobian(&self, parameters: &[f64], into: &mut Rows);
}

/// A stationary point of the sum of squares.
#[derive(Clone, Debug)]
pub(crate) struct Minimum {
    pub(crate) parameters: Vec<f64>,
    pub(crate) squares: f64,
}

/// Rounds after which a search is given up; it needs 5 to 30.
const MAX_ROUNDS: usize = 200;
/// A step below this share of the parameters ends the search.
const STEP_TOLERANCE: f64 = 1e-13;

/// Search downhill from `start`. `None` when `start` is outside of the domain.
///
/// Source: Marquardt, J. SIAM 11 (1963) 431, with columns scaled to unit length.
pub(crate) fn minimise(problem: &impl Problem, start: &[f64]) -> Option<Minimum> {
    let (mut residuals, mut trial, mut rows) = (Vec::new(), Vec::new(), Rows::new());
    let mut parameters = start.to_vec();
    if !problem.residuals(&parameters, &mut residuals) {
        return None;
    }
    let mut squares = dot(&residuals, &residuals);
    let mut damping = 1e-3;
    for _ in 0..MAX_ROUNDS {
        problem.jacobian(&parameters, &mut rows);
        let Some((scaled, norms)) = unit_diagonal(&gram(&rows, parameters.len())) else {
            break;
        };
        let slope: Vec<f64> = (0..parameters.len())
            .map(|j| {
                -rows
                    .iter()
                    .zip(&residuals)
                    .map(|(row, r)| row[j] * r)
                    .sum::<f64>()
                    / norms[j]
            })
            .collect();
        let mut moved = None;
        while damping < 1e12 {
            let Some(step) = damped_step(&scaled, &slope, damping) else {
                damping *= 10.0;
                continue;
            };
            let candidate: Vec<f64> = parameters
                .iter()
                .zip(&step)
                .zip(&norms)
                .map(|((p, s), norm)| p + s / norm)
                .collect();
            if problem.residuals(&candidate, &mut trial) {
                let reached = dot(&trial, &trial);
                // Near the bottom the sum of squares is flat to the last digits while the
                // parameters still settle.
                if reached <= squares * (1.0 + 1e-14) {
                    let lengths = parameters
                        .iter()
                        .zip(&norms)
                        .map(|(p, norm)| (p * norm) * (p * norm))
                        .sum::<f64>();
                    moved = Some(dot(&step, &step) <= STEP_TOLERANCE * STEP_TOLERANCE * lengths);
                    parameters = candidate;
                    squares = reached;
                    std::mem::swap(&mut residuals, &mut trial);
                    damping = f64::max(damping / 10.0, 1e-15);
                    break;
                }
            }
            damping *= 4.0;
        }
        if moved != Some(false) {
            break;
        }
    }
    Some(Minimum {
        parameters,
        squares,
    })
}

fn damped_step(scaled: &Rows, slope: &[f64], damping: f64) -> Option<Vec<f64>> {
    let mut damped = scaled.clone();
    for (i, row) in damped.iter_mut().enumerate() {
        row[i] += damping;
    }
    solve(damped, slope.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rosenbrock's valley as a sum of squares: 10 (y - x^2), 1 - x.
    struct Valley;

    impl Problem for Valley {
        fn residuals(&self, p: &[f64], into: &mut Vec<f64>) -> bool {
            *into = vec![10.0 * (p[1] - p[0] * p[0]), 1.0 - p[0]];
            true
        }

        fn jacobian(&self, p: &[f64], into: &mut Rows) {
            *into = vec![vec![-20.0 * p[0], 10.0], vec![-1.0, 0.0]];
        }
    }

    #[test]
    fn the_bottom_of_the_bent_valley_is_found() {
        let minimum = minimise(&Valley, &[-1.2, 1.0]).expect("inside");
        assert!(
            (minimum.parameters[0] - 1.0).abs() < 1e-10
                && (minimum.parameters[1] - 1.0).abs() < 1e-10
        );
        assert!(minimum.squares < 1e-20);
    }
}
