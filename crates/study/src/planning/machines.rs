//! What guests that are machines need beyond others: memory for a kernel of their own, disks.

use std::collections::BTreeSet;

use super::estimate::{on_disk_mib, root};
use crate::{
    GuestKind, Point, Study,
    grammar::Context,
    problem::Code,
    vm_shape::{DiskClone, LEAST_MEMORY_MIB},
};

/// The system that all machines boot, MiB.
const SYSTEM_MIB: u64 = 320;

/// What a file system of its own adds to a disk's image: its tables and its journal, MiB.
const FILE_SYSTEM_MIB: u64 = 80;

/// Refuses machines whose kernel would not come up.
pub(super) fn check(study: &Study, points: &[Point], context: &mut Context) {
    if study.guest.kind != GuestKind::Vm {
        return;
    }
    if let Some(point) = points.iter().find(|point| point.memory_mib < LEAST_MEMORY_MIB) {
        let span = context.spans.nearest("guest.memory");
        let message = format!(
            "machines of {} MiB are too small for a kernel of their own ({})",
            point.memory_mib,
            point.layouts.join(", ")
        );
        let mend = format!("give them {LEAST_MEMORY_MIB} MiB or more in [guest]");
        context.refuse::<()>(Code::OutOfRange, span, message, mend);
    }
}

/// Beside the templates of all kinds: the system, and an image of each template's disk, MiB.
pub(super) fn images_mib(all: &[(&Point, &Study)]) -> u64 {
    let machines = || all.iter().filter(|(_, study)| study.guest.kind == GuestKind::Vm);
    let images: BTreeSet<(u64, u64)> = machines()
        .map(|(point, study)| (root(study).1, on_disk_mib(point.database)))
        .collect();
    let system = if images.is_empty() { 0 } else { SYSTEM_MIB };
    system + images.iter().map(|(root, data)| root + data + FILE_SYSTEM_MIB).sum::<u64>()
}

/// What the clone of one machine takes in the end, MiB; nothing for other kinds.
pub(super) fn clone_mib(point: &Point, study: &Study) -> Option<u64> {
    let disk = &study.guest.vm.disk;
    (study.guest.kind == GuestKind::Vm).then(|| match disk.clone {
        DiskClone::Overlay => on_disk_mib(point.database),
        DiskClone::Raw => root(study).1 + on_disk_mib(point.database) + FILE_SYSTEM_MIB,
        DiskClone::Preallocated => disk.size_mib,
    })
}

#[cfg(test)]
mod tests {
    use crate::{Document, HostFacts, Plan};

    fn plan(guest: &str) -> Result<u64, String> {
        let text = format!(
            "title = \"t\"\n[workload]\nkind = \"dvdstore\"\n[load]\nusers = 5\n[stack]\nkind = \"lamp\"\n[guest]\n{guest}\n[[layout]]\nname = \"one\"\n"
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
    fn a_machine_has_room_for_a_kernel() {
        let error = plan("kind = \"vm\"\nmemory = \"64MiB per guest\"").expect_err("too small");
        assert!(
            error.contains("machines of 64 MiB are too small") && error.contains("128 MiB or more"),
            "{error}"
        );
        assert!(plan("kind = \"container\"\nmemory = \"64MiB per guest\"").is_ok());
    }
}
