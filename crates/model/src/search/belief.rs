//! What the probes so far say of the knee: a distribution over its place and over the noise.
//!
//! A run at load x keeps the limits with probability e + (1 - 2 e) / (1 + exp((ln x - ln knee) /
//! s)): a logistic curve over the logarithm of the load, whose steepness s is the noise (how near
//! to the knee luck decides), and a share e of runs that go wrong for no reason of the load. Both
//! the knee and s are unknown; their joint distribution is kept on a grid and multiplied by the
//! probability of every outcome (Bayes). Probing at the median of the knee halves what is unknown:
//! probabilistic bisection, Horstein, IEEE Trans. Inf. Theory 9 (1963) 136; Waeber, Frazier,
//! Henderson, SIAM J. Control Optim. 51 (2013) 2261.

use rookery_cast::truncate_usize;

use super::{Hint, Settings};

/// Values of s: from 0.2 % of the load to 30 %.
const SCALES: [f64; 7] = [0.002, 0.005, 0.012, 0.028, 0.065, 0.15, 0.3];
/// How likely they are before the first probe: all alike, but for noise that no lab should have.
const SCALE_PRIOR: [f64; 7] = [0.16, 0.16, 0.16, 0.16, 0.16, 0.16, 0.04];
/// e: the share of runs whose outcome says nothing of the load.
const LAPSE: f64 = 0.01;
/// What is believed of a knee below the lowest load, and as much above the highest.
const OUTSIDE: f64 = 0.05;
/// How far outside the knee is looked for, as a logarithm.
const MARGIN: f64 = 0.5;
/// Share of the belief that a hint gets; the rest holds the whole range possible.
const TRUST: f64 = 0.8;
/// Weights below this are dropped: what is left out is less than a thousandth of what an interval
/// leaves out.
const NEGLIGIBLE: f64 = 1e-9;
/// Most points of the grid of knees.
const MOST_POINTS: usize = 4_000;

/// The distribution.
#[derive(Clone, Debug)]
pub(super) struct Belief {
    /// Logarithms of the knees, ascending, evenly spaced.
    knees: Vec<f64>,
    /// One weight for each knee and scale; they add up to 1.
    weights: Vec<[f64; SCALES.len()]>,
}

impl Belief {
    /// Before the first probe.
    pub(super) fn new(settings: &Settings) -> Self {
        let (low, high) = (settings.lowest.ln(), settings.highest.ln());
        let step = (settings.resolution / 4.0).min(0.01);
        let points =
            truncate_usize(((high - low + 2.0 * MARGIN) / step).ceil()).clamp(200, MOST_POINTS);
        let step = (high - low + 2.0 * MARGIN) / points as f64;
        let knees: Vec<f64> = (0..points)
            .map(|i| low - MARGIN + (i as f64 + 0.5) * step)
            .collect();
        let inside = (high - low).max(step);
        let prior = |knee: f64| match (knee < low, knee > high) {
            (false, false) => (1.0 - 2.0 * OUTSIDE) * hinted(settings.hint, knee, inside),
            _ => OUTSIDE / MARGIN,
        };
        let weights = knees
            .iter()
            .map(|knee| SCALE_PRIOR.map(|share| share * prior(*knee)))
            .collect();
        let mut belief = Self { knees, weights };
        belief.normalise();
        belief
    }

    /// Learn that a run at `load` kept the limits, or did not.
    pub(super) fn learn(&mut self, load: f64, passed: bool) {
        let x = load.ln();
        for (knee, row) in self.knees.iter().zip(&mut self.weights) {
            for (weight, scale) in row.iter_mut().zip(SCALES) {
                if *weight > NEGLIGIBLE {
                    let p = pass(x, *knee, scale);
                    *weight *= if passed { p } else { 1.0 - p };
                } else {
                    *weight = 0.0;
                }
            }
        }
        self.normalise();
    }

    fn normalise(&mut self) {
        let total: f64 = self.weights.iter().flatten().sum();
        self.weights
            .iter_mut()
            .flatten()
            .for_each(|weight| *weight /= total);
    }

    /// The load below which the knee lies with this probability.
    pub(super) fn quantile(&self, share: f64) -> f64 {
        let mut below = 0.0;
        for (knee, row) in self.knees.iter().zip(&self.weights) {
            below += row.iter().sum::<f64>();
            if below >= share {
                return knee.exp();
            }
        }
        self.knees.last().map_or(f64::NAN, |knee| knee.exp())
    }

    /// Probability that the knee lies below this load.
    pub(super) fn below(&self, load: f64) -> f64 {
        let x = load.ln();
        let rows = self
            .knees
            .iter()
            .zip(&self.weights)
            .take_while(|(knee, _)| **knee < x);
        rows.map(|(_, row)| row.iter().sum::<f64>()).sum()
    }

    /// Probability that the next run at this load keeps the limits; falls with the load.
    pub(super) fn chance(&self, load: f64) -> f64 {
        let x = load.ln();
        let rows = self.knees.iter().zip(&self.weights);
        let cells = rows.flat_map(|(knee, row)| {
            row.iter()
                .zip(SCALES)
                .map(move |(weight, scale)| (*knee, *weight, scale))
        });
        cells
            .filter(|(_, weight, _)| *weight > NEGLIGIBLE)
            .map(|(knee, weight, scale)| weight * pass(x, knee, scale))
            .sum()
    }

    /// From the load at which nine of ten runs pass to that at which one does, as a share of the
    /// load: exp(2 ln 9 s) - 1, for the mean of ln s.
    pub(super) fn blur(&self) -> f64 {
        let logs = self.weights.iter().flat_map(|row| row.iter().zip(SCALES));
        let scale = logs
            .map(|(weight, scale)| weight * scale.ln())
            .sum::<f64>()
            .exp();
        (2.0 * 9.0_f64.ln() * scale).exp_m1()
    }
}

fn pass(x: f64, knee: f64, scale: f64) -> f64 {
    LAPSE + (1.0 - 2.0 * LAPSE) / (1.0 + ((x - knee) / scale).exp())
}

/// Density over the logarithm of a range of this width: even, or heaped around the hint.
fn hinted(hint: Option<Hint>, knee: f64, width: f64) -> f64 {
    let even = 1.0 / width;
    hint.map_or(even, |hint| {
        let deviation = hint.factor.ln();
        let z = (knee - hint.load.ln()) / deviation;
        let heap = (-z * z / 2.0).exp() / (deviation * std::f64::consts::TAU.sqrt());
        TRUST * heap + (1.0 - TRUST) * even
    })
}
