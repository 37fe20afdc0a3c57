//! What a pilot, one trial that is longer than the others, says of how long these must be.
//!
//! A wish for an interval ("throughput within 2 %") is one for times: users must settle before
//! anything is measured, and the window must be long enough that its mean lies within the wish.
//! Both follow from the seconds of a pilot. How long to settle is where [`steady_from`] finds it
//! steady ([`settle_s`]). How long to measure follows from the interval of the pilot's own window
//! ([`Window::of_mean`], [`Window::of_percentile`]): it shrinks with the root of the length, so
//! that a window of T (h / d)^2 has half of its interval at d, where one of T has it at h. The
//! window is then such that a single trial meets the wish within itself; how trials differ from
//! each other is what repeats are for ([`adaptive`](crate::adaptive)).
//!
//! The interval of the pilot allows for seconds that are alike ([`BatchMeans`]). That a lab should
//! choose its times by such tests, and say where they fail, is the idea of Kogias, Mallon, Bugnion,
//! "Lancet: A self-correcting latency measuring tool", USENIX ATC 2019.

use crate::{
    BatchMeans, PercentilePoint,
    steady::{SteadyFrom, steady_from},
};

/// Times are chosen in steps of so many seconds: digits beyond that are those of chance.
const STEP_S: f64 = 5.0;
/// Users settle for at least so long.
const LEAST_SETTLE_S: f64 = 5.0;
/// What is found of a warm-up is lengthened by this: another trial may take longer.
const SETTLE_MARGIN: f64 = 1.25;
/// Where a pilot was steady nowhere, trials settle for this share of it.
const NEVER_STEADY: f64 = 0.5;

/// A window that would be long enough.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// Its length, seconds; not bounded and not rounded.
    pub seconds: f64,
    /// Whether the interval that it rests on may be trusted: its batches pass as independent, and
    /// its values are enough.
    pub reliable: bool,
}

impl Window {
    /// For the mean of a series of steady seconds to lie within `share` of itself, 0 < `share`,
    /// with 95 %. `None` of fewer than six seconds, or where the mean is 0.
    ///
    /// ```
    /// use rookery_stats::pilot::Window;
    /// // Half of the interval of 60 such seconds is about 0.5 %.
    /// let series: Vec<f64> = (0..60).map(|second| 100.0 + f64::from(second * 7 % 5)).collect();
    /// let window = Window::of_mean(&series, 0.001).expect("a mean");
    /// assert!(window.seconds > 60.0);
    /// ```
    #[must_use]
    pub fn of_mean(series: &[f64], share: f64) -> Option<Self> {
        let batches = BatchMeans::from_series(series)?;
        let half = batches.half_width / batches.mean.abs();
        half.is_finite().then(|| Self {
            seconds: stretched(series.len() as f64, half, share),
            // Seconds that are all equal depend on nothing.
            reliable: half == 0.0 || batches.reliable(),
        })
    }

    /// For a percentile that was found in `seconds`, with the bounds that its ranks give it, to lie
    /// within `share` of itself. `None` where one of its ends is not bounded: the tail is too thin
    /// to say anything of it.
    #[must_use]
    pub fn of_percentile(found: &PercentilePoint, seconds: f64, share: f64) -> Option<Self> {
        let (low, high) = (found.low_us?, found.high_us?);
        let half = high.saturating_sub(low) as f64 / 2.0 / found.value_us.max(1) as f64;
        Some(Self {
            seconds: stretched(seconds, half, share),
            reliable: true,
        })
    }
}

/// The length at which half of an interval is `share`, where it is `half` at `seconds`.
fn stretched(seconds: f64, half: f64, share: f64) -> f64 {
    seconds * (half / share).powi(2)
}

/// From where on all of these series of one pilot are steady, seconds.
#[must_use]
pub fn all_steady_from(series: &[Vec<f64>]) -> SteadyFrom {
    let mut latest = 0;
    for one in series {
        match steady_from(one) {
            SteadyFrom::Nowhere => return SteadyFrom::Nowhere,
            SteadyFrom::Value(value) => latest = latest.max(value),
        }
    }
    SteadyFrom::Value(latest)
}

/// How long trials must settle for a pilot of `length_s` that was steady from there on, seconds.
#[must_use]
pub fn settle_s(from: SteadyFrom, length_s: f64) -> f64 {
    match from {
        SteadyFrom::Value(second) => rounded_up(SETTLE_MARGIN * second as f64).max(LEAST_SETTLE_S),
        SteadyFrom::Nowhere => rounded_up(NEVER_STEADY * length_s),
    }
}

