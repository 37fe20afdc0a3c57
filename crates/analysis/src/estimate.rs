//! Means and percentiles with the interval that their trials carry, and what kind of interval that
//! is. Pure.

use rookery_stats::{
    BatchMeans, Latencies, Measurement, PercentilePoint, Ratio, SecondSample, Spread, Summary,
    WIDEST, adaptive::Rule, effective_count,
};
use rookery_study::{Load, RepeatGoal};

use crate::schema::data;

data! {
    /// What an interval rests on.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum EstimateBasis {
        /// Nothing: a single trial whose seconds say too little.
        Nothing,
        /// The seconds of a single trial: it says nothing of how trials differ.
        Within {
            /// Whether the seconds are independent and many enough.
            reliable: bool,
        },
        /// Smallest and largest of the trials: they are two, or lie too far apart for more.
        Range,
        /// Student's t over so many trials.
        Repeats {
            /// How many.
            trials: u32,
        },
        /// So many trials, repeated for the interval: it keeps to the scatter of the first lot.
        Adaptive {
            /// How many.
            trials: u32,
        },
    }
}

data! {
    /// A mean with its interval.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Estimate {
        /// Mean over trials.
        pub mean: f64,
        /// Ends of the interval, if there is one.
        pub ends: Option<(f64, f64)>,
        /// What the interval rests on.
        pub basis: EstimateBasis,
    }
}

impl Estimate {
    /// Of one value for each trial. `rule` where the study repeats for the interval, `seconds` the
    /// same quantity second by second of a single trial.
    #[must_use]
    pub fn from_values(
        values: &[f64],
        rule: Option<Rule>,
        seconds: impl FnOnce() -> Vec<f64>,
    ) -> Option<Self> {
        let summary = Summary::from_values(values)?;
        let (ends, basis) = match (summary.spread, rule.and_then(|rule| rule.result(values))) {
            (_, Some(repeated)) => (
                Some((
                    repeated.mean - repeated.half_width,
                    repeated.mean + repeated.half_width,
                )),
                EstimateBasis::Adaptive {
                    trials: repeated.count,
                },
            ),
            (Spread::Single, None) => match BatchMeans::from_series(&seconds()) {
                Some(batches) => (
                    // Whole seconds lie a little off the window: the interval is put around the
                    // value of the whole window.
                    Some((
                        summary.mean - batches.half_width,
                        summary.mean + batches.half_width,
                    )),
                    EstimateBasis::Within {
                        reliable: batches.reliable(),
                    },
                ),
                None => (None, EstimateBasis::Nothing),
            },
            (Spread::Range { .. }, None) => (summary.ends(), EstimateBasis::Range),
            // No throughput is below zero.
            (Spread::Interval { half_width }, None) if half_width >= summary.mean => {
                (Some((summary.min, summary.max)), EstimateBasis::Range)
            }
            (Spread::Interval { .. }, None) => (
                summary.ends(),
                EstimateBasis::Repeats {
                    trials: summary.count,
                },
            ),
        };
        let (ends, basis) = match ends {
            Some((low, _)) if low < 0.0 => (None, EstimateBasis::Nothing),
            _ => (ends, basis),
        };
        Some(Self {
            mean: summary.mean,
            ends,
            basis,
        })
    }

    /// Half of the interval.
    #[must_use]
    pub fn half_width(&self) -> Option<f64> {
        self.ends.map(|(low, high)| (high - low) / 2.0)
    }
}

/// The ratio of two independent means; where one was repeated for its interval, both intervals are
/// kept to as they are. Source: Fieller, J. R. Stat. Soc. B 16 (1954) 175.
#[must_use]
pub fn ratio(
    (above, above_values): (&Estimate, &[f64]),
    (below, below_values): (&Estimate, &[f64]),
) -> Option<Ratio> {
    let adaptive = |estimate: &Estimate| matches!(estimate.basis, EstimateBasis::Adaptive { .. });
    if !(adaptive(above) || adaptive(below)) {
        return Ratio::between(above_values, below_values);
    }
    let between_trials = |estimate: &Estimate| {
        let carried = matches!(
            estimate.basis,
            EstimateBasis::Adaptive { .. } | EstimateBasis::Repeats { .. }
        );
        estimate.half_width().filter(|_| carried)
    };
    let interval = between_trials(above)
        .zip(between_trials(below))
        .and_then(|(b, a)| {
            let scale = below.mean * below.mean - a * a;
            let product = above.mean * below.mean;
            let root = (product * product - scale * (above.mean * above.mean - b * b))
                .max(0.0)
                .sqrt();
            (scale > 0.0).then(|| ((product - root) / scale, (product + root) / scale))
        });
    (below.mean > 0.0).then(|| Ratio {
        value: above.mean / below.mean,
        interval,
    })
}

/// The rule by which the points of a study are repeated; `None` where their number is fixed.
#[must_use]
pub fn rule(load: &Load) -> Option<Rule> {
    let target = match load.goal.as_ref()? {
        RepeatGoal::HalfWidth(share) => *share,
        RepeatGoal::Wish(wish) => wish.throughput?,
    };
    Rule::new(load.repeats, load.max_repeats, target).ok()
}

