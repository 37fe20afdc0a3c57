//! The shape of a virtual machine: what it looks like from inside, and how this host carries it.
//!
//! [`VmShape`] is what a study sets, with defaults; [`VmShape::pureflex`] is the choice of the LAMP paper.

use serde::{Deserialize, Serialize};

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
    /// Size of its file system, MiB: 256 to 4194304. What is not written takes no space, unless it is preallocated.
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
    /// User mode, without privileges: the guest's port is forwarded to one of the host's loopback.
    User,
}

/// The guest's network interface.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NetworkShape {
    /// Where it is plugged in.
    pub network: Network,
    /// Packets are handled by the kernel (`vhost`) and not by the emulator; `None` = where the host has it.
    pub vhost: Option<bool>,
    /// Pairs of queues, 1 to 64.
    pub queues: u32,
    /// Largest packet, bytes: 1280 to 65521.
    pub mtu: u32,
}

impl Default for NetworkShape {
    fn default() -> Self {
        Self {
            network: Network::default(),
            vhost: None,
            queues: 1,
            mtu: 1500,
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
    /// Host CPUs of each vCPU, in their order. Shorter than the number of vCPUs: the others run where the guest's CPUs are.
    pub vcpus: Vec<Vec<u32>>,
    /// Host CPUs of the emulator's own threads.
    pub emulator: Vec<u32>,
    /// Host CPUs of the threads that do I/O.
    pub iothreads: Vec<u32>,
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
        }
    }
}

/// The least memory in which the guest's kernel comes up, MiB.
pub const LEAST_MEMORY_MIB: u64 = 128;

impl VmShape {
    /// The guest of the LAMP paper: 1 vCPU, 2560 MiB, a raw preallocated virtio disk of 100 GiB with `cache=none` and `io=native`, virtio
    /// network, the host's processor, no merging of pages.
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

    /// What is wrong with it, each with its mend; all at once.
    #[must_use]
    pub fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        let mut unless = |right: bool, problem: String| {
            if !right {
                problems.push(problem);
            }
        };
        let within = |value: u32, last: u32| (1..=last).contains(&value);
        unless(
            self.vcpus.is_none_or(|vcpus| within(vcpus, 255)),
            "a guest has 1 to 255 vCPUs".to_owned(),
        );
        unless(
            self.memory_mib >= LEAST_MEMORY_MIB,
            format!("{} MiB of memory are too few: take {LEAST_MEMORY_MIB} or more", self.memory_mib),
        );
        unless(
            (256..=4 << 20).contains(&self.disk.size_mib),
            format!("a disk of {} MiB cannot be: take 256 to 4194304", self.disk.size_mib),
        );
        unless(
            self.disk.io != DiskIo::Native || self.disk.cache.is_direct(),
            format!(
                "io = \"native\" needs cache = \"none\" or \"directsync\", and not \"{}\"",
                self.disk.cache.word()
            ),
        );
        unless(
            self.disk.queues.is_none_or(|queues| within(queues, 64)) && within(self.nic.queues, 64),
            "a device has 1 to 64 queues".to_owned(),
        );
        unless(
            self.iothreads <= 16,
            format!("{} threads for I/O are too many: take at most 16", self.iothreads),
        );
        unless(
            (1280..=65521).contains(&self.nic.mtu),
            format!("packets of {} bytes cannot be: take 1280 to 65521", self.nic.mtu),
        );
        let named =
            |name: &str| !name.is_empty() && name.len() <= 40 && name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
        if let CpuModel::Named(name) = &self.cpu {
            unless(named(name), format!("`{}` is no name of a processor", name.escape_debug()));
        }
        if let Network::HostBridge(name) = &self.nic.network {
            unless(
                named(name) && name.len() <= 15,
                format!("`{}` is no name of a bridge", name.escape_debug()),
            );
        }
        unless(
            self.pins.iothreads.is_empty() || self.iothreads > 0,
            "threads for I/O are pinned, but there are none: set iothreads".to_owned(),
        );
        if let Some(vcpus) = self.vcpus {
            unless(
                self.pins.vcpus.len() <= vcpus as usize,
                format!("{} vCPUs are pinned, but there are {vcpus}", self.pins.vcpus.len()),
            );
        }
        problems
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_and_the_paper_are_sound() {
        assert_eq!(VmShape::default().problems(), Vec::<String>::new());
        let paper = VmShape::pureflex();
        assert_eq!(paper.problems(), Vec::<String>::new());
        assert_eq!((paper.disk.cache.word(), paper.disk.io.word()), ("none", "native"));
    }

    #[test]
    fn all_problems_are_told_at_once() {
        let shape = VmShape {
            vcpus: Some(0),
            memory_mib: 1,
            cpu: CpuModel::Named("'/><evil".into()),
            disk: DiskShape {
                io: DiskIo::Native,
                size_mib: 1,
                queues: Some(0),
                ..DiskShape::default()
            },
            iothreads: 17,
            nic: NetworkShape {
                network: Network::HostBridge("br0 up".into()),
                mtu: 1,
                ..NetworkShape::default()
            },
            ..VmShape::default()
        };
        insta::assert_snapshot!(shape.problems().join("\n"), @r#"
        a guest has 1 to 255 vCPUs
        1 MiB of memory are too few: take 128 or more
        a disk of 1 MiB cannot be: take 256 to 4194304
        io = "native" needs cache = "none" or "directsync", and not "writeback"
        a device has 1 to 64 queues
        17 threads for I/O are too many: take at most 16
        packets of 1 bytes cannot be: take 1280 to 65521
        `\'/><evil` is no name of a processor
        `br0 up` is no name of a bridge
        "#);
    }

    #[test]
    fn an_unknown_key_is_refused() {
        assert!(serde_json::from_str::<VmShape>(r#"{"memory_mib": 1024}"#).is_ok());
        assert!(serde_json::from_str::<VmShape>(r#"{"memory": 1024}"#).is_err());
        assert!(serde_json::from_str::<VmShape>(r#"{"disc": {}}"#).is_err());
    }
}
