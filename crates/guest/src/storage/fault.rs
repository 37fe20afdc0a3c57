//! What is wrong with a volume: nothing is free on it any more, or its device fails.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write as _},
    path::Path,
};

use rookery_host::io::Device;
use rustix::fs::{StatVfs, StatVfsMountFlags, statvfs};
use serde::{Deserialize, Serialize};

use super::volume::Volume;

/// A volume with less space than this is full, bytes: a server that extends a file takes several
/// blocks at once, and has failed to.
const FULL_BYTES: u64 = 64 << 10;

/// The file that a thorough look writes.
const TEST_FILE: &str = ".rookery-test";

/// What is wrong with the volume of a guest, in words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum VolumeFault {
    /// No space is left.
    Full(String),
    /// Its device fails, or its file system has given up because of it.
    Failed(String),
}

/// How closely a volume is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VolumeLook {
    /// By what the kernel knows; nothing is read or written. For use under load.
    Passing,
    /// A block is written as well, and synced.
    Thorough,
}

/// What is wrong with a volume; `None` where nothing is seen to be.
pub(crate) fn volume_fault(volume: &Volume, look: VolumeLook) -> Option<VolumeFault> {
    device_fault(volume).or_else(|| {
        let point = volume.point()?;
        file_system_fault(point, &volume.device().path, look)
    })
}

/// What is wrong with the devices of a volume, whoever mounts its file system.
pub(crate) fn device_fault(volume: &Volume) -> Option<VolumeFault> {
    let asked = volume.spec().device_bytes();
    let mut devices = volume.devices();
    devices.find_map(|one| shrunk(bytes_of(Path::new("/sys"), one.device), asked))
}

/// What is wrong with the file system of `device`, mounted at `point`.
pub(crate) fn file_system_fault(
    point: &Path,
    device: &Path,
    look: VolumeLook,
) -> Option<VolumeFault> {
    ext4_errors(Path::new("/sys"), device)
        .or_else(|| match statvfs(point) {
            Ok(space) => space_fault(&space),
            Err(error) => Some(failed("looking at its space", error.into())),
        })
        .or_else(|| match look {
            VolumeLook::Passing => None,
            VolumeLook::Thorough => write_fault(point),
        })
}

fn failed(what: &str, error: io::Error) -> VolumeFault {
    VolumeFault::Failed(format!("{what}: {error}"))
}

/// The size of a block device, bytes.
pub(super) fn bytes_of(sys: &Path, (major, minor): Device) -> Option<u64> {
    let path = sys.join(format!("dev/block/{major}:{minor}/size"));
    let sectors: u64 = fs::read_to_string(path).ok()?.trim().parse().ok()?;
    Some(sectors.saturating_mul(512))
}

fn shrunk(bytes: Option<u64>, asked: u64) -> Option<VolumeFault> {
    let bytes = bytes.filter(|bytes| *bytes < asked)?;
    let (now, was) = (bytes >> 20, asked >> 20);
    Some(VolumeFault::Failed(format!(
        "its device has {now} MiB of {was} MiB left"
    )))
}

/// Errors that ext4 counted since the file system was made: it is as old as the trial.
fn ext4_errors(sys: &Path, device: &Path) -> Option<VolumeFault> {
    let directory = sys.join("fs/ext4").join(device.file_name()?);
    let count = fs::read_to_string(directory.join("errors_count")).ok()?;
    let count: u64 = count.trim().parse().ok()?;
    (count > 0).then(|| VolumeFault::Failed(format!("its file system counted {count} errors")))
}

