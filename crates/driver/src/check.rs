//! What is refused before the first packet.

use std::net::SocketAddr;

use rookery_stats::Pacing;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::{
    config::{Assignment, Config, Script},
    error::DriverError,
    load::{Load, OpenLoad, Profile, Visit},
};

/// Descriptors of this process besides the users' connections: logs, stores, event queues, pipes of guests.
const OTHER_DESCRIPTORS: u64 = 256;
/// A receive takes at most so much at once; a head must fit.
const MOST_HEADER_BYTES: usize = 64 * 1024;

/// More arrivals per second than any machine starts.
const MOST_RATE: f64 = 1e7;

/// Everything that can be known before a thread starts.
pub(crate) fn config(config: &Config) -> Result<(), DriverError> {
    let refuse = |what: &str, mend| {
        let what = what.to_owned();
        Err(DriverError::Config { what, mend })
    };
    if config.cpus.is_empty() {
        return refuse("the driver has no CPU", "give it at least one");
    }
    if config.phases.steady.is_zero() {
        return refuse(
            "the measured window is empty",
            "let steady last at least some seconds",
        );
    }
    if config.timeout.is_zero() {
        return refuse(
            "the time limit of a request is zero",
            "allow at least some milliseconds",
        );
    }
    if config.limits.header_bytes > MOST_HEADER_BYTES {
        return refuse("the limit on a head is above 65536 bytes", "lower it");
    }
    if config.pacing == Pacing::Arrivals {
        return refuse(
            "users cannot pace themselves by arrivals",
            "choose think or cycle pacing, and an open load",
        );
    }
    if let Load::Open(load) = &config.load {
        open_load(load, config.assignments.len(), config.cpus.len())?;
    }
    config
        .assignments
        .iter()
        .try_for_each(|assignment| check_assignment(config, assignment))
}

/// Connections that may be open at once.
pub(crate) fn connections(config: &Config) -> u64 {
    match &config.load {
        Load::Closed => config
            .assignments
            .iter()
            .map(|assignment| u64::from(assignment.users))
            .sum(),
        Load::Open(load) => config.assignments.len() as u64 * u64::from(load.max_in_flight),
    }
}

/// Refuses an open load that cannot be put on so many guests by so many driver threads.
///
/// # Errors
/// [`DriverError::Config`].
pub fn open_load(load: &OpenLoad, guests: usize, threads: usize) -> Result<(), DriverError> {
    let refuse = |what: String, mend| Err(DriverError::Config { what, mend });
    if let Some(rate) = rates(&load.profile)
        .into_iter()
        .find(|rate| !(0.0..=MOST_RATE).contains(rate))
    {
        return refuse(
            format!("{rate} is no rate of arrivals"),
            "write arrivals per second from 0 to ten million",
        );
    }
    if let Profile::Swing {
        amplitude, period, ..
    } = &load.profile
        && (!(0.0..=1.0).contains(amplitude) || period.is_zero())
    {
        let what = format!("a rate cannot swing by {amplitude} of its mean in {period:?}");
        return refuse(
            what,
            "let it swing by 0 to 1 of its mean, with a period above zero",
        );
    }
    if !load.weights.is_empty() && load.weights.len() != guests {
        let what = format!("{} weights for {guests} guests", load.weights.len());
        return refuse(what, "give one weight for each guest, or none");
    }
    if let Some(weight) = load
        .weights
        .iter()
        .find(|weight| !(weight.is_finite() && **weight > 0.0))
    {
        return refuse(
            format!("{weight} is no weight"),
            "write a number above zero",
        );
    }
    if (load.max_in_flight as usize) < threads {
        let what = format!(
            "at most {} visitors at a guest, by {threads} driver CPUs",
            load.max_in_flight
        );
        return refuse(what, "allow at least one visitor for each driver CPU");
    }
    match load.visit {
        Visit::Continue { probability } if !(0.0..1.0).contains(&probability) => refuse(
            format!("visitors cannot go on with the probability {probability}"),
            "write a number from 0 to below 1",
        ),
        Visit::Acts(0) => refuse(
            "visitors that never act".to_owned(),
            "let a visit have at least one act",
        ),
        _ => Ok(()),
    }
}

