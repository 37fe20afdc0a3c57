//! What a volume shall be, how that is said to mkfs and mount, and what it is.

use std::{
    fmt,
    path::{Path, PathBuf},
};

pub use rookery_study::{AccessTimes, FileSystem, JournalMode};
use rustix::mount::MountFlags;
use serde::{Deserialize, Serialize};

use super::devices::DISK_LABEL;
use crate::{
    command::Invocation,
    error::HostError,
    mounts::{Mount, mounts},
};

/// Who mounts the file system of a volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MountedBy {
    /// The host, with the options of the volume.
    Host,
    /// A guest with a kernel of its own, which is given the device and the options.
    Guest,
}

/// Where the devices of a volume come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeviceSource {
    /// Loop devices make them of files in the run's directory.
    RunDirectory,
    /// Of files in these directories, one for each device.
    Directories(Vec<PathBuf>),
    /// They are these block devices of the host, one for each.
    BlockDevices(Vec<PathBuf>),
}

impl DeviceSource {
    /// What is named: directories, or devices.
    #[must_use]
    pub fn paths(&self) -> &[PathBuf] {
        match self {
            Self::RunDirectory => &[],
            Self::Directories(paths) | Self::BlockDevices(paths) => paths,
        }
    }

    /// The same, to change it.
    pub fn paths_mut(&mut self) -> &mut [PathBuf] {
        match self {
            Self::RunDirectory => &mut [],
            Self::Directories(paths) | Self::BlockDevices(paths) => paths,
        }
    }
}

/// A volume that shall be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VolumeSpec {
    /// Size, MiB.
    pub size_mib: u64,
    /// Its file system; `None` = a raw device.
    pub file_system: Option<FileSystem>,
    /// Who mounts its file system.
    pub mounted_by: MountedBy,
    /// Block size of the file system, bytes: 1024, 2048 or 4096; `None` = as mkfs chooses.
    pub block_size: Option<u32>,
    /// Access times.
    pub atime: AccessTimes,
    /// Write barriers; `None` = as the file system does (on). XFS cannot do without.
    pub barriers: Option<bool>,
    /// Journal mode; `None` = as the file system does. ext4 only.
    pub journal: Option<JournalMode>,
    /// Tell the device which blocks are free, at once.
    pub discard: bool,
    /// Seconds between two commits of the journal; `None` = as the file system does. ext4 only.
    pub commit_s: Option<u32>,
    /// The files behind the devices are read and written without the host's page cache.
    pub direct: bool,
    /// Devices that its blocks are dealt over, in equal parts: one, or several of btrfs.
    pub devices: u32,
    /// Where the devices come from.
    pub source: DeviceSource,
}

impl VolumeSpec {
    /// The size of each of its devices, bytes.
    #[must_use]
    pub fn device_bytes(&self) -> u64 {
        let mib = self.size_mib / u64::from(self.devices.max(1));
        mib.saturating_mul(1 << 20)
    }

    /// What cannot be.
    ///
    /// # Errors
    /// The first contradiction.
    pub fn check(&self) -> Result<(), HostError> {
        let striped = self.file_system == Some(FileSystem::Btrfs);
        if self.devices == 0 || (self.devices > 1 && !striped) {
            return Err(HostError::refused(
                "only btrfs lies on several devices",
                "write `filesystem = \"btrfs\"` in [storage]",
            ));
        }
        let named = self.source.paths().len();
        if self.source != DeviceSource::RunDirectory && named != self.devices as usize {
            return Err(HostError::refused(
                format!(
                    "a volume of {} devices lies at {named} places",
                    self.devices
                ),
                "name a directory or a block device for each of them in [storage]",
            ));
        }
        let Some(file_system) = self.file_system else {
            return Ok(());
        };
        let least = file_system.least_mib().saturating_mul(self.devices.into());
        if self.size_mib < least {
            return Err(HostError::refused(
                format!(
                    "{} needs a volume of at least {least} MiB, not {}",
                    file_system.name(),
                    self.size_mib
                ),
                "make `size` in [storage] larger",
            ));
        }
        if file_system == FileSystem::Btrfs && (self.journal.is_some() || self.commit_s.is_some()) {
            return Err(HostError::refused(
                "btrfs has neither journal modes nor a commit interval of ours; ext4 has",
                "change [storage]",
            ));
        }
        if file_system == FileSystem::Xfs {
            let refused = [
                ("barriers that are off", self.barriers == Some(false)),
                ("journal modes", self.journal.is_some()),
                ("a commit interval", self.commit_s.is_some()),
            ];
            if let Some((what, _)) = refused.into_iter().find(|(_, asked)| *asked) {
                return Err(HostError::refused(
                    format!("xfs has no {what}; ext4 has"),
                    "change [storage]",
                ));
            }
        }
        Ok(())
    }

