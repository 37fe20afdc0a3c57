//! The bounded fit of the universal scalability law over all sets of free parameters.

use rookery_stats::t_975;

use crate::{
    Usl,
    fit::{
        data::{Observations, Weights},
        levenberg::{Minimum, Problem, minimise},
    },
    linalg::{Rows, gram, gram_inverse, least_squares, scaled_condition},
    special::bisect,
};

/// The place of lambda, sigma and kappa in lists of three.
pub(crate) const LAMBDA: usize = 0;
pub(crate) const SIGMA: usize = 1;
pub(crate) const KAPPA: usize = 2;

/// A law of the family: which of sigma and kappa may be above 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// Neither: X = lambda N.
    Linear,
    /// sigma alone.
    Amdahl,
    /// Both.
    Usl,
}

impl Family {
    /// Sets of free parameters, the whole set first.
    fn free_sets(self) -> &'static [&'static [usize]] {
        match self {
            Self::Linear => &[&[LAMBDA]],
            Self::Amdahl => &[&[LAMBDA, SIGMA], &[LAMBDA]],
            Self::Usl => &[
                &[LAMBDA, SIGMA, KAPPA],
                &[LAMBDA, SIGMA],
                &[LAMBDA, KAPPA],
                &[LAMBDA],
            ],
        }
    }

    /// Parameters of the law.
    #[must_use]
    pub fn parameters(self) -> usize {
        self.free_sets()[0].len()
    }
}

/// A 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Interval {
    pub(crate) fn around(value: f64, reach: f64) -> Self {
        Self {
            low: value - reach,
            high: value + reach,
        }
    }
}

/// A fitted law with its uncertainty.
#[derive(Clone, Debug)]
pub struct UslFit {
    /// The law; a parameter at its bound, or not of the family, is 0.
    pub law: Usl,
    /// The family that was asked for.
    pub family: Family,
    /// Which of lambda, sigma, kappa were estimated. The others are fixed, or at their bound.
    pub free: [bool; 3],
    /// Weighted sum of squared residuals.
    pub rss: f64,
    /// Runs less free parameters.
    pub df: usize,
    /// Covariance of lambda, sigma, kappa; 0 for those that are not free. `None` without degrees of
    /// freedom or when it cannot be told.
    pub covariance: Option<[[f64; 3]; 3]>,
    /// Condition number of the Jacobian with columns of unit length.
    pub condition: f64,
    weights: Weights,
}

/// Throughput that a fitted law expects at a load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prediction {
    /// Expected throughput, 1/s.
    pub x: f64,
    /// Standard error of the mean, 1/s.
    pub se_mean: f64,
    /// 95 % interval of the mean.
    pub mean: Interval,
    /// 95 % interval of a single new run.
    pub run: Interval,
}

/// The curve with some parameters free and the others held.
struct Face<'a> {
    observations: &'a Observations,
    roots: &'a [f64],
    free: &'a [usize],
    held: [f64; 3],
}

impl Face<'_> {
    fn law(&self, parameters: &[f64]) -> Usl {
        let mut all = self.held;
        for (place, value) in self.free.iter().zip(parameters) {
            all[*place] = *value;
        }
        Usl {
            lambda: all[LAMBDA],
            sigma: all[SIGMA],
            kappa: all[KAPPA],
        }
    }
}

impl Problem for Face<'_> {
    fn residuals(&self, parameters: &[f64], into: &mut Vec<f64>) -> bool {
        let law = self.law(parameters);
        into.clear();
        into.extend(
            self.observations
                .runs()
                .iter()
                .zip(self.roots)
                .map(|(run, root)| root * (law.throughput(run.n) - run.x)),
        );
        // Outside of the bounds the curve may have a pole between the loads; behind it there is
        // nothing to find.
        self.observations
            .runs()
            .iter()
            .all(|run| law.slowdown(run.n) > 1e-9)
            && into.iter().all(|r| r.is_finite())
    }

    fn jacobian(&self, parameters: &[f64], into: &mut Rows) {
        let law = self.law(parameters);
        into.resize_with(self.roots.len(), Vec::new);
        for ((run, root), row) in self.observations.runs().iter().zip(self.roots).zip(into) {
            let gradient = law.gradient(run.n);
            row.clear();
            row.extend(self.free.iter().map(|place| root * gradient[*place]));
        }
    }
}

/// Fit `family`, all parameters >= 0 and lambda > 0: every set of free parameters is searched
/// without bounds from several starts, solutions outside of the bounds are dropped, and the
/// smallest sum of squares of the rest is the optimum. `lambda` holds that parameter (the
/// two-parameter law).
///
/// Returns `None` when no search ended within the bounds, or there are fewer runs than parameters.
#[must_use]
pub fn fit_usl(
    observations: &Observations,
    family: Family,
    weights: Weights,
    lambda: Option<f64>,
) -> Option<UslFit> {
    fit_from(
        observations,
        family,
        weights,
        lambda,
        &starts(observations, lambda),
    )
}

