//! What guests that are machines need beyond others: memory for a kernel of their own, disks.

use std::collections::BTreeSet;

use super::guest_files::root;
use crate::{
    GuestKind, Point, StorageRole, Study, VolumeUse,
    grammar::Context,
    problem::Code,
    vm_shape::{DiskClone, LEAST_MEMORY_MIB},
};

/// The system that all machines boot, MiB.
const SYSTEM_MIB: u64 = 320;

/// What a file system of its own adds to a disk's image: its tables and its journal, MiB.
const FILE_SYSTEM_MIB: u64 = 80;

/// Refuses machines whose kernel would not come up, or whose disk cannot hold their root and their
/// database.
pub(super) fn check(study: &Study, points: &[Point], context: &mut Context) {
    let Some(machine) = study.guest.vm() else {
        return;
    };
    if let Some(point) = points
        .iter()
        .find(|point| point.only_group().memory_mib < LEAST_MEMORY_MIB)
    {
        let span = context.spans.nearest("guest.memory");
        let message = format!(
            "machines of {} MiB are too small for a kernel of their own ({})",
            point.only_group().memory_mib,
            point.layouts.join(", ")
        );
        let help = format!("give them {LEAST_MEMORY_MIB} MiB or more in [guest]");
        context.refuse::<()>(Code::OutOfRange, span, message, help);
    }
    let disk = machine.disk.size_mib;
    let least = |point: &Point| whole_mib(point, study);
    if let Some(point) = points
        .iter()
        .max_by_key(|point| least(point))
        .filter(|point| least(point) > disk)
    {
        let span = context.spans.nearest("guest.vm.disk_size");
        let least = least(point);
        let message = format!(
            "machines have a disk of {disk} MiB: their root, a database of {} and the file system \
             need about {least} MiB",
            point.only_group().database
        );
        let help = format!(
            "write `disk_size = \"{}GiB\"` or more in [guest.vm]",
            least.div_ceil(1024)
        );
        context.refuse::<()>(Code::Disk, span, message, help);
    }
}

/// Root, database and file system of one machine, MiB.
fn whole_mib(point: &Point, study: &Study) -> u64 {
    root(study).1 + point.only_group().database.used_mib() + FILE_SYSTEM_MIB
}

/// Beside the templates of all kinds: the system, and an image of each template's disk, MiB.
pub(super) fn images_mib(all: &[(&Point, &Study)]) -> u64 {
    let machines = || {
        all.iter()
            .filter(|(_, study)| study.guest.kind() == GuestKind::Vm)
    };
    let images: BTreeSet<(u64, u64)> = machines()
        .map(|(point, study)| (root(study).1, point.only_group().database.used_mib()))
        .collect();
    let system = if images.is_empty() { 0 } else { SYSTEM_MIB };
    system
        + images
            .iter()
            .map(|(root, data)| root + data + FILE_SYSTEM_MIB)
            .sum::<u64>()
}

/// The volume that one machine's disk needs, MiB: all of it may be written. Nothing for other
/// kinds.
pub(super) fn disk_on_volume_mib(study: &Study, volume: &VolumeUse) -> Option<u64> {
    let size = study.guest.vm()?.disk.size_mib;
    // What the file system around the disk's file keeps to itself.
    let around = if volume.raw {
        0
    } else {
        size / 16 + FILE_SYSTEM_MIB
    };
    Some(size + around)
}

/// What the clone of one machine takes in the end, MiB; nothing for other kinds. A volume takes all
/// of its blocks at once.
pub(super) fn clone_mib(point: &Point, study: &Study) -> Option<u64> {
    let disk = &study.guest.vm()?.disk;
    let on_volume = point.only_group().volumes_mib.mib(StorageRole::Data);
    Some(match disk.clone {
        _ if on_volume > 0 => on_volume,
        DiskClone::Overlay => point.only_group().database.used_mib(),
        DiskClone::Raw => whole_mib(point, study),
        DiskClone::Preallocated => disk.size_mib,
    })
}

#[cfg(test)]
mod tests {
    use crate::{Document, HostFacts, Plan};

    fn plan(guest: &str) -> Result<u64, String> {
        let text = format!(
            "title = \"t\"\n[workload]\nkind = \"dvdstore\"\n[load]\nusers = 5\n[stack]\nkind \
             = \"lamp\"\n[guest]\n{guest}\n[[layout]]\nname = \"one\"\n"
        );
        let document = Document::parse("s.toml", &text).map_err(|problems| problems.to_string())?;
        let host = HostFacts {
            cpus: vec![0, 1],
            memory_mib: 65_536,
            disk_free_mib: 1_000_000,
            root: true,
            places: Vec::new(),
        };
        let plan = Plan::of(&document, &host).map_err(|problems| problems.to_string())?;
        Ok(plan.estimate.disk_mib)
    }

    #[test]
    fn machines_take_more_disk_than_containers_and_whole_disks_the_most() {
        let disk = |guest: &str| plan(guest).expect("a plan");
        let container = disk("kind = \"container\"");
        let overlay = disk("kind = \"vm\"");
        let whole = disk("kind = \"vm\"\nvm = { clone = \"preallocated\", disk_size = \"20GiB\" }");
        assert!(
            container + super::SYSTEM_MIB < overlay && overlay + 20_000 < whole,
            "{container} {overlay} {whole}"
        );
    }

    #[test]
    fn a_machines_disk_holds_its_database() {
        let error = plan("kind = \"vm\"\nvm = { disk_size = \"256MiB\" }").expect_err("too small");
        assert!(
            error.contains("machines have a disk of 256 MiB")
                && error.contains("write `disk_size = \"1GiB\"` or more"),
            "{error}"
        );
        assert!(plan("kind = \"vm\"\nvm = { disk_size = \"1GiB\" }").is_ok());
    }

    #[test]
    fn a_machine_has_room_for_a_kernel() {
        let error = plan("kind = \"vm\"\nmemory = \"64MiB per guest\"").expect_err("too small");
        assert!(
            error.contains("machines of 64 MiB are too small") && error.contains("128 MiB or more"),
            "{error}"
        );
        assert!(plan("kind = \"container\"\nmemory = \"64MiB per guest\"").is_ok());
    }
}