fn space_fault(space: &StatVfs) -> Option<VolumeFault> {
    if space.f_flag.contains(StatVfsMountFlags::RDONLY) {
        let what = "its file system takes no more writes";
        return Some(VolumeFault::Failed(what.to_owned()));
    }
    let free = space.f_bavail.saturating_mul(space.f_frsize);
    if free < FULL_BYTES {
        let size = space.f_blocks.saturating_mul(space.f_frsize) >> 20;
        let what = format!("{} KiB of {size} MiB are free", free >> 10);
        return Some(VolumeFault::Full(what));
    }
    (space.f_files > 0 && space.f_favail == 0)
        .then(|| VolumeFault::Full("no file can be added".to_owned()))
}

/// What comes of a block that is written and synced.
fn write_fault(point: &Path) -> Option<VolumeFault> {
    let path = point.join(TEST_FILE);
    let written = OpenOptions::new()
        .create(true)
        .truncate(true)
        .write(true)
        .open(&path)
        .and_then(|mut file| file.write_all(&[0; 4096]).and_then(|()| file.sync_all()));
    let removed = fs::remove_file(&path);
    let gone = removed.and_then(|()| File::open(point)?.sync_all());
    let error = written.and(gone).err()?;
    Some(match error.kind() {
        io::ErrorKind::StorageFull => VolumeFault::Full(error.to_string()),
        _ => failed("writing to it", error),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn space(free_blocks: u64, flags: StatVfsMountFlags) -> StatVfs {
        StatVfs {
            f_bsize: 4096,
            f_frsize: 4096,
            f_blocks: 16_384,
            f_bfree: free_blocks,
            f_bavail: free_blocks,
            f_files: 100,
            f_ffree: 10,
            f_favail: 10,
            f_fsid: 0,
            f_flag: flags,
            f_namemax: 255,
        }
    }

    #[test]
    fn a_volume_is_full_before_its_last_block() {
        let plain = StatVfsMountFlags::empty();
        assert_eq!(space_fault(&space(16, plain)), None);
        assert_eq!(
            space_fault(&space(15, plain)),
            Some(VolumeFault::Full("60 KiB of 64 MiB are free".to_owned()))
        );
        let no_files = StatVfs {
            f_favail: 0,
            ..space(1000, plain)
        };
        assert!(matches!(space_fault(&no_files), Some(VolumeFault::Full(_))));
        assert!(matches!(
            space_fault(&space(1000, StatVfsMountFlags::RDONLY)),
            Some(VolumeFault::Failed(_))
        ));
    }

    #[test]
    fn a_device_that_lost_a_part_and_errors_of_its_file_system_are_seen() {
        let sys = tempfile::tempdir().expect("temporary directory");
        let put = |path: &str, text: &str| {
            let path = sys.path().join(path);
            fs::create_dir_all(path.parent().expect("below")).expect("directory");
            fs::write(path, text).expect("file");
        };
        put("dev/block/7:3/size", "2048\n");
        assert_eq!(bytes_of(sys.path(), (7, 3)), Some(1 << 20));
        assert_eq!(bytes_of(sys.path(), (7, 4)), None);
        assert_eq!(shrunk(Some(1 << 20), 1 << 20), None);
        assert_eq!(
            shrunk(Some(1 << 20), 64 << 20),
            Some(VolumeFault::Failed(
                "its device has 1 MiB of 64 MiB left".to_owned()
            ))
        );
        let device = Path::new("/dev/loop3");
        assert_eq!(ext4_errors(sys.path(), device), None, "another file system");
        put("fs/ext4/loop3/errors_count", "0\n");
        assert_eq!(ext4_errors(sys.path(), device), None);
        put("fs/ext4/loop3/errors_count", "2\n");
        assert!(ext4_errors(sys.path(), device).is_some());
    }

    #[test]
    fn a_block_is_written_and_nothing_stays() {
        let directory = tempfile::tempdir().expect("temporary directory");
        assert_eq!(write_fault(directory.path()), None);
        assert_eq!(fs::read_dir(directory.path()).expect("there").count(), 0);
        assert!(matches!(
            write_fault(Path::new("/proc/self")),
            Some(VolumeFault::Failed(_))
        ));
    }
}
