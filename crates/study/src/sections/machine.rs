//! `[guest.vm]`: the shape of guests that are machines.

use crate::{
    grammar::{
        Below, Context, Reader, keys,
        kinds::{Choice, Cpus, Text, Whole, WholeMemory, Worded},
    },
    names::Named,
    problem::Code,
    sections::storage::Switch,
    vm_shape::{
        Boot, CpuModel, DiskCache, DiskClone, DiskIo, DiskShape, GuestNet, MemoryShape, Network,
        NetworkShape, Pins, Pool, VmShape,
    },
};

const NAME: &str = "vm";

pub(super) const BELOW: Below = Below {
    names: || vec![NAME],
    named_freely: false,
    meaning: || {
        "The shape of guests that are virtual machines; other kinds of guest leave it aside. \
              vCPUs come from the layout, memory from [guest]."
            .to_owned()
    },
    keys: MachineKeys::keys,
    any: None,
};

/// Whole shapes to begin with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ShapeProfile {
    Default,
    Pureflex,
}

impl Named for ShapeProfile {
    const NAMES: &'static [(&'static str, Self, &'static str)] = &[
        (
            "default",
            Self::Default,
            "overlays on one image, the host's page cache",
        ),
        (
            "pureflex",
            Self::Pureflex,
            "as in the LAMP paper: raw preallocated disks of 100 GiB, cache none, native I/O",
        ),
    ];
}

impl Named for DiskClone {
    const NAMES: &'static [(&'static str, Self, &'static str)] = &[
        (
            "overlay",
            Self::Overlay,
            "a qcow2 file of what differs from the template",
        ),
        (
            "raw",
            Self::Raw,
            "a raw copy with holes, sharing blocks where the file system can",
        ),
        (
            "preallocated",
            Self::Preallocated,
            "a raw copy with all of its space allocated",
        ),
    ];
}

impl Named for DiskCache {
    const NAMES: &'static [(&'static str, Self, &'static str)] = &[
        ("none", Self::None, "past the host's page cache"),
        (
            "writeback",
            Self::Writeback,
            "in the host's page cache until the guest flushes",
        ),
        (
            "writethrough",
            Self::Writethrough,
            "every write goes to the disk",
        ),
        (
            "directsync",
            Self::Directsync,
            "as none, and every write is flushed",
        ),
        (
            "unsafe",
            Self::Unsafe,
            "flushes are ignored: a crash loses acknowledged orders",
        ),
    ];
}

impl Named for DiskIo {
    const NAMES: &'static [(&'static str, Self, &'static str)] = &[
        ("threads", Self::Threads, "a pool of threads"),
        (
            "native",
            Self::Native,
            "Linux AIO; with cache none or directsync",
        ),
        ("io_uring", Self::IoUring, "io_uring"),
    ];
}

impl Named for Boot {
    const NAMES: &'static [(&'static str, Self, &'static str)] = &[
        ("direct", Self::Direct, "the kernel is given to it"),
        (
            "firmware",
            Self::Firmware,
            "the firmware of a PC starts what the disk holds",
        ),
        (
            "efi",
            Self::Efi,
            "UEFI starts what the disk holds; needs OVMF",
        ),
    ];
}

