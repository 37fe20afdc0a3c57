//! Approximate mean value analysis for large populations.

use rookery_cast::truncate_usize;

use crate::queue::{
    classes::{Class, ClassSolution, Method, check_classes},
    mva::Solution,
    station::{Capacity, ModelError, Station, check},
};

/// Rounds of the fixed points; they need tens.
const MAX_ROUNDS: usize = 100_000;
/// Largest change of a queue at the end.
const TOLERANCE: f64 = 1e-12;
/// Rounds of the outer loop of Linearizer.
const LINEARIZER_ROUNDS: usize = 20;

/// Iterate Q_k -> X R_k with `residence(place, station, Q)`.
fn fixed_point(
    stations: &[Station],
    think: f64,
    users: u32,
    residence: impl Fn(usize, &Station, f64) -> f64,
) -> Solution {
    let n = f64::from(users);
    let count = stations.len();
    let mut solution = Solution {
        x: 0.0,
        r: vec![0.0; count],
        q: vec![n / count.max(1) as f64; count],
    };
    for _ in 0..MAX_ROUNDS {
        for (k, station) in stations.iter().enumerate() {
            solution.r[k] = match station.capacity {
                Capacity::Delay => station.demand,
                _ => residence(k, station, solution.q[k]),
            };
        }
        solution.x = n / (think + solution.response_time());
        let mut change = 0.0_f64;
        for (q, r) in solution.q.iter_mut().zip(&solution.r) {
            change = change.max((solution.x * r - *q).abs());
            *q = solution.x * r;
        }
        if change < TOLERANCE {
            break;
        }
    }
    solution
}

/// The fixed point with the residence time scaled by the speed at the seen queue: R = D
/// (1+A)/alpha(1+A), for any station.
///
/// Source: Casale, Perez, Wang, QD-AMVA, Performance Evaluation 91 (2015) 80. Errors of several
/// percent near the knee.
///
/// # Errors
/// When a value is out of range.
pub fn schweitzer_scaled(
    stations: &[Station],
    think: f64,
    users: u32,
) -> Result<Solution, ModelError> {
    check(stations, think, users)?;
    Ok(fixed_point(stations, think, users, |_, station, q| {
        let present = 1.0 + q * (f64::from(users) - 1.0) / f64::from(users);
        let speed = match &station.capacity {
            Capacity::Measured(_) => station.capacity.speed(truncate_usize(present.round())),
            other => other.top().min(present),
        };
        station.demand * present / speed
    }))
}

/// Schweitzer's fixed point of one of several equal populations; `others(k)` is the number of the
/// other populations that share station k.
pub(crate) fn schweitzer_shared(
    stations: &[Station],
    think: f64,
    users: u32,
    others: impl Fn(usize) -> f64,
) -> Result<Solution, ModelError> {
    check(stations, think, users)?;
    let own = (f64::from(users) - 1.0) / f64::from(users);
    Ok(fixed_point(stations, think, users, |k, station, q| {
        station.demand * (1.0 + q * (others(k) + own))
    }))
}

/// The approximation of Schweitzer and Bard for several classes over single servers and delays;
/// `delays[k]` says which stations are delays.
///
/// Sources: Schweitzer, Int. Conf. Stochastic Control and Optimization (1979); Bard (1979). Errors
/// up to 5 % in X near the knee, 20 % in Q.
///
/// # Errors
/// When a value is out of range, or classes do not name the same stations.
pub fn schweitzer(classes: &[Class], delays: &[bool]) -> Result<ClassSolution, ModelError> {
    check_classes(classes, delays)?;
    let population: Vec<f64> = classes.iter().map(|class| f64::from(class.users)).collect();
    let corrections = vec![vec![vec![0.0; classes.len()]; delays.len()]; classes.len()];
    let mut q = spread(classes, delays.len());
    let (x, r) = core(classes, delays, &population, &corrections, &mut q);
    Ok(ClassSolution::new(Method::Schweitzer, classes, x, r, q))
}

/// Linearizer: Schweitzer's approximation corrected by the change of queue shares when one user
/// leaves, iterated until it settles.
///
/// Source: Chandy, Neuse, CACM 25(2) (1982) 126. Errors usually below 1 %.
///
/// # Errors
/// When a value is out of range, or classes do not name the same stations.
pub fn linearizer(classes: &[Class], delays: &[bool]) -> Result<ClassSolution, ModelError> {
    check_classes(classes, delays)?;
    let (count, stations) = (classes.len(), delays.len());
    let full: Vec<f64> = classes.iter().map(|class| f64::from(class.users)).collect();
    let mut corrections = vec![vec![vec![0.0; count]; stations]; count];
    let mut q = spread(classes, stations);
    let mut fewer: Vec<Vec<Vec<f64>>> = vec![q.clone(); count];
    let (mut x, mut r) = core(classes, delays, &full, &corrections, &mut q);
    for _ in 0..LINEARIZER_ROUNDS {
        for (j, q) in fewer.iter_mut().enumerate() {
            let mut population = full.clone();
            population[j] -= 1.0;
            core(classes, delays, &population, &corrections, q);
        }
        for c in 0..count {
            for k in 0..stations {
                for j in 0..count {
                    let left = full[c] - f64::from(u8::from(c == j));
                    let share = if left > 0.0 {
                        fewer[j][c][k] / left
                    } else {
                        0.0
                    };
                    corrections[c][k][j] = if left > 0.0 {
                        share - q[c][k] / full[c]
                    } else {
                        0.0
                    };
                }
            }
        }
        let before = x.clone();
        (x, r) = core(classes, delays, &full, &corrections, &mut q);
        if before
            .iter()
            .zip(&x)
            .all(|(old, new)| (old - new).abs() < 1e-10 * new.abs())
        {
            break;
        }
    }
    Ok(ClassSolution::new(Method::Linearizer, classes, x, r, q))
}

fn spread(classes: &[Class], stations: usize) -> Vec<Vec<f64>> {
    let share = |class: &Class| vec![f64::from(class.users) / stations.max(1) as f64; stations];
    classes.iter().map(share).collect()
}

/// The fixed point at one population with given corrections F_jkc; `q` is the start and the result.
fn core(
    classes: &[Class],
    delays: &[bool],
    population: &[f64],
    corrections: &[Vec<Vec<f64>>],
    q: &mut [Vec<f64>],
) -> (Vec<f64>, Vec<Vec<f64>>) {
    let (count, stations) = (classes.len(), delays.len());
    let mut x = vec![0.0; count];
    let mut r = vec![vec![0.0; stations]; count];
    for _ in 0..MAX_ROUNDS {
        for c in 0..count {
            for k in 0..stations {
                let seen: f64 = (0..count)
                    .filter(|j| population[*j] > 0.0)
                    .map(|j| {
                        let left = population[j] - f64::from(u8::from(j == c));
                        left * (q[j][k] / population[j] + corrections[j][k][c])
                    })
                    .sum();
                let queue = if delays[k] { 0.0 } else { seen.max(0.0) };
                r[c][k] = classes[c].demands[k] * (1.0 + queue);
            }
            let cycle = classes[c].think + r[c].iter().sum::<f64>();
            x[c] = if population[c] > 0.0 {
                population[c] / cycle
            } else {
                0.0
            };
        }
        let mut change = 0.0_f64;
        for c in 0..count {
            for k in 0..stations {
                let next = x[c] * r[c][k];
                change = change.max((next - q[c][k]).abs());
                q[c][k] = next;
            }
        }
        if change < TOLERANCE {
            break;
        }
    }
    (x, r)
}