    /// The command that makes the file system on its devices; `None` for a raw one. Nothing is left
    /// to be done in the background later, and a small volume has the layout of a large one.
    #[must_use]
    pub fn mkfs(&self, devices: &[PathBuf]) -> Option<Invocation> {
        let file_system = self.file_system?;
        let mut invocation = Invocation::new(file_system.maker().0);
        invocation = match file_system {
            FileSystem::Ext4 => invocation.args([
                "-q",
                "-F",
                "-T",
                "default",
                "-m",
                "0",
                "-E",
                "lazy_itable_init=0,lazy_journal_init=0,nodiscard",
            ]),
            FileSystem::Xfs => invocation.args(["-q", "-f", "-K"]),
            FileSystem::Btrfs => {
                let profile = if self.devices > 1 { "raid0" } else { "single" };
                let metadata = if self.devices > 1 { "raid0" } else { "dup" };
                invocation.args(["-q", "-f", "-K", "-d", profile, "-m", metadata])
            }
        };
        if let Some(bytes) = self.block_size {
            invocation = match file_system {
                FileSystem::Btrfs => invocation,
                FileSystem::Ext4 => invocation.args(["-b".to_owned(), bytes.to_string()]),
                FileSystem::Xfs => invocation.args(["-b".to_owned(), format!("size={bytes}")]),
            };
        }
        let on_host = matches!(self.source, DeviceSource::BlockDevices(_));
        if !on_host {
            return Some(devices.iter().fold(invocation, Invocation::arg));
        }
        // A device may be larger than the volume, and tells by its label that it is ours.
        let mib = self.device_bytes() >> 20;
        invocation = invocation.args(["-L", DISK_LABEL]);
        invocation = match file_system {
            FileSystem::Ext4 => invocation,
            FileSystem::Xfs => invocation.args(["-d".to_owned(), format!("size={mib}m")]),
            FileSystem::Btrfs => invocation.args(["-b".to_owned(), format!("{mib}M")]),
        };
        invocation = devices.iter().fold(invocation, Invocation::arg);
        Some(match file_system {
            FileSystem::Ext4 => invocation.arg(format!("{mib}M")),
            FileSystem::Xfs | FileSystem::Btrfs => invocation,
        })
    }

    /// Flags of the mount. Devices and set-user-id programs on a volume have no effect.
    #[must_use]
    pub fn flags(&self) -> MountFlags {
        let flags = MountFlags::NOSUID | MountFlags::NODEV;
        match self.atime {
            AccessTimes::Relatime => flags | MountFlags::RELATIME,
            AccessTimes::Noatime => flags | MountFlags::NOATIME,
            AccessTimes::Strictatime => flags | MountFlags::STRICTATIME,
        }
    }

    /// Options for the file system on these devices: `barrier=0,data=writeback`.
    #[must_use]
    pub fn data(&self, devices: &[PathBuf]) -> String {
        let mut options = Vec::new();
        if self.file_system == Some(FileSystem::Btrfs) {
            options.extend(self.barriers.map(|on| match on {
                true => "barrier".to_owned(),
                false => "nobarrier".to_owned(),
            }));
            // Otherwise the kernel does not know the others.
            let others = devices.iter().skip(1);
            options.extend(others.map(|device| format!("device={}", device.display())));
        }
        if self.file_system == Some(FileSystem::Ext4) {
            options.extend(self.barriers.map(|on| format!("barrier={}", u8::from(on))));
            options.extend(
                self.journal
                    .map(|journal| format!("data={}", journal.name())),
            );
            options.extend(self.commit_s.map(|seconds| format!("commit={seconds}")));
        }
        options.extend(self.discard.then(|| "discard".to_owned()));
        options.join(",")
    }
}

/// What a mounted volume is, read back from the kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InForce {
    /// Type of file system.
    pub file_system: String,
    /// `relatime`, `noatime` or `strictatime`.
    pub atime: String,
    /// Write barriers.
    pub barriers: bool,
    /// Journal mode.
    pub journal: String,
    /// Whether free blocks are told at once.
    pub discard: bool,
    /// Seconds between two commits; `None` where the file system does not tell.
    pub commit_s: Option<u32>,
    /// Block size, bytes.
    pub block_size: u64,
}

