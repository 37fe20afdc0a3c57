//! Bootstrap intervals of a fitted law: not symmetric, and within the bounds.

use rookery_cast::truncate_usize;

use crate::{
    fit::{
        data::{Observation, Observations},
        usl::{Interval, UslFit, refit},
    },
    random::Stream,
};

/// Purpose of the random stream.
const PURPOSE: u64 = 0xb007;

/// 95 % percentile intervals over resampled data.
///
/// Source: Efron, Tibshirani, An Introduction to the Bootstrap (1993). With fewer than 8 runs they
/// are too narrow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bootstrap {
    /// Of lambda, 1/s.
    pub lambda: Interval,
    /// Of sigma.
    pub sigma: Interval,
    /// Of kappa.
    pub kappa: Interval,
    /// Of N*; `None` when fewer than 97.5 % of the draws have a peak, and the upper end is unknown.
    pub peak: Option<Interval>,
    /// Draws that could be fitted.
    pub draws: usize,
    /// Seed of the draws.
    pub seed: u64,
    /// Whether runs were resampled within their loads (at least three at each), rather than
    /// residuals.
    pub by_runs: bool,
}

impl Bootstrap {
    /// Resample `draws` times and refit. `None` without degrees of freedom, or when fewer than half
    /// of the draws can be fitted.
    #[must_use]
    pub fn resample(
        fit: &UslFit,
        observations: &Observations,
        draws: usize,
        seed: u64,
    ) -> Option<Self> {
        if fit.df == 0 || draws == 0 {
            return None;
        }
        let by_runs = observations.repeated();
        let mut stream = Stream::new(seed, PURPOSE);
        let residuals = inflated_residuals(fit, observations);
        let mut fits = Vec::with_capacity(draws);
        for _ in 0..draws {
            let sample = if by_runs {
                resample_runs(observations, &mut stream)
            } else {
                resample_residuals(fit, observations, &residuals, &mut stream)
            };
            fits.extend(
                Observations::new(sample)
                    .ok()
                    .and_then(|sample| refit(&sample, fit)),
            );
        }
        if fits.len() * 2 < draws {
            return None;
        }
        let of = |value: &dyn Fn(&UslFit) -> f64| percentiles(fits.iter().map(value).collect());
        // A draw without a peak has it beyond every load.
        let peak = of(&|fit| fit.law.peak().map_or(f64::INFINITY, |peak| peak.n));
        Some(Self {
            lambda: of(&|fit| fit.law.lambda),
            sigma: of(&|fit| fit.law.sigma),
            kappa: of(&|fit| fit.law.kappa),
            peak: peak.high.is_finite().then_some(peak),
            draws: fits.len(),
            seed,
            by_runs,
        })
    }
}

/// Centred residuals, widened for the degrees of freedom that the fit has used.
fn inflated_residuals(fit: &UslFit, observations: &Observations) -> Vec<f64> {
    let runs = observations.runs();
    let residuals: Vec<f64> = runs
        .iter()
        .map(|run| run.x - fit.law.throughput(run.n))
        .collect();
    let mean = residuals.iter().sum::<f64>() / residuals.len() as f64;
    let widen = (residuals.len() as f64 / fit.df as f64).sqrt();
    residuals
        .iter()
        .map(|residual| (residual - mean) * widen)
        .collect()
}

fn resample_residuals(
    fit: &UslFit,
    observations: &Observations,
    residuals: &[f64],
    stream: &mut Stream,
) -> Vec<Observation> {
    let runs = observations.runs().iter();
    runs.map(|run| {
        let x = fit.law.throughput(run.n) + residuals[stream.below(residuals.len())];
        // A residual of a large load can exceed the throughput of a small one; throughput cannot
        // fall to 0.
        Observation {
            n: run.n,
            x: x.max(run.x * 1e-3),
        }
    })
    .collect()
}

fn resample_runs(observations: &Observations, stream: &mut Stream) -> Vec<Observation> {
    let loads = observations.loads();
    let drawn = loads.iter().flat_map(|load| {
        let picks: Vec<usize> = load
            .runs
            .iter()
            .map(|_| stream.below(load.runs.len()))
            .collect();
        picks.into_iter().map(|pick| Observation {
            n: load.n,
            x: load.runs[pick],
        })
    });
    drawn.collect()
}

/// The 2.5 and 97.5 percentiles.
fn percentiles(mut values: Vec<f64>) -> Interval {
    values.sort_by(f64::total_cmp);
    let at = |p: f64| {
        let place = p * (values.len() - 1) as f64;
        let (low, share) = (truncate_usize(place.floor()), place.fract());
        let next = values[(low + 1).min(values.len() - 1)];
        if share == 0.0 || next == values[low] {
            values[low]
        } else {
            values[low] + share * (next - values[low])
        }
    };
    Interval {
        low: at(0.025),
        high: at(0.975),
    }
}
