//! What is wrong with a shape, each with its help.

use std::path::PathBuf;

use super::{
    Boot, CpuModel, DiskClone, DiskIo, LEAST_MEMORY_MIB, Network, NicModel, Pool, VmShape,
};
use crate::link_shape::BackEnd;

impl VmShape {
    /// What is wrong with it, each with its help; all at once.
    #[must_use]
    pub fn problems(&self) -> Vec<String> {
        let mut problems = self.machine_problems();
        problems.extend(self.network_problems());
        problems.extend(self.disk_problems());
        problems
    }

    fn machine_problems(&self) -> Vec<String> {
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
            format!(
                "{} MiB of memory are too few: take {LEAST_MEMORY_MIB} or more",
                self.memory_mib
            ),
        );
        unless(
            self.disk.queues.is_none_or(|queues| within(queues, 64)) && within(self.nic.queues, 64),
            "a device has 1 to 64 queues".to_owned(),
        );
        unless(
            self.iothreads <= 16,
            format!(
                "{} threads for I/O are too many: take at most 16",
                self.iothreads
            ),
        );
        if let CpuModel::Named(name) = &self.cpu {
            unless(
                plain(name, 40),
                format!("`{}` is no name of a processor", name.escape_debug()),
            );
        }
        unless(
            self.pins.iothreads.is_empty() || self.iothreads > 0,
            "threads for I/O are pinned, but there are none: set iothreads".to_owned(),
        );
        if let Some(vcpus) = self.vcpus {
            unless(
                self.pins.vcpus.len() <= vcpus as usize,
                format!(
                    "{} vCPUs are pinned, but there are {vcpus}",
                    self.pins.vcpus.len()
                ),
            );
        }
        problems
    }

    fn network_problems(&self) -> Vec<String> {
        let nic = &self.nic;
        let mut problems = Vec::new();
        let mut unless = |right: bool, problem: String| {
            if !right {
                problems.push(problem);
            }
        };
        unless(
            (1280..=65521).contains(&nic.mtu),
            format!("packets of {} bytes cannot be: take 1280 to 65521", nic.mtu),
        );
        unless(
            nic.coalesce.is_none() || nic.network != Network::User,
            "a network in user mode has no interface on the host that could gather packets"
                .to_owned(),
        );
        unless(
            nic.back_end == BackEnd::Shared || nic.network == Network::Lab,
            "tiers have a network of their own beside the lab's own alone: with \
             `network.back_end` leave out `network` in [guest.vm], and `device = \"user\"`"
                .to_owned(),
        );
        unless(
            nic.network != Network::User || (nic.offloads.is_none() && !nic.has_disciplines()),
            "a network in user mode has no interface on the host that could be limited or leave \
             work to another"
                .to_owned(),
        );
        unless(
            nic.model == NicModel::Virtio || nic.offloads.is_none(),
            "an e1000 interface is emulated whole, and leaves neither checksums nor cutting to \
             the host: leave `tso` and `checksum` out, or take virtio"
                .to_owned(),
        );
        let bridged = matches!(nic.network, Network::HostBridge(_));
        if let Network::HostBridge(name) = &nic.network {
            unless(
                plain(name, 15),
                format!("`{}` is no name of a bridge", name.escape_debug()),
            );
            unless(
                nic.addresses.is_some(),
                "guests on a bridge of the host need addresses: say which, as in 192.168.1.50/24"
                    .to_owned(),
            );
        }
        unless(
            bridged || nic.addresses.is_none(),
            "only guests on a bridge of the host are given addresses: leave them out".to_owned(),
        );
        if nic.network == Network::User {
            unless(
                nic.mtu <= 1500 && nic.queues == 1 && nic.vhost.is_none(),
                "a network in user mode has one queue, no vhost, and packets of at most 1500 bytes"
                    .to_owned(),
            );
        }
        if nic.model == NicModel::E1000 {
            unless(
                nic.network != Network::User && nic.queues == 1 && nic.vhost != Some(true),
                "an e1000 interface is on a bridge, has one queue, and no vhost".to_owned(),
            );
        }
        unless(
            nic.model == NicModel::Virtio || self.image.is_some(),
            "the lab's own system has no driver for an e1000 interface, for its kernel is the one \
             that Debian has for clouds: name an `image` whose kernel has one, or take virtio"
                .to_owned(),
        );
        if let Some(uri) = &self.connection {
            unless(
                is_local(uri),
                format!(
                    "`{}` is no connection to a libvirt on this host: take one such as \
                     qemu:///system",
                    uri.escape_debug()
                ),
            );
            unless(
                nic.network != Network::Lab,
                "the lab's own network is not within reach of another libvirt: take a bridge of \
                 the host, or user mode"
                    .to_owned(),
            );
        }
        problems
    }

    fn disk_problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        let mut unless = |right: bool, problem: String| {
            if !right {
                problems.push(problem);
            }
        };
        unless(
            (256..=4 << 20).contains(&self.disk.size_mib),
            format!(
                "a disk of {} MiB cannot be: take 256 to 4194304",
                self.disk.size_mib
            ),
        );
        unless(
            self.disk.io != DiskIo::Native || self.disk.cache.is_direct(),
            format!(
                "io = \"native\" needs cache = \"none\" or \"directsync\", and not \"{}\"",
                self.disk.cache.word()
            ),
        );
        let raw = matches!(self.disk.clone, DiskClone::Raw);
        match &self.pool {
            Pool::Directory => {}
            Pool::Lvm(name) => {
                let (group, pool) = name.split_once('/').unwrap_or((name, "pool"));
                unless(
                    plain(group, 40) && plain(pool, 40),
                    format!(
                        "`{}` is no volume group: write group, or group/pool",
                        name.escape_debug()
                    ),
                );
            }
            Pool::Devices(devices) => {
                let right = |path: &PathBuf| {
                    path.starts_with("/dev")
                        && !path.components().any(|part| part.as_os_str() == "..")
                };
                unless(
                    !devices.is_empty() && devices.iter().all(right),
                    "devices are named by their paths below /dev, one for each guest".to_owned(),
                );
                let mut sorted = devices.clone();
                sorted.sort();
                sorted.dedup();
                unless(
                    sorted.len() == devices.len(),
                    "a device belongs to one guest alone".to_owned(),
                );
            }
        }
        unless(
            self.pool == Pool::Directory || raw,
            "volumes and devices hold raw copies: set clone = \"raw\"".to_owned(),
        );
        let boots = self.boots();
        unless(
            self.image.is_some() == (boots != Boot::Direct),
            match self.image {
                Some(_) => {
                    "an image boots by firmware: leave boot out, or take \"firmware\" or \"efi\""
                        .to_owned()
                }
                None => "the lab's own system boots directly: leave boot out, or name an image"
                    .to_owned(),
            },
        );
        if let Some(image) = &self.image {
            unless(
                image.is_absolute(),
                format!(
                    "{} is not absolute: name the image by its whole path",
                    image.display()
                ),
            );
        }
        problems
    }
}

/// Whether it is a name that needs no quotes anywhere.
fn plain(name: &str, most: usize) -> bool {
    let inside = name
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
    !name.is_empty() && name.len() <= most && inside && !name.starts_with(['-', '.'])
}

/// Whether a connection leads to this host: `driver:///path`, with parameters.
fn is_local(uri: &str) -> bool {
    let Some((driver, rest)) = uri.split_once("://") else {
        return false;
    };
    let word = |text: &str, more: &str| {
        text.chars()
            .all(|c| c.is_ascii_alphanumeric() || more.contains(c))
    };
    !driver.is_empty() && word(driver, "+") && rest.starts_with('/') && word(rest, "/-_.=?&")
}
