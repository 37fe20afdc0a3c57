//! The load of a trial, and what is seen beside it.

use std::time::Duration;

use rookery_driver::{Phases, Progress};
use rookery_monitor::{LoadSchedule, SamplerConfig, Samplers};

use super::context::{TrialContext, TrialRunner};
use crate::{
    error::{Failure, LabError},
    event::Event,
    guest_set::GuestSet,
    observed::Observed,
    targets::Targets,
    workloads,
};

/// Time between two samples of resources.
const SAMPLE_EVERY: Duration = Duration::from_secs(1);

/// Put the load on while watching the guests: one that dies ends the load.
///
/// # Errors
/// When no load was put on.
pub(crate) fn observe(
    runner: &TrialRunner<'_>,
    trial: &TrialContext<'_>,
    guests: &mut GuestSet<'_>,
) -> Result<Observed, Failure> {
    let targets = Targets::new(runner.context.lab, guests.guests());
    let load = workloads::load(
        runner.plan,
        trial.trial,
        trial.point,
        &trial.stack,
        &targets,
    );
    let config = SamplerConfig {
        cpus: load.cpus().to_vec(),
        interval: SAMPLE_EVERY,
        schedule: schedule(load.phases()),
        databases: workloads::probes(&trial.stack, guests.guests()),
    };
    let samplers = Samplers::new(&config, guests.guests());
    let (measured, seen) = samplers
        .run(guests.guests_mut(), runner.context.stop, |state| {
            load.run(state, &|progress| {
                (runner.context.listener)(&event(trial.trial.id, load.phases(), &progress));
            })
        })
        .map_err(LabError::Sampling)?;
    let mut measurement = measured?;
    let silent = workloads::attach(&trial.stack, &mut measurement, &seen.databases);
    Ok(Observed {
        measurement,
        seen,
        silent,
    })
}

fn schedule(phases: &Phases) -> LoadSchedule {
    LoadSchedule {
        window_start: phases.ramp_up + phases.settle,
        window: phases.steady,
        end: phases.load_end(),
    }
}

fn event(trial: u32, phases: &Phases, progress: &Progress) -> Event {
    Event::Load {
        trial,
        phase: progress.phase.to_string(),
        elapsed_s: progress.elapsed.as_secs_f64(),
        total_s: phases.load_end().as_secs_f64(),
        requests_per_s: progress.requests_per_s,
        errors_per_s: progress.errors_per_s,
    }
}
