//! Stations of a network and what makes them invalid.

/// How fast a station serves, as a function of the number present.
#[derive(Clone, Debug, PartialEq)]
pub enum Capacity {
    /// Nobody waits: think time, a remote service.
    Delay,
    /// Identical servers, at least one: speed min(j, m).
    Servers(u32),
    /// Servers under a limit in servers' worth of work, such as a CPU quota: speed min(j, servers,
    /// limit).
    Limited {
        /// Servers, at least one.
        servers: u32,
        /// The limit, > 0; may be below 1.
        limit: f64,
    },
    /// Measured speeds with 1, 2, ... present, in servers; the last one holds for more.
    Measured(Vec<f64>),
}

impl Capacity {
    /// Speed with `present` > 0 there, in servers.
    #[must_use]
    pub fn speed(&self, present: usize) -> f64 {
        let j = present as f64;
        match self {
            Self::Delay => j,
            Self::Servers(servers) => j.min(f64::from(*servers)),
            Self::Limited { servers, limit } => j.min(f64::from(*servers)).min(*limit),
            Self::Measured(speeds) => speeds
                .get(present - 1)
                .or(speeds.last())
                .copied()
                .unwrap_or(1.0),
        }
    }

    /// The largest speed; infinite for a delay.
    #[must_use]
    pub fn top(&self) -> f64 {
        match self {
            Self::Delay => f64::INFINITY,
            Self::Servers(servers) => f64::from(*servers),
            Self::Limited { servers, limit } => limit.min(f64::from(*servers)),
            Self::Measured(speeds) => speeds.iter().copied().fold(0.0, f64::max),
        }
    }

    /// The speed if it is the same with any number present.
    pub(crate) fn constant(&self) -> Option<f64> {
        match self {
            Self::Delay => None,
            Self::Servers(servers) => (*servers == 1).then_some(1.0),
            Self::Limited { servers, limit } => {
                (*servers == 1 || *limit <= 1.0).then(|| limit.min(1.0))
            }
            Self::Measured(speeds) => speeds
                .iter()
                .all(|speed| *speed == speeds[0])
                .then(|| speeds[0]),
        }
    }
}

/// A station of a single-class network.
#[derive(Clone, Debug, PartialEq)]
pub struct Station {
    /// Service demand per transaction over all visits, s, >= 0.
    pub demand: f64,
    /// How it serves.
    pub capacity: Capacity,
}

impl Station {
    /// One server.
    #[must_use]
    pub fn queue(demand: f64) -> Self {
        Self::servers(demand, 1)
    }

    /// Several identical servers.
    #[must_use]
    pub fn servers(demand: f64, servers: u32) -> Self {
        Self {
            demand,
            capacity: Capacity::Servers(servers),
        }
    }

    /// A delay.
    #[must_use]
    pub fn delay(demand: f64) -> Self {
        Self {
            demand,
            capacity: Capacity::Delay,
        }
    }
}

/// Why a model has no solution.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ModelError {
    /// A demand, think time, rate or other number is out of its range.
    #[error("{what} is {value}; {range}")]
    Range {
        /// What it is.
        what: &'static str,
        /// Its value.
        value: f64,
        /// What is allowed.
        range: &'static str,
    },
    /// No users, no stations, or no time is spent anywhere.
    #[error("the network is empty: it needs at least one user, and a demand or think time above 0")]
    Empty,
    /// Classes or rows do not have the same number of columns.
    #[error("{what} has {found} entries, {expected} are needed")]
    Shape {
        /// What it is.
        what: &'static str,
        /// How many there are.
        found: usize,
        /// How many are needed.
        expected: usize,
    },
    /// The method does not hold for such a station.
    #[error("{method} does not hold for {station}; use {instead}")]
    Unsupported {
        /// The method.
        method: &'static str,
        /// The kind of station.
        station: &'static str,
        /// What to use.
        instead: &'static str,
    },
    /// The cost is beyond the guard.
    #[error("{method} would need {steps:.1e} steps, more than {limit:.1e}; use {instead}")]
    TooLarge {
        /// The method.
        method: &'static str,
        /// Its steps.
        steps: f64,
        /// The guard.
        limit: f64,
        /// What to use.
        instead: &'static str,
    },
    /// An open station gets more work than it can do.
    #[error(
        "the station is overloaded: its utilisation would be {0:.3}; an open model needs less than \
         1"
    )]
    Overloaded(f64),
}

/// `value` if it is finite and at least 0.
pub(crate) fn not_negative(what: &'static str, value: f64) -> Result<f64, ModelError> {
    if value.is_finite() && value >= 0.0 {
        Ok(value)
    } else {
        Err(ModelError::Range {
            what,
            value,
            range: "it must be finite and at least 0",
        })
    }
}

/// `value` if it is finite and above 0.
pub(crate) fn positive(what: &'static str, value: f64) -> Result<f64, ModelError> {
    if value.is_finite() && value > 0.0 {
        Ok(value)
    } else {
        Err(ModelError::Range {
            what,
            value,
            range: "it must be finite and above 0",
        })
    }
}

/// Check a single-class network.
pub(crate) fn check(stations: &[Station], think: f64, users: u32) -> Result<(), ModelError> {
    not_negative("the think time", think)?;
    for station in stations {
        not_negative("a demand", station.demand)?;
        match &station.capacity {
            Capacity::Delay => {}
            Capacity::Servers(servers) => {
                positive("the number of servers", f64::from(*servers))?;
            }
            Capacity::Limited { servers, limit } => {
                positive("the number of servers", f64::from(*servers))?;
                positive("the limit of a station", *limit)?;
            }
            Capacity::Measured(speeds) => {
                positive("the number of measured speeds", speeds.len() as f64)?;
                for speed in speeds {
                    positive("a measured speed", *speed)?;
                }
            }
        }
    }
    let time: f64 = think + stations.iter().map(|station| station.demand).sum::<f64>();
    if users == 0 || time <= 0.0 {
        return Err(ModelError::Empty);
    }
    Ok(())
}
