//! The load of a trial, and what is seen beside it.

use std::{collections::BTreeSet, time::Duration};

use rookery_cast::count_u32;
use rookery_driver::Phases;
use rookery_monitor::{
    LoadSchedule, Observations, SamplerConfig, Samplers, cpu_distances, cpu_speeds,
};
use rookery_stats::{KernelCounter, Measurement};

use super::{
    context::{TrialContext, TrialRunner},
    group_loads::GroupLoads,
    load_events::LoadReporter,
};
use crate::{
    error::{Failure, LabError},
    guest_set::GuestSet,
    observed::Observed,
    trial_load::Driven,
    workloads,
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
    let loads = GroupLoads::new(runner, trial, guests)?;
    let phases = *loads.phases().ok_or(LabError::NotSimulated)?;
    let driver_cpus = loads.cpus();
    let probes = trial
        .loaded()
        .map(|group| workloads::probes(&group.stack, &guests.guests()[group.range()]));
    let probes: Vec<_> = probes.collect();
    let counts: Vec<usize> = probes.iter().map(Vec::len).collect();
    let config = SamplerConfig {
        cpus: loads.cpus_here(),
        interval: SAMPLE_EVERY,
        schedule: schedule(&phases),
        databases: probes.into_iter().flatten().collect(),
    };
    let count = count_u32(config.cpus.len());
    let told = LoadReporter::new(runner, trial, guests, phases, count);
    let used = cpus_of(trial, &config.cpus);
    let before = cpu_speeds(&used, KernelCounter::FixedWorkBefore);
    let samplers = Samplers::new(&config, guests.guests(), &loads.programs());
    let (driven, mut seen) = samplers
        .run(guests.guests_mut(), runner.context.stop, |state| {
            told.started();
            loads.drive(&|| runner.labs.start(), state, &told)
        })
        .map_err(LabError::Sampling)?;
    // At once: CPUs may be moved within seconds, and those that are idle before a load soon are.
    let distances = cpu_distances(&driver_and_guests(trial, &config.cpus));
    let Driven {
        mut measured,
        facts,
        outputs,
    } = driven?;
    seen.kernel.extend(before);
    seen.kernel.extend(distances);
    seen.kernel
        .extend(cpu_speeds(&used, KernelCounter::FixedWorkAfter));
    let silent = attach(trial, &mut measured, &counts, &seen);
    Ok(Observed {
        measured,
        seen,
        silent,
        driver_cpus,
        drivers: facts,
        outputs,
    })
}

/// The CPUs of all guests and of the drivers here, in order.
fn cpus_of(trial: &TrialContext<'_>, drivers: &[u32]) -> Vec<u32> {
    let guests = trial.point.each_guest();
    let of_guests = guests.flat_map(|guest| guest.cpus().to_vec());
    let all: BTreeSet<u32> = of_guests.chain(drivers.iter().copied()).collect();
    all.into_iter().collect()
}

/// The first CPU of the driver here with the first one of each guest; none without a driver here.
fn driver_and_guests(trial: &TrialContext<'_>, drivers: &[u32]) -> Vec<(u32, u32)> {
    let Some(driver) = drivers.first() else {
        return Vec::new();
    };
    let guests = trial.point.each_guest();
    let first = guests.filter_map(|guest| guest.cpus().first().copied());
    let all: BTreeSet<u32> = first.collect();
    all.into_iter().map(|guest| (*driver, guest)).collect()
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
