//! Devices of the host that runs have taken for volumes, as their directories of volumes tell: what
//! `clean` makes blank after a run that died.

use std::{
    collections::BTreeSet,
    fs::{self, File},
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use rookery_host::{
    Mount, RealHost, RunId,
    volume::devices::{TakenDevice, number_of, reclaim},
};
use serde::{Deserialize, Serialize};

use super::names::{RECORD, VOLUMES, run_of_file};
use crate::paths::named;

/// A device that a volume lies on, written down before anything is written to it.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct DeviceRecord {
    /// The volume.
    volume: String,
    device: PathBuf,
    /// By which it is known that the name still means the same device: the start of the host, and
    /// the kernel's count of devices.
    boot: String,
    sequence: String,
}

impl DeviceRecord {
    /// Of a device that was taken for a volume.
    pub(super) fn new(volume: &str, taken: &TakenDevice) -> Self {
        Self {
            volume: volume.to_owned(),
            device: taken.path().to_owned(),
            boot: boot(),
            sequence: sequence(taken.path()),
        }
    }

    /// Write it to a file of its own, and to the disk.
    ///
    /// # Errors
    /// When that fails.
    pub(super) fn write(&self, path: &Path) -> io::Result<()> {
        let text = serde_json::to_string(self)?;
        let mut file = File::create_new(path)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()
    }

    fn read(path: &Path) -> io::Result<Self> {
        Ok(serde_json::from_str(&fs::read_to_string(path)?)?)
    }

    /// Whether no one else can have had the device since, but by its name.
    fn is_same(&self) -> bool {
        let sequence = sequence(&self.device);
        !sequence.is_empty() && self.boot == boot() && self.sequence == sequence
    }
}

fn boot() -> String {
    let text = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    text.trim().to_owned()
}

/// The kernel's count of the disk that a device is, or is a part of; empty where it does not tell.
fn sequence(device: &Path) -> String {
    let Ok((major, minor)) = number_of(device) else {
        return String::new();
    };
    let link = fs::canonicalize(format!("/sys/dev/block/{major}:{minor}")).unwrap_or_default();
    let of = |directory: &Path| fs::read_to_string(directory.join("diskseq")).ok();
    let found = of(&link).or_else(|| of(link.parent()?));
    found.unwrap_or_default().trim().to_owned()
}

/// A device that a run has taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DeviceTrace {
    /// Whose it is.
    pub(crate) run: RunId,
    /// Where it is mounted.
    pub(crate) points: Vec<PathBuf>,
    /// `/dev/sdb`
    device: PathBuf,
    record: PathBuf,
}

impl DeviceTrace {
    /// As it is listed.
    pub(crate) fn name(&self) -> String {
        format!("{} of {}", self.device.display(), self.record.display())
    }

    /// Make it blank where it holds something of ours, and forget it.
    ///
    /// # Errors
    /// When it is in use, or cannot be written.
    pub(crate) fn remove(&self) -> io::Result<()> {
        let record = match DeviceRecord::read(&self.record) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            read => read.map_err(|error| named(&self.record, &error))?,
        };
        reclaim(&RealHost, &record.device, record.is_same())?;
        match fs::remove_file(&self.record) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(named(&self.record, &error))
            }
            _ => Ok(()),
        }
    }
}

/// The devices that all runs have taken: those listed in these directories of volumes, and in those
/// in which something is mounted.
pub(crate) fn device_traces(
    directories: impl IntoIterator<Item = PathBuf>,
    mounts: &[Mount],
) -> Vec<DeviceTrace> {
    let mounted = mounts.iter().filter_map(|mount| mount.point.parent());
    let mounted = mounted.filter(|directory| directory.ends_with(VOLUMES));
    let directories = directories.into_iter();
    let directories: BTreeSet<PathBuf> = directories
        .map(|directory| directory.canonicalize().unwrap_or(directory))
        .chain(mounted.map(Path::to_owned))
        .collect();
    let records = directories.iter().flat_map(|directory| records(directory));
    records
        .filter_map(|path| {
            let run = run_of_file(&path, RECORD)?;
            let record = DeviceRecord::read(&path).ok()?;
            let point = path.parent()?.join(&record.volume);
            let points = mounts.iter().filter(|mount| mount.point == point);
            Some(DeviceTrace {
                run,
                points: points.map(|mount| mount.point.clone()).collect(),
                device: record.device,
                record: path,
            })
        })
        .collect()
}

/// The records in a directory of volumes.
pub(crate) fn records(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    paths
        .filter(|path| run_of_file(path, RECORD).is_some())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_run_has_taken_is_found_from_its_directory_or_from_what_is_mounted() {
        let place = tempfile::tempdir().expect("a directory");
        let base = place.path().canonicalize().expect("there");
        let (known, lost) = (base.join("a/volumes"), base.join("b/volumes"));
        for (directory, run) in [(&known, "ab"), (&lost, "cd")] {
            fs::create_dir_all(directory).expect("made");
            let record = DeviceRecord {
                volume: "g1".to_owned(),
                device: "/dev/nowhere".into(),
                boot: boot(),
                sequence: "7".to_owned(),
            };
            let path = directory.join(format!("rookery-{run}-g1.device"));
            record.write(&path).expect("written");
            assert_eq!(DeviceRecord::read(&path).expect("read"), record);
            assert!(!record.is_same(), "it is gone");
        }
        fs::write(known.join("notes.device"), "mine").expect("written");
        let line = format!(
            "1 0 8:1 / {} rw - ext4 /dev/nowhere rw\n",
            lost.join("g1").display()
        );
        let mounts = rookery_host::parse_mountinfo(&line);
        let found = device_traces([known.clone()], &mounts);
        let runs: Vec<(&str, usize)> = found
            .iter()
            .map(|trace| (trace.run.as_str(), trace.points.len()))
            .collect();
        assert_eq!(runs, [("ab", 0), ("cd", 1)]);
        for trace in found {
            trace.remove().expect("a device that is gone holds nothing");
        }
        assert!(records(&known).is_empty() && known.join("notes.device").exists());
    }
}
