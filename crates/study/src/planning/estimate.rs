//! What a run will cost. Planning figures, said as such; the run itself is measured.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use rookery_cast::{count_u32, truncate_u32};

use super::{
    disks::{Disks, GroupPlaces},
    guest_files::{DATABASE_ROOT_MIB, guest_files_mib, root},
    machines,
};
use crate::{
    Callers, Estimate, GuestGroup, GuestKind, Measure, Over, Point, PointData, Search, StackKind,
    StorageRole, StorageUse, Study, Variant, plan::parts,
};

/// Start, health check and removal of a trial's guests, whatever their number.
const TRIAL_OVERHEAD: Duration = Duration::from_secs(1);

/// Start and removal of one more guest.
fn guest_overhead(kind: GuestKind) -> Duration {
    Duration::from_millis(match kind {
        GuestKind::Bare => 20,
        GuestKind::Container => 60,
        // Boot with a processor that is translated; where KVM works it is a tenth of that.
        GuestKind::Vm => 25_000,
        GuestKind::Fake | GuestKind::External => 1,
    })
}

/// Building it with mmdebstrap.
const LAMP_BUILD: Duration = Duration::from_secs(45);

/// Start of three servers, reading the database, audit and orderly stop, whatever the number of
/// guests.
const LAMP_START: Duration = Duration::from_secs(2);

/// The same for one more guest, all guests on the same CPUs.
const LAMP_GUEST_START: Duration = Duration::from_millis(800);

/// Measuring what one pool of storage can do: eight points of a second, and what fio takes to begin
/// and to end.
const CEILING: Duration = Duration::from_secs(12);

/// A trial that is computed, and its place in the store: measured at some ten thousand orders.
const COMPUTED: Duration = Duration::from_millis(50);

/// The cost of trials that are computed: time alone.
fn computed(variants: &[Variant], points: &[Point], searches: &[Search]) -> Estimate {
    let study = |id: u32| {
        variants
            .iter()
            .find(|variant| variant.id == id)
            .map(|variant| &variant.study)
    };
    let repeats = points
        .iter()
        .filter_map(|point| Some(study(point.variant)?.load.repeats));
    let probes = searches
        .iter()
        .filter_map(|search| Some(study(search.variant)?.load.search.as_ref()?.probes / 2));
    Estimate {
        duration: COMPUTED * repeats.chain(probes).sum(),
        memory_mib: 0,
        disk_mib: 0,
        elsewhere_mib: BTreeMap::new(),
        devices_mib: BTreeMap::new(),
    }
}

/// The cost of all trials of these points and of the searches, of which `largest` are the points at
/// their largest loads.
pub(super) fn estimate<'p>(
    variants: &'p [Variant],
    points: &'p [Point],
    searches: &[Search],
    largest: &'p [Point],
) -> Estimate {
    if variants
        .iter()
        .all(|variant| variant.study.stack.kind() == StackKind::Simulated)
    {
        return computed(variants, points, searches);
    }
    // The points of a plan come from its variants.
    let with_parts = |point: &'p Point| -> Option<Parts<'p>> {
        let variant = variants
            .iter()
            .find(|variant| variant.id == point.variant)?;
        Some(parts(point, variant))
    };
    let planned: Vec<Parts<'_>> = points.iter().filter_map(with_parts).collect();
    let all: Vec<Parts<'_>> = points
        .iter()
        .chain(largest)
        .filter_map(with_parts)
        .collect();
    let trials: Duration = planned.iter().map(|parts| trials_time(parts)).sum();
    let searching: Duration = searches
        .iter()
        .filter_map(|search| search_time(variants, search))
        .sum();
    let needs = hosts_of(&all).into_iter().map(|host| needs(&all, host));
    let nothing = (Duration::ZERO, Disks::default());
    // Hosts build their templates side by side, and all have the room that one of them needs.
    let (templates, disks) = needs.fold(nothing, |(time, disks), own| {
        (time.max(own.0), disks.larger(own.1))
    });
    Estimate {
        duration: trials + searching + templates + ceilings(variants),
        memory_mib: points
            .iter()
            .chain(largest)
            .map(Point::total_memory_mib)
            .max()
            .unwrap_or(0),
        disk_mib: disks.here_mib,
        elsewhere_mib: disks.elsewhere_mib,
        devices_mib: disks.devices_mib,
    }
}

