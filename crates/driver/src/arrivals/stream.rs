//! The arrivals of one guest, and the share of one driver thread in them.

use std::rc::Rc;

use rookery_cast::truncate_u64;
use rookery_workload::random::{RandomSource as _, SplitMix64, mix};

use super::Course;
use crate::{
    clock::Nanos,
    load::{Arrivals, OpenLoad},
};

/// One arrival; ordered by its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Arrival {
    /// When its first request should begin.
    pub at: Nanos,
    /// Index of the guest.
    pub guest: usize,
    /// Which visitor of the guest it is, from 0: the same number is the same visitor whatever the
    /// number of threads.
    pub number: u64,
}

/// Which thread of how many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// The thread.
    pub thread: usize,
    /// Of so many.
    pub of: usize,
}

impl Share {
    /// Arrivals are dealt out like cards. The threads together make the whole stream, neither more
    /// nor less, and each has its share of every second.
    fn takes(self, number: u64, guest: usize) -> bool {
        (number + guest as u64) % self.of as u64 == self.thread as u64
    }
}

/// The random numbers of one purpose of a guest.
fn of_guest(seed: u64, guest: usize, purpose: u64) -> SplitMix64 {
    let of_guest = mix(mix(seed).wrapping_add(guest as u64));
    SplitMix64::new(of_guest.wrapping_add(purpose))
}

/// Purposes of random streams.
const GAPS: u64 = 1;
const VISITS: u64 = 2;

/// A number in (0, 1] that belongs to a visitor: it decides how long the visitor stays.
pub fn persistence(seed: u64, arrival: Arrival) -> f64 {
    let mut visits = of_guest(seed, arrival.guest, VISITS);
    SplitMix64::new(visits.bits().wrapping_add(arrival.number)).unit()
}

/// The arrivals of one guest that one thread takes, in their order.
///
/// With S = 1, 2, 3, ... (uniform) or the sums of exponential gaps of mean 1 (Poisson), arrivals at
/// the times where the integral of the rate is S follow the rate: time rescaling (E. Cinlar,
/// "Introduction to Stochastic Processes", 1975, section 4.7).
#[derive(Clone, Debug)]
pub struct Stream {
    course: Rc<Course>,
    arrivals: Arrivals,
    weight: f64,
    guest: usize,
    share: Share,
    random: SplitMix64,
    /// Of the last arrival, of a rate of the weight 1.
    sum: f64,
    number: u64,
}

impl Stream {
    /// The arrivals of `guest` (of `guests`) for one thread.
    pub fn new(
        load: &OpenLoad,
        course: Rc<Course>,
        guest: usize,
        guests: usize,
        share: Share,
        seed: u64,
    ) -> Self {
        Self {
            course,
            arrivals: load.arrivals,
            weight: load.weights.get(guest).copied().unwrap_or(1.0),
            guest,
            share,
            random: of_guest(seed, guest, GAPS),
            sum: match load.arrivals {
                Arrivals::Poisson => 0.0,
                // Guests of the same rate alternate at even distances.
                Arrivals::Uniform => (guest as f64 + 0.5) / guests.max(1) as f64 - 1.0,
            },
            number: 0,
        }
    }
}

impl Iterator for Stream {
    type Item = Arrival;

