//! What one good trial says of its layer.

use rookery_stats::{CpuParts, Measurement};
use rookery_store::TrialRecord;
use rookery_study::{GuestKind, Point};
use rookery_workload::WorkloadInfo;

use super::{group::Site, inside::Inside, limit::Use};
use crate::{TrialData, cpu};

/// The percentiles that are compared.
pub(super) const PERCENTILES: [f64; 3] = [50.0, 95.0, 99.0];
/// The setting by which machines tell what executes their instructions, as in
/// `TCG: this host has no /dev/kvm`.
const ACCELERATOR: &str = "vm.accelerator";

/// One trial.
#[derive(Clone, Debug)]
pub(super) struct Sample {
    /// Trials of equal block ran back to back and differ in factor levels alone; blocks of two runs
    /// are never equal.
    pub(super) block: u64,
    pub(super) info: &'static WorkloadInfo,
    /// Operations per minute.
    pub(super) per_minute: f64,
    /// Of its response times, in the order of [`PERCENTILES`].
    pub(super) percentiles_ms: [Option<f64>; 3],
    /// CPU time of the guests for one operation.
    pub(super) cpu_us: Option<f64>,
    pub(super) parts_us: Option<CpuParts>,
    /// CPU time of neither guests nor driver.
    pub(super) elsewhere_us: Option<f64>,
    pub(super) accelerator: Option<String>,
    /// How much of what limits it was in use.
    pub(super) used: Use,
    pub(super) inside: Option<Inside>,
}

impl Sample {
    /// Of a trial that ended well.
    pub(super) fn from_trial(site: &Site<'_>, trial: &TrialData) -> Option<Self> {
        let (record, measured) = trial.valid()?;
        let per_minute = measured.units_per_minute();
        let info = measured.info()?;
        let operation = info.main_operation();
        let latencies = measured.latencies(operation);
        let cores = cpu::guest_cores(&record.resources, measured);
        // Of no operation there is no cost.
        let us = |cores: f64| {
            (per_minute > 0.0)
                .then(|| cores * 60e6 / per_minute)
                .filter(|us| us.is_finite())
        };
        Some(Self {
            block: u64::from(site.number) << 32 | u64::from(trial.row.trial.block),
            info,
            per_minute,
            percentiles_ms: PERCENTILES.map(|p| Some(latencies.percentile_us(p)? as f64 / 1000.0)),
            cpu_us: cores.and_then(us),
            parts_us: parts(record, measured, us),
            elsewhere_us: elsewhere(record, measured).and_then(us),
            accelerator: accelerator(record),
            used: Use::from_measurement(measured, cores, capacity(site.point, site.kind)),
            inside: Inside::from_trial(record, measured),
        })
    }
}

fn parts(
    record: &TrialRecord,
    measured: &Measurement,
    us: impl Fn(f64) -> Option<f64>,
) -> Option<CpuParts> {
    let parts = cpu::guest_parts(&record.resources, measured)?;
    Some(CpuParts {
        user: us(parts.user)?,
        system: us(parts.system)?,
        guest: us(parts.guest)?,
        emulator: us(parts.emulator)?,
    })
}

/// Cores that neither guests nor the driver used; never less than none, although the three are read
/// one after the other.
fn elsewhere(record: &TrialRecord, measured: &Measurement) -> Option<f64> {
    let of = |subject: &str| cpu::mean_cores(&record.resources, subject, measured);
    let guests = cpu::guest_cores(&record.resources, measured)?;
    Some((of(cpu::HOST)? - of(cpu::DRIVER)? - guests).max(0.0))
}

fn accelerator(record: &TrialRecord) -> Option<String> {
    let told = record
        .tunings
        .iter()
        .find(|tuning| tuning.name == ACCELERATOR)?;
    let name = told.effective.split(':').next().unwrap_or_default().trim();
    (!name.is_empty()).then(|| name.to_owned())
}

/// CPUs that the guests of a point can use together. Bare guests have no limit but their CPUs.
fn capacity(point: &Point, kind: GuestKind) -> f64 {
    if kind != GuestKind::Bare {
        return point.capacity_cpus;
    }
    let mut cpus: Vec<u32> = point
        .each_guest()
        .flat_map(|guest| guest.cpus())
        .copied()
        .collect();
    cpus.sort_unstable();
    cpus.dedup();
    cpus.len() as f64
}
