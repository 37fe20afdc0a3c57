//! `[storage]`: where guests keep their data, and how much I/O they may do.

mod role;

use std::{collections::BTreeMap, time::Duration};

use crate::{
    grammar::{
        Context, Reader, SectionInfo, keys,
        kinds::{Choice, Memory, PathFromRoot, PerSecond, Time, Values, Whole},
    },
    names::Named,
    problem::Code,
    storage_use::{
        AccessTimes, BlockSize, FileSystem, ForeignTier, IoLimits, JournalMode, RoleUse,
        StorageRole, StorageUse, Tier, VolumeCache, VolumePlaces, VolumeUse,
    },
};

pub(super) const SECTION: SectionInfo = SectionInfo {
    name: "storage",
    many: false,
    meaning: "Where guests keep their data, and how much I/O they may do.",
    keys: StorageKeys::keys,
    below: &[role::BELOW],
};

/// Where data are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pool {
    Directory,
    Volume,
    Raw,
}

/// For whom there is a volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PoolPer {
    Guest,
    Host,
}

/// On or off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Switch(pub(crate) bool);

impl Named for Pool {
    const NAMES: &'static [(&'static str, Self, &'static str)] = &[
        ("directory", Self::Directory, "the run's directory"),
        (
            "volume",
            Self::Volume,
            "a file system of its own on a loop device, made for each trial and deleted after it; \
             needs root",
        ),
        (
            "raw",
            Self::Raw,
            "the loop device itself, for machines, and for stacks that keep their data on a device",
        ),
    ];
}

impl Named for PoolPer {
    const NAMES: &'static [(&'static str, Self, &'static str)] = &[
        ("guest", Self::Guest, "one for each guest"),
        ("host", Self::Host, "one that all guests share"),
    ];
}

impl Named for FileSystem {
    const NAMES: &'static [(&'static str, Self, &'static str)] = &[
        ("ext4", Self::Ext4, "16 MiB or more"),
        (
            "xfs",
            Self::Xfs,
            "300 MiB or more; its barriers cannot be turned off",
        ),
        (
            "btrfs",
            Self::Btrfs,
            "128 MiB or more of each device; it alone stripes over several",
        ),
    ];
}

/// A tier, before it is known over how many devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TierName {
    Single,
    Stripe,
    Foreign(ForeignTier),
}

impl Named for TierName {
    const NAMES: &'static [(&'static str, Self, &'static str)] = &[
        ("single", Self::Single, "one device"),
        (
            "stripe",
            Self::Stripe,
            "blocks dealt over `devices` devices (RAID 0 of btrfs)",
        ),
        (
            "bcache",
            Self::Foreign(ForeignTier::Bcache),
            "not made here: name a directory on one in `directories`",
        ),
        (
            "dm-cache",
            Self::Foreign(ForeignTier::DmCache),
            "not made here either",
        ),
        (
            "lvm",
            Self::Foreign(ForeignTier::Lvm),
            "not made here either",
        ),
        (
            "zfs",
            Self::Foreign(ForeignTier::Zfs),
            "not made here either",
        ),
    ];
}

impl Named for BlockSize {
    const NAMES: &'static [(&'static str, Self, &'static str)] = &[
        ("1KiB", Self::One, "1024 bytes"),
        ("2KiB", Self::Two, "2048 bytes"),
        ("4KiB", Self::Four, "4096 bytes"),
    ];
}

impl Named for AccessTimes {
    const NAMES: &'static [(&'static str, Self, &'static str)] = &[
        (
            "relatime",
            Self::Relatime,
            "changed once a day, and after changes",
        ),
        ("noatime", Self::Noatime, "never changed by reading"),
        ("strictatime", Self::Strictatime, "changed by every read"),
    ];
}

impl Named for JournalMode {
    const NAMES: &'static [(&'static str, Self, &'static str)] = &[
        (
            "ordered",
            Self::Ordered,
            "data are written before the metadata that tell of them",
        ),
        ("writeback", Self::Writeback, "data may be written later"),
        ("journal", Self::Journal, "all data too"),
    ];
}