/// As [`fit_usl`], from one start: for refits of resampled data.
pub(crate) fn refit(observations: &Observations, like: &UslFit) -> Option<UslFit> {
    let lambda = (!like.free[LAMBDA]).then_some(like.law.lambda);
    let near = [
        like.law.lambda,
        like.law.sigma.max(1e-4),
        like.law.kappa.max(1e-8),
    ];
    fit_from(observations, like.family, like.weights, lambda, &[near])
}

fn fit_from(
    observations: &Observations,
    family: Family,
    weights: Weights,
    lambda: Option<f64>,
    starts: &[[f64; 3]],
) -> Option<UslFit> {
    let roots: Vec<f64> = weights
        .of(observations)
        .iter()
        .map(|weight| weight.sqrt())
        .collect();
    let mut best: Option<(Vec<usize>, Minimum)> = None;
    for set in family.free_sets() {
        let free: Vec<usize> = set
            .iter()
            .copied()
            .filter(|place| *place != LAMBDA || lambda.is_none())
            .collect();
        let Some(minimum) = search(observations, &roots, &free, lambda, starts) else {
            continue;
        };
        let inside = free
            .iter()
            .zip(&minimum.parameters)
            .all(|(_, value)| *value >= 0.0);
        if inside
            && best
                .as_ref()
                .is_none_or(|(_, known)| minimum.squares < known.squares)
        {
            best = Some((free, minimum));
        }
    }
    let (free, minimum) = best?;
    Some(finish(
        observations,
        family,
        weights,
        lambda,
        &roots,
        &free,
        &minimum,
    ))
}

/// The best minimum over `free` from every start, bounds or not.
fn search(
    observations: &Observations,
    roots: &[f64],
    free: &[usize],
    lambda: Option<f64>,
    starts: &[[f64; 3]],
) -> Option<Minimum> {
    if observations.runs().len() < free.len() {
        return None;
    }
    let face = Face {
        observations,
        roots,
        free,
        held: [lambda.unwrap_or(0.0), 0.0, 0.0],
    };
    let mut best: Option<Minimum> = None;
    for start in starts {
        let mut start = *start;
        for place in [SIGMA, KAPPA] {
            if !free.contains(&place) {
                start[place] = 0.0;
            }
        }
        if free.contains(&LAMBDA) {
            start[LAMBDA] = best_lambda(observations, roots, start[SIGMA], start[KAPPA]);
        }
        let start: Vec<f64> = free.iter().map(|place| start[*place]).collect();
        if let Some(minimum) = minimise(&face, &start)
            && best
                .as_ref()
                .is_none_or(|known| minimum.squares < known.squares)
        {
            best = Some(minimum);
        }
    }
    best
}

/// Variable projection: for given sigma and kappa the law is linear in lambda.
fn best_lambda(observations: &Observations, roots: &[f64], sigma: f64, kappa: f64) -> f64 {
    let unit = Usl {
        lambda: 1.0,
        sigma,
        kappa,
    };
    let (mut cross, mut squares) = (0.0, 0.0);
    for (run, root) in observations.runs().iter().zip(roots) {
        let g = unit.throughput(run.n);
        cross += root * root * run.x * g;
        squares += root * root * g * g;
    }
    cross / squares
}

/// Starts around Gunther's transform y = lambda N/X - 1 = b (N-1) + a (N-1)^2.
fn starts(observations: &Observations, lambda: Option<f64>) -> Vec<[f64; 3]> {
    let runs = observations.runs();
    let lambda = lambda.unwrap_or_else(|| runs.iter().map(|run| run.x / run.n).fold(0.0, f64::max));
    let rows: Rows = runs
        .iter()
        .map(|run| vec![run.n - 1.0, (run.n - 1.0) * (run.n - 1.0)])
        .collect();
    let y: Vec<f64> = runs
        .iter()
        .map(|run| lambda * run.n / run.x - 1.0)
        .collect();
    let (b, a) =
        least_squares(&rows, &y, 2).map_or((0.0, 0.0), |solution| (solution[0], solution[1]));
    let (sigma, kappa) = ((b - a).max(1e-6), a.max(1e-9));
    let factors = [1.0, 0.1, 10.0];
    factors
        .iter()
        .flat_map(|s| factors.iter().map(move |k| [lambda, sigma * s, kappa * k]))
        .collect()
}