/// All rates that a profile names.
fn rates(profile: &Profile) -> Vec<f64> {
    match profile {
        Profile::Constant(rate) => vec![*rate],
        Profile::Steps(steps) => steps.iter().map(|step| step.rate).collect(),
        Profile::Ramp { from, to } => vec![*from, *to],
        Profile::Swing { mean, .. } => vec![*mean],
    }
}

fn check_assignment(config: &Config, assignment: &Assignment) -> Result<(), DriverError> {
    let allowed = config.network.is_some()
        || is_loopback(assignment.target)
        || config.confirmed_targets.contains(&assignment.target);
    if !allowed {
        return Err(DriverError::ForeignTarget {
            guest: assignment.guest.clone(),
            target: assignment.target,
        });
    }
    let plain = |text: &str| text.bytes().all(|byte| byte.is_ascii_graphic());
    let (text, good) = match &assignment.script {
        Script::Page { path } => (path, path.starts_with('/') && plain(path)),
        Script::DvdStore { directory, .. } if !plain(directory) => (directory, false),
        Script::DvdStore { page_type, .. } => (page_type, plain(page_type)),
    };
    if good {
        return Ok(());
    }
    Err(DriverError::Config {
        what: format!(
            "guest `{}`: {text:?} cannot stand in a request line",
            assignment.guest
        ),
        mend: "write visible ASCII only, percent-encoded, and begin a path with `/`",
    })
}

/// Loopback also in its IPv6 clothes.
fn is_loopback(target: SocketAddr) -> bool {
    target.ip().to_canonical().is_loopback()
}

