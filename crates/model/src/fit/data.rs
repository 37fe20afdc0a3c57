//! What laws are fitted to: runs at loads.

/// One run: throughput measured at a load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Observation {
    /// Load: users, CPUs or guests; > 0. One fit never mixes meanings.
    pub n: f64,
    /// Throughput, 1/s, > 0.
    pub x: f64,
}

/// Why observations cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum DataError {
    /// A value is no positive finite number.
    #[error("observation {index} has load {n} and throughput {x}; both must be finite and above 0")]
    NotPositive {
        /// Place in the list, from 0.
        index: usize,
        /// Its load.
        n: f64,
        /// Its throughput, 1/s.
        x: f64,
    },
    /// There is nothing to fit.
    #[error("there are no observations")]
    Empty,
}

/// A run that does not count: the load generator was the limit, errors were too many, or a limit of
/// quality was broken.
#[derive(Clone, Debug, PartialEq)]
pub struct Exclusion {
    /// The run. To be drawn hollow.
    pub run: Observation,
    /// Why it does not count, in a few words.
    pub reason: String,
}

/// Runs in the order of their loads, all valid.
#[derive(Clone, Debug, PartialEq)]
pub struct Observations {
    runs: Vec<Observation>,
    excluded: Vec<Exclusion>,
}

/// All runs at one load.
#[derive(Clone, Debug, PartialEq)]
pub struct Load {
    /// The load.
    pub n: f64,
    /// Throughputs of its runs, 1/s.
    pub runs: Vec<f64>,
}

impl Load {
    /// Mean throughput, 1/s.
    #[must_use]
    pub fn mean(&self) -> f64 {
        self.runs.iter().sum::<f64>() / self.runs.len() as f64
    }

    /// Sum of squared deviations from the mean.
    pub(crate) fn squares(&self) -> f64 {
        let mean = self.mean();
        self.runs.iter().map(|x| (x - mean) * (x - mean)).sum()
    }

    /// Sample variance; `None` for a single run.
    #[must_use]
    pub fn variance(&self) -> Option<f64> {
        (self.runs.len() > 1).then(|| self.squares() / (self.runs.len() - 1) as f64)
    }
}

impl Observations {
    /// Check and sort.
    ///
    /// # Errors
    /// When there are none, or one has a value that is not positive and finite.
    pub fn new(mut runs: Vec<Observation>) -> Result<Self, DataError> {
        let usable = |value: f64| value.is_finite() && value > 0.0;
        if let Some(index) = runs.iter().position(|run| !usable(run.n) || !usable(run.x)) {
            let Observation { n, x } = runs[index];
            return Err(DataError::NotPositive { index, n, x });
        }
        if runs.is_empty() {
            return Err(DataError::Empty);
        }
        runs.sort_by(|a, b| a.n.total_cmp(&b.n));
        Ok(Self {
            runs,
            excluded: Vec::new(),
        })
    }

    /// With runs beside that were measured but do not count.
    #[must_use]
    pub fn with_excluded(self, excluded: Vec<Exclusion>) -> Self {
        Self { excluded, ..self }
    }

    /// Runs that do not count.
    #[must_use]
    pub fn excluded(&self) -> &[Exclusion] {
        &self.excluded
    }

    /// The runs, smallest load first.
    #[must_use]
    pub fn runs(&self) -> &[Observation] {
        &self.runs
    }

    /// The runs by load, smallest load first.
    #[must_use]
    pub fn loads(&self) -> Vec<Load> {
        let mut loads: Vec<Load> = Vec::new();
        for run in &self.runs {
            match loads.last_mut() {
                Some(load) if load.n == run.n => load.runs.push(run.x),
                _ => loads.push(Load {
                    n: run.n,
                    runs: vec![run.x],
                }),
            }
        }
        loads
    }

    /// The smallest load.
    #[must_use]
    pub fn smallest(&self) -> f64 {
        self.runs[0].n
    }

    /// The largest load.
    #[must_use]
    pub fn largest(&self) -> f64 {
        self.runs[self.runs.len() - 1].n
    }

    /// Whether every load has at least three runs.
    #[must_use]
    pub fn repeated(&self) -> bool {
        self.loads().iter().all(|load| load.runs.len() >= 3)
    }

    /// Mean over the repeated loads of standard deviation over mean; `None` when no load is
    /// repeated.
    #[must_use]
    pub fn repeat_variation(&self) -> Option<f64> {
        let loads = self.loads();
        let variations: Vec<f64> = loads
            .iter()
            .filter_map(|load| Some(load.variance()?.sqrt() / load.mean()))
            .collect();
        (!variations.is_empty()).then(|| variations.iter().sum::<f64>() / variations.len() as f64)
    }

