//! Waits between two acts of a user, and their means.

use serde::{Deserialize, Serialize};

use crate::clock::{Nanos, Span, seconds};

/// A drawn delay that is being waited: from `from` (the end of the act before, or its start with
/// cycle pacing).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pause {
    /// How long it shall be.
    pub drawn: Nanos,
    /// When it began.
    pub from: Nanos,
}

/// How many waits one stands for that is seen to end inside a window; `None` when it does not.
///
/// Nobody waits before the common start, at 0. A wait of length z ends inside a window of length T
/// when it begins in a span of T, of which z may reach back before the start; in steady state it
/// begins anywhere with equal chance: the chance to be seen is proportional to what of the span is
/// left, min(T, e - z) for a window that ends at e, so that a plain mean favours the short ones.
/// Weighting each by the inverse undoes that (D. G. Horvitz and D. J. Thompson, "A Generalization
/// of Sampling Without Replacement From a Finite Universe", Journal of the American Statistical
/// Association 47, 1952, normalised by the sum of the weights).
///
/// Worked example: think times uniform from 0 to 0.5 s in a window of 3 s that begins with the load
/// have a plain mean of 0.242 s, a weighted one of 0.25 s.
fn weight(window: Span, from: Nanos, to: Nanos) -> Option<f64> {
    let seen = window.contains(to) && from <= to;
    let left = window
        .length()
        .min(window.end - (to - from).min(window.end));
    (seen && left > 0).then(|| window.length() as f64 / left as f64)
}

/// Weighted sums over waits that ended inside the window, and what of all waits lay in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Waits {
    weight: f64,
    drawn_s: f64,
    actual_s: f64,
    /// What of waits lay inside the window.
    inside: Nanos,
    /// Waits that began inside it.
    begun: u64,
}

impl Waits {
    /// A wait from `from` to `to` that should have taken `drawn`.
    pub(crate) fn add(&mut self, window: Span, drawn: Nanos, from: Nanos, to: Nanos) {
        self.unfinished(window, from, to);
        if let Some(weight) = weight(window, from, to) {
            self.weight += weight;
            self.drawn_s += weight * seconds(drawn);
            self.actual_s += weight * seconds(to - from);
        }
    }

    /// A wait that was still going on when the load ended at `now`.
    pub(crate) fn unfinished(&mut self, window: Span, from: Nanos, now: Nanos) {
        self.inside += window.overlap(from, now);
        self.begun += u64::from(window.contains(from));
    }

    pub(crate) fn merge(&mut self, other: Self) {
        self.inside += other.inside;
        self.begun += other.begun;
        self.weight += other.weight;
        self.drawn_s += other.drawn_s;
        self.actual_s += other.actual_s;
    }

    /// Mean length of all waits, s: the time in them over how many began. In steady state the
    /// window cuts off as much of those that began inside it as it has of those that began before,
    /// so that waits longer than the window count, too.
    pub(crate) fn mean_s(self) -> Option<f64> {
        (self.begun > 0).then(|| seconds(self.inside) / self.begun as f64)
    }

    /// Mean drawn length of those that ended inside the window, s.
    pub(crate) fn drawn_mean_s(self) -> Option<f64> {
        (self.weight > 0.0).then(|| self.drawn_s / self.weight)
    }

    /// Mean actual length of those that ended inside the window, s.
    pub(crate) fn actual_mean_s(self) -> Option<f64> {
        (self.weight > 0.0).then(|| self.actual_s / self.weight)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rookery_workload::random::{RandomSource as _, SplitMix64};

    use super::*;

    const S: Nanos = 1_000_000_000;
    const WINDOW: Span = Span {
        start: 10 * S,
        end: 13 * S,
    };

    #[test]
    fn only_waits_that_end_inside_count() {
        let mut waits = Waits::default();
        for (from, to) in [(8, 9), (12, 13), (12, 14), (8, 15)] {
            waits.add(WINDOW, S, from * S, to * S);
        }
        assert_eq!(waits.actual_mean_s(), None);
        waits.add(WINDOW, S, 9 * S, 12 * S);
        assert_eq!(
            (waits.drawn_mean_s(), waits.actual_mean_s()),
            (Some(1.0), Some(3.0))
        );
    }

    #[test]
    fn a_long_wait_stands_for_those_that_were_not_seen() {
        let mut waits = Waits::default();
        waits.add(WINDOW, 0, 10 * S, 11 * S);
        waits.add(WINDOW, 0, 0, 12 * S);
        // Weights 1 and 3: of so long waits those of one second can end in the window.
        assert!((waits.actual_mean_s().expect("two waits") - 37.0 / 4.0).abs() < 1e-12);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(16))]

        /// 1000 users with think times uniform from 0 to 0.5 s and nothing else, in a window of 3
        /// s that begins with the load: about 12 000 waits, so that the standard error of the mean
        /// is 0.0014 s; the plain mean is 0.008 s too low.
        #[test]
        fn the_mean_of_a_short_window_is_unbiased(seed in any::<u64>()) {
            let window = Span { start: 0, end: 3 * S };
            let (mut draws, mut waits, mut plain) =
                (SplitMix64::new(seed), Waits::default(), (0.0, 0.0));
            for _ in 0..1_000 {
                // What began before the load is forgotten.
                let mut at = draws.below(S);
                while at < window.end + S {
                    let next = at + draws.below(S / 2);
                    if at >= S {
                        let (from, to) = (at - S, next - S);
                        waits.add(window, to - from, from, to);
                        if weight(window, from, to).is_some() {
                            plain = (plain.0 + seconds(to - from), plain.1 + 1.0);
                        }
                    }
                    at = next;
                }
            }
            let mean = waits.actual_mean_s().expect("many waits");
            prop_assert!((mean - 0.25).abs() < 5.0 * 0.0014, "{mean}");
            prop_assert!(plain.0 / plain.1 < mean - 0.006, "the plain mean {} favours short \
                waits", plain.0 / plain.1);
        }

        /// Waits of 10 s on average that are seen for 30 s, after 75 s of which nothing is
        /// recorded: 3 000 of them, so that the standard error of the mean is 0.18 s; of those
        /// wholly inside the window it would be 8.4 s.
        #[test]
        fn waits_longer_than_the_window_are_seen(seed in any::<u64>()) {
            let window = Span { start: 75 * S, end: 105 * S };
            let (mut draws, mut waits) = (SplitMix64::new(seed), Waits::default());
            for _ in 0..1_000 {
                let mut at = draws.below(10 * S);
                while at < window.end {
                    let next = at + (-10e9 * (1.0 - draws.fraction()).ln()) as Nanos;
                    waits.add(window, next - at, at, next);
                    at = next;
                }
            }
            let mean = waits.actual_mean_s().expect("many waits");
            prop_assert!((mean - 10.0).abs() < 5.0 * 0.18, "{mean}");
        }
    }
}
