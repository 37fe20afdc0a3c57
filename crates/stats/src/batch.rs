//! An interval within one trial: batch means.
//!
//! Seconds that follow each other are alike, so the scatter of single seconds promises too much.
//! Means of long stretches (batches) are nearly independent, and Student's t over them gives an
//! honest interval:
//!
//! mean +- t(0.975, b-1) s_b / sqrt(b). Source: Law, "Simulation Modeling and Analysis", chapter 9.
//!
//! [`BatchMeans::from_series`] takes 20 batches, and fewer but longer ones while their means still
//! depend on each other. Batches of a short window keep some dependence that no test sees, so it
//! widens the interval by what a series of the same lag-1 correlation would lack; of simulated
//! series 94 to 96 % of the intervals then hold the true mean, where plain ones hold it in as few
//! as 83 %.
//!
//! The interval holds for this one trial only; with repeats, show the interval between repeats
//! ([`Summary`](crate::Summary)) instead. To use it: hand in the seconds of the window (throughput,
//! mean response), show mean and half-width labelled "within one run", and where not
//! [`BatchMeans::reliable`], "interval unreliable".

use crate::t_975;

/// Batches to begin with.
const BATCHES: usize = 20;
/// Fewest batches that longer ones are merged down to; with fewer the tests of independence see
/// nothing.
const FEWEST: usize = 10;
/// Fewest batches that carry an interval at all.
const LEAST: usize = 6;
/// A series worth fewer independent values tells too little of its own correlation.
const FEWEST_EFFECTIVE: f64 = 10.0;

/// Mean of a series with an interval that allows for neighbours being alike.
#[derive(Clone, Debug, PartialEq)]
pub struct BatchMeans {
    /// Means of the batches, in order.
    pub means: Vec<f64>,
    /// Values per batch.
    pub length: usize,
    /// Mean of all batches.
    pub mean: f64,
    /// Half of the 95 % interval, in the unit of the values; [`Self::widening`] is in it.
    pub half_width: f64,
    /// Factor, at least 1, for the dependence that batches of this length keep; 1 for
    /// [`Self::in_batches`].
    pub widening: f64,
    /// How many independent values the series is worth: see [`effective_count`].
    pub effective: f64,
    /// Correlation of each batch mean with the next.
    pub lag1: f64,
    /// Sum of squared steps between neighbours over sum of squares around the mean; near 2 for
    /// independent batches.
    pub von_neumann: f64,
}

impl BatchMeans {
    /// Of a series of equal time steps (for example throughput per second) within steady state: 20
    /// batches, or down to 10 longer ones until [`Self::independent`]. A remainder at the begin
    /// that fills no batch is left out. `None` below 6 values, or when one is not finite.
    #[must_use]
    pub fn from_series(series: &[f64]) -> Option<Self> {
        let most = BATCHES.min(series.len());
        let mut batches = Self::in_batches(series, most)?;
        for count in (FEWEST..most).rev() {
            if batches.independent() {
                break;
            }
            batches = Self::in_batches(series, count)?;
        }
        batches.widening = widening(series, batches.means.len());
        batches.half_width *= batches.widening;
        Some(batches)
    }

    /// With this many batches, at least 6, of equal length, as they are. `None` for fewer values
    /// than batches, or when one is not finite.
    #[must_use]
    pub fn in_batches(series: &[f64], count: usize) -> Option<Self> {
        if count < LEAST || series.len() < count || series.iter().any(|value| !value.is_finite()) {
            return None;
        }
        let length = series.len() / count;
        let kept = &series[series.len() - count * length..];
        let means: Vec<f64> = kept
            .chunks(length)
            .map(|batch| batch.iter().sum::<f64>() / length as f64)
            .collect();
        let mean = means.iter().sum::<f64>() / count as f64;
        let squares: f64 = means.iter().map(|value| (value - mean).powi(2)).sum();
        let steps: f64 = means
            .windows(2)
            .map(|pair| (pair[1] - pair[0]).powi(2))
            .sum();
        let t = t_975(u32::try_from(count - 1).ok()?)?;
        Some(Self {
            mean,
            half_width: t * (squares / ((count - 1) * count) as f64).sqrt(),
            lag1: autocorrelation(&means),
            von_neumann: if squares > 0.0 { steps / squares } else { 2.0 },
            means,
            length,
            widening: 1.0,
            effective: effective_count(kept),
        })
    }

