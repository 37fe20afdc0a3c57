//! Gunther's transform: the fit behind many published parameters.
//!
//! It is no fit of throughput: small deviations at small loads weigh as much as large ones at large
//! loads. It is here to compare with what others publish, and [`fit_usl`](super::fit_usl) is what
//! to use.

use crate::{
    Usl,
    fit::data::{Load, Observations},
    linalg::{Rows, gram, gram_inverse, least_squares},
};

/// The universal scalability law by a parabola without constant through transformed throughputs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TransformFit {
    /// The law. lambda is the mean throughput of load 1; sigma and kappa are taken as they come,
    /// below 0 too.
    pub law: Usl,
    /// Standard errors of sigma and kappa, as if throughput had been fitted; `None` when they
    /// cannot be told apart.
    pub standard_errors: Option<[f64; 2]>,
}

/// Fit y = lambda N/X - 1 = a (N-1)^2 + b (N-1), so that kappa = a and sigma = b - a, with lambda =
/// X(1).
///
/// Source: Gunther, Guerrilla Capacity Planning, Springer 2007, section 5.2.3.
///
/// Returns `None` without runs at load 1, or with fewer than two other loads.
#[must_use]
pub fn fit_transform(observations: &Observations) -> Option<TransformFit> {
    let loads = observations.loads();
    let lambda = loads.iter().find(|load| load.n == 1.0).map(Load::mean)?;
    if loads.len() < 3 {
        return None;
    }
    let runs = observations.runs();
    let rows: Rows = runs
        .iter()
        .map(|run| vec![(run.n - 1.0) * (run.n - 1.0), run.n - 1.0])
        .collect();
    let y: Vec<f64> = runs
        .iter()
        .map(|run| lambda * run.n / run.x - 1.0)
        .collect();
    let found = least_squares(&rows, &y, 2)?;
    let (a, b) = (found[0], found[1]);
    let law = Usl {
        lambda,
        sigma: b - a,
        kappa: a,
    };
    let df = runs.len() - 2;
    let rss: f64 = runs
        .iter()
        .map(|run| (run.x - law.throughput(run.n)).powi(2))
        .sum();
    let slopes: Rows = runs
        .iter()
        .map(|run| law.gradient(run.n)[1..].to_vec())
        .collect();
    let standard_errors = gram_inverse(&gram(&slopes, 2))
        .map(|inverse| [0, 1].map(|i| (rss / df as f64 * inverse[i][i]).sqrt()));
    Some(TransformFit {
        law,
        standard_errors,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fit::data::Observation;

    fn of(law: Usl, loads: &[f64]) -> Option<TransformFit> {
        let runs = loads.iter().map(|&n| Observation {
            n,
            x: law.throughput(n),
        });
        fit_transform(&Observations::new(runs.collect()).expect("valid"))
    }

    #[test]
    fn exact_data_give_their_parameters_back() {
        let law = Usl {
            lambda: 40.0,
            sigma: 0.07,
            kappa: 0.002,
        };
        let found = of(law, &[1.0, 2.0, 4.0, 8.0, 16.0]).expect("load 1 is there");
        assert!(
            (found.law.sigma - 0.07).abs() < 1e-12 && (found.law.kappa - 0.002).abs() < 1e-12,
            "{found:?}"
        );
        assert!(
            found
                .standard_errors
                .is_some_and(|errors| errors.iter().all(|error| *error < 1e-7))
        );
        assert_eq!(of(law, &[2.0, 4.0, 8.0]), None, "nothing to normalise by");
        assert_eq!(of(law, &[1.0, 4.0]), None);
    }
}
