//! Users whose statements are data, on databases: what the driver is told.

use std::{sync::atomic::AtomicBool, time::Instant};

use rookery_driver::{Phases, Progress};
use rookery_oltp::{StatementsConfig, StatementsGuest, run_statements, trial::Threads};
use rookery_stack::SqlStack;
use rookery_stats::Measurement;

use super::{LoadRequest, TrialLoad};
use crate::{error::Failure, offered::driver_load};

/// Users on databases.
pub(super) struct Connections {
    config: StatementsConfig,
    cpus: Vec<u32>,
}

impl TrialLoad for Connections {
    fn cpus(&self) -> &[u32] {
        &self.cpus
    }

    fn phases(&self) -> &Phases {
        &self.config.phases
    }

    fn drive(
        &self,
        start: &(dyn Fn() -> Instant + Sync),
        stop: &AtomicBool,
        progress: &(dyn Fn(Progress) + Sync),
    ) -> Result<Measurement, Failure> {
        Ok(run_statements(&self.config, start, stop, progress)?)
    }
}

/// The users of one group of a trial.
pub(super) fn load(request: &LoadRequest<'_>, stack: &dyn SqlStack) -> Connections {
    let (study, targets) = (request.study, request.targets);
    let wanted = stack.wanted();
    let pool = study.load.max_in_flight();
    let guests = targets.guests.iter().zip(request.point.each_guest());
    let guests = guests.map(|(target, planned)| StatementsGuest {
        name: target.name.clone(),
        target: stack.clients(target.address),
        users: pool.unwrap_or(planned.users()),
    });
    let cpus = request.driver_cpus.clone();
    let config = StatementsConfig {
        guests: guests.collect(),
        threads: Threads::Pinned(cpus.clone()),
        network: targets.network.clone(),
        load: driver_load(&study.load, request.point),
        phases: request.phases(),
        workload: wanted.workload.clone(),
        pacing: wanted.pacing,
        timeout: study.load.timeout,
        seed: request.seed,
        // This run made them, wherever the study plugged them in.
        confirmed: targets
            .guests
            .iter()
            .map(|target| target.address.ip())
            .collect(),
    };
    Connections { config, cpus }
}
