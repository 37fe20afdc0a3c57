//! What the document of a domain that runs says, beside what was asked for.

use rookery_host::io::IoLimits;
use rookery_study::vm_shape::{Network, NetworkShape};

use crate::storage::InForce;

/// libvirt's names of the limits of a disk, in the order of [`IoLimits::named`].
pub(super) const TUNES: [&str; 4] = [
    "read_iops_sec",
    "write_iops_sec",
    "read_bytes_sec",
    "write_bytes_sec",
];

/// The disk of the data.
pub(super) const DATA_TARGET: &str = "vdb";

/// What the document of a domain that runs says of the disk with this target; empty when it has
/// none.
pub(super) fn disk_of<'d>(document: &'d str, target: &str) -> &'d str {
    let target = format!("<target dev='{target}'");
    let disks = document.split("<disk ").skip(1);
    let mut disks = disks.filter_map(|text| Some(text.split_once("</disk>")?.0));
    disks
        .find(|disk| disk.contains(&target))
        .unwrap_or_default()
}

/// The limits that were asked for, beside those in the document of a disk.
pub(super) fn limits_in_force(limits: &IoLimits, document: &str) -> Vec<InForce> {
    let asked = TUNES.into_iter().zip(limits.named());
    asked
        .filter_map(|(tune, (name, asked))| {
            let (start, end) = (format!("<{tune}>"), format!("</{tune}>"));
            let value = document
                .split_once(&start)
                .and_then(|(_, rest)| rest.split_once(&end));
            let effective = match value {
                Some((value, _)) => value,
                None if document.is_empty() => "",
                None => "none",
            };
            Some(InForce::new(
                &format!("storage.{name}"),
                asked?.to_string(),
                effective,
            ))
        })
        .collect()
}

/// The interface that was asked for, beside that in the document of a domain that runs.
pub(super) fn interface_in_force(nic: &NetworkShape, document: &str) -> InForce {
    let user = nic.network == Network::User;
    let effective = match document.split_once("<interface ") {
        Some((_, rest)) => rest
            .split_once("<model type='")
            .and_then(|(_, rest)| rest.split_once('\''))
            .map_or("", |(model, _)| model),
        None if document.contains("virtio-net-pci") => "user",
        None => "",
    };
    let asked = if user { "user" } else { nic.model.name() };
    InForce::new("network.device", asked, effective)
}