impl Named for VolumeCache {
    const NAMES: &'static [(&'static str, Self, &'static str)] = &[
        (
            "none",
            Self::None,
            "direct I/O on the file behind the device",
        ),
        ("host", Self::Host, "through the page cache of the host"),
    ];
}

impl Named for Switch {
    const NAMES: &'static [(&'static str, Self, &'static str)] =
        &[("on", Self(true), "yes"), ("off", Self(false), "no")];
}

/// Most devices of a volume.
const MOST_DEVICES: u32 = 16;
/// Most directories, or block devices, that volumes are dealt over.
const MOST_DIRECTORIES: usize = 64;
/// A directory of this host.
const DIRECTORY: PathFromRoot = PathFromRoot {
    example: "/mnt/disk1",
};
/// A block device of this host.
const BLOCK_DEVICE: PathFromRoot = PathFromRoot {
    example: "/dev/sdb",
};

/// A day; longer is never.
const LONGEST_COMMIT: Duration = Duration::from_secs(86_400);

keys! {
    /// Keys of `[storage]`.
    StorageKeys {
        /// Where guests keep their data.
        pool: Choice<Pool> = Choice::NEW, Default("\"directory\"");
        /// Measure with fio what the storage can do, once, before the first trial; the report draws
        /// it over the I/O of the guests.
        ceiling: Choice<Switch> = Choice::NEW, Default("\"off\"");
        /// For whom there is a volume (this and all keys down to `block_devices`: volumes only).
        per: Choice<PoolPer> = Choice::NEW, Optional("\"guest\"");
        /// Size; of a shared volume the parts of all guests together.
        size: Memory = Memory, Optional("three times the nominal database, and 256MiB for logs; \
                                         for machines what their disk needs");
        /// Its file system.
        filesystem: Choice<FileSystem> = Choice::NEW, Optional("\"ext4\"");
        /// Block size of the file system.
        block_size: Choice<BlockSize> = Choice::NEW, Optional("\"4KiB\"");
        /// What reading does to access times.
        atime: Choice<AccessTimes> = Choice::NEW, Optional("\"relatime\"");
        /// Write barriers; without them a power cut can destroy the file system (ext4 only).
        barriers: Choice<Switch> = Choice::NEW, Optional("on");
        /// Journal mode (ext4 only).
        journal: Choice<JournalMode> = Choice::NEW, Optional("\"ordered\"");
        /// Tell the device at once which blocks are free.
        discard: Choice<Switch> = Choice::NEW, Optional("\"off\"");
        /// Time between two commits of the journal, in whole seconds (ext4 only).
        commit: Time = Time { min: Duration::from_secs(1), max: LONGEST_COMMIT, example: "5s" }, Optional("5 s");
        /// Whether the host caches the volume a second time.
        cache: Choice<VolumeCache> = Choice::NEW, Optional("\"none\"");
        /// What of devices a volume is made of.
        tier: Choice<TierName> = Choice::NEW, Optional("\"single\"");
        /// Devices of a stripe.
        devices: Whole<u32> = Whole { min: 2, max: MOST_DEVICES }, Optional("2");
        /// Directories in which the files behind the devices lie, each on a disk of its own:
        /// volumes, and the devices of a stripe, are dealt over them in turn.
        directories: Values<PathFromRoot> = Values { kind: DIRECTORY, most: MOST_DIRECTORIES }, Optional("the run's directory");
        /// Empty block devices or partitions of this host on which volumes are made, instead of
        /// files: each takes a whole one, and volumes, and the devices of a stripe, are dealt over
        /// them in turn.
        block_devices: Values<PathFromRoot> = Values { kind: BLOCK_DEVICE, most: MOST_DIRECTORIES }, Optional("none");
        /// Most reads per second of a guest (this and all keys below: containers and machines
        /// only).
        read_iops: PerSecond = PerSecond::Count, Default("\"none\"");
        /// Most writes per second of a guest.
        write_iops: PerSecond = PerSecond::Count, Default("\"none\"");
        /// Most bytes that a guest reads per second.
        read_bps: PerSecond = PerSecond::Bytes, Default("\"none\"");
        /// Most bytes that a guest writes per second.
        write_bps: PerSecond = PerSecond::Bytes, Default("\"none\"");
    }
}

