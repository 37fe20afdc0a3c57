//! Terminals on databases of order entry: what they are told, what the databases say of themselves,
//! and what must be in them afterwards.

mod calibration;

use std::{net::SocketAddr, sync::atomic::AtomicBool, time::Instant};

use rookery_driver::{Phases, Progress};
use rookery_monitor::DatabaseLook;
use rookery_oltp::{
    SessionOptions,
    trial::{Threads, TrialConfig, TrialGuest},
};
use rookery_stack::OrderentryStack;
use rookery_stats::Measurement;
use rookery_store::Tuning;
use rookery_workload::orderentry::{DatabaseReadings, HitTarget};

use super::{LoadRequest, TrialLoad};
use crate::{error::Failure, offered::driver_load};

pub(crate) use calibration::Calibration;

/// Terminals on databases.
pub(super) struct Terminals(TrialConfig);

impl TrialLoad for Terminals {
    fn cpus(&self) -> &[u32] {
        match &self.0.threads {
            Threads::Pinned(cpus) => cpus,
            Threads::Free(_) => &[],
        }
    }

    fn phases(&self) -> &Phases {
        &self.0.phases
    }

    fn drive(
        &self,
        start: &(dyn Fn() -> Instant + Sync),
        stop: &AtomicBool,
        progress: &(dyn Fn(Progress) + Sync),
    ) -> Result<Measurement, Failure> {
        Ok(rookery_oltp::trial::run(&self.0, start, stop, progress)?)
    }
}

/// The terminals of one group of a trial.
pub(super) fn load(request: &LoadRequest<'_>, stack: &dyn OrderentryStack) -> Terminals {
    let (study, targets) = (request.study, request.targets);
    let wanted = stack.wanted();
    let pool = study.load.max_in_flight();
    let guests = targets
        .guests
        .iter()
        .zip(request.point.each_guest())
        .map(|(target, planned)| TrialGuest {
            name: target.name.clone(),
            target: stack.clients(target.address),
            terminals: pool.unwrap_or(planned.users()),
            population: stack.data().population(),
        });
    Terminals(TrialConfig {
        guests: guests.collect(),
        threads: Threads::Pinned(request.driver_cpus.clone()),
        network: targets.network.clone(),
        load: driver_load(&study.load, request.point),
        phases: request.phases(),
        session: SessionOptions {
            style: wanted.statements,
            isolation: wanted.isolation,
        },
        binding: wanted.binding,
        mix: wanted.mix,
        pacing: wanted.pacing,
        think: wanted.think_distribution,
        delivery: wanted.delivery,
        max_retries: wanted.max_retries,
        patience: None,
        seed: request.seed,
        confirmed: targets.confirmed.iter().map(SocketAddr::ip).collect(),
    })
}

/// The row among the settings of a trial that says why a database did not report its buffers.
pub(super) fn silent_tuning(reason: &str) -> Tuning {
    Tuning {
        guest: "host".to_owned(),
        name: "orderentry.buffers".to_owned(),
        asked: String::new(),
        effective: format!("not read: {reason}"),
        at_end: String::new(),
    }
}

/// Put the readings beside the counters of their guests, which have the same order; the first guest
/// that said nothing, and why.
pub(super) fn attach(
    stack: &dyn OrderentryStack,
    measurement: &mut Measurement,
    looks: &[DatabaseLook],
) -> Option<String> {
    let hit_target = stack.wanted().hit_target.map(HitTarget::ratio);
    let mut silent = None;
    for (guest, look) in measurement.guests.iter_mut().zip(looks) {
        match (guest.counters.orderentry_mut(), look) {
            (Some(counters), DatabaseLook::Read(reading)) => {
                counters.database = Some(DatabaseReadings {
                    hit_target,
                    ..*reading
                });
            }
            (_, DatabaseLook::Silent { reason }) if silent.is_none() => {
                silent = Some(format!("guest {}: {reason}", guest.guest));
            }
            _ => {}
        }
    }
    silent
}
