//! Exact solution of one class with any stations: convolution, then a flow-equivalent server beside
//! the think time.

use crate::queue::station::{Capacity, ModelError, Station, check};

/// Multiplications above which a network is refused.
const STEP_LIMIT: f64 = 4e9;
/// Sum of demands in units of the bottleneck's above which normalising constants could pass the
/// range of numbers.
const SPREAD_LIMIT: f64 = 600.0;

/// Means and marginal distributions of a closed network of one class.
#[derive(Clone, Debug)]
pub struct Exact {
    /// Throughput, transactions/s.
    pub x: f64,
    /// Response time without think time, s.
    pub response_time: f64,
    /// Residence time per station, s.
    pub r: Vec<f64>,
    /// Mean number per station.
    pub q: Vec<f64>,
    /// Utilisation per server (of the largest speed), 0 to 1; 0 for delays.
    pub u: Vec<f64>,
    stations: Vec<Option<Factor>>,
    /// Probability that so many users are at the queueing stations.
    inside: Vec<f64>,
}

/// One queueing station's factor f(j), and the convolution of all others.
#[derive(Clone, Debug)]
struct Factor {
    own: Vec<f64>,
    others: Vec<f64>,
}

/// Solve a closed network of one class exactly, whatever the speeds of its stations.
///
/// Sources: Buzen, CACM 16(9) (1973) 527 (convolution); the think time joins as a birth-death chain
/// over the flow-equivalent server, in logarithms.
///
/// # Errors
/// When a value is out of range, or the network is too large.
///
/// ```
/// use rookery_model::queue::{Station, solve};
/// let solution = solve(&[Station::servers(0.4, 4), Station::queue(0.05)], 1.0, 20)?;
/// assert!((solution.x - 9.840565956).abs() < 1e-9);
/// # Ok::<(), rookery_model::queue::ModelError>(())
/// ```
pub fn solve(stations: &[Station], think: f64, users: u32) -> Result<Exact, ModelError> {
    check(stations, think, users)?;
    let n = users as usize;
    let delay: f64 = think
        + stations
            .iter()
            .filter(|s| s.capacity == Capacity::Delay)
            .map(|s| s.demand)
            .sum::<f64>();
    let queueing: Vec<usize> = (0..stations.len())
        .filter(|&k| stations[k].capacity != Capacity::Delay && stations[k].demand > 0.0)
        .collect();
    guard(stations, &queueing, n)?;
    let scale = queueing
        .iter()
        .map(|&k| stations[k].demand / stations[k].capacity.top())
        .fold(0.0, f64::max);
    if queueing.is_empty() {
        return Ok(delays_only(stations, delay, users));
    }
    let constants = convolution(stations, &queueing, None, scale, n);
    let inside = population_inside(&constants, scale, delay, n);
    let x = if delay > 0.0 {
        inside
            .iter()
            .enumerate()
            .map(|(j, p)| (n - j) as f64 * p)
            .sum::<f64>()
            / delay
    } else {
        constants[n - 1] / (constants[n] * scale)
    };
    let mut exact = Exact {
        x,
        response_time: 0.0,
        r: vec![0.0; stations.len()],
        q: vec![0.0; stations.len()],
        u: vec![0.0; stations.len()],
        stations: vec![None; stations.len()],
        inside,
    };
    for (k, station) in stations.iter().enumerate() {
        if station.capacity == Capacity::Delay {
            exact.r[k] = station.demand;
            exact.q[k] = station.demand * x;
        } else if station.demand > 0.0 {
            exact.stations[k] = Some(Factor {
                own: factor(station, scale, n),
                others: convolution(stations, &queueing, Some(k), scale, n),
            });
            exact.q[k] = exact.mean_at(k);
            exact.r[k] = exact.q[k] / x;
            exact.u[k] = x * station.demand / station.capacity.top();
        }
    }
    exact.response_time = exact.r.iter().sum();
    Ok(exact)
}

pub(super) fn guard(stations: &[Station], queueing: &[usize], n: usize) -> Result<(), ModelError> {
    let dependent = queueing
        .iter()
        .filter(|&&k| stations[k].capacity.constant().is_none())
        .count();
    let steps = (queueing.len() * (dependent + 1) * n * n) as f64;
    let too_large = |steps: f64, limit: f64| ModelError::TooLarge {
        method: "convolution",
        steps,
        limit,
        instead: "`schweitzer_scaled`, or fewer servers",
    };
    if steps > STEP_LIMIT {
        return Err(too_large(steps, STEP_LIMIT));
    }
    let scale = queueing
        .iter()
        .map(|&k| stations[k].demand / stations[k].capacity.top())
        .fold(0.0, f64::max);
    let slowest = |station: &Station| {
        (1..=n.min(1024))
            .map(|j| station.capacity.speed(j) / j as f64)
            .fold(f64::INFINITY, f64::min)
    };
    let spread: f64 = queueing
        .iter()
        .map(|&k| &stations[k])
        .filter(|station| station.capacity.constant().is_none())
        .map(|station| station.demand / scale / slowest(station).max(1.0))
        .sum();
    if spread > SPREAD_LIMIT {
        return Err(too_large(spread, SPREAD_LIMIT));
    }
    Ok(())
}