keys! {
    /// Keys of `[guest.vm]`.
    MachineKeys {
        /// What all other keys begin with.
        profile: Choice<ShapeProfile> = Choice::NEW, Optional("\"default\"");
        /// Processor: `host` (needs KVM; else `maximum`), `maximum`, or a named model.
        cpu: Worded<CpuModel> = Worded::new("a model of a processor", "host"), Optional("that of \
            the profile");
        /// Size of the disk.
        disk_size: WholeMemory = WholeMemory, Optional("4GiB, or what the profile has");
        /// How the disk comes from the template's image.
        clone: Choice<DiskClone> = Choice::NEW, Optional("\"overlay\", or what the profile has");
        /// What the host does with the guest's writes.
        cache: Choice<DiskCache> = Choice::NEW, Optional("\"writeback\", or what the profile has");
        /// How the emulator does I/O.
        io: Choice<DiskIo> = Choice::NEW, Optional("\"threads\", or what the profile has");
        /// Request queues of the disk.
        disk_queues: Whole<u32> = Whole { min: 1, max: 64 }, Optional("one for each vCPU");
        /// Threads of their own for the disk's I/O.
        iothreads: Whole<u32> = Whole { min: 0, max: 16 }, Optional("0");
        /// Where the network interface is plugged in: `lab`, `user`, or a bridge of the host.
        network: Worded<Network> = Worded::new("a network: lab, user or bridge:NAME", "bridge:br0"), Optional("\"lab\"");
        /// Address of the first guest on a bridge of the host; the others follow.
        addresses: Worded<GuestNet> = Worded::new("an address with the length of its network's \
            prefix", "192.168.1.50/24"), Optional("none");
        /// Packets are handled by the kernel.
        vhost: Choice<Switch> = Choice::NEW, Optional("where the host has it");
        /// Pairs of queues of the network interface.
        queues: Whole<u32> = Whole { min: 1, max: 64 }, Optional("1");
        /// Largest packet, bytes.
        mtu: Whole<u32> = Whole { min: 1280, max: 65_521 }, Optional("1500");
        /// Memory is taken from the host's huge pages.
        hugepages: Choice<Switch> = Choice::NEW, Optional("\"off\"");
        /// Memory is never swapped out by the host.
        locked: Choice<Switch> = Choice::NEW, Optional("\"off\"");
        /// The host may take memory back by a balloon.
        balloon: Choice<Switch> = Choice::NEW, Optional("\"off\"");
        /// The host may merge pages of several guests.
        merged: Choice<Switch> = Choice::NEW, Optional("\"off\"");
        /// Each vCPU runs on one of the guest's CPUs, the first on the first, instead of on all of
        /// them.
        vcpu_pins: Choice<Switch> = Choice::NEW, Optional("\"off\"");
        /// Host CPUs of the emulator's own threads.
        emulator_cpus: Cpus = Cpus, Optional("those of the guest");
        /// Host CPUs of the threads of the disk's I/O.
        iothread_cpus: Cpus = Cpus, Optional("those of the guest");
        /// Where the disks lie. What is on devices is lost.
        pool: Worded<Pool> = Worded::new("a pool: directory, lvm:GROUP, lvm:GROUP/POOL or \
                                          devices:PATH,PATH", "lvm:data"), Optional("\"directory\"");
        /// A cloud image (qcow2 or raw, with cloud-init) to boot from, as an absolute path.
        image: Text = Text { most: 4096, lines: false, example: "/srv/images/debian-12.qcow2" }, Optional("the \
            lab's own \
            system");
        /// How a machine comes up.
        boot: Choice<Boot> = Choice::NEW, Optional("\"direct\", and \"firmware\" from an image");
        /// Connection of a libvirt on this host.
        connection: Text = Text { most: 200, lines: false, example: "qemu:///system" }, Optional("a libvirt of the lab's own");
    }
}

impl MachineKeys {
    /// Reads the section below `[guest]`.
    pub(crate) fn read_below(reader: &mut Reader<'_, '_, '_>) -> Self {
        let mut below = reader.section(NAME);
        let keys = Self::read(&mut below);
        below.finish();
        keys
    }

    /// Nothing where the shape makes no sense.
    pub(crate) fn build(self, context: &mut Context) -> Option<VmShape> {
        let begin = match self.profile {
            Some(ShapeProfile::Pureflex) => VmShape::pureflex(),
            Some(ShapeProfile::Default) | None => VmShape::default(),
        };
        let on =
            |switch: Option<Switch>, otherwise: bool| switch.map_or(otherwise, |switch| switch.0);
        let shape = VmShape {
            // The layout and [guest] say these, and the points of a plan hold them.
            vcpus: None,
            memory_mib: VmShape::default().memory_mib,
            cpu: self.cpu.unwrap_or(begin.cpu),
            disk: DiskShape {
                size_mib: self.disk_size.unwrap_or(begin.disk.size_mib),
                clone: self.clone.unwrap_or(begin.disk.clone),
                cache: self.cache.unwrap_or(begin.disk.cache),
                io: self.io.unwrap_or(begin.disk.io),
                queues: self.disk_queues.or(begin.disk.queues),
            },
            iothreads: self.iothreads.unwrap_or(begin.iothreads),
            nic: NetworkShape {
                model: begin.nic.model,
                network: self.network.unwrap_or(begin.nic.network),
                addresses: self.addresses.or(begin.nic.addresses),
                vhost: self.vhost.map(|switch| switch.0).or(begin.nic.vhost),
                queues: self.queues.unwrap_or(begin.nic.queues),
                mtu: self.mtu.unwrap_or(begin.nic.mtu),
                // [network] says it.
                coalesce: begin.nic.coalesce,
                back_end: begin.nic.back_end,
                offloads: begin.nic.offloads,
                rate_limit: begin.nic.rate_limit,
                impairment: begin.nic.impairment,
            },
            memory: MemoryShape {
                hugepages: on(self.hugepages, begin.memory.hugepages),
                locked: on(self.locked, begin.memory.locked),
                balloon: on(self.balloon, begin.memory.balloon),
                merged: on(self.merged, begin.memory.merged),
            },
            pins: Pins {
                each: on(self.vcpu_pins, begin.pins.each),
                emulator: self.emulator_cpus.unwrap_or(begin.pins.emulator),
                iothreads: self.iothread_cpus.unwrap_or(begin.pins.iothreads),
                vcpus: begin.pins.vcpus,
            },
            pool: self.pool.unwrap_or(begin.pool),
            image: self.image.map(Into::into).or(begin.image),
            boot: self.boot.or(begin.boot),
            connection: self.connection.or(begin.connection),
        };
        let problems = shape.problems();
        if problems.is_empty() {
            return Some(shape);
        }
        let span = context.spans.nearest("guest.vm");
        let message = format!("`guest.vm`: {}", problems.join("; "));
        context.refuse(
            Code::Contradiction,
            span,
            message,
            "change these keys of [guest.vm]",
        )
    }

