//! Little's law from three recordings that know nothing of each other: how many acts ended, how
//! long acts took, how long users waited.

use super::{operation::OperationRecord, wait::Waits};
use crate::clock::{Nanos, Span, seconds};

/// The users of a guest, counted twice.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Population {
    /// X (R + Z).
    pub(crate) expected: f64,
    /// Users that were going from act to act, averaged over the window.
    pub(crate) active: f64,
}

impl Population {
    /// X (R + Z), where X = acts that ended inside the window, well or not, over its length; R =
    /// mean time of the acts that were started in it; Z = mean time from the end of an act to the
    /// start of the next ([`Waits::mean_s`]); acts of several kinds are summed. `active` = time
    /// that users were active inside the window.
    ///
    /// Source: J. D. C. Little, "A Proof for the Queuing Formula: L = lambda W", Operations
    /// Research 9 (1961), in its closed form.
    pub(crate) fn from_users(
        window: Span,
        acts: &[&OperationRecord],
        waits: Waits,
        active: Nanos,
    ) -> Self {
        let window_s = seconds(window.length());
        if window_s <= 0.0 {
            return Self::default();
        }
        let wait_s = waits.mean_s().unwrap_or(0.0);
        let users = acts.iter().map(|act| {
            let rate = act.ended() as f64 / window_s;
            rate * (act.mean_s().unwrap_or(0.0) + wait_s)
        });
        Self {
            expected: users.sum(),
            active: seconds(active) / window_s,
        }
    }

    /// X R and the acts that were under way on average, of an open load; `busy` = time that
    /// visitors spent in acts inside the window. Few acts are under way at once, so that one long
    /// act at an end of the window may be a tenth of all: what the ends cut is put right
    /// ([`OperationRecord::under_way_s`]).
    pub(crate) fn from_acts(window: Span, acts: &[&OperationRecord], busy: Nanos) -> Self {
        let window_s = seconds(window.length());
        if window_s <= 0.0 {
            return Self::default();
        }
        let under_way_s: f64 = acts.iter().map(|act| act.under_way_s()).sum();
        Self {
            expected: under_way_s / window_s,
            active: seconds(busy) / window_s,
        }
    }
}

