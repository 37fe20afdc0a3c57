//! Random streams: generators, and what is drawn from them.
//!
//! Every stream follows from a seed alone, and a stored run names nothing but its seed: what a
//! generator or a draw gives for a seed never changes. [`RandomSource`] is what all generators
//! have; [`SplitMix64`] is for shuffles, resampling and seeds of other streams, [`Xoshiro256`] for
//! long streams of bits, [`PurposeStream`] for simulations. The generators of published data
//! stand with the workload that needs them.

mod exponential;
mod purpose;
mod split_mix;
mod weighted;
mod xoshiro;

pub use exponential::ExponentialTable;
pub use purpose::PurposeStream;
use rand_core::Rng as _;
use rand_pcg::Pcg32;
pub use split_mix::{GOLDEN_GAMMA, SplitMix64, mix};
pub(crate) use weighted::weighted_index;
pub use xoshiro::Xoshiro256;

/// A source of random bits, and the draws that all sources share.
pub trait RandomSource {
    /// 64 random bits.
    fn bits(&mut self) -> u64;

    /// A uniform integer below `bound`, 0 when `bound` is 0.
    ///
    /// The upper half of 64 bits times the bound (D. Lemire, "Fast Random Integer Generation in an
    /// Interval", ACM TOMACS 29(1), 2019, without the rejection step): the bias is below `bound` /
    /// 2^64.
    #[inline]
    fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(bound)) >> 64) as u64
    }

    /// A uniform index of a list of `count`, 0 when it is empty.
    #[inline]
    fn index(&mut self, count: usize) -> usize {
        rookery_cast::index(self.below(count as u64))
    }

    /// A uniform number in [0, 1).
    #[inline]
    fn fraction(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * UNIT
    }

    /// A uniform number in (0, 1], so that its logarithm is finite.
    #[inline]
    fn unit(&mut self) -> f64 {
        unit(self.bits())
    }

    /// An exponential number of mean 1, by inversion.
    #[inline]
    fn exponential(&mut self) -> f64 {
        -self.unit().ln()
    }

    /// A normal number of mean 0 and standard deviation 1 (G. E. P. Box and M. E. Muller, "A Note
    /// on the Generation of Random Normal Deviates", Annals of Mathematical Statistics 29, 1958).
    fn normal(&mut self) -> f64 {
        let (radius, cosine) = polar(self);
        radius * cosine
    }

    /// A log-normal number of median 1, whose logarithm has the standard deviation `sigma`.
    fn log_normal(&mut self, sigma: f64) -> f64 {
        let (radius, cosine) = polar(self);
        (sigma * radius * cosine).exp()
    }

    /// Shuffles in place (R. A. Fisher and F. Yates; D. E. Knuth, TAOCP 2, 3.4.2, algorithm P).
    fn shuffle<T>(&mut self, list: &mut [T]) {
        for last in (1..list.len()).rev() {
            let other = self.index(last + 1);
            list.swap(last, other);
        }
    }
}

/// A normal number by its factors: multiplied with others in another order, it gives another last
/// digit.
fn polar(source: &mut (impl RandomSource + ?Sized)) -> (f64, f64) {
    let radius = (-2.0 * source.unit().ln()).sqrt();
    (radius, (std::f64::consts::TAU * source.unit()).cos())
}

/// The distance of neighbours among the 2^53 numbers that a fraction takes.
const UNIT: f64 = 1.0 / (1_u64 << 53) as f64;

/// The number in (0, 1] of 64 random bits.
#[inline]
fn unit(bits: u64) -> f64 {
    ((bits >> 11) + 1) as f64 * UNIT
}

impl RandomSource for Pcg32 {
    #[inline]
    fn bits(&mut self) -> u64 {
        self.next_u64()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives the same bits for ever.
    struct Fixed(u64);

    impl RandomSource for Fixed {
        fn bits(&mut self) -> u64 {
            self.0
        }
    }

    #[test]
    fn draws_reach_both_ends_of_their_range_and_no_further() {
        let (mut low, mut high) = (Fixed(0), Fixed(u64::MAX));
        assert_eq!((low.fraction(), high.unit()), (0.0, 1.0));
        assert!(low.unit() > 0.0 && high.fraction() < 1.0);
        assert_eq!(
            (low.below(7), high.below(7), high.index(3), high.below(0)),
            (0, 6, 2, 0)
        );
        assert_eq!(high.exponential(), 0.0);
        assert!(low.exponential().is_finite() && low.normal().is_finite());
    }

    #[test]
    fn moments_are_those_of_the_distributions() {
        const DRAWS: u32 = 200_000;
        let mut source = SplitMix64::new(7);
        let mut mean_and_square = |draw: fn(&mut SplitMix64) -> f64| {
            let draws: Vec<f64> = (0..DRAWS).map(|_| draw(&mut source)).collect();
            let mean = |of: fn(f64) -> f64| {
                draws.iter().map(|&value| of(value)).sum::<f64>() / f64::from(DRAWS)
            };
            (mean(|value| value), mean(|value| value * value))
        };
        for (name, draw, mean, square) in [
            (
                "fraction",
                SplitMix64::fraction as fn(&mut _) -> _,
                0.5,
                1.0 / 3.0,
            ),
            ("unit", SplitMix64::unit, 0.5, 1.0 / 3.0),
            ("exponential", SplitMix64::exponential, 1.0, 2.0),
            ("normal", SplitMix64::normal, 0.0, 1.0),
            (
                "logarithm",
                |source| source.log_normal(0.1).ln() / 0.1,
                0.0,
                1.0,
            ),
        ] {
            let found = mean_and_square(draw);
            assert!(
                (found.0 - mean).abs() < 0.015 && (found.1 - square).abs() < 0.06,
                "{name}: {found:?}"
            );
        }
    }

    #[test]
    fn integers_below_a_bound_are_equally_likely() {
        let mut source = SplitMix64::new(7);
        let mut counts = [0_u32; 5];
        (0..50_000).for_each(|_| counts[source.index(5)] += 1);
        assert!(
            counts.iter().all(|count| count.abs_diff(10_000) < 400),
            "{counts:?}"
        );
    }

    #[test]
    fn shuffles_reach_every_order_about_equally() {
        let mut source = SplitMix64::new(7);
        let mut counts = std::collections::BTreeMap::new();
        for _ in 0..6000 {
            let mut list = [1, 2, 3];
            source.shuffle(&mut list);
            *counts.entry(list).or_insert(0) += 1;
        }
        assert_eq!(counts.len(), 6);
        // Six standard deviations of a binomial with n = 6000, p = 1/6.
        assert!(
            counts.values().all(|count| (827..=1173).contains(count)),
            "{counts:?}"
        );
    }
}
