//! The load of a trial, and what is seen beside it.

use std::{
    collections::BTreeSet,
    sync::atomic::Ordering,
    thread,
    time::{Duration, Instant},
};

use rookery_cast::count_u32;
use rookery_driver::{DriverError, Phases};
use rookery_monitor::{LoadSchedule, LoadState, Observations, SamplerConfig, Samplers, cpu_speeds};
use rookery_stats::{KernelCounter, Measurement};

use super::{
    context::{TrialContext, TrialRunner},
    load_events::LoadReporter,
};
use crate::{
    common_start::CommonStart,
    error::{Failure, LabError},
    group_context::GroupContext,
    guest_set::GuestSet,
    observed::Observed,
    targets::Targets,
    trial_load::TrialLoad,
    workloads::{self, LoadRequest, group_seed},
};

/// Time between two samples of resources.
const SAMPLE_EVERY: Duration = Duration::from_secs(1);

/// Put the loads of all groups on while watching the guests: one that dies ends the load.
///
/// # Errors
/// When no load was put on.
pub(crate) fn observe(
    runner: &TrialRunner<'_>,
    trial: &TrialContext<'_>,
    guests: &mut GuestSet<'_>,
) -> Result<Observed, Failure> {
    let loads = loads(runner, trial, guests)?;
    let Some(first) = loads.first() else {
        return Err(LabError::NotSimulated.into());
    };
    let mut cpus: Vec<u32> = loads.iter().flat_map(|load| load.cpus()).copied().collect();
    cpus.sort_unstable();
    cpus.dedup();
    let probes = trial
        .loaded()
        .map(|group| workloads::probes(&group.stack, &guests.guests()[group.range()]));
    let probes: Vec<_> = probes.collect();
    let counts: Vec<usize> = probes.iter().map(Vec::len).collect();
    let config = SamplerConfig {
        cpus,
        interval: SAMPLE_EVERY,
        // All groups have the same phases.
        schedule: schedule(first.phases()),
        databases: probes.into_iter().flatten().collect(),
    };
    let driver_cpus = count_u32(config.cpus.len());
    let told = LoadReporter::new(runner, trial, guests, *first.phases(), driver_cpus);
    let used = cpus_of(trial, &config.cpus);
    let before = cpu_speeds(&used, KernelCounter::FixedWorkBefore);
    let samplers = Samplers::new(&config, guests.guests());
    let (measured, mut seen) = samplers
        .run(guests.guests_mut(), runner.context.stop, |state| {
            told.started();
            drive_all(&loads, &|| runner.labs.start(), state, &told)
        })
        .map_err(LabError::Sampling)?;
    let mut measured = measured?;
    seen.kernel.extend(before);
    seen.kernel
        .extend(cpu_speeds(&used, KernelCounter::FixedWorkAfter));
    let silent = attach(trial, &mut measured, &counts, &seen);
    Ok(Observed {
        measured,
        seen,
        silent,
        drivers: loads.iter().flat_map(|load| load.facts()).collect(),
    })
}

/// The CPUs of all guests and of the drivers here, in order.
fn cpus_of(trial: &TrialContext<'_>, drivers: &[u32]) -> Vec<u32> {
    let guests = trial.point.each_guest();
    let of_guests = guests.flat_map(|guest| guest.cpus().to_vec());
    let all: BTreeSet<u32> = of_guests.chain(drivers.iter().copied()).collect();
    all.into_iter().collect()
}

/// The load of each group that has users.
fn loads<'l>(
    runner: &TrialRunner<'l>,
    trial: &TrialContext<'_>,
    guests: &GuestSet<'_>,
) -> Result<Vec<Box<dyn TrialLoad + 'l>>, Failure> {
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
        let load = workloads::load(&request, &group.stack);
        if runner.drivers.is_empty() {
            Ok(load)
        } else {
            Ok(load.driven_from(runner.run, runner.drivers)?)
        }
    };
    trial.loaded().enumerate().map(load).collect()
}

/// Put all loads on at one common start.
fn drive_all(
    loads: &[Box<dyn TrialLoad + '_>],
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

/// Put what the databases said of themselves beside the counters of their guests; the first that
/// said nothing. `counts` = how many databases each group has.
fn attach(
    trial: &TrialContext<'_>,
    measured: &mut [Measurement],
    counts: &[usize],
    seen: &Observations,
) -> Option<String> {
    let mut looks = seen.databases.as_slice();
    let received = measured.iter().map(workloads::received_bytes).sum();
    let mut silent = None;
    for ((group, measurement), count) in trial.loaded().zip(measured).zip(counts) {
        let (own, rest) = looks.split_at((*count).min(looks.len()));
        looks = rest;
        let partners = trial.names_of_tier(group);
        let attached = workloads::attach(&group.stack, measurement, &partners, received, own, seen);
        silent = silent.or(attached);
    }
    silent
}

fn schedule(phases: &Phases) -> LoadSchedule {
    LoadSchedule {
        window_start: phases.ramp_up + phases.settle,
        window: phases.steady,
        end: phases.load_end(),
    }
}
