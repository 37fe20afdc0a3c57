//! A trial in virtual time: the shoppers of [`run`](crate::run) against a system that is computed
//! instead of run.

use std::{sync::atomic::AtomicBool, time::Duration};

use rookery_cast::count_u32;
use rookery_driver::{DriverError, Pace, Played, System, VirtualLoad, play as play_load};
use rookery_stats::Measurement;

use crate::{
    check,
    config::Config,
    merge,
    part::Part,
    run::recording,
    thread::Recorded,
    workloads::{GuestCounts, Script, dvdstore::VirtualShops},
};

/// Plays one trial of `config` against `system`. Each request costs the driver `cpu_per_request`.
/// Setting `stop` ends the load at once; the measurement then says so.
///
/// Same configuration and same system, same measurement. A request that is not answered within the
/// time limit fails, and its user goes on; the system works on all the same, as a server would.
///
/// # Errors
/// When the configuration makes no sense, or asks for anything but shoppers.
pub fn play(
    config: &Config,
    system: &mut dyn System,
    cpu_per_request: Duration,
    stop: &AtomicBool,
) -> Result<Measurement, DriverError> {
    check::config(config, Part::whole(config))?;
    let shops = config
        .assignments
        .iter()
        .map(|assignment| match &assignment.script {
            Script::Dvdstore(script) => Some(script.shopper),
            _ => None,
        })
        .collect::<Option<Vec<_>>>();
    let (Some(shops), Some(first)) = (shops, config.assignments.first()) else {
        return Err(DriverError::Config {
            what: "virtual users know the DVD Store alone".to_owned(),
            help: "let every guest be a DVD Store",
        });
    };
    let load = VirtualLoad {
        load: &config.load,
        phases: &config.phases,
        pace: Pace {
            pacing: config.pacing,
            time: config.think_time,
            distribution: config.think_distribution,
        },
        timeout: config.timeout,
        users: config
            .assignments
            .iter()
            .map(|assignment| assignment.users)
            .collect(),
        operations: first.script.operations(),
        seed: config.seed,
    };
    let mut users = VirtualShops::new(shops, config.seed);
    let cpus = count_u32(config.cpus.len());
    let Played {
        results,
        window,
        aborted,
    } = play_load(&load, &mut users, system, cpus, cpu_per_request, stop);
    let counts = users.into_records().map(GuestCounts::Dvdstore).collect();
    let recorded = vec![Recorded {
        results,
        first_late: Some(0),
        counts,
    }];
    let all = recording(config, window, recorded, aborted);
    Ok(merge::one(config, all))
}

#[cfg(test)]
mod tests;
