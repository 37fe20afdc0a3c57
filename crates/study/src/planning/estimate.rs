//! What a run will cost. Planning figures, said as such; the run itself is measured.

use std::{collections::BTreeSet, time::Duration};

use crate::{Estimate, GuestKind, Point, Study};

/// Start, health check and removal of a trial's guests, whatever their number.
const TRIAL_OVERHEAD: Duration = Duration::from_secs(1);

/// Start and removal of one more guest.
fn guest_overhead(kind: GuestKind) -> Duration {
    Duration::from_millis(match kind {
        GuestKind::Bare => 20,
        GuestKind::Container => 60,
        GuestKind::Fake => 1,
    })
}

/// Copying a loaded database, MiB/s: a conservative sequential rate of a disk.
const COPY_MIB_PER_S: f64 = 400.0;

/// Loading a template, nominal MB/s: some 11 000 rows per MB with their indexes, through one connection.
const LOAD_MB_PER_S: f64 = 10.0;

/// MiB on disk per nominal MB of a loaded database: tables, indexes and full text come to about twice the nominal size.
const LOADED_MIB_PER_MB: f64 = 2.0;

/// MiB on disk per nominal MB of a database under load: half as much again for new orders and the write-ahead log.
const USED_MIB_PER_MB: f64 = 2.5;

/// Root file system of a container template with the stack's program, MiB.
const CONTAINER_ROOT_MIB: u64 = 64;

/// Logs and sockets of a guest, MiB.
const GUEST_FILES_MIB: u64 = 2;

/// The cost of all trials of these points.
pub(super) fn estimate(study: &Study, points: &[Point]) -> Estimate {
    let per_repeat: Duration = points.iter().map(|point| trial_time(study, point)).sum();
    let sizes: BTreeSet<u64> = points.iter().map(|point| point.database.megabytes()).collect();
    let load_s = sizes.iter().sum::<u64>() as f64 / LOAD_MB_PER_S;
    let templates_mib: u64 = sizes.iter().map(|mb| on_disk_mib(*mb)).sum::<u64>() + root_mib(study.guest.kind);
    let clones = |point: &Point| u64::from(point.guests) * (on_disk_mib(point.database.megabytes()) + GUEST_FILES_MIB);
    Estimate {
        duration: per_repeat * study.load.repeats + Duration::from_secs_f64(load_s),
        memory_mib: points
            .iter()
            .map(|point| u64::from(point.guests) * point.memory_mib)
            .max()
            .unwrap_or(0),
        disk_mib: templates_mib + points.iter().map(clones).max().unwrap_or(0),
    }
}

fn root_mib(kind: GuestKind) -> u64 {
    match kind {
        GuestKind::Container => CONTAINER_ROOT_MIB,
        GuestKind::Bare | GuestKind::Fake => 0,
    }
}

fn on_disk_mib(mb: u64) -> u64 {
    (mb as f64 * USED_MIB_PER_MB).ceil() as u64
}

/// Phases, overhead, and copying the databases. The drain is not counted: it only lasts while something hangs.
fn trial_time(study: &Study, point: &Point) -> Duration {
    let load = &study.load;
    let phases = load.ramp_up + load.settle + load.steady + load.ramp_down;
    let copy_s = f64::from(point.guests) * point.database.megabytes() as f64 * LOADED_MIB_PER_MB / COPY_MIB_PER_S;
    phases + TRIAL_OVERHEAD + guest_overhead(study.guest.kind) * point.guests + Duration::from_secs_f64(copy_s)
}
