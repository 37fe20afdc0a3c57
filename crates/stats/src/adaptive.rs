//! How many repeats a point needs: as many as its own scatter asks for, within a budget, without
//! fooling oneself.
//!
//! Whoever looks at the interval after every repeat and stops when it is narrow stops preferably
//! when the scatter happens to look small: the interval then misses the truth more often than it
//! says. So the number of repeats is decided once, from the scatter of a first lot of fixed size,
//! and the interval keeps to that scatter: the two-stage rule of Stein, Ann. Math. Stat. 16 (1945)
//! 243, whose coverage is at least 95 % whatever the scatter is.
//!
//! repeats = max(first, ceil((t s / d)^2)), half-width = t s / sqrt(repeats); t = t(0.975, first -
//! 1), s = deviation of the first lot, d = target half-width = target x mean of the first lot.
//!
//! To use it: [`Rule::new`] before the study starts (target and budget are stated beforehand and
//! stored); after each repeat of a point hand all its valid values, in the order of the trials, to
//! [`Rule::decide`]; at the end [`Rule::result`] gives mean and interval. A trial that is void
//! gives no value and is repeated. Repeats are whole trials with fresh data; [`Levels`] says
//! whether longer trials would serve better than more.

use rookery_cast::truncate_u32;

use crate::t_975;

/// When to stop repeating.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rule {
    first: u32,
    most: u32,
    target: f64,
}

/// A rule that cannot be kept.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum RuleError {
    /// Too few to know the scatter from.
    #[error("the first lot must hold at least 3 repeats, not {0}: take 5")]
    First(u32),
    /// The budget ends before the first lot.
    #[error("the budget of {most} repeats is smaller than the first lot of {first}: raise it")]
    Budget {
        /// Repeats of the first lot.
        first: u32,
        /// Largest number of repeats.
        most: u32,
    },
    /// A half-width that cannot be.
    #[error(
        "the target half-width must be a share between 0 and 1 of the mean, not {0}: take 0.02"
    )]
    Target(f64),
}

/// What to do next with a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// So many repeats are still to be done.
    More(u32),
    /// The target is reached.
    Reached,
    /// The budget is spent and the interval is wider than wanted; for the target so many repeats
    /// would have been needed.
    Spent {
        /// Repeats that the target needs.
        needed: u32,
    },
}

/// Mean of a point with the interval that its rule allows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Repeated {
    /// Number of repeats.
    pub count: u32,
    /// Their mean.
    pub mean: f64,
    /// Half of the interval, which covers with at least 95 %, in the unit of the values.
    pub half_width: f64,
}

impl Rule {
    /// Stop at a half-width of `target` (a share of the mean, 0 < `target` < 1) or after `most`
    /// repeats, judged once after the `first`.
    ///
    /// # Errors
    /// When a number is out of its range: `first` >= 3, `most` >= `first`.
    pub fn new(first: u32, most: u32, target: f64) -> Result<Self, RuleError> {
        if first < 3 {
            return Err(RuleError::First(first));
        }
        if most < first {
            return Err(RuleError::Budget { first, most });
        }
        if !(target > 0.0 && target < 1.0) {
            return Err(RuleError::Target(target));
        }
        Ok(Self {
            first,
            most,
            target,
        })
    }

    /// What to do after these valid repeats, in the order of the trials.
    #[must_use]
    pub fn decide(&self, values: &[f64]) -> Decision {
        let done = u32::try_from(values.len()).unwrap_or(u32::MAX);
        if done < self.first {
            return Decision::More(self.first - done);
        }
        let needed = self.needed(values);
        match needed.min(self.most).saturating_sub(done) {
            0 if needed <= done => Decision::Reached,
            0 => Decision::Spent { needed },
            more => Decision::More(more),
        }
    }

    /// Mean and interval of all repeats; `None` before the first lot is whole, or when a value is
    /// not finite.
    #[must_use]
    pub fn result(&self, values: &[f64]) -> Option<Repeated> {
        let (_, reach) = self.first_lot(values)?;
        let count = u32::try_from(values.len()).ok()?;
        let mean = values.iter().sum::<f64>() / f64::from(count);
        mean.is_finite().then(|| Repeated {
            count,
            mean,
            half_width: reach / f64::from(count).sqrt(),
        })
    }

    /// Repeats that the target needs by the scatter of the first lot, whatever the budget; `None`
    /// before it is whole.
    #[must_use]
    pub fn needed_repeats(&self, values: &[f64]) -> Option<u32> {
        (values.len() >= self.first as usize).then(|| self.needed(values))
    }

