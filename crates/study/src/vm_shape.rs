//! The shape of a virtual machine: what it looks like from inside, and how this host carries it.
//!
//! [`VmShape`] is what a study sets, with defaults; [`VmShape::pureflex`] is the choice of the LAMP
//! paper.

mod net;
mod problems;
#[cfg(test)]
mod tests;
mod words;

use std::path::PathBuf;

pub use net::{GuestNet, ParseGuestNetError};
use serde::{Deserialize, Serialize};
pub use words::{ParseNetworkError, ParsePoolError};

use crate::link_shape::{BackEnd, Impairment, RateLimit};

/// Which processor the guest sees.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CpuModel {
    /// The host's own, with all it can do; needs KVM. Under TCG it is [`CpuModel::Maximum`].
    #[default]
    Host,
    /// All that the accelerator can do.
    Maximum,
    /// A named model, such as `Westmere`.
    Named(String),
}

/// How a guest's disk comes from the template's image.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DiskClone {
    /// A qcow2 file that holds what differs from the image; made in a moment.
    #[default]
    Overlay,
    /// A raw copy that shares blocks where the file system can, and keeps holes.
    Raw,
    /// A raw copy with all of its space allocated, as in the LAMP paper.
    Preallocated,
}

/// What the host does with a guest's writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DiskCache {
    /// The host's page cache is left out.
    None,
    /// The host's page cache holds them until the guest flushes.
    #[default]
    Writeback,
    /// Every write goes to the disk, and stays in the page cache.
    Writethrough,
    /// As `none`, and every write is flushed.
    Directsync,
    /// Flushes are ignored: a crash of the host loses acknowledged orders.
    Unsafe,
}

impl DiskCache {
    /// The word of libvirt and QEMU.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Writeback => "writeback",
            Self::Writethrough => "writethrough",
            Self::Directsync => "directsync",
            Self::Unsafe => "unsafe",
        }
    }

    /// Whether it goes past the page cache, as native I/O demands.
    #[must_use]
    pub fn is_direct(self) -> bool {
        matches!(self, Self::None | Self::Directsync)
    }
}

/// By which means the emulator does I/O.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DiskIo {
    /// A pool of threads.
    #[default]
    Threads,
    /// Linux AIO; needs a cache that is direct.
    Native,
    /// `io_uring`.
    IoUring,
}

impl DiskIo {
    /// The word of libvirt and QEMU.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Threads => "threads",
            Self::Native => "native",
            Self::IoUring => "io_uring",
        }
    }
}

/// The guest's disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DiskShape {
    /// Size of its file system, MiB: 256 to 4194304. What is not written takes no space, unless it
    /// is preallocated.
    pub size_mib: u64,
    /// How it is cloned.
    pub clone: DiskClone,
    /// Cache mode.
    pub cache: DiskCache,
    /// I/O mode.
    pub io: DiskIo,
    /// Request queues, 1 to 64; `None` = one for each vCPU, as QEMU chooses.
    pub queues: Option<u32>,
}

impl Default for DiskShape {
    fn default() -> Self {
        Self {
            size_mib: 4096,
            clone: DiskClone::default(),
            cache: DiskCache::default(),
            io: DiskIo::default(),
            queues: None,
        }
    }
}

/// Where the guest's network interface is plugged in.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Network {
    /// The lab's bridge, inside the lab's own network namespace.
    #[default]
    Lab,
    /// A bridge of the host, such as `br0`.
    HostBridge(String),
    /// User mode, without privileges: the guest's port is forwarded to one of the host's loopback,
    /// and nothing else goes in or out.
    User,
}

/// What the guest's network interface is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NicModel {
    /// An interface made for machines.
    #[default]
    Virtio,
    /// An emulated Intel 82540EM; not in user mode.
    E1000,
}

impl NicModel {
    /// Its name, as libvirt knows it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Virtio => "virtio",
            Self::E1000 => "e1000",
        }
    }
}

/// What a virtio interface leaves to the other side of it; `None` = as the emulator has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NicOffloads {
    /// Packets of TCP pass it before they are cut, in both directions.
    pub tso: Option<bool>,
    /// Packets pass it without checksums, in both directions.
    pub checksum: Option<bool>,
}