fn finish(
    observations: &Observations,
    family: Family,
    weights: Weights,
    lambda: Option<f64>,
    roots: &[f64],
    free: &[usize],
    minimum: &Minimum,
) -> UslFit {
    let face = Face {
        observations,
        roots,
        free,
        held: [lambda.unwrap_or(0.0), 0.0, 0.0],
    };
    let law = face.law(&minimum.parameters);
    let mut rows = Rows::new();
    face.jacobian(&minimum.parameters, &mut rows);
    let gram = gram(&rows, free.len());
    let df = observations.runs().len() - free.len();
    let covariance = (df > 0)
        .then(|| gram_inverse(&gram))
        .flatten()
        .map(|inverse| {
            let variance = minimum.squares / df as f64;
            let mut covariance = [[0.0; 3]; 3];
            for (i, row) in free.iter().zip(&inverse) {
                for (j, cell) in free.iter().zip(row) {
                    covariance[*i][*j] = variance * cell;
                }
            }
            covariance
        });
    UslFit {
        law,
        family,
        free: [LAMBDA, SIGMA, KAPPA].map(|place| free.contains(&place)),
        rss: minimum.squares,
        df,
        covariance,
        condition: if free.is_empty() {
            1.0
        } else {
            scaled_condition(&gram)
        },
        weights,
    }
}

impl UslFit {
    /// Number of free parameters.
    #[must_use]
    pub fn parameters(&self) -> usize {
        self.free.iter().filter(|free| **free).count()
    }

    /// Residual standard error sqrt(RSS/df); `None` without degrees of freedom.
    #[must_use]
    pub fn rse(&self) -> Option<f64> {
        (self.df > 0).then(|| (self.rss / self.df as f64).sqrt())
    }

    /// t(0.975, df).
    pub(crate) fn t(&self) -> Option<f64> {
        t_975(u32::try_from(self.df).unwrap_or(u32::MAX))
    }

    /// Asymptotic standard errors of lambda, sigma, kappa; 0 for those that are not free.
    #[must_use]
    pub fn standard_errors(&self) -> Option<[f64; 3]> {
        let covariance = self.covariance?;
        Some([
            covariance[0][0].sqrt(),
            covariance[1][1].sqrt(),
            covariance[2][2].sqrt(),
        ])
    }

    /// Asymptotic 95 % interval of lambda, sigma or kappa (0, 1, 2); `None` when it is not free.
    #[must_use]
    pub fn interval(&self, place: usize) -> Option<Interval> {
        let free = *self.free.get(place)?;
        let value = [self.law.lambda, self.law.sigma, self.law.kappa][place];
        let reach = self.t()? * self.standard_errors()?[place];
        free.then(|| Interval::around(value, reach))
    }

    /// Standard error and 95 % interval of N* by the delta method; `None` without a peak or
    /// intervals.
    #[must_use]
    pub fn peak_interval(&self) -> Option<(f64, Interval)> {
        let n = self.law.peak()?.n;
        let gradient = [
            0.0,
            -n / (2.0 * (1.0 - self.law.sigma)),
            -n / (2.0 * self.law.kappa),
        ];
        let se = self.spread(gradient)?;
        Some((se, Interval::around(n, self.t()? * se)))
    }

    /// The standard error of a function of the parameters with this gradient.
    fn spread(&self, gradient: [f64; 3]) -> Option<f64> {
        let covariance = self.covariance?;
        let variance: f64 = (0..3)
            .map(|i| {
                (0..3)
                    .map(|j| gradient[i] * covariance[i][j] * gradient[j])
                    .sum::<f64>()
            })
            .sum();
        Some(variance.max(0.0).sqrt())
    }

    /// Expected throughput at `n` with intervals of the mean and of a new run; `None` without
    /// degrees of freedom. With variance weights the new run is taken to be as noisy as the runs
    /// are on average.
    #[must_use]
    pub fn predict(&self, n: f64, observations: &Observations) -> Option<Prediction> {
        let x = self.law.throughput(n);
        let se_mean = self.spread(self.law.gradient(n))?;
        let unit = match self.weights {
            Weights::Equal => 1.0,
            Weights::Relative => x * x,
            Weights::Variance => {
                let weights = self.weights.of(observations);
                weights.iter().map(|weight| weight.recip()).sum::<f64>() / weights.len() as f64
            }
        };
        let noise = self.rse()?;
        let se_run = (se_mean * se_mean + noise * noise * unit).sqrt();
        let t = self.t()?;
        Some(Prediction {
            x,
            se_mean,
            mean: Interval::around(x, t * se_mean),
            run: Interval::around(x, t * se_run),
        })
    }