/// The next step at or above a time, seconds.
#[must_use]
pub fn rounded_up(seconds: f64) -> f64 {
    (seconds / STEP_S).ceil() * STEP_S
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rookery_workload::random::{RandomSource as _, SplitMix64};

    use super::*;

    /// Seconds around 100, of which each takes `rho` from the one before.
    fn seconds(stream: &mut SplitMix64, length: usize, rho: f64, deviation: f64) -> Vec<f64> {
        let step = deviation * (1.0 - rho * rho).sqrt();
        let mut value = deviation * stream.normal();
        let next = |_| {
            value = rho * value + step * stream.normal();
            100.0 + value
        };
        (0..length).map(next).collect()
    }

    fn mean(series: &[f64]) -> f64 {
        series.iter().sum::<f64>() / series.len() as f64
    }

    #[test]
    fn the_chosen_window_keeps_the_wish_in_95_percent_of_trials() {
        let mut stream = SplitMix64::new(41);
        for (rho, deviation, share) in [
            (0.0, 10.0, 0.02),
            (0.0, 10.0, 0.01),
            (0.5, 10.0, 0.02),
            (0.8, 5.0, 0.02),
        ] {
            let kept = (0..1_000).filter(|_| {
                let pilot = seconds(&mut stream, 130, rho, deviation);
                let window = Window::of_mean(&pilot, share).expect("a mean").seconds;
                let trial = seconds(&mut stream, window.ceil() as usize, rho, deviation);
                (mean(&trial) - 100.0).abs() <= share * 100.0
            });
            let kept = kept.count();
            assert!(
                (920..=980).contains(&kept),
                "rho {rho}, deviation {deviation}, wish {share}: {kept} of 1000"
            );
        }
    }

    #[test]
    fn what_depends_on_itself_for_long_asks_for_more_and_is_not_trusted() {
        let mut stream = SplitMix64::new(42);
        let mut of = |rho| {
            let all = (0..200)
                .filter_map(|_| Window::of_mean(&seconds(&mut stream, 130, rho, 5.0), 0.02));
            let all: Vec<Window> = all.collect();
            let trusted = all.iter().filter(|window| window.reliable).count();
            (
                mean(&all.iter().map(|window| window.seconds).collect::<Vec<_>>()),
                trusted,
            )
        };
        let ((free, trusted), (alike, doubted)) = (of(0.0), of(0.95));
        assert!(alike > 5.0 * free, "{alike} {free}");
        assert!(trusted > 190 && doubted < 100, "{trusted} {doubted}");
    }

    #[test]
    fn a_constant_needs_no_window_and_a_ramp_is_steady_nowhere() {
        let constant = vec![7.0; 130];
        assert_eq!(
            Window::of_mean(&constant, 0.02),
            Some(Window {
                seconds: 0.0,
                reliable: true
            })
        );
        assert_eq!(steady_from(&constant), SteadyFrom::Value(0));
        assert!((settle_s(SteadyFrom::Value(0), 130.0) - LEAST_SETTLE_S).abs() < 1e-9);
        let ramp: Vec<f64> = (1..=130).map(f64::from).collect();
        assert_eq!(steady_from(&ramp), SteadyFrom::Nowhere);
        assert_eq!(all_steady_from(&[constant, ramp]), SteadyFrom::Nowhere);
        assert!((settle_s(SteadyFrom::Nowhere, 130.0) - 65.0).abs() < 1e-9);
        assert_eq!(
            Window::of_mean(&[0.0; 130], 0.02),
            None,
            "no share of nothing"
        );
    }

    #[test]
    fn a_warm_up_is_left_out() {
        let mut stream = SplitMix64::new(43);
        let mut series = seconds(&mut stream, 130, 0.0, 2.0);
        for (second, value) in series.iter_mut().take(20).enumerate() {
            *value *= 0.3 + 0.035 * second as f64;
        }
        let SteadyFrom::Value(cut) = steady_from(&series) else {
            panic!("steady behind its warm-up");
        };
        // MSER-5 cuts where noise lets it, but not within the climb.
        assert!((15..=40).contains(&cut), "{cut}");
        let settle = settle_s(SteadyFrom::Value(cut), 130.0);
        assert!(settle >= cut as f64 && settle % STEP_S == 0.0, "{settle}");
    }

    #[test]
    fn a_percentile_needs_bounds() {
        let bounded = |low_us, high_us| PercentilePoint {
            percentile: 99.0,
            value_us: 1_000,
            low_us,
            high_us,
        };
        // Half of the interval is 10 %, twice the wish: four times as long.
        let window = Window::of_percentile(&bounded(Some(900), Some(1_100)), 60.0, 0.05);
        assert!((window.expect("bounds").seconds - 240.0).abs() < 1e-9);
        assert_eq!(
            Window::of_percentile(&bounded(Some(900), None), 60.0, 0.05),
            None
        );
    }

    proptest! {
        #[test]
        fn a_smaller_wish_needs_a_longer_window(
            series in prop::collection::vec(1.0..100.0f64, 60..140), share in 0.005..0.2f64,
        ) {
            let of = |share| Window::of_mean(&series, share).expect("a mean").seconds;
            prop_assert!((of(share / 2.0) - 4.0 * of(share)).abs() <= 1e-6 * of(share).max(1.0));
        }

        #[test]
        fn scale_changes_no_choice(
            series in prop::collection::vec(1.0..100.0f64, 60..140), scale in 0.1..10.0f64,
        ) {
            let scaled: Vec<f64> = series.iter().map(|value| scale * value).collect();
            let (plain, scaled) = (Window::of_mean(&series, 0.02), Window::of_mean(&scaled, 0.02));
            let (plain, scaled) = (plain.expect("a mean"), scaled.expect("a mean"));
            prop_assert!((plain.seconds - scaled.seconds).abs() <= 1e-6 * plain.seconds.max(1.0));
        }
    }
}