/// What only volumes have.
const VOLUME_KEYS: [&str; 14] = [
    "per",
    "size",
    "filesystem",
    "block_size",
    "atime",
    "barriers",
    "journal",
    "discard",
    "commit",
    "cache",
    "tier",
    "devices",
    "directories",
    "block_devices",
];
/// What files have, and block devices of the host have not.
const FILE_KEYS: [&str; 2] = ["cache", "directories"];
/// What only volumes with a file system have.
const FILE_SYSTEM_KEYS: [&str; 9] = [
    "filesystem",
    "block_size",
    "atime",
    "barriers",
    "journal",
    "discard",
    "commit",
    "tier",
    "devices",
];
/// What other file systems than ext4 do not have.
const EXT4_KEYS: [&str; 2] = ["journal", "commit"];

impl StorageKeys {
    /// The section with what stands below it.
    pub(crate) fn read_storage(mut reader: Reader<'_, '_, '_>) -> Option<StorageUse> {
        let keys = Self::read(&mut reader);
        let roles = role::read_below(&mut reader);
        let storage = keys.build(reader.context);
        reader.finish();
        Some(StorageUse {
            roles: roles?,
            ..storage?
        })
    }

    /// Appends the section with what stands below it.
    pub(crate) fn write_storage(storage: &StorageUse, out: &mut String) {
        Self::of(storage).write(out);
        role::write_below(&storage.roles, out);
    }

    /// All but the roles.
    fn build(self, context: &mut Context) -> Option<StorageUse> {
        let pool = self.pool?;
        let ceiling = self.ceiling?.0;
        let limits = self.limits()?;
        let volume = match pool {
            Pool::Directory => {
                let help = "write `pool = \"volume\"` in [storage], or remove it";
                refuse_all(
                    SECTION.name,
                    &VOLUME_KEYS,
                    "belongs to volumes, but `storage.pool` is \"directory\"",
                    help,
                    context,
                )?;
                None
            }
            Pool::Raw => {
                refuse_all(
                    SECTION.name,
                    &FILE_SYSTEM_KEYS,
                    "belongs to a file system, and a raw device has none",
                    "remove it",
                    context,
                )?;
                Some(self.volume(true, SECTION.name, context)?)
            }
            Pool::Volume => Some(self.volume(false, SECTION.name, context)?),
        };
        Some(StorageUse {
            volume,
            roles: BTreeMap::new(),
            limits,
            ceiling,
        })
    }

    fn limits(&self) -> Option<IoLimits> {
        Some(IoLimits {
            read_iops: self.read_iops?,
            write_iops: self.write_iops?,
            read_bps: self.read_bps?,
            write_bps: self.write_bps?,
        })
    }