impl NicOffloads {
    /// Both with their names.
    #[must_use]
    pub fn named(&self) -> [(&'static str, Option<bool>); 2] {
        [("tso", self.tso), ("checksum", self.checksum)]
    }

    /// Whether none is asked for.
    #[must_use]
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

/// The guest's network interface.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NetworkShape {
    /// What it is.
    pub model: NicModel,
    /// Where it is plugged in.
    pub network: Network,
    /// Addresses of guests on a bridge of the host, whose network the lab cannot know; the host
    /// needs an address of the same network there.
    pub addresses: Option<GuestNet>,
    /// Packets are handled by the kernel (`vhost`) and not by the emulator; `None` = where the host
    /// has it.
    pub vhost: Option<bool>,
    /// Pairs of queues, 1 to 64.
    pub queues: u32,
    /// Largest packet, bytes: 1280 to 65521.
    pub mtu: u32,
    /// Packets of the machine that its interface on the host gathers before it hands them on
    /// (`rx-frames` of `ethtool -C`), up to 64; `None` = as the kernel has it.
    pub coalesce: Option<u32>,
    /// How guests reach the tier that they call; another network on the lab's own alone.
    pub back_end: BackEnd,
    /// What a virtio interface leaves to the other side of it.
    pub offloads: NicOffloads,
    /// Most that passes its link in each direction; `None` = no limit. On a bridge alone.
    pub rate_limit: Option<RateLimit>,
    /// What a longer way would do to packets, in each direction. On a bridge alone.
    pub impairment: Impairment,
}

impl NetworkShape {
    /// Whether packets of its link are limited, late or lost.
    #[must_use]
    pub fn has_disciplines(&self) -> bool {
        self.rate_limit.is_some() || !self.impairment.is_none()
    }
}

impl Default for NetworkShape {
    fn default() -> Self {
        Self {
            model: NicModel::default(),
            network: Network::default(),
            addresses: None,
            vhost: None,
            queues: 1,
            mtu: 1500,
            coalesce: None,
            back_end: BackEnd::Shared,
            offloads: NicOffloads::default(),
            rate_limit: None,
            impairment: Impairment::default(),
        }
    }
}

/// The guest's memory on this host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MemoryShape {
    /// Taken from the host's huge pages.
    pub hugepages: bool,
    /// Locked: the host never swaps it out.
    pub locked: bool,
    /// The host may take memory back from the guest by a balloon.
    pub balloon: bool,
    /// The host may merge pages of several guests.
    pub merged: bool,
}

/// On which CPUs a guest's threads run; empty = where its CPUs are.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Pins {
    /// Each vCPU runs on one of the guest's CPUs, the first on the first, where it has as many or
    /// more, and `vcpus` says nothing else.
    pub each: bool,
    /// Host CPUs of each vCPU, in their order. Shorter than the number of vCPUs: the others run
    /// where the guest's CPUs are.
    pub vcpus: Vec<Vec<u32>>,
    /// Host CPUs of the emulator's own threads.
    pub emulator: Vec<u32>,
    /// Host CPUs of the threads that do I/O.
    pub iothreads: Vec<u32>,
}

/// How a machine comes up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Boot {
    /// Kernel and initial file system are given to it, and it runs the lab's own system.
    Direct,
    /// The firmware of a PC (SeaBIOS) starts what its disk holds.
    Firmware,
    /// UEFI (OVMF, where installed) starts what its disk holds.
    Efi,
}

/// Where the disks of guests lie.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pool {
    /// Files in the run's own directory.
    #[default]
    Directory,
    /// A volume for each guest in a volume group of LVM that exists: `group`, or `group/pool` for
    /// thin ones.
    Lvm(String),
    /// Block devices that exist: the first guest has the first, and so on. What is on them is lost.
    Devices(Vec<PathBuf>),
}

/// The shape of a virtual machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct VmShape {
    /// Virtual CPUs, 1 to 255; `None` = as many as the guest's limit or its CPUs ask for.
    pub vcpus: Option<u32>,
    /// Memory where the guest names none, MiB: at least 128.
    pub memory_mib: u64,
    /// Processor.
    pub cpu: CpuModel,
    /// Disk.
    pub disk: DiskShape,
    /// Threads of their own for the disk's I/O, 0 to 16.
    pub iothreads: u32,
    /// Network interface.
    pub nic: NetworkShape,
    /// Memory on this host.
    pub memory: MemoryShape,
    /// Pins.
    pub pins: Pins,
    /// Where the disks lie.
    pub pool: Pool,
    /// A cloud image (qcow2 or raw, with cloud-init) from which guests boot, as an absolute path;
    /// `None` = the lab's own system.
    pub image: Option<PathBuf>,
    /// How guests come up; `None` = [`Boot::Firmware`] from an image, else [`Boot::Direct`].
    pub boot: Option<Boot>,
    /// Connection of a libvirt on this host, such as `qemu:///system`; `None` = a libvirt of the
    /// lab's own.
    pub connection: Option<String>,
}

impl Default for VmShape {
    fn default() -> Self {
        Self {
            vcpus: None,
            memory_mib: 512,
            cpu: CpuModel::default(),
            disk: DiskShape::default(),
            iothreads: 0,
            nic: NetworkShape::default(),
            memory: MemoryShape::default(),
            pins: Pins::default(),
            pool: Pool::default(),
            image: None,
            boot: None,
            connection: None,
        }
    }
}

/// The least memory in which the guest's kernel comes up, MiB.
pub const LEAST_MEMORY_MIB: u64 = 128;

impl VmShape {
    /// The guest of the LAMP paper: 1 vCPU, 2560 MiB, a raw preallocated virtio disk of 100 GiB
    /// with `cache=none` and `io=native`, virtio network, the host's processor, no merging of
    /// pages.
    #[must_use]
    pub fn pureflex() -> Self {
        Self {
            vcpus: Some(1),
            memory_mib: 2560,
            disk: DiskShape {
                size_mib: 100 << 10,
                clone: DiskClone::Preallocated,
                cache: DiskCache::None,
                io: DiskIo::Native,
                queues: None,
            },
            ..Self::default()
        }
    }

    /// How guests come up, said or not.
    #[must_use]
    pub fn boots(&self) -> Boot {
        let otherwise = if self.image.is_some() {
            Boot::Firmware
        } else {
            Boot::Direct
        };
        self.boot.unwrap_or(otherwise)
    }
}