/// The hosts that groups of these points name; one, whichever, where they name none.
fn hosts_of<'p>(all: &'p [Parts<'_>]) -> BTreeSet<Option<&'p str>> {
    let groups = all.iter().flatten().map(|(point, _)| point.only_group());
    let named: BTreeSet<_> = groups
        .filter_map(|group| group.host.as_deref())
        .map(Some)
        .collect();
    if named.is_empty() {
        BTreeSet::from([None])
    } else {
        named
    }
}

/// What the templates and guests of one host take: the time in which its templates are built, and
/// its disks. Groups that name no host may be on any.
fn needs(all: &[Parts<'_>], host: Option<&str>) -> (Duration, Disks) {
    let is_there = |(point, _): &&(Point, &Study)| {
        let named = point.only_group().host.as_deref();
        named.is_none() || named == host
    };
    let own = all.iter().map(|parts| parts.iter().filter(is_there));
    let own: Vec<Parts<'_>> = own.map(|parts| parts.cloned().collect()).collect();
    let every: Vec<(&Point, &Study)> = own
        .iter()
        .flatten()
        .map(|(point, study)| (point, *study))
        .collect();
    let roots: BTreeSet<(&str, u64)> = every.iter().map(|(_, study)| root(study)).collect();
    let mut databases: Vec<(&str, PointData)> = Vec::new();
    // What runs already has its data.
    let made = |(_, study): &&(&Point, &Study)| study.guest.kind() != GuestKind::External;
    for (point, study) in every.iter().filter(made) {
        let database = (root(study).0, point.only_group().database);
        if !databases.contains(&database) {
            databases.push(database);
        }
    }
    let load_s: f64 = databases.iter().map(|(_, data)| data.load_s()).sum();
    let build: Duration = roots
        .iter()
        .filter(|(_, mib)| *mib >= DATABASE_ROOT_MIB)
        .map(|_| LAMP_BUILD)
        .sum();
    let clones = own.iter().map(|parts| clones(parts));
    let mut disks = clones.fold(Disks::default(), Disks::larger);
    disks.here_mib += roots.iter().map(|(_, mib)| mib).sum::<u64>();
    let data = databases.iter().map(|(_, data)| data.used_mib());
    disks.here_mib += data.sum::<u64>() + machines::images_mib(&every);
    (build + Duration::from_secs_f64(load_s), disks)
}

/// The block devices that several volumes of one of these points would take.
pub(super) fn shared_devices<'p>(
    variants: &[Variant],
    points: impl Iterator<Item = &'p Point>,
) -> BTreeSet<String> {
    let disks = points.filter_map(|point| {
        let variant = variants
            .iter()
            .find(|variant| variant.id == point.variant)?;
        Some(clones(&parts(point, variant)))
    });
    disks.flat_map(|disks| disks.shared_devices).collect()
}

/// Where the clones of all guests of a point lie.
fn clones(parts: &Parts<'_>) -> Disks {
    let mut disks = Disks::default();
    let mut before = 0;
    for (point, study) in parts {
        let group = point.only_group();
        let guests = before..before + group.guests;
        before = guests.end;
        let places = GroupPlaces {
            host: group.host.as_deref(),
            guests,
        };
        if study.guest.kind() == GuestKind::External {
            continue;
        }
        let in_run = guest_files_mib(study) + study.guest.swap.disk_mib(group.memory_mib);
        disks.here_mib += u64::from(group.guests) * in_run;
        match &study.storage.volume {
            Some(volume) => {
                let each = group.volumes_mib.mib(StorageRole::Data);
                disks.add_volumes(volume, each, &places);
            }
            None => {
                let each =
                    machines::clone_mib(point, study).unwrap_or_else(|| {
                        match data_in_tier(parts, group) {
                            true => 0,
                            false => group.database.used_mib(),
                        }
                    });
                disks.here_mib += u64::from(group.guests) * each;
            }
        }
        for (role, role_use) in &study.storage.roles {
            let each = group.volumes_mib.mib(*role);
            disks.add_volumes(&role_use.volume, each, &places);
        }
    }
    disks
}

/// The groups of a point with their studies.
type Parts<'p> = Vec<(Point, &'p Study)>;

/// Whether the data of a group lie in guests of another, its tier.
fn data_in_tier(parts: &Parts<'_>, group: &GuestGroup) -> bool {
    parts.iter().any(
        |(other, _)| matches!(&other.only_group().callers, Callers::Group(of) if *of == group.name),
    )
}

