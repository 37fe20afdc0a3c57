//! What grows in a search, and where it begins.

use std::time::Duration;

use rookery_driver::{Load, Profile};
use rookery_model::search::{Hint, Probe, Settings};
use rookery_study::Course;
use rookery_web::Config;

use crate::exit::{Code, Failure};

/// A probe on the way has a third of the measured window, but not less than this.
const SHORTEST_STEADY: Duration = Duration::from_secs(3);
/// Full runs that confirm the load.
const CONFIRM: u32 = 3;
/// Users that a search begins with where nothing is said.
const FIRST_USERS: f64 = 10.0;
/// How far from where it begins the answer may be, at first.
const DOUBT: f64 = 5.0;

/// What grows, and where the search begins.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::workloads::http) enum Begin {
    /// Users of each target.
    Users(f64),
    /// Arrivals per second at each target.
    Rate(f64),
}

impl Begin {
    /// As the command line says.
    pub(in crate::workloads::http) fn new(
        config: &Config,
        users: Option<u32>,
    ) -> Result<Self, Failure> {
        match &config.load {
            Load::Closed => Ok(Self::Users(users.map_or(FIRST_USERS, f64::from))),
            Load::Open(load) if load.profile.course == Course::Level => {
                Ok(Self::Rate(load.profile.rate_per_s))
            }
            Load::Open(_) => Err(Failure::new(
                Code::Usage,
                "--search finds a level rate, and --open names one that changes",
            )
            .help("write --open RATE with a single number, where the search begins")),
        }
    }

    /// What is searched, up to a load, with so many runs.
    pub(super) fn settings(self, most: u32, resolution: f64, probes: u32) -> Settings {
        let (usual, begin) = match self {
            Self::Users(users) => (Settings::users(), users),
            Self::Rate(rate) => (Settings::rate(), rate),
        };
        let highest = f64::from(most).max(usual.lowest);
        Settings {
            highest,
            resolution,
            hint: Some(Hint {
                load: begin.clamp(usual.lowest, highest),
                factor: DOUBT,
            }),
            most_probes: probes,
            confirm: CONFIRM,
            ..usual
        }
    }

    /// The trial at a load.
    pub(super) fn config(self, base: &Config, probe: &Probe) -> Config {
        let mut config = base.clone();
        config.seed = base.seed.wrapping_add(u64::from(probe.attempt));
        if !probe.purpose.full() {
            let steady = base.phases.steady;
            config.phases.steady = (steady / 3).max(SHORTEST_STEADY).min(steady);
        }
        match self {
            Self::Users(_) => {
                let users = rookery_cast::truncate_u32(probe.load);
                for assignment in &mut config.assignments {
                    assignment.users = users;
                }
            }
            Self::Rate(_) => {
                if let Load::Open(load) = &mut config.load {
                    load.profile = Profile::level(probe.load);
                }
            }
        }
        config
    }

    /// What a load is a number of.
    pub(super) fn unit(self) -> &'static str {
        match self {
            Self::Users(_) => "users",
            Self::Rate(_) => "arrivals/s",
        }
    }
}

#[cfg(test)]
mod tests {
    use rookery_model::search::Search;

    use super::*;

    #[test]
    fn a_search_begins_where_it_was_told() {
        for begin in [Begin::Users(25.0), Begin::Rate(25.0)] {
            let settings = begin.settings(400, 0.05, 10);
            let search = Search::new(settings).expect("settings that hold");
            let first = search.next_probe().expect("a first one").load;
            assert!((24.0..=26.0).contains(&first), "{first}");
        }
        // What was told may lie beyond what may be tried.
        let settings = Begin::Users(25.0).settings(1, 0.05, 10);
        assert!(Search::new(settings).is_ok());
    }
}
