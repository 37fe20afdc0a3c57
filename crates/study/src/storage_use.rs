//! The storage section: where guests keep their data, and how much I/O they may do.

use std::{collections::BTreeMap, time::Duration};

use serde::{Deserialize, Serialize};

use crate::{Amount, names::Named};

/// The storage section.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StorageUse {
    /// The volume that holds the data of guests; `None` = the run's directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub volume: Option<VolumeUse>,
    /// Volumes of their own for what servers keep beside their data.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub roles: BTreeMap<StorageRole, RoleUse>,
    /// Most I/O of each guest on the device of its data.
    #[serde(default, skip_serializing_if = "IoLimits::is_none")]
    pub limits: IoLimits,
    /// Whether what the storage can do is measured before the first trial.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ceiling: bool,
}

/// What of a guest's files a volume holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StorageRole {
    /// Its data, and all that has no volume of its own.
    Data,
    /// The log that its server writes ahead of its data.
    Log,
    /// What its server puts aside while it sorts and joins.
    Temporary,
}

impl StorageRole {
    /// Those that may have a volume of their own beside that of the data.
    pub const BESIDE_DATA: [Self; 2] = [Self::Log, Self::Temporary];

    /// Its name in study files and in names of volumes.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Data => "data",
            Self::Log => "log",
            Self::Temporary => "temporary",
        }
    }
}

/// The storage of one role: a volume for each guest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RoleUse {
    /// The volume.
    pub volume: VolumeUse,
    /// Most I/O of each guest on it.
    #[serde(default, skip_serializing_if = "IoLimits::is_none")]
    pub limits: IoLimits,
}

/// Sizes of the volumes of one guest by what they hold, MiB (of a shared one its part); none where
/// there is no volume.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "StoredSizes")]
pub struct VolumeSizes(BTreeMap<StorageRole, u64>);

/// Sizes as they are stored: runs before volumes had roles have that of the data alone.
#[derive(Deserialize)]
#[serde(untagged)]
enum StoredSizes {
    OfData(u64),
    ByRole(BTreeMap<StorageRole, u64>),
}

impl From<StoredSizes> for VolumeSizes {
    fn from(stored: StoredSizes) -> Self {
        match stored {
            StoredSizes::OfData(mib) => [(StorageRole::Data, mib)].into_iter().collect(),
            StoredSizes::ByRole(sizes) => sizes.into_iter().collect(),
        }
    }
}

impl FromIterator<(StorageRole, u64)> for VolumeSizes {
    /// A size of 0 is no volume.
    fn from_iter<I: IntoIterator<Item = (StorageRole, u64)>>(sizes: I) -> Self {
        Self(sizes.into_iter().filter(|(_, mib)| *mib > 0).collect())
    }
}

impl VolumeSizes {
    /// That of one role, MiB; 0 where it has no volume.
    #[must_use]
    pub fn mib(&self, role: StorageRole) -> u64 {
        self.0.get(&role).copied().unwrap_or(0)
    }

    /// Whether there is no volume.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Volumes that are made for each trial: a file, a loop device, a file system.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VolumeUse {
    /// The device itself, without a file system.
    pub raw: bool,
    /// One volume for all guests of a trial, instead of one for each.
    pub shared: bool,
    /// The file system.
    pub filesystem: FileSystem,
    /// Size, MiB; `None` = after the database.
    pub size: Option<Amount>,
    /// Block size of the file system.
    pub block_size: BlockSize,
    /// Whether reading a file changes its access time.
    pub atime: AccessTimes,
    /// Write barriers; `None` = as the file system does.
    pub barriers: Option<bool>,
    /// Journal mode; `None` = as the file system does.
    pub journal: Option<JournalMode>,
    /// Free blocks are told to the device at once.
    pub discard: bool,
    /// Time between two commits of the journal, whole seconds; `None` = as the file system does.
    pub commit: Option<Duration>,
    /// Whether the file behind the device passes the host's page cache.
    pub cache: VolumeCache,
    /// What of devices a volume is made of.
    #[serde(default, skip_serializing_if = "Tier::is_single")]
    pub tier: Tier,
    /// Where its devices come from; `None` = files in the run's directory.
    #[serde(flatten)]
    pub places: Option<VolumePlaces>,
}