    /// The runs at `count` loads, evenly spaced by their place, the smallest and the largest among
    /// them; `None` when there are not twice as many.
    pub(crate) fn thinned(&self, count: usize) -> Option<Self> {
        let loads = self.loads();
        if count < 2 || loads.len() < 2 * count {
            return None;
        }
        let kept = (0..count).map(|place| &loads[place * (loads.len() - 1) / (count - 1)]);
        let runs = kept.flat_map(|load| load.runs.iter().map(|x| Observation { n: load.n, x: *x }));
        Some(Self {
            runs: runs.collect(),
            excluded: Vec::new(),
        })
    }

    /// The runs below and the runs at the largest loads, parted as the prediction protocol asks: at
    /// least two loads and a quarter of all loads are held out. `None` when fewer than two loads
    /// would remain.
    #[must_use]
    pub fn hold_out(&self) -> Option<(Self, Self)> {
        let loads = self.loads();
        let held = loads.len().div_ceil(4).max(2);
        if loads.len() < held + 2 {
            return None;
        }
        let border = loads[loads.len() - held].n;
        let (below, above) = self.runs.iter().partition(|run| run.n < border);
        let of = |runs| Self {
            runs,
            excluded: Vec::new(),
        };
        Some((of(below), of(above)))
    }
}

/// How much each run counts in a fit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Weights {
    /// All alike: the residual does not grow with throughput.
    #[default]
    Equal,
    /// 1/X^2: the residual grows with throughput.
    Relative,
    /// 1/s^2 of the load's runs, s at least a quarter of the median s; needs three runs at every
    /// load, else as [`Self::Equal`].
    Variance,
}

impl Weights {
    /// The weight of each run.
    pub(crate) fn of(self, observations: &Observations) -> Vec<f64> {
        let runs = observations.runs();
        match self {
            Self::Relative => runs.iter().map(|run| (run.x * run.x).recip()).collect(),
            Self::Variance if observations.repeated() => {
                inverse_variances(observations).unwrap_or_else(|| vec![1.0; runs.len()])
            }
            _ => vec![1.0; runs.len()],
        }
    }
}

/// 1/s^2 of every run's load; `None` when all runs agree to the last digit.
fn inverse_variances(observations: &Observations) -> Option<Vec<f64>> {
    let loads = observations.loads();
    let deviations: Vec<f64> = loads
        .iter()
        .filter_map(|load| Some(load.variance()?.sqrt()))
        .collect();
    let mut sorted = deviations.clone();
    sorted.sort_by(f64::total_cmp);
    let floor = sorted[sorted.len() / 2] / 4.0;
    if floor <= 0.0 {
        return None;
    }
    let weights = loads.iter().zip(&deviations).flat_map(|(load, deviation)| {
        let weight = deviation.max(floor).powi(-2);
        load.runs.iter().map(move |_| weight)
    });
    Some(weights.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn observations(pairs: &[(f64, f64)]) -> Observations {
        Observations::new(pairs.iter().map(|&(n, x)| Observation { n, x }).collect())
            .expect("valid")
    }

    #[test]
    fn what_is_not_positive_is_refused() {
        let bad = [
            (0.0, 1.0),
            (1.0, 0.0),
            (-1.0, 1.0),
            (f64::NAN, 1.0),
            (1.0, f64::INFINITY),
        ];
        for (n, x) in bad {
            let error =
                Observations::new(vec![Observation { n: 1.0, x: 1.0 }, Observation { n, x }])
                    .expect_err("refused");
            assert!(
                matches!(error, DataError::NotPositive { index: 1, .. }),
                "{error}"
            );
        }
        assert_eq!(Observations::new(Vec::new()), Err(DataError::Empty));
    }

    #[test]
    fn a_quarter_and_at_least_two_loads_are_held_out() {
        let of = |count: u32| {
            let all = observations(&(1..=count).map(|n| (f64::from(n), 1.0)).collect::<Vec<_>>());
            all.hold_out()
                .map(|(below, above)| (below.runs().len(), above.runs().len()))
        };
        assert_eq!(
            (of(3), of(4), of(8), of(9), of(12)),
            (None, Some((2, 2)), Some((6, 2)), Some((6, 3)), Some((9, 3)))
        );
    }

    #[test]
    fn weights_follow_the_runs_of_a_load_with_a_floor() {
        let data = observations(&[
            (1.0, 10.0),
            (1.0, 11.0),
            (1.0, 12.0),
            (2.0, 20.0),
            (2.0, 24.0),
            (2.0, 28.0),
            (4.0, 30.0),
            (4.0, 30.0),
            (4.0, 30.0),
        ]);
        let weights = Weights::Variance.of(&data);
        assert!((weights[0] - 1.0).abs() < 1e-12 && (weights[3] - 1.0 / 16.0).abs() < 1e-12);
        assert!(
            (weights[8] - 16.0).abs() < 1e-12,
            "the floor is a quarter of the median deviation of 1"
        );
        let single = observations(&[(1.0, 10.0), (2.0, 20.0)]);
        assert_eq!(Weights::Variance.of(&single), vec![1.0, 1.0]);
        assert_eq!(Weights::Relative.of(&single), vec![0.01, 0.0025]);
    }
}
