//! Percentiles of response times of closed networks.
//!
//! Valid for totals of a transaction with exponential-like service. Not for heavy tails
//! (checkpoints, garbage collection, throttling), mixes of unlike pages, or the 99.9th percentile.

use crate::{
    queue::{
        exact::solve,
        station::{Capacity, ModelError, Station, not_negative, positive},
    },
    special::{bisect, gamma_p, gamma_quantile},
};

/// A gamma distribution fitted to mean and variance of the response time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ResponseTimes {
    /// Mean, s.
    pub mean: f64,
    /// Standard deviation, s.
    pub deviation: f64,
}

impl ResponseTimes {
    /// Response times of a closed network: what an arriving user finds is the marginal of the
    /// network with one user less; per station the mean and variance of the resulting mixture of
    /// Erlang times are added up as if stations were independent.
    ///
    /// Source: the arrival theorem (Lavenberg, Reiser, J. Applied Probability 17 (1980) 1048); the
    /// sum and the gamma shape are approximations.
    ///
    /// # Errors
    /// When a value is out of range, or a station is limited or measured.
    pub fn closed(stations: &[Station], think: f64, users: u32) -> Result<Self, ModelError> {
        let seen = if users > 1 {
            Some(solve(stations, think, users - 1)?)
        } else {
            None
        };
        let (mut mean, mut variance) = (0.0, 0.0);
        for (k, station) in stations.iter().enumerate() {
            let servers = match station.capacity {
                Capacity::Delay => None,
                Capacity::Servers(servers) => Some(servers),
                _ => {
                    return Err(ModelError::Unsupported {
                        method: "the percentile of a network",
                        station: "a limited or measured station",
                        instead: "the simulator",
                    });
                }
            };
            let found = seen
                .as_ref()
                .and_then(|exact| exact.marginal(k))
                .unwrap_or_else(|| vec![1.0]);
            let (m, v) = match servers {
                Some(servers) => station_moments(station.demand, servers, &found),
                None => (station.demand, station.demand * station.demand),
            };
            mean += m;
            variance += v;
        }
        positive("the response time", mean)?;
        Ok(Self {
            mean,
            deviation: variance.sqrt(),
        })
    }

    /// The response time that a share `p` does not exceed, s, 0 < p < 1.
    #[must_use]
    pub fn quantile(&self, p: f64) -> f64 {
        let variance = self.deviation * self.deviation;
        let shape = self.mean * self.mean / variance;
        gamma_quantile(shape, p) * variance / self.mean
    }

    /// The share of responses within `limit` seconds.
    #[must_use]
    pub fn share_within(&self, limit: f64) -> f64 {
        let variance = self.deviation * self.deviation;
        gamma_p(
            self.mean * self.mean / variance,
            limit * self.mean / variance,
        )
    }
}

/// Mean and variance of the time at a first-come-first-served station where an arrival finds j
/// users with probability `found[j]`.
fn station_moments(service: f64, servers: u32, found: &[f64]) -> (f64, f64) {
    let m = f64::from(servers);
    let (mut mean, mut square) = (0.0, 0.0);
    for (j, p) in found.iter().enumerate() {
        // Departures to wait for at the rate of all servers, then the own service.
        let ahead = (j as f64 - m + 1.0).max(0.0);
        let first = service + ahead * service / m;
        let spread = service * service * (1.0 + ahead / (m * m));
        mean += p * first;
        square += p * (first * first + spread);
    }
    (mean, square - mean * mean)
}

/// The exact quantile of the response time at one first-come-first-served station of exponential
/// service, s: an arrival that finds j users stays for an Erlang time of j + 1 services.
///
/// # Errors
/// When a value is out of range.
pub fn repairman_quantile(service: f64, think: f64, users: u32, p: f64) -> Result<f64, ModelError> {
    positive("the service time", service)?;
    not_negative("the think time", think)?;
    let found = if users > 1 {
        solve(&[Station::queue(service)], think, users - 1)?
            .marginal(0)
            .unwrap_or_else(|| vec![1.0])
    } else {
        vec![1.0]
    };
    // P(R <= t) = sum_j p(j) P(Erlang(j+1) <= t/S); Erlang shares are incomplete gamma functions.
    let within = |t: f64| -> f64 {
        let share = |(j, p): (usize, &f64)| p * gamma_p(j as f64 + 1.0, t / service);
        found
            .iter()
            .enumerate()
            .filter(|(_, p)| **p > 1e-18)
            .map(share)
            .sum()
    };
    let mut high = service * f64::from(users);
    while within(high) < p {
        high *= 2.0;
    }
    Ok(bisect(0.0, high, |t| within(t) < p))
}