    /// Repeats for the target; the largest number there is when the mean is 0 or a value not
    /// finite.
    fn needed(&self, values: &[f64]) -> u32 {
        let needed = self
            .first_lot(values)
            .map_or(f64::INFINITY, |(mean, reach)| {
                if reach > 0.0 {
                    (reach / (self.target * mean.abs())).powi(2).ceil()
                } else {
                    0.0
                }
            });
        // The conversion of a float saturates.
        truncate_u32(needed).max(self.first)
    }

    /// Mean of the first lot, and t s.
    fn first_lot(&self, values: &[f64]) -> Option<(f64, f64)> {
        let lot = values.get(..self.first as usize)?;
        let n = f64::from(self.first);
        let mean = lot.iter().sum::<f64>() / n;
        let variance = lot.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0);
        variance
            .is_finite()
            .then_some((mean, t_975(self.first - 1)? * variance.sqrt()))
    }
}

/// Where the scatter sits: within a run or between runs, and so what to do more of. Source:
/// Kalibera, Jones, "Rigorous benchmarking in reasonable time", ISMM 2013.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Levels {
    /// S1: mean variance of the intervals within a run.
    pub within: f64,
    /// S2: variance of the means of the runs.
    pub of_means: f64,
    /// T2 = S2 - S1 / n1: variance that comes from the runs themselves; not above 0 when all of it
    /// is inside.
    pub between: f64,
    /// Mean of all runs.
    pub mean: f64,
    /// Half of the 95 % interval of the mean, from the means of the runs.
    pub half_width: f64,
}

impl Levels {
    /// Of at least two runs with the same number, at least two, of intervals each; else, or with a
    /// value that is not finite, `None`.
    #[must_use]
    pub fn from_runs(runs: &[Vec<f64>]) -> Option<Self> {
        let length = runs.first()?.len();
        let usable =
            |run: &Vec<f64>| run.len() == length && run.iter().all(|value| value.is_finite());
        if runs.len() < 2 || length < 2 || !runs.iter().all(usable) {
            return None;
        }
        let (means, variances): (Vec<f64>, Vec<f64>) = runs.iter().map(|run| moments(run)).unzip();
        let within = variances.iter().sum::<f64>() / runs.len() as f64;
        let (mean, of_means) = moments(&means);
        Some(Self {
            within,
            of_means,
            between: of_means - within / length as f64,
            mean,
            half_width: t_975(u32::try_from(runs.len() - 1).ok()?)?
                * (of_means / runs.len() as f64).sqrt(),
        })
    }

    /// Intervals per run that buy the narrowest result for the time: ceil(sqrt((c2 / c1) (T1 /
    /// T2))), at least 1, for the cost c1 of an interval and the fixed cost c2 of a run (clone,
    /// load, warm-up), both > 0. `None` when all scatter is inside the runs: make them as long as
    /// may be.
    #[must_use]
    pub fn intervals_per_run(&self, interval_cost: f64, run_cost: f64) -> Option<f64> {
        let usable = self.between > 0.0 && interval_cost > 0.0 && run_cost > 0.0;
        usable.then(|| {
            (run_cost / interval_cost * self.within / self.between)
                .sqrt()
                .ceil()
                .max(1.0)
        })
    }
}

