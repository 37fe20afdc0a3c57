//! Trials that are computed instead of run: the driver's users in virtual time against a queueing
//! model of the system under test.
//!
//! Nothing waits and nothing runs, yet a trial yields what a real one does: a measurement, samples
//! of resources, an audit. All that stands above it is thus the same, and because the truth can be
//! computed ([`knee`]), what it finds can be compared with the truth. Same plan, same numbers.

mod cpus;
mod system;
mod truth;

use std::{
    net::{Ipv4Addr, SocketAddr},
    sync::atomic::AtomicBool,
    time::Duration,
};

use rookery_driver::OperationId;
use rookery_stack::{AuditScope, Found};
use rookery_stats::{Measurement, ResourceSample};
use rookery_store::HostDescription;
use rookery_study::{GuestKind, Plan, Point, SimulatedUse, Study, Trial};
use rookery_web::{Config, play};
use rookery_workload::random::{PurposeStream, RandomSource as _};

use self::system::{Computed, Demands};
use crate::{
    error::LabError,
    targets::{Target, Targets},
    trial::{Casualties, Evidence, Measured, Told, TrialEnd, TrialRunner, audit, judge, texts},
    workloads::{ComputedLoad, LoadRequest, computed_load, computed_row},
};

pub use truth::{knee, measure};

/// What every reader of a simulated run must know; the first note of its store.
pub const NOTE: &str = "simulated: no guest ran and nothing was measured; every number was \
                        computed from the queueing model that [stack] describes";

/// CPU time of the simulated driver for each request.
const DRIVER_COST: Duration = Duration::from_micros(10);

/// Memory of a guest besides its database, of the driver, and of all else, bytes.
const GUEST_BYTES: u64 = 64 << 20;
const DRIVER_BYTES: u64 = 32 << 20;
const HOST_BYTES: u64 = 512 << 20;

/// What one trial is computed from.
struct Model<'a> {
    system: &'a SimulatedUse,
    demands: Demands,
    /// The request by which a unit of work is stored.
    commits: OperationId,
    seed: u64,
}

/// What one trial gave.
struct Outcome {
    measurement: Measurement,
    resources: Vec<ResourceSample>,
    /// Orders in the database of each guest.
    orders: Vec<u64>,
}

/// The load of a trial on guests that have no addresses.
///
/// # Errors
/// When no system is computed for the workload of the point.
fn load(plan: &Plan, trial: &Trial, point: &Point) -> Result<ComputedLoad, LabError> {
    let nowhere = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let targets = Targets {
        confirmed: Vec::new(),
        network: None,
        guests: (1..=point.guests())
            .map(|number| Target {
                name: format!("g{number}"),
                address: nowhere,
            })
            .collect(),
    };
    let study = plan.study_of(point);
    computed_load(&LoadRequest {
        steady: plan.steady(trial.purpose, &study.load),
        seed: trial.seed,
        study,
        point,
        whole: point,
        driver_cpus: &plan.driver_cpus,
        targets: &targets,
    })
}

fn compute(
    config: &Config,
    study: &Study,
    point: &Point,
    model: &Model<'_>,
    stop: &AtomicBool,
) -> Result<Outcome, LabError> {
    let guests: Vec<(f64, Vec<u32>)> = point
        .each_guest()
        .map(|guest| {
            let limit = match study.guest.kind() {
                GuestKind::Bare => guest.cpus().len() as f64,
                GuestKind::Container | GuestKind::Vm | GuestKind::Fake | GuestKind::External => {
                    guest.group.vcpus.cpus()
                }
            };
            (limit, guest.cpus().to_vec())
        })
        .collect();
    let mut system = Computed::new(
        model.system,
        model.demands,
        &guests,
        model.commits,
        model.seed,
    );
    let measurement = play(config, &mut system, DRIVER_COST, stop)?;
    let orders = system.orders().to_vec();
    let resources = samples(
        &measurement,
        system.usage(config.phases.load_end().as_secs_f64()),
        point,
    );
    Ok(Outcome {
        measurement,
        resources,
        orders,
    })
}

