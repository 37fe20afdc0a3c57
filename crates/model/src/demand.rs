//! Service demands from measured utilisations.
//!
//! U0 is what the resource does without load; dividing one utilisation by one throughput overstates
//! the demand wherever U0 > 0.

use rookery_stats::t_975;

use crate::{
    fit::Interval,
    linalg::{Rows, dot, gram, gram_inverse, least_squares, scaled_condition},
};

/// Most classes of one regression.
const MAX_CLASSES: usize = 9;

/// Why demands cannot be found.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum DemandError {
    /// Rows and values do not fit together, or there are too few or too many.
    #[error(
        "{rows} rows of {classes} classes with {values} utilisations: rows must be alike, more \
         than classes + 1, with 1 to 9 classes"
    )]
    Shape {
        /// Rows of throughputs.
        rows: usize,
        /// Classes in the first.
        classes: usize,
        /// Utilisations.
        values: usize,
    },
    /// A value is negative or no number.
    #[error("throughputs and utilisations must be finite and at least 0")]
    Range,
    /// The classes cannot be told apart.
    #[error(
        "the mixes of the classes are alike: their demands cannot be told apart; merge classes or \
         vary the mix"
    )]
    Dependent,
}

/// Demands by regression U m = U0 + sum_c X_c D_c with U0, D >= 0.
///
/// Source: Rolia, Vetland, Parameter Estimation for Performance Models of Distributed Application
/// Systems, CASCON 1995.
#[derive(Clone, Debug, PartialEq)]
pub struct Demands {
    /// Busy servers without load.
    pub background: f64,
    /// Demand of each class, s; 0 at its bound.
    pub demands: Vec<f64>,
    /// Standard errors of background and demands; 0 at the bound.
    pub standard_errors: Vec<f64>,
    /// 95 % intervals of the demands; `None` at the bound or without degrees of freedom.
    pub intervals: Vec<Option<Interval>>,
    /// Condition number of the matrix with columns of unit length; above 30 the mixes are too
    /// alike.
    pub condition: f64,
    /// Busy servers less those of the regression, per row: a trend against throughput means that
    /// the demand changes with load.
    pub residuals: Vec<f64>,
}

/// Find demands from rows of throughputs (1/s per class) and busy servers (U m) at several loads.
///
/// # Errors
/// When shapes or values are wrong, or the classes cannot be told apart.
pub fn demands(throughputs: &[Vec<f64>], busy: &[f64]) -> Result<Demands, DemandError> {
    let classes = throughputs.first().map_or(0, Vec::len);
    let shape = DemandError::Shape {
        rows: throughputs.len(),
        classes,
        values: busy.len(),
    };
    if classes == 0
        || classes > MAX_CLASSES
        || throughputs.len() != busy.len()
        || busy.len() < classes + 2
    {
        return Err(shape);
    }
    if throughputs.iter().any(|row| row.len() != classes) {
        return Err(shape);
    }
    if throughputs
        .iter()
        .flatten()
        .chain(busy)
        .any(|value| !value.is_finite() || *value < 0.0)
    {
        return Err(DemandError::Range);
    }
    let matrix: Rows = throughputs
        .iter()
        .map(|row| std::iter::once(1.0).chain(row.iter().copied()).collect())
        .collect();
    let columns = classes + 1;
    let condition = scaled_condition(&gram(&matrix, columns));
    if !condition.is_finite() {
        return Err(DemandError::Dependent);
    }
    let solution = non_negative(&matrix, busy, columns).ok_or(DemandError::Dependent)?;
    let residuals: Vec<f64> = matrix
        .iter()
        .zip(busy)
        .map(|(row, u)| u - dot(row, &solution))
        .collect();
    let free: Vec<usize> = (0..columns)
        .filter(|column| solution[*column] > 0.0)
        .collect();
    let df = busy.len() - free.len();
    let standard_errors =
        errors(&matrix, &residuals, &free, columns).ok_or(DemandError::Dependent)?;
    let t = t_975(u32::try_from(df).unwrap_or(u32::MAX));
    let interval = |column: usize| {
        free.contains(&column)
            .then(|| t.map(|t| Interval::around(solution[column], t * standard_errors[column])))
            .flatten()
    };
    Ok(Demands {
        background: solution[0],
        intervals: (1..columns).map(interval).collect(),
        demands: solution[1..].to_vec(),
        standard_errors,
        condition,
        residuals,
    })
}

