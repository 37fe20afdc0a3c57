//! What an effect may be called.

use serde::Serialize;

use super::Effect;

/// An effect is called one when chance alone would show it in fewer than this share of studies.
const LEVEL: f64 = 0.05;
/// An interval that reaches further than this from 1 says too little to call it "no effect".
const WIDEST: f64 = 0.5;

/// What times are kept to, in histograms of three digits: a smaller effect is none that was
/// measured.
const RESOLUTION: f64 = 0.001;

/// Which way of a metric is the good one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Goal {
    /// Throughput.
    Higher,
    /// Response time.
    Lower,
}

/// What the data carry.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Change {
    /// A change to the good.
    Better,
    /// A change to the bad.
    Worse,
    /// The interval holds 1, or lies within the resolution of times around it, and reaches no
    /// further than this share from it.
    NoEffectSeen {
        /// The larger distance of the two ends of the interval from 1, as a share.
        less_than: f64,
    },
    /// The interval leaves 1 out, but among so many comparisons that may be chance.
    PerhapsChance,
    /// The interval holds 1 and much else.
    Undecided,
    /// There is no interval: a single pair.
    NoInterval,
}

impl Effect {
    /// What it may be called; `adjusted_p` is its [`p`](Effect::p) after [`holm`] over all
    /// comparisons that are shown together.
    #[must_use]
    pub fn change(&self, goal: Goal, adjusted_p: Option<f64>) -> Change {
        let (Some((low, high)), Some(p)) = (self.interval, adjusted_p) else {
            return Change::NoInterval;
        };
        let less_than = (high - 1.0).max(1.0 - low).max(RESOLUTION);
        if self.excludes_one() && less_than > RESOLUTION {
            let good = (self.ratio > 1.0) == (goal == Goal::Higher);
            return match (p < LEVEL, good) {
                (false, _) => Change::PerhapsChance,
                (true, true) => Change::Better,
                (true, false) => Change::Worse,
            };
        }
        if less_than <= WIDEST {
            Change::NoEffectSeen { less_than }
        } else {
            Change::Undecided
        }
    }
}

/// Probabilities adjusted after Holm (1979), in the order given: the i-th smallest of c times (c -
/// i + 1), never falling, at most 1. Whoever rejects below 5 % of these errs in at most 5 % of
/// families, whatever depends on what.
#[must_use]
pub fn holm(probabilities: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..probabilities.len()).collect();
    order.sort_by(|&a, &b| probabilities[a].total_cmp(&probabilities[b]));
    let mut adjusted = vec![0.0; probabilities.len()];
    let mut largest: f64 = 0.0;
    for (rank, &index) in order.iter().enumerate() {
        let factor = (probabilities.len() - rank) as f64;
        largest = largest.max((factor * probabilities[index]).min(1.0));
        adjusted[index] = largest;
    }
    adjusted
}