/// All trials of a point: phases once, and what each group adds.
fn trials_time(parts: &Parts<'_>) -> Duration {
    let Some((_, first)) = parts.first() else {
        return Duration::ZERO;
    };
    let trial = trial_time(parts, first.load.settle, first.load.steady);
    let calibrations = parts
        .iter()
        .map(|(_, study)| study.workload.keys().calibrations());
    trial * (first.load.repeats + calibrations.sum::<u32>())
}

/// One trial of a point with these times: its phases, the pause after it, and what its guests take.
pub(super) fn trial_time(
    parts: &[(Point, &Study)],
    settle: Duration,
    steady: Duration,
) -> Duration {
    let Some((_, first)) = parts.first() else {
        return Duration::ZERO;
    };
    let users = parts.iter().map(|(point, _)| point.total_users()).sum();
    let guests = parts.iter().map(|(point, _)| point.guests()).sum();
    let guest_times = parts.iter().map(|(point, study)| guests_time(study, point));
    around_window(first, users, guests) + settle + steady + guest_times.sum::<Duration>()
}

/// Measuring each different pool once, where it is asked for.
fn ceilings(variants: &[Variant]) -> Duration {
    let mut pools: Vec<&StorageUse> = Vec::new();
    for storage in variants
        .iter()
        .flat_map(Variant::studies)
        .map(|study| &study.storage)
        .filter(|storage| storage.ceiling)
    {
        if !pools.contains(&storage) {
            pools.push(storage);
        }
    }
    CEILING * count_u32(pools.len())
}

/// A search approaches with about half of the trials that it may make, and makes what confirms.
fn search_time(variants: &[Variant], search: &Search) -> Option<Duration> {
    let study = &variants
        .iter()
        .find(|variant| variant.id == search.variant)?
        .study;
    let asked = study.load.search.as_ref()?;
    let users = match search.over {
        Over::Users => truncate_u32(search.highest),
        Over::Rate | Over::Guests | Over::Memory => 0,
    };
    let load = &study.load;
    let phases = around_window(study, users, search.guests) + load.settle + load.steady;
    let full = phases + guests_start(study, search.guests);
    let short = asked.steady.map_or(full, |steady| {
        (full + steady).saturating_sub(study.load.steady)
    });
    Some(
        short * (asked.probes / 2).max(1).saturating_sub(asked.confirm)
            + full * (asked.confirm + 1),
    )
}

/// The phases of a trial of so many users without settling and window, and the pause after it.
fn around_window(study: &Study, users: u32, guests: u32) -> Duration {
    let load = &study.load;
    load.ramp_up.lasting(users, guests) + load.ramp_down + load.rest
}

fn guests_start(study: &Study, guests: u32) -> Duration {
    let (start, each) = match study.stack.kind() {
        StackKind::Lamp | StackKind::Mariadb | StackKind::Postgresql | StackKind::Image => {
            (TRIAL_OVERHEAD + LAMP_START, LAMP_GUEST_START)
        }
        _ => (TRIAL_OVERHEAD, guest_overhead(study.guest.kind())),
    };
    start + each * guests
}

/// A command that the study brings, until it is measured.
const COMMAND_S: f64 = 1.0;

/// The commands around a trial, where the stack is the user's own.
fn command_s(study: &Study) -> f64 {
    let Some(own) = study.stack.commands() else {
        return 0.0;
    };
    let once = [&own.reset, &own.prepare, &own.audit];
    let twice = [&own.read_settings, &own.read_settings];
    let given = once
        .into_iter()
        .chain(twice)
        .filter(|words| !words.is_empty());
    COMMAND_S * given.count() as f64
}

/// Overhead, and copying the databases. The drain is not counted: it only lasts while something
/// hangs.
fn guests_time(study: &Study, point: &Point) -> Duration {
    let mb: f64 = point
        .groups
        .iter()
        .map(|group| f64::from(group.guests) * group.database.megabytes() as f64)
        .sum();
    if study.measure == Measure::LoadTime {
        let loads = point
            .groups
            .iter()
            .map(|group| f64::from(group.guests) * group.database.load_s());
        return guests_start(study, point.guests())
            + Duration::from_secs_f64(loads.sum())
            + study.load.rest;
    }
    let copy_s = match study.guest.kind() {
        GuestKind::External => 0.0,
        _ => study.workload.keys().copy_s(mb),
    };
    guests_start(study, point.guests()) + Duration::from_secs_f64(copy_s + command_s(study))
}
