//! The loads of a trial, one for each group of guests that has users.

use std::{collections::BTreeSet, sync::atomic::Ordering, thread, time::Instant};

use rookery_driver::{DriverError, Phases};
use rookery_monitor::{DriverPrograms, LoadState};
use rookery_stats::Measurement;

use super::{
    context::{TrialContext, TrialRunner},
    load_events::LoadReporter,
};
use crate::{
    common_start::CommonStart,
    error::{Failure, LabError},
    far_users::{FarUsers, GroupUsers},
    group_context::GroupContext,
    guest_set::GuestSet,
    targets::Targets,
    trial_load::{Driven, DriverCpu, TrialLoad},
    workloads::{self, LoadRequest, group_seed},
};

/// The loads of all groups of a trial that have users.
pub(super) enum GroupLoads<'l> {
    /// Each has a driver of its own on this machine.
    Here(Vec<Box<dyn TrialLoad>>),
    /// Drivers on other machines carry all of them together.
    Far(FarUsers<'l>),
}

impl<'l> GroupLoads<'l> {
    /// The loads of a trial, driven from wherever its run says.
    ///
    /// # Errors
    /// When these users cannot be driven from there.
    pub(super) fn new(
        runner: &TrialRunner<'l>,
        trial: &TrialContext<'_>,
        guests: &GuestSet<'_>,
    ) -> Result<Self, LabError> {
        let loads = loads(runner, trial, guests);
        Ok(if runner.drivers.is_empty() {
            Self::Here(loads)
        } else {
            Self::Far(far_users(runner, trial, loads)?)
        })
    }

    /// The phases, which all groups have; nothing where none has users.
    pub(super) fn phases(&self) -> Option<&Phases> {
        match self {
            Self::Here(loads) => loads.first().map(|load| load.phases()),
            Self::Far(users) => users.phases(),
        }
    }

    /// By group: the CPUs from which its users are driven.
    pub(super) fn cpus(&self) -> Vec<Vec<DriverCpu>> {
        let here = |cpu: &u32| DriverCpu {
            driver: 0,
            cpu: *cpu,
        };
        match self {
            Self::Here(loads) => loads
                .iter()
                .map(|load| load.cpus().iter().map(here).collect())
                .collect(),
            Self::Far(users) => users.cpus(),
        }
    }

    /// The CPUs of this machine from which users are driven, in order.
    pub(super) fn cpus_here(&self) -> Vec<u32> {
        let cpus: BTreeSet<u32> = match self {
            Self::Here(loads) => loads.iter().flat_map(|load| load.cpus()).copied().collect(),
            Self::Far(_) => BTreeSet::new(),
        };
        cpus.into_iter().collect()
    }

    /// The programs of this machine that put loads on instead of threads of this process.
    pub(super) fn programs(&self) -> Vec<DriverPrograms> {
        match self {
            Self::Here(loads) => loads.iter().filter_map(|load| load.programs()).collect(),
            Self::Far(_) => Vec::new(),
        }
    }

    /// Put all loads on at one common start.
    ///
    /// # Errors
    /// When no load was put on.
    pub(super) fn drive(
        &self,
        decide: &(dyn Fn() -> Instant + Sync),
        state: &LoadState,
        told: &LoadReporter<'_>,
    ) -> Result<Driven, Failure> {
        match self {
            Self::Here(loads) => Ok(Driven {
                measured: drive_here(loads, decide, state, told)?,
                facts: Vec::new(),
                outputs: loads.iter().flat_map(|load| load.outputs()).collect(),
            }),
            Self::Far(users) => {
                let begin = || {
                    let begin = decide();
                    state.begin(begin);
                    begin
                };
                users.drive(&begin, state.end_early())
            }
        }
    }
}

/// The load of each group that has users.
fn loads(
    runner: &TrialRunner<'_>,
    trial: &TrialContext<'_>,
    guests: &GuestSet<'_>,
) -> Vec<Box<dyn TrialLoad>> {
    let load = |(place, group): (usize, &GroupContext<'_>)| {
        let targets = Targets::new(
            group.context.lab,
            &guests.guests()[group.range()],
            group.context.confirmed,
        );
        let request = LoadRequest {
            steady: runner.plan.steady(trial.trial.purpose, &group.study.load),
            seed: group_seed(trial.trial.seed, place),
            study: group.study,
            point: &group.point,
            whole: trial.point,
            driver_cpus: &group.driver_cpus,
            targets: &targets,
        };
        workloads::load(&request, &group.stack)
    };
    trial.loaded().enumerate().map(load).collect()
}

/// The same loads, driven from other machines.
fn far_users<'l>(
    runner: &TrialRunner<'l>,
    trial: &TrialContext<'_>,
    loads: Vec<Box<dyn TrialLoad>>,
) -> Result<FarUsers<'l>, LabError> {
    let groups = trial.groups.iter().enumerate();
    let loaded = groups.filter(|(_, group)| group.has_users());
    let users = loaded.zip(loads).map(|((place, group), load)| {
        let config = load.web_users().ok_or(LabError::NotDrivenElsewhere {
            what: "terminals on databases and streams of iperf3",
            help: "users over HTTP can; drive these from this host",
        })?;
        Ok(GroupUsers {
            config,
            lab: group.context.dirs.run.clone(),
            place,
        })
    });
    let users: Vec<GroupUsers> = users.collect::<Result<_, LabError>>()?;
    Ok(FarUsers::new(users, trial.point, runner.drivers))
}

/// Put all loads on from this machine at one common start.
fn drive_here(
    loads: &[Box<dyn TrialLoad>],
    decide: &(dyn Fn() -> Instant + Sync),
    state: &LoadState,
    told: &LoadReporter<'_>,
) -> Result<Vec<Measurement>, Failure> {
    let start = &CommonStart::new(loads.len(), decide);
    let all: Vec<Result<Measurement, Failure>> = thread::scope(|scope| {
        let drivers = loads.iter().enumerate().map(|(place, load)| {
            scope.spawn(move || {
                let party = start.party();
                let begin = || {
                    let begin = party.wait();
                    state.begin(begin);
                    begin
                };
                let driven = load.drive(&begin, state.end_early(), &|own| {
                    told.tell(place, own, state);
                });
                if driven.is_err() {
                    // The others would measure guests that lack their neighbours.
                    state.end_early().store(true, Ordering::Relaxed);
                }
                driven
            })
        });
        let drivers: Vec<_> = drivers.collect();
        let ended = drivers.into_iter().map(|driver| {
            driver
                .join()
                .unwrap_or_else(|_| Err(LabError::Driver(DriverError::Panicked).into()))
        });
        ended.collect()
    });
    all.into_iter().collect()
}