    /// Whether the means pass as independent: |lag-1 correlation| < 2 / sqrt(b), and von Neumann's
    /// ratio within 2 +- 3.92 sqrt((b - 2) / (b^2 - 1)).
    #[must_use]
    pub fn independent(&self) -> bool {
        let b = self.means.len() as f64;
        let reach = 3.92 * ((b - 2.0) / (b * b - 1.0)).sqrt();
        self.lag1.abs() < 2.0 / b.sqrt() && (self.von_neumann - 2.0).abs() <= reach
    }

    /// Whether the interval may be trusted: the batches pass as independent, and the series is
    /// worth at least ten independent values.
    #[must_use]
    pub fn reliable(&self) -> bool {
        self.independent() && self.effective >= FEWEST_EFFECTIVE
    }
}

/// Correlation of each value with the next; 0 for a constant series.
#[must_use]
pub fn autocorrelation(series: &[f64]) -> f64 {
    let mean = series.iter().sum::<f64>() / series.len() as f64;
    let squares: f64 = series.iter().map(|value| (value - mean).powi(2)).sum();
    let products: f64 = series
        .windows(2)
        .map(|pair| (pair[0] - mean) * (pair[1] - mean))
        .sum();
    if squares > 0.0 {
        products / squares
    } else {
        0.0
    }
}

/// How many independent values a series is worth, if each depends on the one before alone: n (1 -
/// r1) / (1 + r1), at most n.
#[must_use]
pub fn effective_count(series: &[f64]) -> f64 {
    let r1 = autocorrelation(series).max(0.0);
    series.len() as f64 * (1.0 - r1) / (1.0 + r1)
}

