//! The smallest change that a number of repeats can find, and the number of repeats that a change
//! needs.
//!
//! A change is found when its 95 % interval leaves zero out. The formula for a true change that is
//! found in four of five cases is that of Cohen, "Statistical Power Analysis for the Behavioral
//! Sciences" (1988), with Student's t in place of the normal quantiles, because the scatter is
//! itself estimated:
//!
//! change = (t(0.975, df) + t(0.8, df)) x standard error.
//!
//! All deviations and changes are in one unit. For relative changes take the coefficient of
//! variation, or the standard deviation of logarithms: a change d of the logarithm is a factor
//! exp(d).
//!
//! To plan a study: take the deviation of earlier repeats, ask [`pairs_for`] (trials of one block
//! compared) or [`repeats_for`] (two lots). To judge one that is done: [`detectable_paired`] or
//! [`detectable_between`] beside every "no difference seen".

use crate::student::{t_975, t_central};

/// The probability with which a change of the stated size is found.
pub const POWER: f64 = 0.8;
/// No study needs more repeats than this; a change that does is not to be found.
const MOST: u32 = 1_000;

/// t(0.975, df) + t(0.8, df): how many standard errors a change must be to be found in four of five
/// cases. `None` for `df` = 0.
#[must_use]
pub fn reach(df: u32) -> Option<f64> {
    Some(t_975(df)? + t_central(2.0 * POWER - 1.0, df)?)
}

/// The change that `pairs` differences of standard deviation `deviation` find; `None` below two
/// pairs, or for a deviation that is negative or not finite.
#[must_use]
pub fn detectable_paired(deviation: f64, pairs: u32) -> Option<f64> {
    Some(reach(pairs.checked_sub(1)?)? * usable(deviation)? / f64::from(pairs).sqrt())
}

/// The change that two lots of `first` and `second` repeats find, each of standard deviation
/// `deviation`; `None` when a lot is empty, both hold a single repeat, or for a deviation that is
/// negative or not finite.
///
/// ```
/// // Five repeats a side that scatter by 2 %: a change of less than 4.1 % may well go unseen.
/// let change = rookery_stats::detectable_between(0.02, 5, 5).unwrap();
/// assert!((change - 0.0404).abs() < 1e-4);
/// ```
#[must_use]
pub fn detectable_between(deviation: f64, first: u32, second: u32) -> Option<f64> {
    if first == 0 || second == 0 {
        return None;
    }
    let df = first.checked_add(second)? - 2;
    let weight = 1.0 / f64::from(first) + 1.0 / f64::from(second);
    Some(reach(df)? * usable(deviation)? * weight.sqrt())
}

/// The fewest pairs that find `change`; `None` when 1000 do not, or when a number is out of range
/// (`change` > 0).
#[must_use]
pub fn pairs_for(deviation: f64, change: f64) -> Option<u32> {
    fewest(2, change, |pairs| detectable_paired(deviation, pairs))
}

/// The fewest repeats of each of two lots that find `change`; `None` as for [`pairs_for`].
#[must_use]
pub fn repeats_for(deviation: f64, change: f64) -> Option<u32> {
    fewest(2, change, |repeats| {
        detectable_between(deviation, repeats, repeats)
    })
}

fn usable(deviation: f64) -> Option<f64> {
    (deviation.is_finite() && deviation >= 0.0).then_some(deviation)
}

/// Bisection: the detectable change falls with every further repeat.
fn fewest(least: u32, change: f64, detectable: impl Fn(u32) -> Option<f64>) -> Option<u32> {
    let finds = |count| detectable(count).is_some_and(|smallest| smallest <= change);
    if !(change > 0.0 && finds(MOST)) {
        return None;
    }
    let (mut low, mut high) = (least, MOST);
    while low < high {
        let middle = low.midpoint(high);
        if finds(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    Some(low)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rookery_workload::random::{RandomSource as _, SplitMix64};

    use super::*;

    #[test]
    fn pairs_and_lots_follow_the_formula() {
        // t(0.975, 5) = 2.570582, t(0.8, 5) = 0.919544.
        let paired = detectable_paired(0.02, 6).expect("six pairs");
        assert!(
            (paired - 3.490_126 * 0.02 / 6f64.sqrt()).abs() < 1e-7,
            "{paired}"
        );
        assert_eq!(detectable_paired(0.02, 1), None);
        assert_eq!(detectable_between(0.02, 1, 1), None);
        assert_eq!(detectable_between(0.02, 0, 9), None);
        assert_eq!(
            (detectable_paired(f64::NAN, 5), detectable_paired(-1.0, 5)),
            (None, None)
        );
        assert_eq!((pairs_for(0.02, 0.0), pairs_for(1.0, 1e-9)), (None, None));
        assert_eq!(pairs_for(0.0, 0.01), Some(2));
    }

    /// The promise itself: a change of the detectable size is found in about four of five simulated
    /// studies.
    #[test]
    fn four_of_five_studies_find_a_change_of_the_detectable_size() {
        let mut stream = SplitMix64::new(11);
        for repeats in [4_u32, 10] {
            let change = detectable_between(1.0, repeats, repeats).expect("repeats");
            let found = (0..4_000)
                .filter(|_| finds(&mut stream, repeats, change))
                .count();
            let share = found as f64 / 4_000.0;
            assert!((share - POWER).abs() < 0.03, "{repeats} repeats: {share}");
        }
    }

    fn finds(stream: &mut SplitMix64, repeats: u32, change: f64) -> bool {
        let mut lot = |shift: f64| -> (f64, f64) {
            let values: Vec<f64> = (0..repeats).map(|_| shift + stream.normal()).collect();
            let mean = values.iter().sum::<f64>() / f64::from(repeats);
            (
                mean,
                values.iter().map(|value| (value - mean).powi(2)).sum(),
            )
        };
        let ((a, squares_a), (b, squares_b)) = (lot(0.0), lot(change));
        let df = 2 * repeats - 2;
        let error = ((squares_a + squares_b) / f64::from(df) * 2.0 / f64::from(repeats)).sqrt();
        (b - a).abs() > t_975(df).expect("degrees of freedom") * error
    }

    proptest! {
        #[test]
        fn the_fewest_repeats_find_the_change_and_one_less_does_not(deviation in 0.001..0.5f64, change in 0.01..1.0f64) {
            for (count, detectable) in [
                (pairs_for(deviation, change), &detectable_paired as &dyn Fn(f64, u32) -> Option<f64>),
                (repeats_for(deviation, change), &|deviation, n| detectable_between(deviation, n, n)),
            ] {
                let Some(count) = count else { continue };
                prop_assert!(detectable(deviation, count).expect("a count") <= change);
                prop_assert!(count == 2 || detectable(deviation, count - 1).is_none_or(|smallest| smallest > change));
            }
        }

        #[test]
        fn more_repeats_find_smaller_changes(deviation in 0.001..0.5f64, repeats in 2u32..200) {
            prop_assert!(detectable_paired(deviation, repeats + 1) < detectable_paired(deviation, repeats));
            prop_assert!(detectable_between(deviation, repeats, repeats + 1) < detectable_between(deviation, repeats, repeats));
        }
    }
}