/// One sample a second of every guest, the driver and the host.
fn samples(measurement: &Measurement, usage: &[Vec<f64>], point: &Point) -> Vec<ResourceSample> {
    let mut samples = Vec::new();
    let database = point.only_group().database.megabytes() << 20;
    let mut before = vec![0.0; measurement.guests.len()];
    for (second, used) in usage.iter().enumerate() {
        let at_s = (second + 1) as f64;
        let mut sample = |subject: &str, cpu_cores: f64, memory_bytes: u64| {
            samples.push(ResourceSample {
                subject: subject.to_owned(),
                at_s,
                cpu_cores,
                memory_bytes,
                io: None,
                parts: None,
                throttled_cores: None,
                memory: None,
            });
        };
        let (mut cores, mut bytes) = (0.0, HOST_BYTES + DRIVER_BYTES);
        for ((guest, used), before) in measurement.guests.iter().zip(used).zip(&mut before) {
            sample(&guest.guest, used - *before, GUEST_BYTES + database);
            cores += used - *before;
            bytes += GUEST_BYTES + database;
            *before = *used;
        }
        let seconds = measurement
            .guests
            .iter()
            .filter_map(|guest| guest.series.get(second));
        let requests: u32 = seconds.map(|second| second.requests + second.errors).sum();
        let driver = f64::from(requests) * DRIVER_COST.as_secs_f64();
        sample("host", cores + driver, bytes);
        sample("driver", driver, DRIVER_BYTES);
    }
    samples
}

/// Compute one trial.
///
/// # Errors
/// When the load makes no sense to the driver.
pub(crate) fn compute_trial(
    runner: &TrialRunner<'_>,
    trial: &Trial,
    point: &Point,
    system: &SimulatedUse,
) -> Result<TrialEnd, LabError> {
    runner.report_start(trial, point);
    let study = runner.plan.study_of(point);
    // The seed of a trial is that of its block, so that variants meet the same users; what differs
    // from trial to trial takes the trial's number.
    let factor = PurposeStream::new(trial.seed, u64::from(trial.id)).log_normal(system.noise);
    let load = load(runner.plan, trial, point)?;
    let model = Model {
        system,
        demands: Demands::new(system, point.guests(), load.requests_per_unit, factor),
        commits: load.commits,
        seed: trial.seed,
    };
    let outcome = compute(&load.config, study, point, &model, runner.context.stop)?;
    let audits =
        outcome
            .measurement
            .guests
            .iter()
            .zip(&outcome.orders)
            .map(|(measured, orders)| {
                let found = Found {
                    rows: vec![computed_row(*orders)],
                    ..Found::default()
                };
                let told = Told {
                    guest: measured.guest.clone(),
                    proof: measured.counters.proof(),
                    clients: measured.info().clients.plural,
                };
                audit(&told, Ok(found), AuditScope::Everything, &[])
            });
    let evidence = Evidence {
        audits: audits.collect(),
        measured: vec![Measured {
            driver_cpus: Vec::new(),
            group: "",
            study,
            measurement: outcome.measurement,
        }],
        resources: outcome.resources,
        machines: Vec::new(),
        host: None,
        other_programs: Vec::new(),
        kernel: Vec::new(),
        clock_step: None,
        strayed: Vec::new(),
        casualties: Casualties::default(),
        logs: Vec::new(),
        outputs: Vec::new(),
        tunings: Vec::new(),
        ready_s: 0.0,
    };
    let record = judge(evidence);
    Ok(if runner.context.stopped() {
        TrialEnd::Stopped(texts(&record.reasons))
    } else {
        TrialEnd::Ended(Box::new(record))
    })
}

/// The host of a simulated run, which is no host.
pub(crate) fn describe_host(system: &SimulatedUse) -> HostDescription {
    HostDescription {
        hostname: "simulated host".to_owned(),
        kernel: "none (simulated)".to_owned(),
        cpu_model: format!("simulated, {} CPUs", system.host_cpus),
        facts: system.host(),
        versions: vec![("rookery".to_owned(), env!("CARGO_PKG_VERSION").to_owned())],
    }
}

/// The title of a simulated run says what it is.
pub(crate) fn title(title: &str) -> String {
    if title.to_lowercase().contains("simulated") {
        title.to_owned()
    } else {
        format!("{title} (simulated)")
    }
}