impl VolumeUse {
    /// The places of the devices of the volume `index` of its trial, from 0: all volumes, and the
    /// devices of each, are dealt over the places in turn. None where they lie in the run's
    /// directory.
    #[must_use]
    pub fn dealt(&self, index: u32) -> Vec<&str> {
        let places = self.places.as_ref().map_or(&[][..], VolumePlaces::paths);
        let devices = self.tier.devices();
        let first = u64::from(index) * u64::from(devices);
        let place = |device: u64| {
            let count = places.len() as u64;
            // The remainder is below their number, whatever the width of addresses.
            (count > 0).then(|| places[rookery_cast::index(device % count)].as_str())
        };
        (first..first + u64::from(devices))
            .filter_map(place)
            .collect()
    }
}

/// Where the devices of volumes come from, in turn; never empty.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VolumePlaces {
    /// Directories of this host in which the files behind them lie.
    Directories(Vec<String>),
    /// Block devices of this host: a volume takes whole ones.
    BlockDevices(Vec<String>),
}

impl VolumePlaces {
    /// What is named.
    #[must_use]
    pub fn paths(&self) -> &[String] {
        match self {
            Self::Directories(paths) | Self::BlockDevices(paths) => paths,
        }
    }
}

/// What of devices a volume is made of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tier {
    /// One device.
    #[default]
    Single,
    /// Blocks are dealt over several devices (RAID 0).
    Stripe {
        /// How many.
        devices: u32,
    },
    /// Something that this program does not make.
    Foreign(ForeignTier),
}

impl Tier {
    /// How many devices a volume has.
    #[must_use]
    pub fn devices(self) -> u32 {
        match self {
            Self::Stripe { devices } => devices,
            Self::Single | Self::Foreign(_) => 1,
        }
    }

    /// Whether it is one device, and need not be written.
    #[must_use]
    pub fn is_single(&self) -> bool {
        *self == Self::Single
    }
}

/// Tiers that this program does not make: an administrator makes them, and names a directory on
/// one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ForeignTier {
    /// A fast device before a slow one, by bcache.
    Bcache,
    /// The same by the device mapper.
    DmCache,
    /// Logical volumes.
    Lvm,
    /// ZFS.
    Zfs,
}

impl ForeignTier {
    /// Its name in study files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Bcache => "bcache",
            Self::DmCache => "dm-cache",
            Self::Lvm => "lvm",
            Self::Zfs => "zfs",
        }
    }
}

/// File systems of volumes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FileSystem {
    /// ext4.
    Ext4,
    /// XFS.
    Xfs,
    /// Btrfs, which alone stripes over several devices.
    Btrfs,
}

impl FileSystem {
    /// Its name, as the kernel writes it.
    #[must_use]
    pub fn name(self) -> &'static str {
        Named::name(self)
    }

    /// The program that makes it, and the package that has it.
    #[must_use]
    pub fn maker(self) -> (&'static str, &'static str) {
        match self {
            Self::Ext4 => ("mkfs.ext4", "e2fsprogs"),
            Self::Xfs => ("mkfs.xfs", "xfsprogs"),
            Self::Btrfs => ("mkfs.btrfs", "btrfs-progs"),
        }
    }

    /// The smallest device that it can be made on, MiB.
    #[must_use]
    pub fn least_mib(self) -> u64 {
        match self {
            Self::Ext4 => 16,
            Self::Xfs => 300,
            Self::Btrfs => 128,
        }
    }
}

/// Block sizes of file systems.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BlockSize {
    /// 1024 bytes.
    One,
    /// 2048 bytes.
    Two,
    /// 4096 bytes.
    Four,
}