/// The whole seconds of the window: a value of all guests together for each.
#[must_use]
pub fn seconds(measured: &Measurement, value: impl Fn(&[&SecondSample]) -> f64) -> Vec<f64> {
    seconds_from(measured, measured.window.start_s, value)
}

/// The same from a second on that lies elsewhere than the begin of the window.
pub(crate) fn seconds_from(
    measured: &Measurement,
    start_s: f64,
    value: impl Fn(&[&SecondSample]) -> f64,
) -> Vec<f64> {
    let (start, end) = (start_s.ceil().max(0.0), measured.window.end_s.floor());
    let inside = |sample: &&SecondSample| {
        f64::from(sample.second) >= start && f64::from(sample.second) + 1.0 <= end
    };
    let mut of_second = std::collections::BTreeMap::<u32, Vec<&SecondSample>>::new();
    for sample in measured
        .guests
        .iter()
        .flat_map(|guest| &guest.series)
        .filter(inside)
    {
        of_second.entry(sample.second).or_default().push(sample);
    }
    of_second.values().map(|samples| value(samples)).collect()
}

data! {
    /// A percentile of response time with its interval, ms.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Quantile {
        /// The percentile, 0 to 100.
        pub percentile: f64,
        /// Its value in the merged histogram of all trials, us.
        pub value_us: u64,
        /// Ends of the interval, us; an end is `None` where nothing bounds it.
        pub ends_us: (Option<f64>, Option<f64>),
        /// What they rest on.
        pub basis: EstimateBasis,
    }
}

impl Quantile {
    /// Of the latencies of every trial (and their number of unfinished operations). Of one trial
    /// the bounds are those of ranks, for as many independent operations as the `design_effect`
    /// leaves; of several those of Student's t over the percentiles of the trials, or those of the
    /// `rule` where the study repeats for the percentile. `None` without values.
    #[must_use]
    pub fn from_trials(
        trials: &[(Latencies, u64)],
        percentile: f64,
        design_effect: f64,
        rule: Option<Rule>,
    ) -> Option<Self> {
        let mut merged = Latencies::new();
        trials
            .iter()
            .for_each(|(latencies, _)| merged.merge(latencies));
        let value_us = merged.percentile_us(percentile)?;
        let each: Option<Vec<f64>> = trials
            .iter()
            .map(|(latencies, _)| latencies.percentile_us(percentile).map(|us| us as f64))
            .collect();
        let (ends_us, basis) = match trials {
            [(latencies, unfinished)] => {
                let point = PercentilePoint::from_latencies(
                    latencies,
                    *unfinished,
                    percentile,
                    design_effect,
                );
                let ends = point.map_or((None, None), |point| {
                    (
                        point.low_us.map(|us| us as f64),
                        point.high_us.map(|us| us as f64),
                    )
                });
                let basis = if ends == (None, None) {
                    EstimateBasis::Nothing
                } else {
                    EstimateBasis::Within { reliable: true }
                };
                (ends, basis)
            }
            _ => {
                let each = each?;
                let (ends, basis) = match rule.and_then(|rule| rule.result(&each)) {
                    Some(repeated) if repeated.half_width < repeated.mean => {
                        let (mean, half) = (repeated.mean, repeated.half_width);
                        let basis = EstimateBasis::Adaptive {
                            trials: repeated.count,
                        };
                        (Some((mean - half, mean + half)), basis)
                    }
                    _ => of_times(&each)?,
                };
                let (low, high) = ends.unzip();
                ((low, high), basis)
            }
        };
        Some(Self {
            percentile,
            value_us,
            ends_us,
            basis,
        })
    }
}

/// The interval of a response time from those of several trials: Student's t on their logarithms,
/// since no time is below zero; the smallest and largest where that would be too wide to say
/// anything.
fn of_times(values: &[f64]) -> Option<(Option<(f64, f64)>, EstimateBasis)> {
    let summary = Summary::from_values(values)?;
    let range = (Some((summary.min, summary.max)), EstimateBasis::Range);
    let logs: Vec<f64> = values.iter().map(|value| value.ln()).collect();
    let Some(of_logs) = Summary::from_values(&logs) else {
        return Some(range);
    };
    let ends = of_logs.ends().map(|(low, high)| (low.exp(), high.exp()));
    Some(match (of_logs.spread, ends) {
        (Spread::Single, _) | (_, None) => (None, EstimateBasis::Nothing),
        (Spread::Range { .. }, _) => range,
        (_, Some((low, high))) if high - low > WIDEST * summary.mean || high > TOO_FAR * low => {
            range
        }
        (Spread::Interval { .. }, ends) => (
            ends,
            EstimateBasis::Repeats {
                trials: summary.count,
            },
        ),
    })
}

/// From this ratio of the ends of an interval on the trials are shown instead.
const TOO_FAR: f64 = 10.0;

/// The median response time of a second at all guests, us: that of each by its requests; 0 without
/// any.
pub(crate) fn median_us(samples: &[&SecondSample]) -> f64 {
    let (count, sum) = samples.iter().fold((0.0, 0.0), |(count, sum), sample| {
        let requests = f64::from(sample.requests);
        (count + requests, sum + requests * sample.p50_us as f64)
    });
    if count > 0.0 { sum / count } else { 0.0 }
}