fn delays_only(stations: &[Station], delay: f64, users: u32) -> Exact {
    let x = f64::from(users) / delay;
    let r: Vec<f64> = stations.iter().map(|station| station.demand).collect();
    Exact {
        x,
        response_time: r.iter().sum(),
        q: r.iter().map(|r| r * x).collect(),
        r,
        u: vec![0.0; stations.len()],
        stations: vec![None; stations.len()],
        inside: vec![1.0],
    }
}

/// f(j) = prod_{i<=j} (D/s)/alpha(i), j = 0..n.
fn factor(station: &Station, scale: f64, n: usize) -> Vec<f64> {
    let demand = station.demand / scale;
    let mut f = Vec::with_capacity(n + 1);
    f.push(1.0);
    for j in 1..=n {
        f.push(f[j - 1] * demand / station.capacity.speed(j));
    }
    f
}

/// The product of the factors of all queueing stations but `without`, truncated at `n`.
pub(super) fn convolution(
    stations: &[Station],
    queueing: &[usize],
    without: Option<usize>,
    scale: f64,
    n: usize,
) -> Vec<f64> {
    let mut g = vec![0.0; n + 1];
    g[0] = 1.0;
    for &k in queueing.iter().filter(|k| Some(**k) != without) {
        if let Some(speed) = stations[k].capacity.constant() {
            let demand = stations[k].demand / (scale * speed);
            for j in 1..=n {
                g[j] += demand * g[j - 1];
            }
        } else {
            let f = factor(&stations[k], scale, n);
            g = if g[1..].iter().all(|cell| *cell == 0.0) {
                f
            } else {
                (0..=n)
                    .map(|j| (0..=j).map(|i| f[i] * g[j - i]).sum())
                    .collect()
            };
        }
        renormalise(&mut g);
    }
    g
}

/// Only ratios within one list of constants are used, so that a common factor is free.
fn renormalise(g: &mut [f64]) {
    let largest = g.iter().copied().fold(0.0, f64::max);
    if largest > 1e250 {
        g.iter_mut().for_each(|cell| *cell /= largest);
    }
}

/// How many users are at the queueing stations: a birth-death chain, in logarithms.
fn population_inside(constants: &[f64], scale: f64, delay: f64, n: usize) -> Vec<f64> {
    if delay <= 0.0 {
        let mut inside = vec![0.0; n + 1];
        inside[n] = 1.0;
        return inside;
    }
    let mut logs = Vec::with_capacity(n + 1);
    logs.push(0.0);
    for j in 1..=n {
        let rate = constants[j - 1] / (constants[j] * scale);
        logs.push(logs[j - 1] + ((n - j + 1) as f64 / (delay * rate)).ln());
    }
    let largest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut inside: Vec<f64> = logs.iter().map(|log| (log - largest).exp()).collect();
    let mass: f64 = inside.iter().sum();
    inside.iter_mut().for_each(|p| *p /= mass);
    inside
}

impl Exact {
    /// E[number at station k]: over the users inside, the conditional mean of the station.
    fn mean_at(&self, k: usize) -> f64 {
        let Some(Factor { own, others }) = &self.stations[k] else {
            return self.q[k];
        };
        let weighted: Vec<f64> = own.iter().enumerate().map(|(i, f)| i as f64 * f).collect();
        let mut mean = 0.0;
        for (j, p) in self.inside.iter().enumerate().filter(|(_, p)| **p > 1e-18) {
            let (mut mass, mut sum) = (0.0, 0.0);
            for i in 0..=j {
                mass += own[i] * others[j - i];
                sum += weighted[i] * others[j - i];
            }
            mean += p * sum / mass;
        }
        mean
    }

    /// The distribution of the number present at station `k`, 0 to the number of users; `None` for
    /// a delay or a station without demand.
    #[must_use]
    pub fn marginal(&self, k: usize) -> Option<Vec<f64>> {
        let Factor { own, others } = self.stations.get(k)?.as_ref()?;
        let mut marginal = vec![0.0; own.len()];
        for (j, p) in self.inside.iter().enumerate().filter(|(_, p)| **p > 0.0) {
            let mass: f64 = (0..=j).map(|i| own[i] * others[j - i]).sum();
            for i in 0..=j {
                marginal[i] += p * own[i] * others[j - i] / mass;
            }
        }
        Some(marginal)
    }
}
