//! Mean value analysis of one class.

use crate::queue::station::{Capacity, ModelError, Station, check};

/// Means of a closed network of one class.
#[derive(Clone, Debug, PartialEq)]
pub struct Solution {
    /// Throughput, transactions/s.
    pub x: f64,
    /// Residence time per station over all visits, s.
    pub r: Vec<f64>,
    /// Mean number per station.
    pub q: Vec<f64>,
}

impl Solution {
    /// Response time: the sum over stations, s.
    #[must_use]
    pub fn response_time(&self) -> f64 {
        self.r.iter().sum()
    }
}

/// Exact mean value analysis for single servers and delays, in O(users x stations).
///
/// Source: Reiser, Lavenberg, JACM 27(2) (1980) 313.
///
/// # Errors
/// When a value is out of range, or a station has several servers.
///
/// ```
/// use rookery_model::queue::{Station, mva};
/// let solution = mva(&[Station::queue(0.10), Station::queue(0.15)], 4.0, 20)?;
/// assert!((solution.x - 4.407676982).abs() < 1e-9);
/// # Ok::<(), rookery_model::queue::ModelError>(())
/// ```
pub fn mva(stations: &[Station], think: f64, users: u32) -> Result<Solution, ModelError> {
    check(stations, think, users)?;
    single_servers(stations, "mean value analysis")?;
    let mut solution = Solution {
        x: 0.0,
        r: vec![0.0; stations.len()],
        q: vec![0.0; stations.len()],
    };
    for n in 1..=users {
        for (k, station) in stations.iter().enumerate() {
            solution.r[k] = match station.capacity {
                Capacity::Delay => station.demand,
                _ => station.demand * (1.0 + solution.q[k]),
            };
        }
        solution.x = f64::from(n) / (think + solution.response_time());
        for (q, r) in solution.q.iter_mut().zip(&solution.r) {
            *q = solution.x * r;
        }
    }
    Ok(solution)
}

pub(crate) fn single_servers(stations: &[Station], method: &'static str) -> Result<(), ModelError> {
    if stations
        .iter()
        .all(|station| matches!(station.capacity, Capacity::Delay | Capacity::Servers(1)))
    {
        return Ok(());
    }
    Err(ModelError::Unsupported {
        method,
        station: "a station whose speed depends on the number present",
        instead: "`solve`, or the transform of Seidmann",
    })
}

/// Approximate solution with several servers: each such station becomes one server with demand D/m
/// and a delay D (m-1)/m, solved by mean value analysis. Prefer [`crate::queue::solve`], which is
/// exact.
///
/// Source: Seidmann, Schweitzer, Shalev-Oren, Large Scale Systems 12 (1987) 91.
///
/// # Errors
/// When a value is out of range, or a station is limited or measured.
pub fn seidmann(stations: &[Station], think: f64, users: u32) -> Result<Solution, ModelError> {
    check(stations, think, users)?;
    let mut single = Vec::new();
    let mut delay = Vec::new();
    for station in stations {
        let (queued, delayed) = parted(station)?;
        single.push(queued);
        delay.push(delayed);
    }
    let mut solution = mva(&single, think + delay.iter().sum::<f64>(), users)?;
    for (k, delay) in delay.into_iter().enumerate() {
        solution.r[k] += delay;
        solution.q[k] += delay * solution.x;
    }
    Ok(solution)
}

/// The single server and the delay that stand for a station.
pub(crate) fn parted(station: &Station) -> Result<(Station, f64), ModelError> {
    let demand = station.demand;
    match station.capacity {
        Capacity::Delay => Ok((station.clone(), 0.0)),
        Capacity::Servers(servers) => {
            let m = f64::from(servers);
            Ok((Station::queue(demand / m), demand * (m - 1.0) / m))
        }
        _ => Err(ModelError::Unsupported {
            method: "the transform of Seidmann",
            station: "a limited or measured station",
            instead: "`solve`",
        }),
    }
}
