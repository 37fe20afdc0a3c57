//! Block devices of the host as places of volumes: whether anyone misses what one holds, taking it,
//! and giving it back blank.
//!
//! A [`TakenDevice`] was blank, or held a file system with our label, and nothing used it. The lock
//! on it, which udev and other runs heed, lasts until it is given back.

use std::{
    fs::{self, File},
    io::{self, Read as _, Seek as _, SeekFrom, Write as _},
    os::unix::fs::{FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use rustix::{
    fs::{FlockOperation, OFlags, flock, major, minor},
    io::Errno,
};

use super::loops::loops;
use crate::{
    command::{CommandError, Host, Invocation},
    error::HostError,
    io::Device,
};

/// Label of the file systems that are made on devices of the host, and of those in the images of
/// machines' disks: what has it is ours to overwrite. XFS takes no longer one.
pub const DISK_LABEL: &str = "rookery-disk";

/// What is looked at and made blank at both ends of a device, bytes: partition tables and what
/// tells file systems lie there.
const END: u64 = 1 << 20;

/// How long a device may be in use after its volume was unmounted: a mount namespace that was
/// copied from ours keeps it until its last process has ended.
const FREE_LIMIT: Duration = Duration::from_secs(30);
/// Pause between two looks at it.
const PAUSE: Duration = Duration::from_millis(50);

/// What to do where a device holds something.
const WIPE: &str = "name another device, or, if nobody misses what this one holds, wipe it: \
                    `wipefs --all DEVICE`, then zeros over its first and last MiB \
                    (docs/storage.md)";

/// What a device holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeviceContent {
    /// Nothing: no signature, and zeros at both ends.
    Blank,
    /// A file system with our label.
    Ours,
    /// A partition table, a file system or something else that `blkid` knows.
    Foreign(String),
    /// Data without a signature.
    Unknown,
}

/// A device that was free, and is locked.
#[derive(Debug)]
pub struct TakenDevice {
    path: PathBuf,
    device: Device,
    /// Locked.
    file: File,
    /// Keeps everyone else from using it, where the host does not.
    held: Option<File>,
}

impl TakenDevice {
    /// Take a device of at least `least` bytes. Nothing is written to it.
    ///
    /// # Errors
    /// When it is no block device, is too small, is used by anything, or holds what is not ours.
    pub fn take(host: &dyn Host, path: &Path, least: u64) -> Result<Self, HostError> {
        let device = number_of(path)?;
        let file = open(path, OFlags::empty()).map_err(|error| HostError::at(path, error))?;
        let taken = Self {
            path: path.to_owned(),
            device,
            file,
            held: None,
        };
        taken.lock()?;
        let mut held = taken.exclusive()?;
        match content(host, path, &mut held)? {
            DeviceContent::Blank | DeviceContent::Ours => {}
            DeviceContent::Foreign(what) => {
                return Err(HostError::refused(
                    format!("{}: it holds {what}", path.display()),
                    WIPE,
                ));
            }
            DeviceContent::Unknown => {
                let what = "it holds data without a signature that `blkid` knows";
                return Err(HostError::refused(
                    format!("{}: {what}", path.display()),
                    WIPE,
                ));
            }
        }
        let bytes = size(&mut held).map_err(|error| HostError::at(path, error))?;
        if bytes < least {
            let (has, needs) = (bytes >> 20, least.div_ceil(1 << 20));
            return Err(HostError::refused(
                format!(
                    "{}: it has {has} MiB, and {needs} MiB are needed",
                    path.display()
                ),
                "name a larger device, or make what lies on it smaller",
            ));
        }
        Ok(taken)
    }

    /// Its name, as it was taken.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its number.
    #[must_use]
    pub fn device(&self) -> Device {
        self.device
    }

    /// Keep everyone else from using it, where no mount of the host does.
    ///
    /// # Errors
    /// When something uses it meanwhile.
    pub fn hold(&mut self) -> Result<(), HostError> {
        self.held = Some(self.exclusive()?);
        Ok(())
    }

    /// Make both of its ends blank, once nothing uses it any more. It stays locked.
    ///
    /// # Errors
    /// When it stays in use, or cannot be written.
    pub fn make_blank(&mut self) -> io::Result<()> {
        let mut file = match self.held.take() {
            Some(held) => held,
            None => self.exclusive_soon()?,
        };
        blank_ends(&mut file)
    }

    fn lock(&self) -> Result<(), HostError> {
        match flock(&self.file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(()),
            Err(Errno::WOULDBLOCK) => Err(HostError::refused(
                format!("{}: it is in use by another run", self.path.display()),
                "name another device, or wait for that run to end",
            )),
            Err(error) => Err(HostError::at(&self.path, error.into())),
        }
    }

    /// Open it as the only one: refused where it is mounted, part of something, or swapped to.
    fn exclusive(&self) -> Result<File, HostError> {
        let path = self.path.display();
        if let Some(reader) = loops().into_iter().find(|device| device.file == self.path) {
            let what = format!("{path}: it is in use by {}", reader.path.display());
            return Err(HostError::refused(what, "name another device"));
        }
        open(&self.path, OFlags::EXCL).map_err(|error| match Errno::from_io_error(&error) {
            Some(Errno::BUSY) => HostError::refused(
                format!("{path}: it is in use: mounted, part of something, or swapped to"),
                "name another device; where a run died that used it: `rookery clean`",
            ),
            _ => HostError::at(&self.path, error),
        })
    }

    /// The same, with patience for the last user of a volume that was unmounted.
    fn exclusive_soon(&self) -> Result<File, HostError> {
        let deadline = Instant::now() + FREE_LIMIT;
        loop {
            match self.exclusive() {
                Err(_) if Instant::now() < deadline => thread::sleep(PAUSE),
                last => return last,
            }
        }
    }
}

/// Make a device blank that a dead run had taken, where it holds something of ours; `untouched` =
/// no one can have had it since, so that data without a signature are ours as well.
///
/// # Errors
/// When it is in use, or cannot be read or written.
pub fn reclaim(host: &dyn Host, path: &Path, untouched: bool) -> Result<(), HostError> {
    let Ok(device) = number_of(path) else {
        // It is gone, and what is on it.
        return Ok(());
    };
    let file = open(path, OFlags::empty()).map_err(|error| HostError::at(path, error))?;
    let dead = TakenDevice {
        path: path.to_owned(),
        device,
        file,
        held: None,
    };
    if flock(&dead.file, FlockOperation::NonBlockingLockExclusive) == Err(Errno::WOULDBLOCK) {
        // Another run has taken it since.
        return Ok(());
    }
    let mut held = dead.exclusive_soon()?;
    match content(host, path, &mut held)? {
        DeviceContent::Blank | DeviceContent::Foreign(_) => Ok(()),
        DeviceContent::Unknown if !untouched => Ok(()),
        DeviceContent::Ours | DeviceContent::Unknown => {
            blank_ends(&mut held).map_err(|error| HostError::at(path, error))
        }
    }
}

/// The number of a block device.
///
/// # Errors
/// When there is none.
pub fn number_of(path: &Path) -> Result<Device, HostError> {
    let found = fs::metadata(path).map_err(|error| HostError::at(path, error))?;
    if !found.file_type().is_block_device() {
        return Err(HostError::refused(
            format!("{} is no block device", path.display()),
            "name one, such as /dev/sdb or /dev/disk/by-id/...",
        ));
    }
    Ok((major(found.rdev()), minor(found.rdev())))
}

/// Whether a device is a part of another: its control group can then not be limited on it.
#[must_use]
pub fn is_partition((major, minor): Device) -> bool {
    Path::new(&format!("/sys/dev/block/{major}:{minor}/partition")).exists()
}

fn open(path: &Path, flags: OFlags) -> io::Result<File> {
    let mut options = File::options();
    options
        .read(true)
        .write(true)
        .custom_flags(i32::try_from(flags.bits()).unwrap_or_default())
        .open(path)
}

fn size(file: &mut File) -> io::Result<u64> {
    file.seek(SeekFrom::End(0))
}

/// What a device holds, by what `blkid` says and by what is at its ends.
fn content(host: &dyn Host, path: &Path, file: &mut File) -> Result<DeviceContent, HostError> {
    let probe = Invocation::new("blkid")
        .args(["--probe", "--output", "export"])
        .arg(path);
    let found = match host.run(probe) {
        // 2: nothing was found.
        Err(CommandError::Failed { status, .. }) if status.code() == Some(2) => String::new(),
        Err(error) => {
            return Err(HostError::because(
                error,
                "blkid (apt install util-linux) has to tell what the device holds",
            ));
        }
        Ok(found) => found,
    };
    if let Some(content) = signed(&found) {
        return Ok(content);
    }
    let blank = is_blank(file).map_err(|error| HostError::at(path, error))?;
    Ok(match blank {
        true => DeviceContent::Blank,
        false => DeviceContent::Unknown,
    })
}

/// What has a signature, by what `blkid` says; nothing where it found none.
fn signed(found: &str) -> Option<DeviceContent> {
    let has = |key: &str| found.lines().any(|line| line.starts_with(key));
    let ours = found
        .lines()
        .any(|line| line.strip_prefix("LABEL=") == Some(DISK_LABEL));
    match (has("PTTYPE="), has("TYPE="), ours) {
        (false, true, true) => Some(DeviceContent::Ours),
        (false, false, _) => None,
        _ => {
            let told = found
                .lines()
                .filter(|line| line.contains("TYPE=") || line.starts_with("LABEL="));
            Some(DeviceContent::Foreign(told.collect::<Vec<_>>().join(", ")))
        }
    }
}

/// Where the ends of a device begin, and how long they are.
fn ends(file: &mut File) -> io::Result<[(u64, usize); 2]> {
    let bytes = size(file)?;
    let length = usize::try_from(bytes.min(END)).unwrap_or_default();
    Ok([(0, length), (bytes.saturating_sub(END), length)])
}

fn is_blank(file: &mut File) -> io::Result<bool> {
    for (from, length) in ends(file)? {
        let mut read = vec![0; length];
        file.seek(SeekFrom::Start(from))?;
        file.read_exact(&mut read)?;
        if read.iter().any(|byte| *byte != 0) {
            return Ok(false);
        }
    }
    Ok(true)
}

fn blank_ends(file: &mut File) -> io::Result<()> {
    for (from, length) in ends(file)? {
        file.seek(SeekFrom::Start(from))?;
        file.write_all(&vec![0; length])?;
    }
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_blkid_finds_is_somebodys_unless_it_is_ours() {
        assert_eq!(signed(""), None);
        assert_eq!(signed("DEVNAME=/dev/x\nMINIMUM_IO_SIZE=512\n"), None);
        assert_eq!(
            signed("DEVNAME=/dev/x\nLABEL=rookery-disk\nTYPE=ext4\nUSAGE=filesystem\n"),
            Some(DeviceContent::Ours)
        );
        for (found, told) in [
            ("TYPE=xfs\n", "TYPE=xfs"),
            ("PTTYPE=gpt\n", "PTTYPE=gpt"),
            (
                "LABEL=rookery-disks\nTYPE=ext4\n",
                "LABEL=rookery-disks, TYPE=ext4",
            ),
            (
                "LABEL=rookery-disk\nTYPE=ext4\nPTTYPE=dos\n",
                "LABEL=rookery-disk, TYPE=ext4, PTTYPE=dos",
            ),
        ] {
            assert_eq!(
                signed(found),
                Some(DeviceContent::Foreign(told.to_owned())),
                "{found}"
            );
        }
    }

    #[test]
    fn both_ends_are_looked_at_and_made_blank() {
        let directory = tempfile::tempdir().expect("temporary directory");
        let path = directory.path().join("device");
        for at in [0, 5 << 20, (8 << 20) - 1] {
            fs::write(&path, vec![0; 8 << 20]).expect("written");
            let mut file = open(&path, OFlags::empty()).expect("opened");
            assert!(is_blank(&mut file).expect("read"));
            file.seek(SeekFrom::Start(at)).expect("there");
            file.write_all(b"x").expect("written");
            assert_eq!(is_blank(&mut file).expect("read"), at == 5 << 20, "{at}");
            blank_ends(&mut file).expect("written");
            assert!(is_blank(&mut file).expect("read"));
        }
        let small = directory.path().join("small");
        fs::write(&small, "precious").expect("written");
        let mut file = open(&small, OFlags::empty()).expect("opened");
        assert!(!is_blank(&mut file).expect("read"));
    }

    #[test]
    fn what_is_no_block_device_is_refused() {
        for path in ["/dev/null", "/no/such/device", "/tmp"] {
            assert!(number_of(Path::new(path)).is_err(), "{path}");
        }
        reclaim(&crate::command::RealHost, Path::new("/dev/null"), true).expect("nothing to do");
    }
}
