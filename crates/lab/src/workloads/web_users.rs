//! Users over HTTP: what their workloads share.

use std::{
    net::SocketAddr,
    sync::atomic::AtomicBool,
    time::{Duration, Instant},
};

use rookery_driver::{Phases, Progress};
use rookery_stats::{Measurement, Pacing};
use rookery_web::{Assignment, Config, Limits, Script};
use rookery_workload::DelayDistribution;

use super::{LoadRequest, TrialLoad};
use crate::{
    error::{Failure, LabError},
    offered::driver_load,
};

/// Users over HTTP.
pub(super) struct Users(pub(super) Config);

impl TrialLoad for Users {
    fn cpus(&self) -> &[u32] {
        &self.0.cpus
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
        let measured = rookery_web::run(&self.0, start(), stop, progress);
        Ok(measured.map_err(LabError::Driver)?)
    }

    fn web_users(self: Box<Self>) -> Option<Config> {
        Some(self.0)
    }
}

/// What users do and how they pause, whatever their workload.
pub(super) struct Behaviour<'b> {
    /// What they do at the guest with this address.
    pub(super) script: &'b dyn Fn(SocketAddr) -> Script,
    /// How they pace themselves.
    pub(super) pacing: Pacing,
    /// Mean think time or cycle time.
    pub(super) think_time: Duration,
    /// How think times scatter about their mean.
    pub(super) think_distribution: DelayDistribution,
}

/// The configuration of the driver for one group of a trial.
pub(super) fn config(request: &LoadRequest<'_>, behaviour: &Behaviour<'_>) -> Config {
    let (load, targets) = (&request.study.load, request.targets);
    let assignments =
        targets
            .guests
            .iter()
            .zip(request.point.each_guest())
            .map(|(target, planned)| Assignment {
                guest: target.name.clone(),
                target: target.address,
                users: planned.users(),
                script: (behaviour.script)(target.address),
            });
    Config {
        assignments: assignments.collect(),
        network: targets.network.clone(),
        cpus: request.driver_cpus.clone(),
        phases: request.phases(),
        load: driver_load(load, request.point),
        pacing: behaviour.pacing,
        think_time: behaviour.think_time,
        think_distribution: behaviour.think_distribution,
        timeout: load.timeout,
        limits: Limits::default(),
        seed: request.seed,
        confirmed_targets: targets.confirmed.clone(),
    }
}
