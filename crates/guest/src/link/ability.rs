//! Whether this host can link guests as a study asks for.

use std::{io, path::Path};

use rookery_host::{RealHost, find_program};
use rookery_study::{LabShape, LinkShape, vm_shape::NetworkShape};

use super::{AskedLink, machine::try_tap, with_link};
use crate::host_check::Lack;

/// What packets of machines need to be handled by the kernel.
const VHOST: &str = "/dev/vhost-net";

/// What this host lacks to link guests of such a shape, with their packets handled on these CPUs.
/// Nothing of the host is changed: a link is made between two network namespaces that have no
/// names, and goes with them.
pub(crate) fn missing(shape: &LabShape, packet_cpus: &[u32]) -> Vec<Lack> {
    match shape {
        LabShape::Container(shape) => missing_for_link(AskedLink { shape, packet_cpus }),
        LabShape::Vm(shape) => missing_for_machine(&shape.nic, packet_cpus),
        LabShape::Bare | LabShape::Fake | LabShape::External => Vec::new(),
    }
}

fn missing_for_machine(nic: &NetworkShape, packet_cpus: &[u32]) -> Vec<Lack> {
    if nic.vhost == Some(true) && !Path::new(VHOST).exists() {
        return vec![Lack::new(
            format!("there is no {VHOST}"),
            "modprobe vhost_net, or leave packets to the emulator: `device = \"virtio\"` in \
             [network]",
        )];
    }
    // By `ethtool` is read back what the emulator set.
    let by_emulator = nic.coalesce.is_some() || !nic.offloads.is_none();
    let missing = missing_programs([
        (by_emulator, "ethtool", "ethtool"),
        (nic.has_disciplines(), "tc", "iproute2"),
    ]);
    let asks = !packet_cpus.is_empty() || nic.has_disciplines();
    if !missing.is_empty() || !asks || !rustix::process::geteuid().is_root() {
        // Without root there are no machines on a bridge at all.
        return missing;
    }
    let lack = |error: io::Error| {
        let what = format!(
            "the interface of a machine on the host cannot be as [network] asks for: {}",
            first_words(&error)
        );
        let help = "load what is refused (for delay and loss modprobe sch_netem), build a kernel \
                    that has it, or leave these settings of [network] out";
        Lack::new(what, help)
    };
    try_tap(&RealHost, nic, packet_cpus)
        .err()
        .map(lack)
        .into_iter()
        .collect()
}

/// What is lacking of programs, each with whether it is needed, and its package.
fn missing_programs<const N: usize>(programs: [(bool, &str, &str); N]) -> Vec<Lack> {
    programs
        .into_iter()
        .filter(|(needed, program, _)| *needed && find_program(program).is_none())
        .map(|(_, program, package)| {
            let what = format!("there is no `{program}`");
            Lack::new(what, format!("apt install {package}"))
        })
        .collect()
}

fn missing_for_link(asked: AskedLink<'_>) -> Vec<Lack> {
    let link = asked.shape;
    if *link == LinkShape::default() && asked.packet_cpus.is_empty() {
        return Vec::new();
    }
    let missing = missing_programs([
        (
            !link.offloads.is_none() || link.coalesce.is_some(),
            "ethtool",
            "ethtool",
        ),
        (
            link.rate_limit.is_some() || !link.impairment.is_none(),
            "tc",
            "iproute2",
        ),
    ]);
    if !missing.is_empty() || !rustix::process::geteuid().is_root() {
        // Without root there are no containers at all.
        return missing;
    }
    with_link(&RealHost, Some(asked), |_| ())
        .err()
        .map(|error| {
            let device = link.device.name();
            let what = format!(
                "a {device} link such as [network] asks for cannot be made: {}",
                first_words(&error)
            );
            let kind = link.device.kind();
            let help = format!(
                "load what is refused (modprobe {kind}; for delay and loss modprobe sch_netem), \
                 build a kernel that has it, or write `device = \"veth\"` in [network] without \
                 these settings (no Linux up to 6.18 gathers packets on such links: of machines it \
                 does)"
            );
            Lack::new(what, help)
        })
        .into_iter()
        .collect()
}

/// What the program that was asked said, without what it was told.
fn first_words(error: &io::Error) -> String {
    let said = error.to_string();
    let words = said.split("; it was told:").next().unwrap_or_default();
    words.lines().collect::<Vec<_>>().join(" ")
}
