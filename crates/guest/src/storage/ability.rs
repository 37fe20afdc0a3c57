//! What storage a host can give to guests.

use std::path::Path;

use rookery_host::{
    Cgroups, HostError, find_program,
    io::{IoLimits, check_throttle, disk_of},
    volume::{FileSystem, VolumeSpec},
};

use crate::host_check::{Lack, kernel_lists};

/// What storage guests of one kind can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StorageAbility {
    /// Whether their data lie on a disk at all.
    pub(crate) keeps_data: bool,
    /// What limits their I/O.
    pub(crate) io_limits: IoLimiter,
}

/// What limits the I/O of a guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IoLimiter {
    /// Nothing can.
    Nothing,
    /// Its control group.
    ControlGroup,
    /// Its emulator.
    Emulator,
}

/// What this host lacks to give guests of such ability this volume and these limits.
pub(crate) fn missing(
    ability: StorageAbility,
    volume: Option<&VolumeSpec>,
    limits: &IoLimits,
    directory: Option<&Path>,
) -> Vec<Lack> {
    let mut missing = Vec::new();
    if let Some(spec) = volume {
        missing.extend(missing_for_volume(spec));
        if !ability.keeps_data {
            missing.push(Lack::new(
                "fake guests keep no data",
                "write `pool = \"directory\"` in [storage]",
            ));
        }
    }
    if !limits.is_none() && ability.io_limits != IoLimiter::Emulator {
        if ability.io_limits == IoLimiter::Nothing {
            missing.push(Lack::new(
                "only containers can be held to limits on I/O",
                "write `kind = \"container\"` in [guest], or remove the limits",
            ));
        }
        missing.extend(missing_for_limits(directory.filter(|_| volume.is_none())));
    }
    missing
}

fn missing_for_volume(spec: &VolumeSpec) -> Vec<Lack> {
    let mut missing = Vec::new();
    if !rustix::process::geteuid().is_root() {
        missing.push(Lack::new(
            "volumes need root",
            "run as root, or write `pool = \"directory\"` in [storage]",
        ));
    }
    if !Path::new("/dev/loop-control").exists() {
        missing.push(Lack::new("there are no loop devices", "modprobe loop"));
    }
    if find_program("losetup").is_none() {
        missing.push(Lack::new("there is no `losetup`", "apt install mount"));
    }
    if let Some(file_system) = spec.file_system {
        let (maker, package) = file_system.maker();
        if find_program(maker).is_none() {
            missing.push(Lack::new(
                format!("there is no `{maker}`"),
                format!("apt install {package}"),
            ));
        }
        if !kernel_has(file_system) {
            missing.push(Lack::new(
                format!("the kernel offers no {}", file_system.name()),
                format!("modprobe {}", file_system.name()),
            ));
        }
    }
    missing.extend(spec.check().err().map(Lack::from));
    missing
}

/// What a control group lacks to limit I/O on the disk of `directory`, where that is known.
fn missing_for_limits(directory: Option<&Path>) -> Vec<Lack> {
    let able = match Cgroups::detect() {
        Ok(cgroups) => check_throttle(&cgroups).err(),
        Err(error) => Some(HostError::because(error, "mount /proc")),
    };
    let disk = directory.and_then(|directory| {
        // A relative path that does not exist lies in the working directory.
        let existing = directory.ancestors().find(|path| path.exists());
        disk_of(existing.unwrap_or(Path::new("."))).err()
    });
    able.into_iter().chain(disk).map(Lack::from).collect()
}

/// A file system that is a module may not be listed before its first mount, which loads it.
fn kernel_has(file_system: FileSystem) -> bool {
    let release = rustix::system::uname()
        .release()
        .to_string_lossy()
        .into_owned();
    kernel_lists(file_system.name())
        || Path::new("/lib/modules")
            .join(release)
            .join("kernel/fs")
            .join(file_system.name())
            .is_dir()
}