/// Make room for one connection per user or visitor: raises the soft limit on open files of this process, never the hard one.
///
/// # Errors
/// [`DriverError::Descriptors`] when that is not enough.
pub fn descriptors(users: u64) -> Result<(), DriverError> {
    let limits = getrlimit(Resource::Nofile);
    let needed = users + OTHER_DESCRIPTORS;
    // `None` = unlimited.
    let enough = |limit: Option<u64>| limit.is_none_or(|limit| limit >= needed);
    if enough(limits.current) {
        return Ok(());
    }
    let raised = Rlimit {
        current: limits.maximum,
        maximum: limits.maximum,
    };
    if enough(limits.maximum) && setrlimit(Resource::Nofile, raised).is_ok() {
        return Ok(());
    }
    Err(DriverError::Descriptors {
        users,
        needed,
        limit: limits.maximum.unwrap_or(u64::MAX),
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use std::{borrow::Cow, time::Duration};

    use rookery_stats::Pacing;
    use rookery_workload::dvdstore::WordLists;

    use super::*;
    use crate::config::{Limits, Phases};

    pub(crate) fn config_for(target: &str, path: &str) -> Config {
        Config {
            assignments: vec![Assignment {
                guest: "g".to_owned(),
                target: target.parse().expect("an address"),
                users: 1,
                script: Script::Page {
                    path: path.to_owned(),
                },
            }],
            network: None,
            cpus: vec![0],
            load: Load::Closed,
            phases: Phases {
                ramp_up: Duration::ZERO,
                settle: Duration::ZERO,
                steady: Duration::from_secs(1),
                ramp_down: Duration::ZERO,
                drain: Duration::ZERO,
            },
            pacing: Pacing::Think,
            think_time: Duration::ZERO,
            timeout: Duration::from_secs(1),
            limits: Limits::default(),
            words: Cow::Borrowed(WordLists::own()),
            seed: 0,
            confirmed_targets: Vec::new(),
        }
    }

    #[test]
    fn only_loopback_confirmed_and_lab_targets_pass() {
        for own in [
            "127.0.0.1:80",
            "127.77.3.4:8080",
            "[::1]:80",
            "[::ffff:127.0.0.1]:80",
        ] {
            assert!(config(&config_for(own, "/")).is_ok(), "{own}");
        }
        for foreign in [
            "10.0.0.1:80",
            "192.0.2.7:80",
            "[2001:db8::1]:80",
            "0.0.0.0:80",
            "[::ffff:10.0.0.1]:80",
        ] {
            let refused = config(&config_for(foreign, "/"));
            assert!(
                matches!(refused, Err(DriverError::ForeignTarget { .. })),
                "{foreign}"
            );
            let mut confirmed = config_for(foreign, "/");
            confirmed.confirmed_targets = vec![confirmed.assignments[0].target];
            assert!(config(&confirmed).is_ok(), "{foreign}");
            confirmed.confirmed_targets = vec!["10.0.0.1:81".parse().expect("an address")];
            assert!(
                config(&confirmed).is_err(),
                "another port is another target"
            );
            confirmed.network = Some("/run/netns/lab".into());
            assert!(config(&confirmed).is_ok(), "inside the lab network");
        }
    }

    #[test]
    fn a_path_cannot_smuggle_a_second_request() {
        for path in ["", "x", "/a b", "/a\r\nHost: x", "/\u{e9}"] {
            assert!(
                matches!(
                    config(&config_for("127.0.0.1:80", path)),
                    Err(DriverError::Config { .. })
                ),
                "{path:?}"
            );
        }
    }

    #[test]
    fn an_open_load_that_cannot_be_is_refused() {
        use crate::load::{Arrivals, Precision};
        let good = OpenLoad {
            arrivals: Arrivals::Poisson,
            profile: Profile::Constant(100.0),
            weights: Vec::new(),
            max_in_flight: 10,
            precision: Precision::Exact,
            visit: Visit::Single,
        };
        let refusal = |change: fn(&mut OpenLoad)| {
            let (mut load, mut trial) = (good.clone(), config_for("127.0.0.1:80", "/"));
            change(&mut load);
            trial.load = Load::Open(load);
            config(&trial).err().map(|error| error.to_string())
        };
        assert_eq!(refusal(|_| {}), None);
        type Change = fn(&mut OpenLoad);
        let cases: [(Change, &str); 9] = [
            (
                |load| load.profile = Profile::Constant(f64::NAN),
                "NaN is no rate",
            ),
            (
                |load| {
                    load.profile = Profile::Ramp {
                        from: 1.0,
                        to: -1.0,
                    }
                },
                "-1 is no rate",
            ),
            (
                |load| load.profile = Profile::Constant(f64::INFINITY),
                "inf is no rate",
            ),
            (
                |load| {
                    load.profile = Profile::Swing {
                        mean: 1.0,
                        amplitude: 1.5,
                        period: Duration::from_secs(1),
                    }
                },
                "cannot swing by 1.5",
            ),
            (
                |load| load.weights = vec![1.0, 1.0],
                "2 weights for 1 guests",
            ),
            (|load| load.weights = vec![0.0], "0 is no weight"),
            (|load| load.max_in_flight = 0, "at most 0 visitors"),
            (
                |load| load.visit = Visit::Continue { probability: 1.0 },
                "the probability 1",
            ),
            (|load| load.visit = Visit::Acts(0), "never act"),
        ];
        for (change, expected) in cases {
            let refused = refusal(change);
            assert!(
                refused.as_ref().is_some_and(|text| text.contains(expected)),
                "{refused:?}"
            );
        }
    }

    #[test]
    fn impossible_numbers_of_users_are_refused_with_the_limit() {
        let refused = descriptors(u64::from(u32::MAX));
        let limit = getrlimit(Resource::Nofile).maximum;
        assert_eq!(
            refused.is_err(),
            limit.is_some_and(|limit| limit < u64::from(u32::MAX))
        );
    }
}
