//! What guests need of the host: programs, control groups, storage; all that is missing at once.

use std::path::Path;

use rookery_diagnosis::Diagnosis;
use rookery_host::{Cgroups, HostError, find_program};

use crate::{error::GuestError, kind::Kind};

/// Something that this host lacks, and what to do about it.
pub(crate) struct Lack {
    pub(crate) what: String,
    pub(crate) help: String,
}

impl Lack {
    pub(crate) fn new(what: impl Into<String>, help: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            help: help.into(),
        }
    }
}

impl From<HostError> for Lack {
    fn from(error: HostError) -> Self {
        Self::new(error.to_string(), error.help().unwrap_or_default())
    }
}

/// An error that names everything that is missing; `purpose` goes before what is.
///
/// # Errors
/// When anything is missing.
pub(crate) fn nothing_missing(
    kind: Kind,
    purpose: &str,
    missing: Vec<Lack>,
) -> Result<(), GuestError> {
    if missing.is_empty() {
        return Ok(());
    }
    let (what, help): (Vec<_>, Vec<_>) = missing
        .into_iter()
        .map(|lack| (lack.what, lack.help))
        .unzip();
    Err(GuestError::HostNotReady {
        kind,
        what: format!("{purpose}{}", what.join("; ")),
        help: help.join("; "),
    })
}

/// What every kind with a network of its own needs: root, programs (each with its package),
/// control groups.
pub(crate) fn missing_for_isolation(programs: &[(&str, &str)]) -> Vec<Lack> {
    let mut missing = Vec::new();
    if !rustix::process::geteuid().is_root() {
        missing.push(Lack::new(
            "it needs root",
            "run as root, or use kind = \"bare\", which needs no root",
        ));
    }
    for (program, package) in programs {
        if find_program(program).is_none() {
            missing.push(Lack::new(
                format!("there is no `{program}`"),
                format!("apt install {package}"),
            ));
        }
    }
    missing.extend(missing_controllers());
    missing
}

/// Control groups that are missing.
fn missing_controllers() -> Option<Lack> {
    let cgroups = match Cgroups::detect() {
        Ok(cgroups) => cgroups,
        Err(error) => {
            return Some(Lack::new(
                format!("the mounts cannot be read: {error}"),
                "mount /proc",
            ));
        }
    };
    let absent: Vec<&str> = ["cpu", "cpuset", "memory", "pids"]
        .into_iter()
        .filter(|name| !controller_usable(&cgroups, name))
        .collect();
    if absent.is_empty() {
        return None;
    }
    Some(Lack::new(
        format!(
            "no cgroup controller {} is mounted ({})",
            absent.join(", "),
            cgroups.layout()
        ),
        "mount the controllers below /sys/fs/cgroup, or boot with them enabled",
    ))
}

/// Version 1: the controller is mounted. Version 2: the root group lists it.
fn controller_usable(cgroups: &Cgroups, name: &str) -> bool {
    let Some(directory) = cgroups.directory(name, "") else {
        return false;
    };
    match std::fs::read_to_string(directory.join("cgroup.controllers")) {
        Ok(controllers) => controllers
            .split_whitespace()
            .any(|controller| controller == name),
        Err(_) => true,
    }
}

/// Whether the running kernel lists a file system; one that is a module may be listed only after
/// its first mount.
pub(crate) fn kernel_lists(file_system: &str) -> bool {
    std::fs::read_to_string(Path::new("/proc/filesystems"))
        .unwrap_or_default()
        .lines()
        .any(|line| line.split_whitespace().last() == Some(file_system))
}
