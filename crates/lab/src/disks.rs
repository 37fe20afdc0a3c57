//! Whether the file systems and block devices on which a study lays its volumes have room for them.

use std::{fs, io, os::unix::fs::MetadataExt as _, path::Path};

use rookery_host::{HostError, RealHost, free_space, volume::devices::TakenDevice};
use rookery_study::Estimate;

use crate::error::LabError;

/// What a run takes of one file system.
#[derive(Debug, PartialEq)]
struct Disk<'a> {
    device: u64,
    /// The first directory there.
    directory: &'a Path,
    mib: u64,
}

/// Whether the directories that a study names have room for what a plan lays there. Where `runs` is
/// known, what lies there counts where it is the same file system; that it has room for this alone
/// the plan has checked.
///
/// # Errors
/// When a directory is not there, or its file system has too little room; when a block device is
/// too small, in use, or holds what is not ours.
pub(crate) fn check(estimate: &Estimate, runs: Option<&Path>) -> Result<(), LabError> {
    for (device, mib) in &estimate.devices_mib {
        // Given back at once, and nothing is written.
        TakenDevice::take(&RealHost, Path::new(device), mib.saturating_mul(1 << 20))
            .map_err(LabError::Disk)?;
    }
    for disk in disks(estimate, runs, &device_of).map_err(LabError::Disk)? {
        let free_mib = free_mib(disk.directory).map_err(LabError::Disk)?;
        if disk.mib > free_mib {
            return Err(LabError::Disk(HostError::refused(
                format!(
                    "volumes need about {} MiB on the file system of {}, {free_mib} MiB are free",
                    disk.mib,
                    disk.directory.display()
                ),
                "make them smaller, use fewer guests, free disk space, or name directories on \
                 other disks in `directories` below [storage]",
            )));
        }
    }
    Ok(())
}

/// The file systems of the directories that a study names.
fn disks<'a>(
    estimate: &'a Estimate,
    runs: Option<&'a Path>,
    device_of: &dyn Fn(&Path) -> io::Result<u64>,
) -> Result<Vec<Disk<'a>>, HostError> {
    let mut disks: Vec<Disk<'a>> = Vec::new();
    for (directory, mib) in &estimate.elsewhere_mib {
        let directory = Path::new(directory);
        let device = device_of(directory).map_err(|error| {
            let error = HostError::at(directory, error);
            HostError::because(error, "make the directory, or name another in [storage]")
        })?;
        match disks.iter_mut().find(|disk| disk.device == device) {
            Some(disk) => disk.mib += mib,
            None => disks.push(Disk {
                device,
                directory,
                mib: *mib,
            }),
        }
    }
    // The directory of runs may not be there yet; what is above it is.
    let device = runs.and_then(|runs| runs.ancestors().find_map(|path| device_of(path).ok()));
    let shared = disks.iter_mut().find(|disk| Some(disk.device) == device);
    if let Some(disk) = shared {
        disk.mib += estimate.disk_mib;
    }
    Ok(disks)
}

fn device_of(path: &Path) -> io::Result<u64> {
    // Above a relative path is the directory in which we are.
    let path = match path.as_os_str().is_empty() {
        true => Path::new("."),
        false => path,
    };
    fs::metadata(path).map(|data| data.dev())
}

fn free_mib(directory: &Path) -> Result<u64, HostError> {
    free_space::free_mib(directory).map_err(|error| HostError::at(directory, error))
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, time::Duration};

    use super::*;

    fn estimate(elsewhere: &[(&str, u64)]) -> Estimate {
        let elsewhere = elsewhere.iter();
        Estimate {
            duration: Duration::ZERO,
            memory_mib: 0,
            disk_mib: 10,
            elsewhere_mib: elsewhere
                .map(|(directory, mib)| ((*directory).to_owned(), *mib))
                .collect::<BTreeMap<_, _>>(),
            devices_mib: BTreeMap::new(),
        }
    }

    #[test]
    fn directories_of_one_file_system_are_counted_together() {
        let estimate = estimate(&[("/a", 100), ("/b", 200), ("/c", 300)]);
        let device_of = |path: &Path| match path.to_str() {
            Some("/a" | "/c") => Ok(1),
            Some("/b" | "/runs") => Ok(2),
            _ => Err(io::ErrorKind::NotFound.into()),
        };
        let found = |runs: Option<&str>| -> Vec<(u64, u64)> {
            let disks = disks(&estimate, runs.map(Path::new), &device_of).expect("found");
            disks.iter().map(|disk| (disk.device, disk.mib)).collect()
        };
        assert_eq!(found(None), [(1, 400), (2, 200)]);
        assert_eq!(found(Some("/runs/new")), [(1, 400), (2, 210)]);
    }

    #[test]
    fn what_is_too_large_or_not_there_is_refused() {
        let there = tempfile::tempdir().expect("a directory");
        let path = there.path().to_str().expect("utf-8");
        check(&estimate(&[(path, 1)]), None).expect("room");
        let large = check(&estimate(&[(path, u64::MAX >> 20)]), None).expect_err("too large");
        assert!(large.to_string().contains("MiB are free"), "{large}");
        let none = check(&estimate(&[("/nowhere/at/all", 1)]), None).expect_err("not there");
        assert!(none.to_string().contains("/nowhere/at/all"), "{none}");
    }
}