    /// Appends the section, if the shape is not the default one.
    pub(crate) fn write_below(shape: &VmShape, out: &mut String) {
        if *shape == VmShape::default() {
            return;
        }
        out.push_str("\n[guest.vm]\n");
        let keys = Self {
            profile: None,
            cpu: Some(shape.cpu.clone()),
            disk_size: Some(shape.disk.size_mib),
            clone: Some(shape.disk.clone),
            cache: Some(shape.disk.cache),
            io: Some(shape.disk.io),
            disk_queues: shape.disk.queues,
            iothreads: Some(shape.iothreads),
            network: Some(shape.nic.network.clone()),
            addresses: shape.nic.addresses,
            vhost: shape.nic.vhost.map(Switch),
            queues: Some(shape.nic.queues),
            mtu: Some(shape.nic.mtu),
            hugepages: Some(Switch(shape.memory.hugepages)),
            locked: Some(Switch(shape.memory.locked)),
            balloon: Some(Switch(shape.memory.balloon)),
            merged: Some(Switch(shape.memory.merged)),
            vcpu_pins: Some(Switch(shape.pins.each)),
            emulator_cpus: Some(shape.pins.emulator.clone()).filter(|cpus| !cpus.is_empty()),
            iothread_cpus: Some(shape.pins.iothreads.clone()).filter(|cpus| !cpus.is_empty()),
            pool: Some(shape.pool.clone()),
            image: shape.image.as_ref().map(|path| path.display().to_string()),
            boot: shape.boot,
            connection: shape.connection.clone(),
        };
        keys.write(out);
    }
}

#[cfg(test)]
mod tests {
    use super::{super::testing::*, *};
    use crate::{GuestKind, Study};

    #[test]
    fn a_machine_is_shaped_by_its_section() {
        let study = with(
            "[guest]\nkind = \"vm\"\n[guest.vm]\nprofile = \"pureflex\"\ndisk_size \
                  = \"8GiB\"\nlocked = \"on\"\ncpu = \"Westmere\"\nnetwork \
                  = \"bridge:br0\"\naddresses = \"10.1.0.10/24\"\nvcpu_pins \
                  = \"on\"\nemulator_cpus = \"0-1\"\n",
        )
        .expect("valid");
        let shape = study.guest.vm().expect("a machine");
        assert_eq!(study.guest.kind(), GuestKind::Vm);
        assert_eq!(
            (
                shape.disk.size_mib,
                shape.disk.cache,
                shape.disk.io,
                shape.memory.locked
            ),
            (8192, DiskCache::None, DiskIo::Native, true)
        );
        assert_eq!(shape.cpu, CpuModel::Named("Westmere".to_owned()));
        assert_eq!(
            study.guest.ready_within.as_secs(),
            600,
            "machines take longer to come up"
        );
        assert_eq!(
            (shape.pins.each, shape.pins.emulator.as_slice()),
            (true, [0, 1].as_slice())
        );
        assert_eq!(shape.nic.network, Network::HostBridge("br0".to_owned()));
        let again = Study::parse("s.toml", &study.to_toml()).expect("what is written is read");
        assert_eq!(again, study);
    }

    #[test]
    fn shapes_that_make_no_sense_are_refused() {
        let texts = [
            "[guest.vm]\nio = \"native\"\n",
            "[guest.vm]\ncpu = \"'/><evil\"\n",
            "[guest.vm]\ndisk_size = \"1MiB\"\n",
            "[guest.vm]\ncache = \"fast\"\n",
        ];
        insta::assert_snapshot!(texts.map(refusal).join("\n"));
    }

    #[test]
    fn other_kinds_leave_it_aside() {
        assert!(
            with(
                "[guest]\nkind = [\"bare\", \"container\", \"vm\"]\n[guest.vm]\nclone = \"raw\"\n"
            )
            .is_ok()
        );
    }
}