fn errors(matrix: &Rows, residuals: &[f64], free: &[usize], columns: usize) -> Option<Vec<f64>> {
    let reduced: Rows = matrix
        .iter()
        .map(|row| free.iter().map(|column| row[*column]).collect())
        .collect();
    let df = residuals
        .len()
        .checked_sub(free.len())
        .filter(|df| *df > 0)?;
    let inverse = gram_inverse(&gram(&reduced, free.len()))?;
    let variance = dot(residuals, residuals) / df as f64;
    let mut errors = vec![0.0; columns];
    for (place, column) in free.iter().enumerate() {
        errors[*column] = (variance * inverse[place][place]).sqrt();
    }
    Some(errors)
}

/// Non-negative least squares. Source: Lawson, Hanson, Solving Least Squares Problems (1974),
/// chapter 23.
fn non_negative(a: &Rows, b: &[f64], columns: usize) -> Option<Vec<f64>> {
    let mut x = vec![0.0; columns];
    let mut passive: Vec<usize> = Vec::new();
    for _ in 0..30 * columns {
        let residual: Vec<f64> = a.iter().zip(b).map(|(row, b)| b - dot(row, &x)).collect();
        // Slopes in units of the column's length, so that the tolerance means the same for each.
        let slope = |column: usize| {
            let (cross, square) =
                a.iter()
                    .zip(&residual)
                    .fold((0.0, 0.0), |(cross, square), (row, r)| {
                        (cross + row[column] * r, square + row[column] * row[column])
                    });
            cross / f64::sqrt(f64::max(square, f64::MIN_POSITIVE))
        };
        let limit = 1e-12 * dot(b, b).sqrt();
        let entering = (0..columns)
            .filter(|column| !passive.contains(column) && slope(*column) > limit)
            .max_by(|i, j| slope(*i).total_cmp(&slope(*j)));
        let Some(entering) = entering else { break };
        passive.push(entering);
        loop {
            let reduced: Rows = a
                .iter()
                .map(|row| passive.iter().map(|column| row[*column]).collect())
                .collect();
            let solution = least_squares(&reduced, b, passive.len())?;
            let step = passive
                .iter()
                .zip(&solution)
                .filter(|(_, value)| **value <= 0.0)
                .map(|(column, value)| x[*column] / (x[*column] - value))
                .fold(1.0, f64::min);
            for (column, value) in passive.iter().zip(&solution) {
                x[*column] += step * (value - x[*column]);
            }
            if step >= 1.0 {
                break;
            }
            passive.retain(|column| x[*column] > 1e-15);
            for (column, value) in x.iter_mut().enumerate() {
                if !passive.contains(&column) {
                    *value = 0.0;
                }
            }
            if passive.is_empty() {
                break;
            }
        }
    }
    Some(x)
}

/// Tracks one demand over time for display; reports use [`demands`].
///
/// Source: Zheng, Woodside, Litoiu, IEEE TSE 34(3) (2008) 391: a Kalman filter whose state is a
/// random walk.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DemandFilter {
    /// Present estimate, s.
    pub demand: f64,
    /// Its variance, s^2.
    pub variance: f64,
    /// Variance that a step of the random walk adds, s^2.
    pub drift: f64,
    /// Variance of a measured utilisation.
    pub noise: f64,
}

impl DemandFilter {
    /// Take in one measurement: throughput (1/s) and busy servers. Returns the gain.
    pub fn update(&mut self, throughput: f64, busy: f64) -> f64 {
        self.variance += self.drift;
        let gain =
            self.variance * throughput / (throughput * throughput * self.variance + self.noise);
        self.demand = (self.demand + gain * (busy - throughput * self.demand)).max(0.0);
        self.variance *= 1.0 - gain * throughput;
        gain
    }
}

