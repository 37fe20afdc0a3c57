//! Several classes of users on one set of stations.

use crate::queue::station::{ModelError, not_negative};

/// A class of users.
#[derive(Clone, Debug, PartialEq)]
pub struct Class {
    /// Users.
    pub users: u32,
    /// Think time, s.
    pub think: f64,
    /// Demand at every station, s per transaction.
    pub demands: Vec<f64>,
}

/// How a solution was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Exact mean value analysis.
    Exact,
    /// Linearizer.
    Linearizer,
    /// The approximation of Schweitzer and Bard.
    Schweitzer,
}

/// Means per class (rows) and station (columns).
#[derive(Clone, Debug, PartialEq)]
pub struct ClassSolution {
    /// How it was found.
    pub method: Method,
    /// Throughput of each class, 1/s.
    pub x: Vec<f64>,
    /// Residence times, s.
    pub r: Vec<Vec<f64>>,
    /// Mean numbers.
    pub q: Vec<Vec<f64>>,
    /// Busy servers.
    pub u: Vec<Vec<f64>>,
}

impl ClassSolution {
    pub(crate) fn new(
        method: Method,
        classes: &[Class],
        x: Vec<f64>,
        r: Vec<Vec<f64>>,
        q: Vec<Vec<f64>>,
    ) -> Self {
        let busy =
            |(class, x): (&Class, &f64)| class.demands.iter().map(|demand| demand * x).collect();
        let u = classes.iter().zip(&x).map(busy).collect();
        Self { method, x, r, q, u }
    }
}

/// Steps above which the exact solution is refused.
pub(super) const EXACT_LIMIT: f64 = 1e8;
pub(crate) fn check_classes(classes: &[Class], delays: &[bool]) -> Result<(), ModelError> {
    for class in classes {
        if class.demands.len() != delays.len() {
            return Err(ModelError::Shape {
                what: "a class",
                found: class.demands.len(),
                expected: delays.len(),
            });
        }
        not_negative("the think time", class.think)?;
        for demand in &class.demands {
            not_negative("a demand", *demand)?;
        }
        if class.users > 0 && class.think + class.demands.iter().sum::<f64>() <= 0.0 {
            return Err(ModelError::Empty);
        }
    }
    if classes.iter().all(|class| class.users == 0) {
        return Err(ModelError::Empty);
    }
    Ok(())
}

pub(super) fn exact_steps(classes: &[Class], stations: usize) -> f64 {
    let vectors: f64 = classes
        .iter()
        .map(|class| f64::from(class.users) + 1.0)
        .product();
    vectors * classes.len() as f64 * stations as f64
}

/// Exact mean value analysis of several classes over single servers and delays; `delays[k]` says
/// which stations are delays.
///
/// Source: Reiser, Lavenberg, JACM 27(2) (1980) 313. Cost: prod(N_c + 1) classes x stations.
///
/// # Errors
/// When a value is out of range, classes do not name the same stations, or the cost is above 10^8
/// steps.
pub fn exact_classes(classes: &[Class], delays: &[bool]) -> Result<ClassSolution, ModelError> {
    check_classes(classes, delays)?;
    let steps = exact_steps(classes, delays.len());
    if steps > EXACT_LIMIT {
        return Err(ModelError::TooLarge {
            method: "exact mean value analysis",
            steps,
            limit: EXACT_LIMIT,
            instead: "`linearizer`",
        });
    }
    let (count, stations) = (classes.len(), delays.len());
    // Population vectors are numbered with mixed radix; one user less of class c is `stride[c]`
    // earlier.
    let mut strides = Vec::with_capacity(count);
    let mut vectors = 1_usize;
    for class in classes {
        strides.push(vectors);
        vectors *= class.users as usize + 1;
    }
    let mut totals = vec![0.0; vectors * stations];
    let mut population = vec![0_u32; count];
    let mut x = vec![0.0; count];
    let mut r = vec![vec![0.0; stations]; count];
    for vector in 1..vectors {
        step(&mut population, classes);
        for c in 0..count {
            if population[c] == 0 {
                x[c] = 0.0;
                continue;
            }
            let before = (vector - strides[c]) * stations;
            let mut cycle = classes[c].think;
            for k in 0..stations {
                let seen = if delays[k] { 0.0 } else { totals[before + k] };
                r[c][k] = classes[c].demands[k] * (1.0 + seen);
                cycle += r[c][k];
            }
            x[c] = f64::from(population[c]) / cycle;
        }
        for k in 0..stations {
            totals[vector * stations + k] = (0..count).map(|c| x[c] * r[c][k]).sum();
        }
    }
    let q = (0..count)
        .map(|c| r[c].iter().map(|r| x[c] * r).collect())
        .collect();
    Ok(ClassSolution::new(Method::Exact, classes, x, r, q))
}

/// The next population vector, the first class fastest.
fn step(population: &mut [u32], classes: &[Class]) {
    for (users, class) in population.iter_mut().zip(classes) {
        if *users < class.users {
            *users += 1;
            return;
        }
        *users = 0;
    }
}