impl BlockSize {
    /// In bytes.
    #[must_use]
    pub fn bytes(self) -> u32 {
        match self {
            Self::One => 1024,
            Self::Two => 2048,
            Self::Four => 4096,
        }
    }
}

/// Whether reading a file changes its access time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AccessTimes {
    /// Once a day, and after changes: what the kernel does unless told otherwise.
    Relatime,
    /// Never.
    Noatime,
    /// Always.
    Strictatime,
}

impl AccessTimes {
    /// Its name, as mounts show it.
    #[must_use]
    pub fn name(self) -> &'static str {
        Named::name(self)
    }
}

/// What of the data passes the journal (ext4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum JournalMode {
    /// Data are written before the metadata that tell of them.
    Ordered,
    /// Data may be written later.
    Writeback,
    /// All data too.
    Journal,
}

impl JournalMode {
    /// Its name, as mounts show it.
    #[must_use]
    pub fn name(self) -> &'static str {
        Named::name(self)
    }
}

/// Caching of volumes by the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum VolumeCache {
    /// None: direct I/O on the file.
    None,
    /// The host's page cache.
    Host,
}

/// Most I/O of a guest, or of a group of processes, on one device each second; `None` = no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IoLimits {
    /// Reads per second.
    pub read_iops: Option<u64>,
    /// Writes per second.
    pub write_iops: Option<u64>,
    /// Bytes read per second.
    pub read_bps: Option<u64>,
    /// Bytes written per second.
    pub write_bps: Option<u64>,
}

impl IoLimits {
    /// All four with their names.
    #[must_use]
    pub fn named(&self) -> [(&'static str, Option<u64>); 4] {
        [
            ("read_iops", self.read_iops),
            ("write_iops", self.write_iops),
            ("read_bps", self.read_bps),
            ("write_bps", self.write_bps),
        ]
    }

    /// Those of these values, in the order of [`IoLimits::named`].
    #[must_use]
    pub fn from_values(values: [Option<u64>; 4]) -> Self {
        let [read_iops, write_iops, read_bps, write_bps] = values;
        Self {
            read_iops,
            write_iops,
            read_bps,
            write_bps,
        }
    }

    /// Whether nothing is limited.
    #[must_use]
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_stored_under_the_names_of_their_keys() {
        let volume = VolumeUse {
            raw: false,
            shared: false,
            filesystem: FileSystem::Ext4,
            size: None,
            block_size: BlockSize::Four,
            atime: AccessTimes::Relatime,
            barriers: None,
            journal: None,
            discard: false,
            commit: None,
            cache: VolumeCache::None,
            tier: Tier::Single,
            places: None,
        };
        let paths = || vec!["/a".to_owned(), "/b".to_owned()];
        for (places, said) in [
            (None, None),
            (
                Some(VolumePlaces::Directories(paths())),
                Some("\"directories\":[\"/a\",\"/b\"]"),
            ),
            (
                Some(VolumePlaces::BlockDevices(paths())),
                Some("\"block_devices\":[\"/a\",\"/b\"]"),
            ),
        ] {
            let volume = VolumeUse {
                places,
                ..volume.clone()
            };
            let json = serde_json::to_string(&volume).expect("plain data");
            assert!(said.is_none_or(|said| json.contains(said)), "{json}");
            let read: VolumeUse = serde_json::from_str(&json).expect("read again");
            assert_eq!(read, volume);
        }
    }

    #[test]
    fn sizes_of_stored_plans_are_those_of_the_data() {
        let read = |json: &str| serde_json::from_str::<VolumeSizes>(json).expect("sizes");
        assert_eq!(read("286").mib(StorageRole::Data), 286);
        assert!(read("0").is_empty());
        let sizes: VolumeSizes = [(StorageRole::Data, 0), (StorageRole::Log, 64)]
            .into_iter()
            .collect();
        let json = serde_json::to_string(&sizes).expect("plain data");
        assert_eq!(json, "{\"log\":64}");
        assert_eq!(read(&json), sizes);
        assert_eq!(sizes.mib(StorageRole::Data), 0);
    }
}