impl fmt::Display for InForce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let barriers = if self.barriers {
            "barriers"
        } else {
            "no barriers"
        };
        write!(
            f,
            "{}, {}, {barriers}, data={}",
            self.file_system, self.atime, self.journal
        )
    }
}

/// Read back the volume mounted at `point`; `None` when nothing is.
#[must_use]
pub fn in_force(point: &Path) -> Option<InForce> {
    let point = point.canonicalize().ok()?;
    // The last one covers those before.
    let mount = mounts()
        .ok()?
        .into_iter()
        .rfind(|mount| mount.point == point)?;
    let space = rustix::fs::statvfs(&point).ok()?;
    Some(of_mount(&mount, space.f_bsize))
}

/// ext4's own interval between two commits, s; it is not shown while it holds (ext4(5)).
const EXT4_COMMIT_S: u32 = 5;

fn of_mount(mount: &Mount, block_size: u64) -> InForce {
    let has = |list: &str, word: &str| list.split(',').any(|option| option == word);
    let value = |key: &str| {
        mount
            .options
            .split(',')
            .find_map(|option| option.strip_prefix(key)?.strip_prefix('='))
    };
    let ext4 = mount.kind == "ext4";
    let atime = match () {
        () if has(&mount.flags, "noatime") => "noatime",
        () if has(&mount.flags, "relatime") => "relatime",
        () => "strictatime",
    };
    InForce {
        file_system: mount.kind.clone(),
        atime: atime.to_owned(),
        barriers: !has(&mount.options, "nobarrier") && value("barrier") != Some("0"),
        // Not shown while it is the default of the file system, and ours have no other.
        journal: value("data")
            .unwrap_or(if ext4 { "ordered" } else { "metadata" })
            .to_owned(),
        discard: has(&mount.options, "discard"),
        commit_s: value("commit")
            .and_then(|text| text.parse().ok())
            .or(ext4.then_some(EXT4_COMMIT_S)),
        block_size,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mounts::parse_mountinfo;

    fn spec() -> VolumeSpec {
        VolumeSpec {
            size_mib: 512,
            file_system: Some(FileSystem::Ext4),
            mounted_by: MountedBy::Host,
            block_size: None,
            atime: AccessTimes::Relatime,
            barriers: None,
            journal: None,
            discard: false,
            commit_s: None,
            direct: true,
            devices: 1,
            source: DeviceSource::RunDirectory,
        }
    }

    #[test]
    fn the_options_of_the_paper_are_said_and_read_back() {
        let paper = VolumeSpec {
            atime: AccessTimes::Noatime,
            barriers: Some(false),
            journal: Some(JournalMode::Writeback),
            ..spec()
        };
        assert_eq!(paper.data(&[]), "barrier=0,data=writeback");
        assert!(paper.flags().contains(MountFlags::NOATIME));
        let line = "107 27 7:0 / /x rw,nosuid,nodev,noatime - ext4 /dev/loop0 \
                    rw,discard,nobarrier,commit=10,data=writeback\n";
        let read = of_mount(&parse_mountinfo(line)[0], 4096);
        assert_eq!(
            (
                read.atime.as_str(),
                read.barriers,
                read.journal.as_str(),
                read.discard,
                read.commit_s
            ),
            ("noatime", false, "writeback", true, Some(10))
        );
        assert_eq!(
            read.to_string(),
            "ext4, noatime, no barriers, data=writeback"
        );
    }

    #[test]
    fn what_is_not_shown_is_the_default() {
        let read = |line: &str| of_mount(&parse_mountinfo(line)[0], 4096);
        let ext4 = read("107 27 7:0 / /x rw,relatime - ext4 /dev/loop0 rw\n");
        assert_eq!(
            (
                ext4.atime.as_str(),
                ext4.barriers,
                ext4.journal.as_str(),
                ext4.discard,
                ext4.commit_s
            ),
            ("relatime", true, "ordered", false, Some(5))
        );
        let xfs = read("107 27 7:0 / /x rw - xfs /dev/loop0 rw,attr2,inode64\n");
        assert_eq!(
            (xfs.atime.as_str(), xfs.journal.as_str(), xfs.commit_s),
            ("strictatime", "metadata", None)
        );
    }

    #[test]
    fn commands_say_all_that_is_asked() {
        let line = |spec: VolumeSpec| {
            spec.mkfs(&["/dev/loop9".into()])
                .map(|invocation| invocation.line())
        };
        assert_eq!(
            line(VolumeSpec {
                block_size: Some(1024),
                ..spec()
            })
            .as_deref(),
            Some(
                "mkfs.ext4 -q -F -T default -m 0 -E \
                 lazy_itable_init=0,lazy_journal_init=0,nodiscard -b 1024 /dev/loop9"
            )
        );
        let xfs = VolumeSpec {
            file_system: Some(FileSystem::Xfs),
            ..spec()
        };
        assert_eq!(line(xfs).as_deref(), Some("mkfs.xfs -q -f -K /dev/loop9"));
        assert_eq!(
            line(VolumeSpec {
                file_system: None,
                ..spec()
            }),
            None
        );
    }

    #[test]
    fn a_file_system_on_a_device_of_the_host_is_labelled_and_as_large_as_asked() {
        let line = |file_system, devices: u32| {
            let names: Vec<PathBuf> = (0..devices)
                .map(|index| format!("/dev/sd{index}").into())
                .collect();
            let spec = VolumeSpec {
                file_system: Some(file_system),
                devices,
                source: DeviceSource::BlockDevices(names.clone()),
                ..spec()
            };
            spec.check().expect("valid");
            spec.mkfs(&names).expect("a file system").line()
        };
        assert!(
            line(FileSystem::Ext4, 1).ends_with("nodiscard -L rookery-disk /dev/sd0 512M"),
            "{}",
            line(FileSystem::Ext4, 1)
        );
        assert_eq!(
            line(FileSystem::Xfs, 1),
            "mkfs.xfs -q -f -K -L rookery-disk -d size=512m /dev/sd0"
        );
        assert_eq!(
            line(FileSystem::Btrfs, 2),
            "mkfs.btrfs -q -f -K -d raid0 -m raid0 -L rookery-disk -b 256M /dev/sd0 /dev/sd1"
        );
        let too_few = VolumeSpec {
            source: DeviceSource::BlockDevices(Vec::new()),
            ..spec()
        };
        assert!(too_few.check().is_err());
    }

    #[test]
    fn a_stripe_is_made_over_all_its_devices_and_mounted_with_all() {
        let stripe = VolumeSpec {
            file_system: Some(FileSystem::Btrfs),
            devices: 2,
            barriers: Some(false),
            ..spec()
        };
        let devices = ["/dev/loop3", "/dev/loop4"].map(PathBuf::from);
        let line = stripe.mkfs(&devices).map(|invocation| invocation.line());
        assert_eq!(
            line.as_deref(),
            Some("mkfs.btrfs -q -f -K -d raid0 -m raid0 /dev/loop3 /dev/loop4")
        );
        assert_eq!(stripe.data(&devices), "nobarrier,device=/dev/loop4");
        assert_eq!(stripe.device_bytes(), 256 << 20);
        stripe.check().expect("large enough");
        for bad in [
            VolumeSpec {
                devices: 5,
                ..stripe.clone()
            },
            VolumeSpec {
                devices: 0,
                ..stripe.clone()
            },
            VolumeSpec {
                commit_s: Some(5),
                ..stripe.clone()
            },
            VolumeSpec {
                file_system: Some(FileSystem::Ext4),
                mounted_by: MountedBy::Host,
                ..stripe.clone()
            },
            VolumeSpec {
                file_system: None,
                ..stripe
            },
        ] {
            assert!(bad.check().is_err(), "{bad:?}");
        }
    }

    #[test]
    fn what_a_file_system_cannot_do_is_refused() {
        let xfs = VolumeSpec {
            file_system: Some(FileSystem::Xfs),
            ..spec()
        };
        xfs.check().expect("plain");
        for bad in [
            VolumeSpec {
                barriers: Some(false),
                ..xfs.clone()
            },
            VolumeSpec {
                journal: Some(JournalMode::Ordered),
                ..xfs.clone()
            },
            VolumeSpec {
                commit_s: Some(5),
                ..xfs.clone()
            },
            VolumeSpec {
                size_mib: 299,
                ..xfs
            },
            VolumeSpec {
                size_mib: 8,
                ..spec()
            },
        ] {
            assert!(bad.check().is_err(), "{bad:?}");
        }
    }
}