/// How the demand changes with throughput: the bend of busy servers against throughput.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bend {
    /// Slope at the largest throughput over slope at the smallest, less 1: -0.2 means that a
    /// transaction costs a fifth less at the largest.
    pub change: f64,
    /// Probability of such a bend when the demand does not change.
    pub p: f64,
}

/// Does the demand of one class change with load? A parabola against the straight line. `None` with
/// fewer than four rows or three throughputs, or when the line at the smallest throughput has no
/// slope.
#[must_use]
pub fn bend(throughputs: &[f64], busy: &[f64]) -> Option<Bend> {
    let count = throughputs.len();
    if count != busy.len() || count < 4 {
        return None;
    }
    let ends =
        |start: f64, pick: fn(f64, f64) -> f64| throughputs.iter().copied().fold(start, pick);
    let (low, high) = (
        ends(f64::INFINITY, f64::min),
        ends(f64::NEG_INFINITY, f64::max),
    );
    let unit = |x: f64| (x - low) / (high - low);
    let fit = |columns: usize| {
        let rows: Rows = throughputs
            .iter()
            .map(|x| [1.0, unit(*x), unit(*x).powi(2)][..columns].to_vec())
            .collect();
        let solution = least_squares(&rows, busy, columns)?;
        let rss: f64 = rows
            .iter()
            .zip(busy)
            .map(|(row, u)| (u - dot(row, &solution)).powi(2))
            .sum();
        Some((solution, rss))
    };
    let ((_, straight), (bent, parabola)) = (fit(2)?, fit(3)?);
    let p = crate::fit::nested_f_test((straight, 2), (parabola, 3), count)?.p;
    (bent[1] > 0.0).then(|| Bend {
        change: 2.0 * bent[2] / bent[1],
        p,
    })
}

/// A demand with the work of waking up: an order that finds its server idle costs more than one
/// that finds it busy.
///
/// u = X/cap (D + W (1 - u)), so that u = X (D + W)/(cap + X W): busy servers grow ever more slowly
/// with throughput, up to cap/D.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wakeups {
    /// Demand of a transaction at a busy server, s, > 0.
    pub demand: f64,
    /// What it costs more at an idle one, s, > 0.
    pub wakeup: f64,
    /// Sum of absolute residuals, busy servers.
    pub deviation: f64,
}

/// Find them by least absolute deviations of busy servers on X and X (1 - u), so that one disturbed
/// run bends nothing; `idle` is 1 - u of each row. `None` when shapes differ, the two cannot be
/// told apart, or one would not be above 0.
#[must_use]
pub fn wakeups(throughputs: &[f64], busy: &[f64], idle: &[f64]) -> Option<Wakeups> {
    const ROUNDS: usize = 60;
    const LEAST: f64 = 1e-4;
    if throughputs.len() != busy.len() || busy.len() != idle.len() || busy.len() < 3 {
        return None;
    }
    let rows: Rows = throughputs
        .iter()
        .zip(idle)
        .map(|(x, idle)| vec![*x, x * idle])
        .collect();
    let mut solution = least_squares(&rows, busy, 2)?;
    // Weights 1/|residual| turn squares into absolute values: Schlossmacher, JASA 68 (1973) 857.
    for _ in 0..ROUNDS {
        let roots: Vec<f64> = rows
            .iter()
            .zip(busy)
            .map(|(row, u)| (u - dot(row, &solution)).abs().max(LEAST).sqrt().recip())
            .collect();
        let weighted: Rows = rows
            .iter()
            .zip(&roots)
            .map(|(row, root)| row.iter().map(|cell| cell * root).collect())
            .collect();
        let right: Vec<f64> = busy.iter().zip(&roots).map(|(u, root)| u * root).collect();
        solution = least_squares(&weighted, &right, 2)?;
    }
    let deviation = rows
        .iter()
        .zip(busy)
        .map(|(row, u)| (u - dot(row, &solution)).abs())
        .sum();
    let (demand, wakeup) = (solution[0], solution[1]);
    (demand > 0.0 && wakeup > 0.0).then_some(Wakeups {
        demand,
        wakeup,
        deviation,
    })
}