    /// The volume that the keys of `section` ask for.
    fn volume(self, raw: bool, section: &str, context: &mut Context) -> Option<VolumeUse> {
        let given = [
            self.per.is_some(),
            self.size.is_some(),
            self.filesystem.is_some(),
            self.block_size.is_some(),
            self.atime.is_some(),
            self.barriers.is_some(),
            self.journal.is_some(),
            self.discard.is_some(),
            self.commit.is_some(),
            self.cache.is_some(),
            self.tier.is_some(),
            self.devices.is_some(),
            self.directories.is_some(),
            self.block_devices.is_some(),
        ];
        // What is in the file but was refused has its problem already.
        let refused =
            |(key, read): (&&str, bool)| !read && context.spans.has(&path_of(section, key));
        if VOLUME_KEYS.iter().zip(given).any(refused) {
            return None;
        }
        let tier = self.tier(section, context)?;
        let places = self.places(section, context)?;
        let filesystem = self.filesystem.unwrap_or(match tier {
            Tier::Stripe { .. } => FileSystem::Btrfs,
            Tier::Single | Tier::Foreign(_) => FileSystem::Ext4,
        });
        self.check_filesystem(filesystem, tier, section, context)?;
        if let Some(odd) = self.commit.filter(|commit| commit.subsec_nanos() > 0) {
            let path = path_of(section, "commit");
            let span = context.spans.nearest(&path);
            let message = format!("`{path}` is {odd:?}, and file systems count whole seconds");
            return context.refuse(
                Code::OutOfRange,
                span,
                message,
                "write for instance `commit = \"5s\"`",
            );
        }
        Some(VolumeUse {
            raw,
            shared: self.per == Some(PoolPer::Host),
            filesystem,
            size: self.size,
            block_size: self.block_size.unwrap_or(BlockSize::Four),
            atime: self.atime.unwrap_or(AccessTimes::Relatime),
            barriers: self.barriers.map(|switch| switch.0),
            journal: self.journal,
            discard: self.discard == Some(Switch(true)),
            commit: self.commit,
            cache: self.cache.unwrap_or(VolumeCache::None),
            tier,
            places,
        })
    }

    /// Where devices come from.
    fn places(&self, section: &str, context: &mut Context) -> Option<Option<VolumePlaces>> {
        let some = |paths: &Option<Vec<String>>| paths.clone().filter(|paths| !paths.is_empty());
        let Some(devices) = some(&self.block_devices) else {
            return Some(some(&self.directories).map(VolumePlaces::Directories));
        };
        let help = "remove it, or `block_devices`";
        let why = "belongs to files behind loop devices, and `block_devices` names devices";
        refuse_all(section, &FILE_KEYS, why, help, context)?;
        Some(Some(VolumePlaces::BlockDevices(devices)))
    }

    /// What of devices a volume is made of.
    fn tier(&self, section: &str, context: &mut Context) -> Option<Tier> {
        Some(match (self.tier, self.devices) {
            (Some(TierName::Stripe), devices) => {
                refuse_all(
                    section,
                    &self.limited(),
                    "holds for one device, and a stripe has several",
                    "remove it, or write `tier = \"single\"`",
                    context,
                )?;
                Tier::Stripe {
                    devices: devices.unwrap_or(2),
                }
            }
            (_, Some(_)) => {
                let help = "write `tier = \"stripe\"`, or remove it";
                let why = "says over how many devices a stripe goes, and there is none";
                refuse_all(section, &["devices"], why, help, context)?;
                return None;
            }
            (Some(TierName::Foreign(foreign)), None) => Tier::Foreign(foreign),
            (Some(TierName::Single) | None, None) => Tier::Single,
        })
    }

