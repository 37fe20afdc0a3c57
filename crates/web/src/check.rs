//! What is refused before the first packet.

use rookery_driver::{DriverError, Load, check_open_load};
use rookery_stats::Pacing;

use crate::{
    config::{Assignment, Config},
    part::Part,
    target,
    workloads::ScriptProblem,
};

/// A receive takes at most so much at once; a head must fit.
const MOST_HEADER_BYTES: usize = 64 * 1024;

/// Everything that can be known before a thread starts. The threads are to carry `part` of the
/// load.
pub(crate) fn config(config: &Config, part: Part) -> Result<(), DriverError> {
    let refuse = |what: &str, help| {
        let what = what.to_owned();
        Err(DriverError::Config { what, help })
    };
    if config.cpus.is_empty() {
        return refuse("the driver has no CPU", "give it at least one");
    }
    let last = part.before as usize + config.cpus.len();
    if last > part.of as usize {
        return refuse(
            "the driver has more threads than its part of the load",
            "count the threads of all drivers",
        );
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
        check_open_load(load, config.assignments.len(), part.of as usize)?;
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

fn check_assignment(config: &Config, assignment: &Assignment) -> Result<(), DriverError> {
    let confirmed =
        config.network.is_some() || config.confirmed_targets.contains(&assignment.target);
    target::check(&assignment.guest, assignment.target, confirmed)?;
    let checked = assignment.script.check();
    checked.map_err(|problem| refused(assignment, &problem))
}

/// What is wrong with what users of a guest should do.
pub(crate) fn refused(assignment: &Assignment, problem: &ScriptProblem) -> DriverError {
    DriverError::Config {
        what: format!("guest `{}`: {}", assignment.guest, problem.what),
        help: problem.help,
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::time::Duration;

    use rookery_driver::Phases;

    use super::*;
    use crate::{
        http::Limits,
        workloads::{Script, page::PageScript},
    };

    pub(crate) fn config_for(target: &str, path: &str) -> Config {
        Config {
            assignments: vec![Assignment {
                guest: "g".to_owned(),
                target: target.parse().expect("an address"),
                users: 1,
                script: Script::Page(PageScript {
                    path: path.to_owned(),
                }),
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
            think_distribution: rookery_workload::DelayDistribution::Uniform,
            timeout: Duration::from_secs(1),
            limits: Limits::default(),
            seed: 0,
            confirmed_targets: Vec::new(),
        }
    }

    /// For a driver that carries the load alone.
    fn whole(config: &Config) -> Result<(), DriverError> {
        super::config(config, Part::whole(config))
    }

    #[test]
    fn only_loopback_confirmed_and_lab_targets_pass() {
        for own in [
            "127.0.0.1:80",
            "127.77.3.4:8080",
            "[::1]:80",
            "[::ffff:127.0.0.1]:80",
        ] {
            assert!(whole(&config_for(own, "/")).is_ok(), "{own}");
        }
        for foreign in [
            "10.0.0.1:80",
            "192.0.2.7:80",
            "[2001:db8::1]:80",
            "0.0.0.0:80",
            "[::ffff:10.0.0.1]:80",
        ] {
            let refused = whole(&config_for(foreign, "/"));
            assert!(
                matches!(refused, Err(DriverError::ForeignTarget { .. })),
                "{foreign}"
            );
            let mut confirmed = config_for(foreign, "/");
            confirmed.confirmed_targets = vec![confirmed.assignments[0].target];
            assert!(whole(&confirmed).is_ok(), "{foreign}");
            confirmed.confirmed_targets = vec!["10.0.0.1:81".parse().expect("an address")];
            assert!(whole(&confirmed).is_err(), "another port is another target");
            confirmed.network = Some("/run/netns/lab".into());
            assert!(whole(&confirmed).is_ok(), "inside the lab network");
        }
    }

    #[test]
    fn a_path_cannot_smuggle_a_second_request() {
        for path in ["", "x", "/a b", "/a\r\nHost: x", "/\u{e9}"] {
            assert!(
                matches!(
                    whole(&config_for("127.0.0.1:80", path)),
                    Err(DriverError::Config { .. })
                ),
                "{path:?}"
            );
        }
    }

    #[test]
    fn a_configuration_travels_as_json() {
        use rookery_workload::dvdstore::{ShopperParams, Size, WordLists};

        use crate::workloads::dvdstore::{DvdstoreScript, SearchWords};

        let shop = |words| {
            Script::Dvdstore(DvdstoreScript {
                directory: "ds2".to_owned(),
                page_type: "php".to_owned(),
                shopper: ShopperParams::new(Size::Mb(10)),
                words,
            })
        };
        let mut config = config_for("127.0.0.1:80", "/x?y=1");
        config.network = Some("/run/netns/lab".into());
        config.confirmed_targets = vec![config.assignments[0].target];
        for words in [
            SearchWords::BuiltIn,
            SearchWords::Lists(WordLists::own().clone()),
        ] {
            config.assignments.push(Assignment {
                script: shop(words),
                ..config.assignments[0].clone()
            });
        }
        let sent = serde_json::to_string(&config).expect("plain data");
        let arrived: Config = serde_json::from_str(&sent).expect(&sent);
        assert_eq!(arrived, config);
    }
}
