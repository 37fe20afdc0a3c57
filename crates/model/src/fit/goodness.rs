//! How well a curve meets the runs.

use crate::{
    fit::data::{Observations, Weights},
    linalg::dot,
    special::f_tail,
};

/// Measures of fit. R2 alone misleads: 0.98 is common for useless fits.
#[derive(Clone, Debug, PartialEq)]
pub struct Goodness {
    /// Residuals X - model in the order of loads, 1/s.
    pub residuals: Vec<f64>,
    /// Weighted sum of squared residuals.
    pub rss: f64,
    /// Share of the variation about the mean that the curve explains.
    pub r2: f64,
    /// Mean absolute residual over X.
    pub mape: f64,
    /// Largest absolute residual over X.
    pub largest: f64,
    /// Akaike's criterion, corrected for small samples; infinite with too few runs.
    pub aicc: f64,
}

impl Goodness {
    /// Of a curve with `parameters` parameters.
    pub(crate) fn judge(
        observations: &Observations,
        weights: Weights,
        parameters: usize,
        curve: impl Fn(f64) -> f64,
    ) -> Self {
        let runs = observations.runs();
        let weights = weights.of(observations);
        let residuals: Vec<f64> = runs.iter().map(|run| run.x - curve(run.n)).collect();
        let squares: Vec<f64> = residuals.iter().map(|r| r * r).collect();
        let rss = dot(&squares, &weights);
        let mean = runs
            .iter()
            .zip(&weights)
            .map(|(run, w)| run.x * w)
            .sum::<f64>()
            / weights.iter().sum::<f64>();
        let total: f64 = runs
            .iter()
            .zip(&weights)
            .map(|(run, w)| w * (run.x - mean) * (run.x - mean))
            .sum();
        let relative: Vec<f64> = residuals
            .iter()
            .zip(runs)
            .map(|(r, run)| (r / run.x).abs())
            .collect();
        Self {
            rss,
            r2: 1.0 - rss / total,
            mape: relative.iter().sum::<f64>() / relative.len() as f64,
            largest: relative.iter().copied().fold(0.0, f64::max),
            aicc: aicc(rss, runs.len(), parameters),
            residuals,
        }
    }

    /// Sign runs of the residuals: few of them mean that the curve has the wrong shape.
    #[must_use]
    pub fn sign_runs(&self) -> usize {
        let signs: Vec<bool> = self
            .residuals
            .iter()
            .filter(|r| **r != 0.0)
            .map(|r| *r > 0.0)
            .collect();
        signs.windows(2).filter(|pair| pair[0] != pair[1]).count() + usize::from(!signs.is_empty())
    }
}

/// n ln(RSS/n) + 2k + 2k(k+1)/(n-k-1), k = parameters + 1.
///
/// Source: Hurvich, Tsai, Biometrika 76 (1989) 297.
fn aicc(rss: f64, runs: usize, parameters: usize) -> f64 {
    let (n, k) = (runs as f64, parameters as f64 + 1.0);
    if n <= k + 1.0 {
        return f64::INFINITY;
    }
    n * (rss / n).ln() + 2.0 * k + 2.0 * k * (k + 1.0) / (n - k - 1.0)
}

/// An F test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FTest {
    /// The statistic.
    pub f: f64,
    /// Probability of a statistic at least as large when the smaller model holds.
    pub p: f64,
}

/// Does the bigger of two nested models explain more than chance? RSS and parameters of both, and
/// the number of runs; `None` without degrees of freedom.
#[must_use]
pub fn nested_f_test(small: (f64, usize), big: (f64, usize), runs: usize) -> Option<FTest> {
    let df1 = big.1.checked_sub(small.1).filter(|df| *df > 0)? as f64;
    let df2 = runs.checked_sub(big.1).filter(|df| *df > 0)? as f64;
    let f = ((small.0 - big.0) / df1 / (big.0 / df2)).max(0.0);
    (!f.is_nan()).then(|| FTest {
        f,
        p: f_tail(f, df1, df2),
    })
}

/// Does a curve miss the means of repeated loads by more than the repeats scatter? `None` without
/// repeats or degrees of freedom.
#[must_use]
pub fn lack_of_fit(
    observations: &Observations,
    parameters: usize,
    curve: impl Fn(f64) -> f64,
) -> Option<FTest> {
    let loads = observations.loads();
    let df1 = loads.len().checked_sub(parameters).filter(|df| *df > 0)? as f64;
    let df2 = observations
        .runs()
        .len()
        .checked_sub(loads.len())
        .filter(|df| *df > 0)? as f64;
    let pure: f64 = loads.iter().map(super::data::Load::squares).sum();
    let rss: f64 = observations
        .runs()
        .iter()
        .map(|run| (run.x - curve(run.n)).powi(2))
        .sum();
    let f = ((rss - pure) / df1 / (pure / df2)).max(0.0);
    (!f.is_nan()).then(|| FTest {
        f,
        p: f_tail(f, df1, df2),
    })
}

/// Errors of predictions against measurements, as shares of the measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PredictionError {
    /// Mean absolute error.
    pub mape: f64,
    /// Mean absolute error as a share of the middle of measured and predicted: too high and too low
    /// weigh alike.
    pub smape: f64,
    /// Largest absolute error.
    pub largest: f64,
    /// Mean signed error, predicted less measured.
    pub bias: f64,
    /// Root mean square error, in the unit of the measurements.
    pub rmse: f64,
}

impl PredictionError {
    /// Of pairs (measured, predicted), measured > 0; `None` without pairs.
    #[must_use]
    pub fn from_pairs(pairs: &[(f64, f64)]) -> Option<Self> {
        if pairs.is_empty() {
            return None;
        }
        let mean = |value: &dyn Fn(&(f64, f64)) -> f64| {
            pairs.iter().map(value).sum::<f64>() / pairs.len() as f64
        };
        let relative = |pair: &(f64, f64)| (pair.1 - pair.0) / pair.0;
        Some(Self {
            mape: mean(&|pair| relative(pair).abs()),
            smape: mean(&|pair| {
                (pair.1 - pair.0).abs() / f64::midpoint(pair.0.abs(), pair.1.abs())
            }),
            largest: pairs
                .iter()
                .map(|pair| relative(pair).abs())
                .fold(0.0, f64::max),
            bias: mean(&relative),
            rmse: mean(&|pair| (pair.1 - pair.0).powi(2)).sqrt(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fit::data::Observation;

    #[test]
    fn lack_of_fit_tells_shape_from_scatter() {
        let data = |bend: f64| {
            let runs = (1..=6).flat_map(|n| {
                let n = f64::from(n);
                [-1.0, 0.0, 1.0].map(|e| Observation {
                    n,
                    x: 100.0 * n - bend * n * n + e,
                })
            });
            Observations::new(runs.collect()).expect("valid")
        };
        let straight = lack_of_fit(&data(0.0), 1, |n| 100.0 * n).expect("repeats");
        assert!(straight.p > 0.9, "{straight:?}");
        let bent = lack_of_fit(&data(5.0), 1, |n| 80.0 * n).expect("repeats");
        assert!(bent.p < 1e-6, "{bent:?}");
    }

    #[test]
    fn sign_runs_count_changes() {
        let mut goodness = Goodness {
            residuals: vec![1.0, 2.0, -1.0, 0.0, -3.0, 4.0],
            rss: 0.0,
            r2: 0.0,
            mape: 0.0,
            largest: 0.0,
            aicc: 0.0,
        };
        assert_eq!(goodness.sign_runs(), 3);
        goodness.residuals.clear();
        assert_eq!(goodness.sign_runs(), 0);
    }
}