    /// One-sided 95 % bound of a parameter that ended at its bound: the largest value at which the
    /// sum of squares of the rest, fitted again, stays below RSS (1 + F(0.95; 1, df)/df). `None`
    /// when it is free, or not of the family.
    #[must_use]
    pub fn upper_bound(&self, place: usize, observations: &Observations) -> Option<f64> {
        let of_family = self.family.free_sets()[0].contains(&place);
        if place == LAMBDA || !of_family || self.free[place] || self.df < 2 {
            return None;
        }
        let df = self.df - 1;
        // F(0.95; 1, df) is the square of t(0.975, df).
        let t = t_975(u32::try_from(df).unwrap_or(u32::MAX))?;
        let limit = self.rss * (1.0 + t * t / df as f64);
        let roots: Vec<f64> = self
            .weights
            .of(observations)
            .iter()
            .map(|weight| weight.sqrt())
            .collect();
        let free: Vec<usize> = (0..3).filter(|other| self.free[*other]).collect();
        let fits_below = |value: f64| {
            let mut held = [self.law.lambda, 0.0, 0.0];
            held[place] = value;
            let face = Face {
                observations,
                roots: &roots,
                free: &free,
                held,
            };
            let start: Vec<f64> = free
                .iter()
                .map(|i| [self.law.lambda, self.law.sigma, self.law.kappa][*i])
                .collect();
            minimise(&face, &start).is_some_and(|minimum| minimum.squares <= limit)
        };
        let mut high = 1e-9;
        while fits_below(high) && high < 1e6 {
            high *= 2.0;
        }
        Some(bisect(0.0, high, fits_below))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fit::data::Observation;

    fn observations(n: &[f64], law: Usl) -> Observations {
        let runs = n.iter().map(|&n| Observation {
            n,
            x: law.throughput(n),
        });
        Observations::new(runs.collect()).expect("valid")
    }

    #[test]
    fn exact_data_give_their_parameters_back() {
        for (sigma, kappa) in [
            (0.03, 0.0004),
            (0.0, 0.002),
            (0.2, 0.0),
            (0.0, 0.0),
            (0.5, 1e-6),
            (0.9, 0.3),
        ] {
            let law = Usl {
                lambda: 77.0,
                sigma,
                kappa,
            };
            let fit = fit_usl(
                &observations(&[1.0, 2.0, 4.0, 8.0, 16.0, 64.0], law),
                Family::Usl,
                Weights::Equal,
                None,
            )
            .expect("fits");
            assert!((fit.law.lambda - 77.0).abs() < 1e-6, "{law:?} {fit:?}");
            assert!(
                (fit.law.sigma - sigma).abs() < 1e-7 && (fit.law.kappa - kappa).abs() < 1e-8,
                "{law:?} {:?}",
                fit.law
            );
        }
    }

    #[test]
    fn a_negative_kappa_is_at_its_bound_with_an_upper_bound() {
        let pairs = [
            (1.0, 100.0),
            (2.0, 191.0),
            (4.0, 355.0),
            (8.0, 634.0),
            (16.0, 1060.0),
        ];
        let data = Observations::new(pairs.iter().map(|&(n, x)| Observation { n, x }).collect())
            .expect("valid");
        let roots = vec![1.0; 5];
        let unbounded = search(
            &data,
            &roots,
            &[LAMBDA, SIGMA, KAPPA],
            None,
            &starts(&data, None),
        )
        .expect("found");
        for (value, known) in unbounded.parameters.iter().zip([
            98.8783415465353,
            0.038178453368192,
            -0.000334331297202806,
        ]) {
            assert!((value / known - 1.0).abs() < 1e-6, "{unbounded:?}");
        }
        assert!((unbounded.squares / 2.92465316988858 - 1.0).abs() < 1e-6);
        let fit = fit_usl(&data, Family::Usl, Weights::Equal, None).expect("fits");
        assert_eq!(fit.free, [true, true, false]);
        let bound = fit.upper_bound(KAPPA, &data).expect("at bound");
        assert!(bound > 0.0 && bound < 0.001, "{bound}");
        assert_eq!(fit.upper_bound(SIGMA, &data), None);
    }

    #[test]
    fn a_held_lambda_stays() {
        let law = Usl {
            lambda: 10.0,
            sigma: 0.1,
            kappa: 0.01,
        };
        let data = observations(&[1.0, 2.0, 4.0, 8.0, 16.0], law);
        let fit = fit_usl(&data, Family::Usl, Weights::Relative, Some(10.0)).expect("fits");
        assert_eq!(fit.parameters(), 2);
        assert!((fit.law.sigma - 0.1).abs() < 1e-9 && (fit.law.kappa - 0.01).abs() < 1e-10);
        assert_eq!(fit.interval(LAMBDA), None);
    }
}
