//! Operational laws: what holds for every system over every interval, without any assumption on
//! distributions.
//!
//! They need flow balance alone: completions and arrivals differ by less than 1 %. Source: Denning,
//! Buzen, ACM Computing Surveys 10(3) (1978) 225; Little, Operations Research 9 (1961) 383.

/// One resource over an interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Usage {
    /// Length of the interval, s.
    pub seconds: f64,
    /// Transactions that completed in it.
    pub completions: f64,
    /// Busy time, server-seconds.
    pub busy: f64,
    /// Servers.
    pub servers: f64,
}

impl Usage {
    /// X = C/T, 1/s.
    #[must_use]
    pub fn throughput(&self) -> f64 {
        self.completions / self.seconds
    }

    /// U = B/(T m), 0 to 1 per server.
    #[must_use]
    pub fn utilisation(&self) -> f64 {
        self.busy / (self.seconds * self.servers)
    }

    /// D = B/C, server-seconds per transaction over all visits.
    #[must_use]
    pub fn demand(&self) -> f64 {
        self.busy / self.completions
    }
}

/// R = N/X - Z, s: the response time of `users` who think for `think` seconds.
#[must_use]
pub fn interactive_response(users: f64, throughput: f64, think: f64) -> f64 {
    users / throughput - think
}

/// Little's law L = X W: the mean number in a box with `throughput` (1/s) in which each stays for
/// `time` seconds.
#[must_use]
pub fn little(throughput: f64, time: f64) -> f64 {
    throughput * time
}

/// Shares of time that a user spends in each state of a page graph: pi = pi P. Rows of
/// `transitions` say where a user goes next; they are scaled to a sum of 1. `None` when the graph
/// is not square, has a negative or empty row, or falls apart.
#[must_use]
pub fn visit_shares(transitions: &[Vec<f64>]) -> Option<Vec<f64>> {
    let count = transitions.len();
    let mut system = vec![vec![0.0; count]; count];
    for (from, row) in transitions.iter().enumerate() {
        let sum: f64 = row.iter().sum();
        if row.len() != count || row.iter().any(|p| !p.is_finite() || *p < 0.0) || sum <= 0.0 {
            return None;
        }
        for (to, p) in row.iter().enumerate() {
            system[to][from] += p / sum;
        }
        system[from][from] -= 1.0;
    }
    // One balance follows from the others; the sum of shares takes its place.
    *system.last_mut()? = vec![1.0; count];
    let mut right = vec![0.0; count];
    right[count - 1] = 1.0;
    crate::linalg::solve(system, right)
}