    /// The keys by which I/O is limited.
    fn limited(&self) -> Vec<&'static str> {
        let limits = [
            ("read_iops", self.read_iops),
            ("write_iops", self.write_iops),
            ("read_bps", self.read_bps),
            ("write_bps", self.write_bps),
        ];
        let limited = limits
            .into_iter()
            .filter(|(_, limit)| limit.flatten().is_some());
        limited.map(|(key, _)| key).collect()
    }

    /// Refuses what the file system cannot do.
    fn check_filesystem(
        &self,
        filesystem: FileSystem,
        tier: Tier,
        section: &str,
        context: &mut Context,
    ) -> Option<()> {
        let name = filesystem.name();
        if matches!(tier, Tier::Stripe { .. }) && filesystem != FileSystem::Btrfs {
            let span = context.spans.nearest(&path_of(section, "filesystem"));
            let message = format!("{name} lies on one device, and a stripe has several");
            let help = "write `filesystem = \"btrfs\"`, or remove it";
            return context.refuse(Code::Contradiction, span, message, help);
        }
        if filesystem == FileSystem::Ext4 {
            return Some(());
        }
        let help = "write `filesystem = \"ext4\"`, or remove it";
        let why = format!("belongs to ext4, but `{section}.filesystem` is \"{name}\"");
        refuse_all(section, &EXT4_KEYS, &why, help, context)?;
        if filesystem == FileSystem::Btrfs {
            let why = "is not btrfs's to choose: its blocks are as large as a page of memory";
            refuse_all(section, &["block_size"], why, help, context)?;
        }
        if filesystem == FileSystem::Xfs && self.barriers == Some(Switch(false)) {
            let span = context.spans.nearest(&path_of(section, "barriers"));
            let message = "xfs always has write barriers: Linux 4.19 took the option away";
            return context.refuse(Code::Contradiction, span, message, help);
        }
        Some(())
    }

    fn of(storage: &StorageUse) -> Self {
        let volume = storage.volume.as_ref();
        let filed = volume.filter(|volume| !volume.raw);
        Self {
            pool: Some(match volume {
                None => Pool::Directory,
                Some(volume) if volume.raw => Pool::Raw,
                Some(_) => Pool::Volume,
            }),
            ceiling: Some(Switch(storage.ceiling)),
            per: volume.map(|volume| {
                if volume.shared {
                    PoolPer::Host
                } else {
                    PoolPer::Guest
                }
            }),
            size: volume.and_then(|volume| volume.size.clone()),
            filesystem: filed.map(|volume| volume.filesystem),
            block_size: filed
                .filter(|volume| volume.filesystem != FileSystem::Btrfs)
                .map(|volume| volume.block_size),
            atime: filed.map(|volume| volume.atime),
            barriers: filed.and_then(|volume| volume.barriers).map(Switch),
            journal: filed.and_then(|volume| volume.journal),
            discard: filed.map(|volume| Switch(volume.discard)),
            commit: filed.and_then(|volume| volume.commit),
            cache: volume
                .filter(|volume| !matches!(volume.places, Some(VolumePlaces::BlockDevices(_))))
                .map(|volume| volume.cache),
            tier: filed
                .filter(|volume| !volume.tier.is_single())
                .map(|volume| match volume.tier {
                    Tier::Single => TierName::Single,
                    Tier::Stripe { .. } => TierName::Stripe,
                    Tier::Foreign(foreign) => TierName::Foreign(foreign),
                }),
            devices: filed.and_then(|volume| match volume.tier {
                Tier::Stripe { devices } => Some(devices),
                Tier::Single | Tier::Foreign(_) => None,
            }),
            directories: match volume.and_then(|volume| volume.places.clone()) {
                Some(VolumePlaces::Directories(directories)) => Some(directories),
                Some(VolumePlaces::BlockDevices(_)) | None => None,
            },
            block_devices: match volume.and_then(|volume| volume.places.clone()) {
                Some(VolumePlaces::BlockDevices(devices)) => Some(devices),
                Some(VolumePlaces::Directories(_)) | None => None,
            },
            read_iops: Some(storage.limits.read_iops),
            write_iops: Some(storage.limits.write_iops),
            read_bps: Some(storage.limits.read_bps),
            write_bps: Some(storage.limits.write_bps),
        }
    }
}

fn path_of(section: &str, key: &str) -> String {
    format!("{section}.{key}")
}

/// Refuses each of these keys of a section that is in the file; nothing where there is one.
fn refuse_all(
    section: &str,
    keys: &[&str],
    why: &str,
    help: &str,
    context: &mut Context,
) -> Option<()> {
    let there: Vec<String> = keys
        .iter()
        .map(|key| path_of(section, key))
        .filter(|path| context.spans.has(path))
        .collect();
    for path in &there {
        let span = context.spans.nearest(path);
        context.refuse::<()>(Code::Contradiction, span, format!("`{path}` {why}"), help);
    }
    there.is_empty().then_some(())
}

#[cfg(test)]
mod tests;