/// How many dependent operations of a trial are worth one independent one, as far as its seconds
/// tell: their number over what they are worth.
#[must_use]
pub fn design_effect(measured: &Measurement) -> f64 {
    let weighted = seconds(measured, median_us);
    let worth = effective_count(&weighted);
    if weighted.len() > 1 && worth > 0.0 {
        weighted.len() as f64 / worth
    } else {
        1.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: impl IntoIterator<Item = u64>) -> Latencies {
        let mut latencies = Latencies::new();
        values
            .into_iter()
            .for_each(|value| latencies.record_us(value));
        latencies
    }

    #[test]
    fn the_interval_is_the_best_that_the_trials_carry() {
        let series = || {
            (0..40)
                .map(|second| 100.0 + f64::from(second * 7 % 5))
                .collect()
        };
        let one = Estimate::from_values(&[102.0], None, series).expect("a value");
        let (low, high) = one.ends.expect("an interval within the trial");
        assert!(
            low < 102.0 && high > 102.0 && matches!(one.basis, EstimateBasis::Within { .. }),
            "{one:?}"
        );
        assert_eq!(
            Estimate::from_values(&[102.0], None, Vec::new).map(|one| one.basis),
            Some(EstimateBasis::Nothing)
        );
        let two = Estimate::from_values(&[100.0, 104.0], None, series).expect("values");
        assert_eq!(
            (two.ends, two.basis),
            (Some((100.0, 104.0)), EstimateBasis::Range)
        );
        let three = Estimate::from_values(&[10.0, 11.0, 12.0], None, series).expect("values");
        assert!((three.half_width().expect("an interval") - 4.302_653 / 3f64.sqrt()).abs() < 1e-5);
        let rule = Rule::new(3, 10, 0.02).expect("a rule");
        let values = [100.0, 130.0, 70.0, 100.0, 100.0, 100.0];
        let adaptive = Estimate::from_values(&values, Some(rule), series).expect("values");
        assert_eq!(adaptive.basis, EstimateBasis::Adaptive { trials: 6 });
        let plain = Estimate::from_values(&values, None, series).expect("values");
        assert!(
            adaptive.half_width() > plain.half_width(),
            "it keeps to the scatter of the first lot"
        );
    }

    #[test]
    fn a_ratio_keeps_to_the_intervals_of_adaptive_repeats() {
        let rule = Rule::new(3, 10, 0.02).expect("a rule");
        let (a, b) = ([100.0, 101.0, 99.0, 100.0], [50.0, 50.5, 49.5, 50.0]);
        let adaptive =
            |values: &[f64]| Estimate::from_values(values, Some(rule), Vec::new).expect("values");
        let found = ratio((&adaptive(&b), &b), (&adaptive(&a), &a)).expect("a ratio");
        let (low, high) = found.interval.expect("an interval");
        // Both have a relative half-width of t(0.975, 2) x 1 % / 2, about 2.15 %; together sqrt(2)
        // of that.
        assert!(
            (found.value - 0.5).abs() < 1e-12
                && (low - 0.485).abs() < 0.001
                && (high - 0.5155).abs() < 0.001,
            "{low} {high}"
        );
        let plain = |values: &[f64]| Estimate::from_values(values, None, Vec::new).expect("values");
        assert_eq!(
            ratio((&plain(&b), &b), (&plain(&a), &a)),
            Ratio::between(&b, &a)
        );
        assert_eq!(
            ratio((&plain(&b[..1]), &b[..1]), (&adaptive(&a), &a)).and_then(|found| found.interval),
            None
        );
    }

    #[test]
    fn percentiles_are_bounded_by_ranks_or_by_repeats() {
        let one = Quantile::from_trials(&[(of(1..=1_000), 0)], 95.0, 1.0, None).expect("values");
        assert_eq!(
            (one.value_us, one.ends_us),
            (950, (Some(936.0), Some(964.0)))
        );
        let alike = Quantile::from_trials(&[(of(1..=1_000), 0)], 95.0, 4.0, None).expect("values");
        assert!(
            alike.ends_us.0 < one.ends_us.0 && alike.ends_us.1 > one.ends_us.1,
            "{alike:?}"
        );
        let trials: Vec<(Latencies, u64)> = [0, 10, 20]
            .map(|more| (of(1 + more..=1_000 + more), 0))
            .into();
        let three = Quantile::from_trials(&trials, 95.0, 1.0, None).expect("values");
        assert_eq!(
            (three.value_us, three.basis),
            (960, EstimateBasis::Repeats { trials: 3 })
        );
        let (Some(low), Some(high)) = three.ends_us else {
            panic!("{three:?}")
        };
        assert!(
            low < 940.0 && high > 980.0,
            "t of two degrees of freedom: {low} {high}"
        );
        assert_eq!(
            Quantile::from_trials(&[(Latencies::new(), 3)], 95.0, 1.0, None),
            None
        );
    }
}