/// Demand of a disk behind a cache: reads (1 - hit ratio) S, s.
#[must_use]
pub fn disk_demand(logical_reads: f64, hit_ratio: f64, service: f64) -> f64 {
    logical_reads * (1.0 - hit_ratio) * service
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_negative_background_is_at_its_bound() {
        let x: Rows = [10.0, 20.0, 30.0, 40.0].map(|x| vec![x]).into();
        let found = demands(&x, &[0.05, 0.15, 0.25, 0.35]).expect("found");
        assert_eq!((found.background, found.standard_errors[0]), (0.0, 0.0));
        assert!(
            (found.demands[0] - 250.0 / 30_000.0).abs() < 1e-9,
            "through the origin: {found:?}"
        );
    }

    #[test]
    fn what_cannot_be_told_apart_is_refused() {
        let twins: Rows = (1..6)
            .map(|i| vec![f64::from(i), 2.0 * f64::from(i)])
            .collect();
        assert_eq!(
            demands(&twins, &[0.1, 0.2, 0.3, 0.4, 0.5]),
            Err(DemandError::Dependent)
        );
        assert!(matches!(
            demands(&twins, &[0.1]),
            Err(DemandError::Shape { .. })
        ));
        assert_eq!(
            demands(&[vec![1.0], vec![2.0], vec![f64::NAN]], &[0.1, 0.2, 0.3]),
            Err(DemandError::Range)
        );
    }

    #[test]
    fn a_demand_that_falls_with_load_bends_the_line() {
        let x = [50.0, 100.0, 150.0, 200.0, 250.0, 300.0];
        let noise = [0.001, -0.001, 0.0005, -0.001, 0.001, -0.0005];
        let of = |curve: &dyn Fn(f64) -> f64| {
            bend(
                &x,
                &x.iter()
                    .zip(noise)
                    .map(|(x, e)| curve(*x) + e)
                    .collect::<Vec<_>>(),
            )
            .expect("enough")
        };
        let straight = of(&|x| 0.02 + 0.002 * x);
        assert!(
            straight.p > 0.05 && straight.change.abs() < 0.05,
            "{straight:?}"
        );
        let falling = of(&|x| 0.02 + 0.002 * x - 1e-6 * x * x);
        // From 0.0019 at 50/s to 0.0014 at 300/s.
        assert!(
            falling.p < 0.01 && (falling.change + 5.0 / 19.0).abs() < 0.04,
            "{falling:?}"
        );
        assert_eq!(bend(&x[..3], &x[..3]), None);
        assert_eq!(bend(&[5.0; 6], &x), None);
    }

    #[test]
    fn the_work_of_waking_up_is_found() {
        let (demand, wakeup) = (0.6e-3, 0.9e-3);
        let x = [200.0, 400.0, 800.0, 1200.0];
        let busy = x.map(|x| x * (demand + wakeup) / (1.0 + x * wakeup));
        let found = wakeups(&x, &busy, &busy.map(|u| 1.0 - u)).expect("enough");
        assert!(
            (found.demand / demand - 1.0).abs() < 1e-9
                && (found.wakeup / wakeup - 1.0).abs() < 1e-9
                && found.deviation < 1e-9
        );
        let mut disturbed = busy;
        disturbed[0] += 0.1;
        let robust = wakeups(
            &[x.as_slice(), &x].concat(),
            &[busy, disturbed].concat(),
            &[busy, disturbed]
                .concat()
                .iter()
                .map(|u| 1.0 - u)
                .collect::<Vec<_>>(),
        );
        assert!(
            robust.is_some_and(|robust| (robust.demand / demand - 1.0).abs() < 0.02),
            "{robust:?}"
        );
        // Without it there is none to find.
        let straight = x.map(|x| x * demand);
        assert_eq!(wakeups(&x, &straight, &[0.0; 4]), None);
    }
}