/// By how much batch means of this length understate the deviation of the whole mean, if each value
/// depends on the one before alone (correlation r); at least 1.
///
/// The variance of a mean of m such values is sigma^2/m ((1 + r)/(1 - r) - 2 r (1 - r^m)/(m (1 -
/// r)^2)): Law, section 4.4, summed. The scatter of b batch means around their own mean is on
/// average b/(b-1) of what a batch has more of it than the whole.
fn widening(series: &[f64], count: usize) -> f64 {
    let n = series.len() as f64;
    let plain = autocorrelation(series);
    // An estimate from n values is too small by about (1 + 3 r) / n: Kendall, Biometrika 41 (1954)
    // 403.
    let r = (plain + (1.0 + 3.0 * plain) / n).clamp(0.0, 0.98);
    let deviation = |length: f64| {
        (1.0 + r) / (1.0 - r) - 2.0 * r * (1.0 - r.powf(length)) / (length * (1.0 - r).powi(2))
    };
    let (b, whole) = (count as f64, deviation(n));
    let seen = (deviation(n / b) - whole / b) * b / (b - 1.0);
    (whole / seen).max(1.0).sqrt()
}
#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rookery_workload::random::{RandomSource as _, SplitMix64};

    use super::*;

    const SERIES: [f64; 60] = [
        100.0, 100.1, 102.8, 104.1, 101.4, 100.3, 99.1, 100.6, 100.3, 101.6, 97.3, 101.5, 100.7,
        101.8, 100.8, 99.7, 100.8, 102.1, 100.9, 100.2, 101.5, 99.2, 96.5, 98.7, 97.9, 94.9, 95.3,
        96.2, 95.4, 94.2, 96.6, 99.8, 99.4, 98.1, 99.7, 101.2, 100.1, 101.2, 102.8, 101.3, 99.1,
        100.2, 100.6, 102.6, 99.0, 98.1, 97.2, 94.8, 97.1, 99.3, 98.1, 101.6, 102.6, 102.8, 102.5,
        103.4, 99.4, 100.9, 101.7, 97.5,
    ];

    #[test]
    fn the_worked_example_comes_out() {
        let found = BatchMeans::in_batches(&SERIES, 6).expect("six batches");
        let means = [101.03, 100.58, 96.98, 100.02, 98.8, 101.05];
        assert!(
            found
                .means
                .iter()
                .zip(means)
                .all(|(found, known)| (found - known).abs() < 1e-9)
        );
        for (found, known) in [
            (found.mean, 99.743_333_333_333_3),
            (found.half_width, 1.670_240_918_872_46),
            (found.lag1, -0.275_840_439_344_491),
            (found.von_neumann, 2.286_161_701_231_71),
            (autocorrelation(&SERIES), 0.642_560_494_101_175),
            (effective_count(&SERIES), 13.056_670_016_689_5),
        ] {
            assert!((found - known).abs() < 1e-9, "{found} for {known}");
        }
        assert_eq!(
            (found.length, found.widening, found.reliable()),
            (10, 1.0, true)
        );
    }

    #[test]
    fn an_interval_needs_batches_of_numbers() {
        assert_eq!(BatchMeans::from_series(&SERIES[..5]), None);
        assert_eq!(BatchMeans::in_batches(&SERIES, 5), None);
        assert_eq!(
            BatchMeans::from_series(&[1.0, 2.0, 3.0, 4.0, 5.0, f64::NAN]),
            None
        );
        let constant = BatchMeans::from_series(&[4.0; 40]).expect("a constant series");
        assert_eq!(
            (constant.mean, constant.half_width, constant.independent()),
            (4.0, 0.0, true)
        );
    }

    /// A series in which each value takes `rho` from the one before, around 0.
    fn ar1(stream: &mut SplitMix64, length: usize, rho: f64) -> Vec<f64> {
        let mut value = stream.normal() / (1.0 - rho * rho).sqrt();
        let step = |_| {
            value = rho * value + stream.normal();
            value
        };
        (0..length).map(step).collect()
    }

    #[test]
    fn ninety_five_percent_of_intervals_hold_the_mean_of_alike_neighbours() {
        let mut stream = SplitMix64::new(5);
        for (length, rho) in [
            (60, 0.0),
            (60, 0.5),
            (120, 0.5),
            (300, 0.5),
            (600, 0.5),
            (120, 0.8),
            (300, 0.8),
            (300, 0.9),
            (600, 0.9),
        ] {
            let hits = (0..1_000).filter(|_| {
                let found =
                    BatchMeans::from_series(&ar1(&mut stream, length, rho)).expect("values");
                found.mean.abs() <= found.half_width
            });
            let hits = hits.count();
            assert!(
                (920..=970).contains(&hits),
                "{length} values, rho {rho}: {hits} of 1000"
            );
        }
    }

    /// Mean responses of a queue as a driver would see them, second by second: M/M/1, whose
    /// responses hang together for long and are far from normal.
    #[test]
    fn ninety_five_percent_of_intervals_hold_the_mean_response_of_a_queue() {
        let mut stream = SplitMix64::new(12);
        for (rho, seconds, per_second) in [
            (0.3, 60, 40),
            (0.5, 120, 50),
            (0.5, 60, 200),
            (0.7, 120, 200),
        ] {
            let truth = 1.0 / (1.0 - rho);
            let hits = (0..1_000).filter(|_| {
                // The time in the system of an M/M/1 in steady state is exponential: a start
                // without warm-up.
                let mut response = -truth * stream.unit().ln();
                let mut second = |_| {
                    let mut sum = 0.0;
                    for _ in 0..per_second {
                        let (gap, service) = (-stream.unit().ln() / rho, -stream.unit().ln());
                        // Lindley, Proc. Cambridge Philosophical Society 48 (1952) 277.
                        response = f64::max(response - gap, 0.0) + service;
                        sum += response;
                    }
                    sum / f64::from(per_second)
                };
                let series: Vec<f64> = (0..seconds).map(&mut second).collect();
                let found = BatchMeans::from_series(&series).expect("values");
                (found.mean - truth).abs() <= found.half_width
            });
            let hits = hits.count();
            assert!(
                (920..=970).contains(&hits),
                "rho {rho}, {seconds} s of {per_second}: {hits} of 1000"
            );
        }
    }

    #[test]
    fn what_cannot_be_trusted_is_called_so() {
        let mut stream = SplitMix64::new(6);
        let mut reliable = |length, rho| {
            let found = (0..200).filter(|_| {
                BatchMeans::from_series(&ar1(&mut stream, length, rho))
                    .is_some_and(|found| found.reliable())
            });
            found.count()
        };
        assert!(reliable(120, 0.5) > 195);
        assert!(reliable(60, 0.95) < 60);
        let ramp: Vec<f64> = (0..100).map(f64::from).collect();
        assert!(
            !BatchMeans::from_series(&ramp)
                .expect("values")
                .independent()
        );
    }

    proptest! {
        #[test]
        fn shift_and_scale_pass_through(series in prop::collection::vec(-100.0..100.0f64, 20..200), shift in -50.0..50.0f64, scale in 0.1..10.0f64) {
            let plain = BatchMeans::from_series(&series).expect("values");
            let changed: Vec<f64> = series.iter().map(|value| scale * value + shift).collect();
            let changed = BatchMeans::from_series(&changed).expect("values");
            prop_assert!((changed.mean - (scale * plain.mean + shift)).abs() < 1e-6);
            prop_assert!((changed.half_width - scale * plain.half_width).abs() < 1e-6);
            prop_assert!(plain.widening >= 1.0 && plain.effective <= series.len() as f64);
        }
    }
}