    fn next(&mut self) -> Option<Arrival> {
        loop {
            self.sum += match self.arrivals {
                Arrivals::Poisson => self.random.exponential(),
                Arrivals::Uniform => 1.0,
            };
            let count = self.sum / self.weight;
            if count >= self.course.total() {
                return None;
            }
            let number = self.number;
            self.number += 1;
            if self.share.takes(number, self.guest) {
                let at_s = self.course.when(count)?;
                return Some(Arrival {
                    at: truncate_u64((at_s * 1e9).round()),
                    guest: self.guest,
                    number,
                });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{
        super::course::tests::{phases, profile},
        *,
    };
    use crate::load::{Precision, Profile, Visit};

    fn load(arrivals: Arrivals, profile: Profile) -> OpenLoad {
        OpenLoad {
            arrivals,
            profile,
            weights: Vec::new(),
            max_in_flight: 100,
            precision: Precision::Exact,
            visit: Visit::Single,
        }
    }

    const ALONE: Share = Share { thread: 0, of: 1 };

    fn times(
        load: &OpenLoad,
        steady_s: f64,
        guest: usize,
        guests: usize,
        share: Share,
        seed: u64,
    ) -> Vec<Nanos> {
        let course = Rc::new(Course::new(&load.profile, &phases(0.0, 0.0, steady_s, 0.0)));
        Stream::new(load, course, guest, guests, share, seed)
            .map(|arrival| arrival.at)
            .collect()
    }

    #[test]
    fn uniform_arrivals_keep_their_distance_and_guests_alternate() {
        let load = load(Arrivals::Uniform, Profile::level(2.0));
        assert_eq!(
            times(&load, 2.0, 0, 1, ALONE, 1),
            [250_000_000, 750_000_000, 1_250_000_000, 1_750_000_000]
        );
        let mut both: Vec<Nanos> = (0..2)
            .flat_map(|guest| times(&load, 2.0, guest, 2, ALONE, 1))
            .collect();
        both.sort_unstable();
        assert!(
            both.windows(2).all(|pair| pair[1] - pair[0] == 250_000_000),
            "{both:?}"
        );
    }

    #[test]
    fn a_weight_multiplies_the_rate() {
        for arrivals in [Arrivals::Uniform, Arrivals::Poisson] {
            let mut load = load(arrivals, Profile::level(1_000.0));
            load.weights = vec![1.0, 2.5];
            let counts = [0, 1].map(|guest| times(&load, 20.0, guest, 2, ALONE, 3).len() as f64);
            // Five standard deviations of a Poisson number.
            assert!(
                (counts[0] - 20_000.0).abs() < 710.0 && (counts[1] - 50_000.0).abs() < 1_120.0,
                "{counts:?}"
            );
        }
    }

    #[test]
    fn visits_have_the_length_that_was_asked_for() {
        let arrival = |number| Arrival {
            at: 0,
            guest: 1,
            number,
        };
        let drawn = |number| persistence(5, arrival(number));
        assert_eq!(drawn(7), drawn(7));
        let visit = Visit::GoOn(0.8);
        let acts: Vec<f64> = (0..100_000)
            .map(|number| f64::from(visit.acts(drawn(number))))
            .collect();
        let mean = acts.iter().sum::<f64>() / 1e5;
        let variance = acts.iter().map(|act| (act - mean).powi(2)).sum::<f64>() / 1e5;
        // Geometric: mean 1 / (1 - p) = 5 with a standard error of 0.014, variance p / (1 - p)^2 =
        // 20.
        assert!(
            (mean - 5.0).abs() < 0.06 && (variance - 20.0).abs() < 1.0,
            "{mean} {variance}"
        );
        assert!((0..100).all(|number| Visit::Single.acts(drawn(number)) == 1
            && Visit::Acts(7).acts(drawn(number)) == 7));
        assert_eq!(Visit::GoOn(0.0).acts(0.5), 1);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        /// 50 000 gaps: the mean and the correlation are exact to 6 standard errors (0.027), the
        /// variance to 7 (its standard error is sqrt(8 / n), because an exponential gap has the
        /// kurtosis 9).
        #[test]
        fn poisson_gaps_have_the_mean_and_the_variance_of_an_exponential(seed in any::<u64>(), rate in 1.0..20_000.0f64) {
            let all = times(&load(Arrivals::Poisson, Profile::level(rate)), 50_000.0 / rate, 0, 1, ALONE, seed);
            let gaps: Vec<f64> = all.windows(2).map(|pair| (pair[1] - pair[0]) as f64 * rate / 1e9).collect();
            let n = gaps.len() as f64;
            let mean = gaps.iter().sum::<f64>() / n;
            let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / (n - 1.0);
            let correlation = gaps.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum::<f64>() / (n * variance);
            prop_assert!((n - 50_000.0).abs() < 6.0 * 50_000f64.sqrt(), "{n}");
            prop_assert!((mean - 1.0).abs() < 6.0 / n.sqrt(), "{mean}");
            prop_assert!((variance - 1.0).abs() < 7.0 * (8.0 / n).sqrt(), "{variance}");
            prop_assert!(correlation.abs() < 6.0 / n.sqrt(), "gaps are independent: {correlation}");
        }

        /// A thread's share of a Poisson stream and all shares together.
        #[test]
        fn shares_make_the_whole_and_overlap_nowhere(
            seed in any::<u64>(), profile in profile(), of in 1usize..6, guest in 0usize..4, poisson in any::<bool>()
        ) {
            let arrivals = if poisson { Arrivals::Poisson } else { Arrivals::Uniform };
            let load = load(arrivals, profile);
            let whole = times(&load, 5.0, guest, 4, ALONE, seed);
            let parts: Vec<Vec<Nanos>> = (0..of).map(|thread| times(&load, 5.0, guest, 4, Share { thread, of }, seed)).collect();
            let longest = parts.iter().map(Vec::len).max().unwrap_or(0);
            prop_assert!(parts.iter().all(|part| part.len() + 1 >= longest), "shares are even");
            let mut all = parts.concat();
            all.sort_unstable();
            prop_assert_eq!(all, whole);
        }

        /// In any span there come as many as the rate integrates to: uniform arrivals to within
        /// one, a Poisson number to within six standard deviations and some.
        #[test]
        fn numbers_follow_the_integral_of_the_profile(seed in any::<u64>(), profile in profile(), from in 0.0..5.0f64, to in 0.0..5.0f64) {
            let (from, to) = (from.min(to), from.max(to));
            for arrivals in [Arrivals::Uniform, Arrivals::Poisson] {
                let load = load(arrivals, profile.clone());
                let course = Course::new(&load.profile, &phases(0.0, 0.0, 5.0, 0.0));
                let expected = course.integral(to) - course.integral(from);
                let span = (from * 1e9) as Nanos..(to * 1e9) as Nanos;
                let all = times(&load, 5.0, 0, 1, ALONE, seed);
                let came = all.iter().filter(|at| span.contains(*at)).count() as f64;
                let allowed = match arrivals {
                    Arrivals::Uniform => 1.01,
                    Arrivals::Poisson => 4.0 + 6.0 * expected.sqrt(),
                };
                prop_assert!((came - expected).abs() <= allowed, "{arrivals:?}: {came} instead of \
                    {expected}");
                prop_assert!(all.is_sorted());
            }
        }
    }
}