/// |X (R + Z) - N| / N over all guests; 0 when nobody was active.
///
/// Worked example: 10 users ended 999 acts in 60 s; the mean act took 0.15 s and the mean wait 0.45
/// s: 16.65 x 0.6 = 9.99, error 0.001.
pub(crate) fn little_error(guests: &[Population]) -> f64 {
    let expected: f64 = guests.iter().map(|guest| guest.expected).sum();
    let active: f64 = guests.iter().map(|guest| guest.active).sum();
    if active > 0.0 {
        (expected - active).abs() / active
    } else {
        0.0
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rookery_workload::random::{RandomSource as _, SplitMix64};

    use super::{super::operation::Outcome, *};
    use crate::record::Timing;

    const MS: Nanos = 1_000_000;
    const WINDOW: Span = Span {
        start: 0,
        end: 60_000 * MS,
    };

    /// One user whose act takes 150 ms, with 450 ms between acts; each third act fails, and each
    /// act begins 1 ms late.
    fn population(lose: usize) -> Population {
        let (mut act, mut waits) = (OperationRecord::default(), Waits::default());
        for n in 0..100u64 {
            let sent = n * 600 * MS;
            let timing = Timing {
                intended: sent.saturating_sub(MS),
                sent,
                done: sent + 150 * MS,
                service: 140 * MS,
            };
            let outcome = if n % 3 == 0 {
                Outcome::Failure
            } else {
                Outcome::Success
            };
            if n as usize >= lose {
                act.end(WINDOW, sent, timing, outcome);
            }
            waits.add(WINDOW, 449 * MS, timing.done, timing.done + 450 * MS);
        }
        Population::from_users(WINDOW, &[&act], waits, WINDOW.length())
    }

    #[test]
    fn failures_and_lateness_are_part_of_the_cycle() {
        let one = population(0);
        assert!(
            (one.expected - 1.0).abs() < 1e-4 && (one.active - 1.0).abs() < 1e-12,
            "{one:?}"
        );
    }

    /// 300 users with waits of an exponential distribution with a mean of 10 s, which are cut at 50
    /// s, and acts of 0.2 s, in a window of 30 s; the load ends 1 s after it. Recorded waits are
    /// `scale` of what they were.
    fn long_waits(seed: u64, scale: f64) -> Population {
        let window = Span {
            start: 100_000 * MS,
            end: 130_000 * MS,
        };
        let (users, end, mut draws) = (300u32, window.end + 1_000 * MS, SplitMix64::new(seed));
        let (mut act, mut waits) = (OperationRecord::default(), Waits::default());
        let recorded = |from: Nanos, to: Nanos| from + (scale * (to - from) as f64) as Nanos;
        for _ in 0..users {
            let mut done = draws.below(10_000 * MS);
            loop {
                let drawn_s = -10.0 * (1.0 - draws.fraction()).ln();
                let sent = done + (drawn_s.min(50.0) * 1e9) as Nanos;
                if sent >= end {
                    waits.unfinished(window, done, recorded(done, end));
                    break;
                }
                waits.add(window, sent - done, done, recorded(done, sent));
                let timing = Timing {
                    intended: sent,
                    sent,
                    done: sent + 200 * MS,
                    service: 200 * MS,
                };
                if timing.done >= end {
                    act.unfinished(window, false, (sent, sent), end);
                    break;
                }
                act.end(window, sent, timing, Outcome::Success);
                done = timing.done;
            }
        }
        Population::from_users(window, &[&act], waits, u64::from(users) * window.length())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(16))]

        /// The window is as long as three waits.
        #[test]
        fn waits_longer_than_the_window_are_part_of_the_cycle(seed in any::<u64>()) {
            let error = little_error(&[long_waits(seed, 1.0)]);
            prop_assert!(error < 0.005, "{error}");
        }

        #[test]
        fn waits_that_were_recorded_too_short_are_missed(seed in any::<u64>()) {
            let error = little_error(&[long_waits(seed, 0.95)]);
            prop_assert!(error > 0.02, "{error}");
        }
    }

    #[test]
    fn acts_that_were_not_counted_are_missed() {
        let error = little_error(&[population(0), population(10)]);
        assert!((error - 0.05).abs() < 1e-4, "{error}");
    }

    #[test]
    fn nobody_is_no_error() {
        assert_eq!(little_error(&[]), 0.0);
        let empty = Span { start: 5, end: 5 };
        assert_eq!(
            Population::from_users(empty, &[], Waits::default(), 0),
            Population::default()
        );
    }

    /// Visitors come one after another for 1.2 s and act once; one act in twenty takes 200 times
    /// as long as the others, as on a machine whose processor went to somebody else. The window is
    /// the second in the middle; what is under way when the load ends at 1.4 s is unfinished.
    fn visitors(seed: u64) -> Population {
        let window = Span {
            start: 100 * MS,
            end: 1_100 * MS,
        };
        let (end, mut draws) = (1_400 * MS, SplitMix64::new(seed));
        let (mut act, mut busy, mut at) = (OperationRecord::default(), 0, 0);
        while at < 1_200 * MS {
            at += draws.below(40 * MS);
            let sent = at + draws.below(2 * MS);
            let scale = if draws.below(20) == 0 { 200 } else { 1 };
            let done = sent + scale * (MS + draws.below(2 * MS));
            let timing = Timing {
                intended: at,
                sent,
                done,
                service: done - sent,
            };
            busy += window.overlap(sent, done.min(end));
            if done >= end {
                act.unfinished(window, window.contains(at), (sent, at), end);
            } else {
                act.end(window, at, timing, Outcome::Success);
            }
        }
        Population::from_acts(window, &[&act], busy)
    }

    proptest! {
        /// About fifty acts, of which the long ones are most of the time: without what the ends
        /// cut, every other seed is off by more than 5 %.
        #[test]
        fn few_acts_of_very_different_length_are_counted_out(seed in any::<u64>()) {
            let error = little_error(&[visitors(seed)]);
            prop_assert!(error < 0.002, "{error}");
        }
    }

    #[test]
    fn visitors_whose_acts_were_not_recorded_are_missed() {
        let (mut act, mut busy) = (OperationRecord::default(), 0);
        // A hundred acts of 5 ms, 10 ms from one to the next; each tenth is forgotten.
        for n in 0..100u64 {
            let sent = n * 10 * MS;
            let timing = Timing {
                intended: sent,
                sent,
                done: sent + 5 * MS,
                service: 5 * MS,
            };
            busy += 5 * MS;
            if n % 10 != 5 {
                act.end(WINDOW, sent, timing, Outcome::Success);
            }
        }
        let error = little_error(&[Population::from_acts(WINDOW, &[&act], busy)]);
        assert!((error - 0.1).abs() < 1e-3, "{error}");
    }
}
