//! Bounds on throughput and response time that need no solution.

use crate::queue::{
    mva::single_servers,
    station::{Capacity, ModelError, Station, check},
};

/// What throughput and response time must lie between.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    /// Least throughput, 1/s.
    pub x_low: f64,
    /// Most throughput, 1/s.
    pub x_high: f64,
    /// Least response time, s.
    pub r_low: f64,
    /// Most response time, s.
    pub r_high: f64,
}

/// Sums over the stations of a network.
struct Demands {
    /// Sum of the demands, s.
    total: f64,
    /// Largest demand over servers, s.
    largest: f64,
    /// Sum of the demands of stations where one may wait, s.
    queueing: f64,
    /// Number of these stations.
    stations: usize,
    /// Think time and delays, s.
    think: f64,
}

fn demands(stations: &[Station], think: f64) -> Demands {
    let waits = |station: &&Station| station.capacity != Capacity::Delay;
    let queueing: f64 = stations
        .iter()
        .filter(waits)
        .map(|station| station.demand)
        .sum();
    let delay: f64 = stations
        .iter()
        .filter(|station| !waits(station))
        .map(|station| station.demand)
        .sum();
    Demands {
        total: queueing + delay,
        largest: stations
            .iter()
            .map(|station| station.demand / station.capacity.top())
            .fold(0.0, f64::max),
        queueing,
        stations: stations.iter().filter(waits).count(),
        think: think + delay,
    }
}

/// Where the two asymptotes of throughput meet, in users: (D + Z)/Dmax. Queueing sets in here; a
/// peak of throughput is another thing.
///
/// # Errors
/// When a value is out of range.
pub fn knee(stations: &[Station], think: f64) -> Result<f64, ModelError> {
    check(stations, think, 1)?;
    let d = demands(stations, think);
    Ok((d.queueing + d.think) / d.largest)
}

/// Asymptotic bounds for `users`; they hold for any number of servers and any distribution.
///
/// Source: Lazowska, Zahorjan, Graham, Sevcik, Quantitative System Performance (1984).
///
/// # Errors
/// When a value is out of range.
pub fn asymptotic(stations: &[Station], think: f64, users: u32) -> Result<Range, ModelError> {
    check(stations, think, users)?;
    let (d, n) = (demands(stations, think), f64::from(users));
    let delays = d.think - think;
    Ok(Range {
        x_low: n / (n * d.queueing + d.think),
        x_high: (n / (d.queueing + d.think)).min(1.0 / d.largest),
        r_low: d.total.max(n * d.largest - think),
        r_high: n * d.queueing + delays,
    })
}

/// Balanced-job bounds for `users`; single servers alone. A delay counts as think time, and its
/// demand is added to the response time.
///
/// Source: Zahorjan, Sevcik, Eager, Galler, CACM 25(2) (1982) 134.
///
/// # Errors
/// When a value is out of range, or a station has several servers.
pub fn balanced(stations: &[Station], think: f64, users: u32) -> Result<Range, ModelError> {
    check(stations, think, users)?;
    single_servers(stations, "the balanced-job bounds")?;
    let d = demands(stations, think);
    let (n, z, total) = (f64::from(users), d.think, d.queueing);
    if total <= 0.0 {
        return asymptotic(stations, think, users);
    }
    let average = total / d.stations as f64;
    let most = (n - 1.0) * d.largest / (1.0 + z / (n * total));
    let least = (n - 1.0) * average / (1.0 + z / total);
    let delays = d.think - think;
    Ok(Range {
        x_low: n / (total + z + most),
        x_high: (1.0 / d.largest).min(n / (total + z + least)),
        r_low: (n * d.largest - z).max(total + least) + delays,
        r_high: total + most + delays,
    })
}
