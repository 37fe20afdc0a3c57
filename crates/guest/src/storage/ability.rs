//! What storage a host can give to guests.

use std::path::Path;

use rookery_host::{
    Cgroups, HostError, find_program,
    io::{IoLimits, check_throttle, disk_of},
    volume::{
        DeviceSource, FileSystem, MountedBy, VolumeSpec,
        devices::{is_partition, number_of},
    },
};
use rookery_study::ForeignTier;

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
    let on_partition = volume.is_some_and(on_partition);
    if !limits.is_none() && on_partition && ability.io_limits == IoLimiter::ControlGroup {
        missing.push(Lack::new(
            "limits on I/O hold for whole disks, and a partition is named",
            "name a whole disk in `block_devices`, or remove the limits",
        ));
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
    missing.extend(missing_for_devices(&spec.source));
    if let Some(file_system) = spec.file_system {
        let (maker, package) = file_system.maker();
        if find_program(maker).is_none() {
            missing.push(Lack::new(
                format!("there is no `{maker}`"),
                format!("apt install {package}"),
            ));
        }
        // A guest that mounts it has a kernel of its own.
        if spec.mounted_by == MountedBy::Host && !kernel_has(file_system) {
            missing.push(Lack::new(
                format!("the kernel offers no {}", file_system.name()),
                format!("modprobe {}", file_system.name()),
            ));
        }
    }
    missing.extend(spec.check().err().map(Lack::from));
    missing
}

/// What the devices of a volume are made by, and where.
fn missing_for_devices(source: &DeviceSource) -> Vec<Lack> {
    let mut missing = Vec::new();
    if let DeviceSource::BlockDevices(devices) = source {
        if find_program("blkid").is_none() {
            missing.push(Lack::new("there is no `blkid`", "apt install util-linux"));
        }
        let found = devices.iter().map(|device| number_of(device));
        missing.extend(found.filter_map(Result::err).map(Lack::from));
        return missing;
    }
    if !Path::new("/dev/loop-control").exists() {
        missing.push(Lack::new("there are no loop devices", "modprobe loop"));
    }
    if find_program("losetup").is_none() {
        missing.push(Lack::new("there is no `losetup`", "apt install mount"));
    }
    for place in source.paths().iter().filter(|place| !place.is_dir()) {
        missing.push(Lack::new(
            format!("there is no directory {}", place.display()),
            "make it, or name another in `directories` of [storage]",
        ));
    }
    missing
}

/// Whether a volume lies on a part of a disk.
fn on_partition(spec: &VolumeSpec) -> bool {
    let DeviceSource::BlockDevices(devices) = &spec.source else {
        return false;
    };
    let numbers = devices.iter().filter_map(|device| number_of(device).ok());
    numbers.into_iter().any(is_partition)
}

/// Why guests get no storage of a tier that is not made here: what the kernel lacks, or that
/// someone else makes it.
pub(crate) fn foreign_tier(tier: ForeignTier) -> Lack {
    foreign_tier_of(tier, Path::new("/"), &|name| kernel_lists(name))
}

fn foreign_tier_of(tier: ForeignTier, root: &Path, lists: &dyn Fn(&str) -> bool) -> Lack {
    let (what, lacks) = match tier {
        ForeignTier::Bcache => (
            "bcache",
            (!root.join("sys/fs/bcache").exists())
                .then_some("the kernel has no bcache: there is no /sys/fs/bcache"),
        ),
        ForeignTier::DmCache => ("dm-cache", no_device_mapper(root)),
        ForeignTier::Lvm => ("LVM", no_device_mapper(root)),
        ForeignTier::Zfs => (
            "ZFS",
            (!lists("zfs")).then_some("the kernel has no ZFS: /proc/filesystems does not list it"),
        ),
    };
    let made = "no tier of it is made here";
    Lack::new(
        lacks.map_or_else(
            || format!("the kernel has {what}, but {made}"),
            str::to_owned,
        ),
        format!(
            "make {what} yourself, where the kernel has it, with a file system on it, and name a \
             directory there in `directories`; `tier = \"stripe\"` is made of btrfs"
        ),
    )
}

/// What a kernel without device mapper lacks.
fn no_device_mapper(root: &Path) -> Option<&'static str> {
    let devices = std::fs::read_to_string(root.join("proc/devices")).unwrap_or_default();
    let mut names = devices
        .lines()
        .filter_map(|line| line.split_whitespace().nth(1));
    (!names.any(|name| name == "device-mapper"))
        .then_some("the kernel has no device mapper: /proc/devices does not list it")
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

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn tiers_that_are_not_made_here_are_refused_with_what_the_kernel_lacks() {
        let root = tempfile::tempdir().expect("temporary directory");
        let told = |tier, listed: &str| {
            let lack = foreign_tier_of(tier, root.path(), &|name| name == listed);
            assert!(lack.help.contains("`directories`"), "{}", lack.help);
            lack.what
        };
        for (tier, said) in [
            (ForeignTier::Bcache, "no bcache"),
            (ForeignTier::DmCache, "no device mapper"),
            (ForeignTier::Lvm, "no device mapper"),
            (ForeignTier::Zfs, "no ZFS"),
        ] {
            assert!(told(tier, "ext4").contains(said), "{tier:?}");
        }
        fs::create_dir_all(root.path().join("sys/fs/bcache")).expect("made");
        fs::create_dir_all(root.path().join("proc")).expect("made");
        fs::write(
            root.path().join("proc/devices"),
            "Block devices:\n254 device-mapper\n",
        )
        .expect("written");
        for tier in [
            ForeignTier::Bcache,
            ForeignTier::DmCache,
            ForeignTier::Lvm,
            ForeignTier::Zfs,
        ] {
            assert!(
                told(tier, "zfs").contains("no tier of it is made here"),
                "{tier:?}"
            );
        }
    }
}
