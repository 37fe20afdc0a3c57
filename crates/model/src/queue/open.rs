//! Open stations: arrivals that do not wait for answers.
//!
//! These describe arrival-rate drivers. A think-time driver is closed, and open formulas overstate
//! its response time near saturation.

use crate::queue::station::{ModelError, not_negative, positive};

/// M/M/c: Poisson arrivals, exponential service, c servers, first come first served.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Multiserver {
    /// Arrivals, 1/s.
    pub arrivals: f64,
    /// Mean service time, s.
    pub service: f64,
    /// Servers.
    pub servers: u32,
    /// Utilisation per server.
    pub rho: f64,
    /// Erlang's C: the probability to wait.
    pub wait_probability: f64,
    /// Mean wait, s.
    pub wait: f64,
}

impl Multiserver {
    /// Solve the station. Source: Erlang (1917); the recursion of the loss formula B(i) = a
    /// B(i-1)/(i + a B(i-1)).
    ///
    /// # Errors
    /// When a value is out of range, or the station is overloaded.
    pub fn new(arrivals: f64, service: f64, servers: u32) -> Result<Self, ModelError> {
        not_negative("the arrival rate", arrivals)?;
        positive("the service time", service)?;
        positive("the number of servers", f64::from(servers))?;
        let offered = arrivals * service;
        let rho = below_one(offered / f64::from(servers))?;
        let blocked = (1..=servers).fold(1.0, |b, i| offered * b / (f64::from(i) + offered * b));
        let wait_probability = blocked / (1.0 - rho * (1.0 - blocked));
        Ok(Self {
            arrivals,
            service,
            servers,
            rho,
            wait_probability,
            wait: wait_probability / (f64::from(servers) / service - arrivals),
        })
    }

    /// Mean response time, s.
    #[must_use]
    pub fn response_time(&self) -> f64 {
        self.wait + self.service
    }

    /// The wait that a share `p` of the arrivals does not exceed, s, 0 <= p < 1.
    #[must_use]
    pub fn wait_quantile(&self, p: f64) -> f64 {
        let spare = f64::from(self.servers) / self.service - self.arrivals;
        ((self.wait_probability / (1.0 - p)).ln() / spare).max(0.0)
    }
}

fn below_one(rho: f64) -> Result<f64, ModelError> {
    if rho < 1.0 {
        Ok(rho)
    } else {
        Err(ModelError::Overloaded(rho))
    }
}

/// The response time of M/M/1 that a share `p` does not exceed, s: it is exponential.
///
/// # Errors
/// When a value is out of range, or the station is overloaded.
pub fn mm1_quantile(arrivals: f64, service: f64, p: f64) -> Result<f64, ModelError> {
    Ok(-Multiserver::new(arrivals, service, 1)?.response_time() * (1.0 - p).ln())
}

/// Mean wait of M/G/1, first come first served, s; `scv` is the squared coefficient of variation of
/// service. Source: Pollaczek, Khinchine.
///
/// # Errors
/// When a value is out of range, or the station is overloaded.
pub fn mg1_fcfs_wait(arrivals: f64, service: f64, scv: f64) -> Result<f64, ModelError> {
    not_negative("the arrival rate", arrivals)?;
    positive("the service time", service)?;
    not_negative("the variation of service", scv)?;
    let rho = below_one(arrivals * service)?;
    Ok(rho * service * (1.0 + scv) / (2.0 * (1.0 - rho)))
}

/// Response time under processor sharing, for any service distribution, s: x/(1 - rho) for a job of
/// `size` seconds.
///
/// # Errors
/// When a value is out of range, or the station is overloaded.
pub fn ps_response(size: f64, rho: f64) -> Result<f64, ModelError> {
    not_negative("the size of the job", size)?;
    Ok(size / (1.0 - below_one(not_negative("the utilisation", rho)?)?))
}

/// Standard deviation of the response time of M/M/1 under processor sharing, s. Source: Coffman,
/// Muntz, Trotter, JACM 17(1) (1970) 123.
///
/// # Errors
/// When a value is out of range, or the station is overloaded.
pub fn mm1_ps_deviation(service: f64, rho: f64) -> Result<f64, ModelError> {
    Ok(ps_response(service, rho)? * ((2.0 + rho) / (2.0 - rho)).sqrt())
}

/// Mean wait of G/G/c, s, approximately: that of M/M/c times (c_a^2 + c_s^2)/2. Source: Allen,
/// Probability, Statistics and Queueing Theory (1990).
///
/// # Errors
/// When a value is out of range, or the station is overloaded.
pub fn allen_cunneen(
    arrivals: f64,
    service: f64,
    servers: u32,
    arrival_scv: f64,
    service_scv: f64,
) -> Result<f64, ModelError> {
    let variation = not_negative("the variation of arrivals", arrival_scv)?
        + not_negative("the variation of service", service_scv)?;
    Ok(Multiserver::new(arrivals, service, servers)?.wait * variation / 2.0)
}

/// Residence times R_ck = D_ck/(1 - sum_j X_j D_jk) of several classes, s; `rates[c]` in 1/s,
/// `demands[c][k]` in s.
///
/// # Errors
/// When a value is out of range, the shapes differ, or a station is overloaded.
pub fn open_classes(rates: &[f64], demands: &[Vec<f64>]) -> Result<Vec<Vec<f64>>, ModelError> {
    let stations = demands.first().map_or(0, Vec::len);
    if rates.len() != demands.len() {
        return Err(ModelError::Shape {
            what: "the list of rates",
            found: rates.len(),
            expected: demands.len(),
        });
    }
    let mut load = vec![0.0; stations];
    for (rate, row) in rates.iter().zip(demands) {
        not_negative("an arrival rate", *rate)?;
        if row.len() != stations {
            return Err(ModelError::Shape {
                what: "a class",
                found: row.len(),
                expected: stations,
            });
        }
        for (load, demand) in load.iter_mut().zip(row) {
            *load += rate * not_negative("a demand", *demand)?;
        }
    }
    for rho in &load {
        below_one(*rho)?;
    }
    let residence = |row: &Vec<f64>| {
        row.iter()
            .zip(&load)
            .map(|(demand, rho)| demand / (1.0 - rho))
            .collect()
    };
    Ok(demands.iter().map(residence).collect())
}
