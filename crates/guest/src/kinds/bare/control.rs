//! The control group of a bare guest: what holds it to its CPUs and its memory, where we may make
//! one.

use std::{io, path::PathBuf};

use rookery_host::{Cgroups, GroupLimits};
use rustix::{
    fs::{Access, access},
    process::geteuid,
};

use crate::{cpu_quota::shares_of, spec::GuestSpec, storage::InForce};

/// Controllers without which a group would hold nothing.
const NEEDED: [&str; 2] = ["cpuset", "memory"];

/// Joins the groups whose lists of processes are its arguments, and becomes the program behind
/// `--`: so the program is in them from its first instruction on.
const JOIN: &str =
    r#"while [ "$1" != -- ]; do echo $$ > "$1" || exit 125; shift; done; shift; exec "$@""#;

/// A guest's control group.
pub(super) struct Control {
    pub(super) cgroups: Cgroups,
    pub(super) group: String,
}

/// The hierarchies in which bare guests have groups; nothing without root, or where they cannot be
/// written to.
pub(super) fn hierarchies(cgroups: &Cgroups) -> Option<Cgroups> {
    let writable = |controller: &&str| {
        cgroups
            .directory(controller, "")
            .is_some_and(|root| access(&root, Access::WRITE_OK).is_ok())
    };
    let usable = geteuid().is_root() && NEEDED.iter().all(writable);
    usable.then(|| cgroups.clone())
}

impl Control {
    /// Make the group with the limits of a guest; gives its lists of processes.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub(super) fn make(&self, spec: &GuestSpec) -> io::Result<Vec<PathBuf>> {
        let limits = GroupLimits {
            cpus: spec.cpus.clone(),
            memory_bytes: spec.memory_mib.map(|mib| mib << 20),
            shares: shares_of(spec),
            ..GroupLimits::default()
        };
        self.cgroups.make_group(&self.group, &limits)
    }
}

/// The words that start a program within groups.
pub(super) fn joining(lists: &[PathBuf]) -> Vec<String> {
    let shell = ["/bin/sh", "-c", JOIN, "sh"].map(str::to_owned);
    let lists = lists.iter().map(|list| list.display().to_string());
    shell
        .into_iter()
        .chain(lists)
        .chain(["--".to_owned()])
        .collect()
}

/// The memory limit that was asked for, beside the one in force.
pub(super) fn memory_reading(spec: &GuestSpec, control: Option<&Control>) -> Option<InForce> {
    let asked = spec.memory_mib?;
    let limit = control.and_then(|control| control.cgroups.memory_limit(&control.group));
    let effective = limit.map_or_else(
        || "no limit".to_owned(),
        |bytes| format!("{}MiB", bytes >> 20),
    );
    Some(InForce::new(
        "guest.memory",
        format!("{asked}MiB"),
        effective,
    ))
}