/// Mean and sample variance of at least two values.
fn moments(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    (
        mean,
        values
            .iter()
            .map(|value| (value - mean).powi(2))
            .sum::<f64>()
            / (n - 1.0),
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rookery_workload::random::{RandomSource as _, SplitMix64};

    use super::*;

    #[test]
    fn levels_are_those_of_the_worked_example() {
        let runs = [
            [10.2, 10.4, 10.1],
            [11.0, 11.3, 11.1],
            [9.8, 9.9, 9.7],
            [10.6, 10.5, 10.8],
        ]
        .map(Vec::from);
        let found = Levels::from_runs(&runs).expect("four runs");
        for (found, known) in [
            (found.within, 0.02),
            (found.of_means, 0.323_333_333_333_333),
            (found.between, 0.316_666_666_666_666),
            (found.mean, 10.45),
            (found.half_width, 0.904_807_785_823_113),
        ] {
            assert!((found - known).abs() < 1e-9, "{found} for {known}");
        }
        assert_eq!(found.intervals_per_run(1.0, 10.0), Some(1.0));
        let inside = Levels::from_runs(&[vec![1.0, 9.0], vec![9.0, 1.0]]).expect("two runs");
        assert_eq!(inside.intervals_per_run(1.0, 10.0), None);
        assert_eq!(Levels::from_runs(&runs[..1]), None);
        assert_eq!(Levels::from_runs(&[vec![1.0, 2.0], vec![1.0]]), None);
    }

    #[test]
    fn the_number_of_repeats_follows_the_first_lot() {
        let rule = Rule::new(3, 10, 0.02).expect("a rule");
        assert_eq!(rule.decide(&[]), Decision::More(3));
        assert_eq!(rule.needed_repeats(&[100.0, 101.0]), None);
        assert_eq!(rule.needed_repeats(&[100.0, 101.0, 99.0]), Some(5));
        assert_eq!(rule.decide(&[100.0, 101.0]), Decision::More(1));
        assert_eq!(rule.decide(&[100.0, 100.1, 99.9]), Decision::Reached);
        // s = 1, t = 4.302653: (4.302653 / 2)^2 = 4.63.
        assert_eq!(rule.decide(&[100.0, 101.0, 99.0]), Decision::More(2));
        assert_eq!(
            rule.decide(&[100.0, 101.0, 99.0, 500.0, 0.0]),
            Decision::Reached,
            "later values decide nothing"
        );
        assert_eq!(rule.decide(&[100.0, 130.0, 70.0]), Decision::More(7));
        let spent = [[100.0, 130.0, 70.0].as_slice(), &[100.0; 7]].concat();
        assert_eq!(rule.decide(&spent), Decision::Spent { needed: 4_166 });
        let result = rule.result(&spent).expect("a first lot");
        assert!(
            (result.mean - 100.0).abs() < 1e-9
                && (result.half_width - 4.302_653 * 30.0 / 10f64.sqrt()).abs() < 1e-4
        );
        assert_eq!(
            rule.decide(&[0.0, 1.0, -1.0]),
            Decision::More(7),
            "no share of nothing"
        );
        assert_eq!(rule.decide(&[5.0, 5.0, 5.0]), Decision::Reached);
        assert_eq!(rule.result(&[1.0, f64::NAN, 1.0]), None);
    }

    #[test]
    fn rules_that_cannot_be_kept_are_refused() {
        let refusal = |first, most, target| {
            Rule::new(first, most, target)
                .expect_err("a bad rule")
                .to_string()
        };
        insta::assert_snapshot!(refusal(2, 10, 0.02), @"the first lot must hold at least 3 \
            repeats, not 2: take 5");
        insta::assert_snapshot!(refusal(5, 4, 0.02), @"the budget of 4 repeats is smaller than the \
            first lot of 5: raise it");
        insta::assert_snapshot!(refusal(5, 9, f64::NAN), @"the target half-width must be a share \
            between 0 and 1 of the mean, not NaN: take 0.02");
    }

    /// Coverage where looking after every repeat fails, and the target is kept where it says so.
    #[test]
    fn stopping_early_does_not_spoil_the_coverage() {
        let mut stream = SplitMix64::new(10);
        for (first, scatter) in [(3, 0.01), (5, 0.01), (5, 0.02), (5, 0.05), (8, 0.03)] {
            let rule = Rule::new(first, 40, 0.02).expect("a rule");
            let mut hits = 0;
            for _ in 0..1_000 {
                let mut values = Vec::new();
                let reached = loop {
                    match rule.decide(&values) {
                        Decision::More(more) => values
                            .extend((0..more).map(|_| 100.0 * (1.0 + scatter * stream.normal()))),
                        decision => break decision == Decision::Reached,
                    }
                };
                let result = rule.result(&values).expect("a first lot");
                hits += u32::from((result.mean - 100.0).abs() <= result.half_width);
                assert!(!reached || result.half_width <= 2.2, "{result:?}");
            }
            assert!(hits >= 930, "{first} repeats of {scatter}: {hits} of 1000");
        }
    }

    proptest! {
        #[test]
        fn it_always_ends_within_the_budget(values in prop::collection::vec(-1e3..1e3f64, 60), first in 3u32..8, extra in 0u32..20) {
            let rule = Rule::new(first, first + extra, 0.02).expect("a rule");
            let mut done = 0;
            while let Decision::More(more) = rule.decide(&values[..done]) {
                prop_assert!(more > 0);
                done += more as usize;
            }
            prop_assert!((first..=first + extra).contains(&(done as u32)));
        }
    }
}
