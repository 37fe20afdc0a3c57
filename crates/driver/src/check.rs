//! What is refused before the first packet.

use std::net::SocketAddr;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::{
    config::{Assignment, Config, Script},
    error::DriverError,
};

/// Descriptors of this process besides the users' connections: logs, stores, event queues, pipes of guests.
const OTHER_DESCRIPTORS: u64 = 256;
/// A receive takes at most so much at once; a head must fit.
const MOST_HEADER_BYTES: usize = 64 * 1024;

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
        return refuse("the measured window is empty", "let steady last at least some seconds");
    }
    if config.timeout.is_zero() {
        return refuse("the time limit of a request is zero", "allow at least some milliseconds");
    }
    if config.limits.header_bytes > MOST_HEADER_BYTES {
        return refuse("the limit on a head is above 65536 bytes", "lower it");
    }
    config
        .assignments
        .iter()
        .try_for_each(|assignment| check_assignment(config, assignment))
}

fn check_assignment(config: &Config, assignment: &Assignment) -> Result<(), DriverError> {
    let allowed = config.network.is_some() || is_loopback(assignment.target) || config.confirmed_targets.contains(&assignment.target);
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
        what: format!("guest `{}`: {text:?} cannot stand in a request line", assignment.guest),
        mend: "write visible ASCII only, percent-encoded, and begin a path with `/`",
    })
}

/// Loopback also in its IPv6 clothes.
fn is_loopback(target: SocketAddr) -> bool {
    target.ip().to_canonical().is_loopback()
}

/// Make room for one connection per user: raises the soft limit on open files of this process, never the hard one.
pub(crate) fn descriptors(users: u64) -> Result<(), DriverError> {
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
                script: Script::Page { path: path.to_owned() },
            }],
            network: None,
            cpus: vec![0],
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
        for own in ["127.0.0.1:80", "127.77.3.4:8080", "[::1]:80", "[::ffff:127.0.0.1]:80"] {
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
            assert!(matches!(refused, Err(DriverError::ForeignTarget { .. })), "{foreign}");
            let mut confirmed = config_for(foreign, "/");
            confirmed.confirmed_targets = vec![confirmed.assignments[0].target];
            assert!(config(&confirmed).is_ok(), "{foreign}");
            confirmed.confirmed_targets = vec!["10.0.0.1:81".parse().expect("an address")];
            assert!(config(&confirmed).is_err(), "another port is another target");
            confirmed.network = Some("/run/netns/lab".into());
            assert!(config(&confirmed).is_ok(), "inside the lab network");
        }
    }

    #[test]
    fn a_path_cannot_smuggle_a_second_request() {
        for path in ["", "x", "/a b", "/a\r\nHost: x", "/\u{e9}"] {
            assert!(
                matches!(config(&config_for("127.0.0.1:80", path)), Err(DriverError::Config { .. })),
                "{path:?}"
            );
        }
    }

    #[test]
    fn impossible_numbers_of_users_are_refused_with_the_limit() {
        let refused = descriptors(u64::from(u32::MAX));
        let limit = getrlimit(Resource::Nofile).maximum;
        assert_eq!(refused.is_err(), limit.is_some_and(|limit| limit < u64::from(u32::MAX)));
    }
}
