//! `[guest]`: what a guest is.

use std::time::Duration;

use crate::{
    grammar::{
        Context, Reader, SectionInfo, keys,
        kinds::{Choice, Memory, PinKind, Time, Whole},
    },
    names::Named,
    problem::Code,
    sections::machine::{self, MachineKeys},
    values::{CpuTime, GuestKind, GuestShape, LabShape, Pin},
};

pub(super) const SECTION: SectionInfo = SectionInfo {
    name: "guest",
    many: false,
    meaning: "What a guest is.",
    keys: GuestKeys::keys,
    below: &[machine::BELOW],
};

impl Named for GuestKind {
    const NAMES: &'static [(&'static str, Self, &'static str)] = &[
        (
            "bare",
            Self::Bare,
            "a process group on a loopback address; needs no root, whole vCPUs only",
        ),
        (
            "container",
            Self::Container,
            "an OCI container run by runc; needs root",
        ),
        (
            "vm",
            Self::Vm,
            "a virtual machine on libvirt and QEMU, with KVM where it works; needs root",
        ),
        ("fake", Self::Fake, "in name only, for dry runs"),
    ];
    const MEANT: &'static [(&'static str, &'static str)] = &[
        ("docker", "container"),
        ("podman", "container"),
        ("lxc", "container"),
        ("runc", "container"),
        ("oci", "container"),
        ("kvm", "vm"),
        ("qemu", "vm"),
        ("libvirt", "vm"),
        ("machine", "vm"),
        ("process", "bare"),
        ("host", "bare"),
        ("none", "bare"),
    ];
}

/// The names of what vCPUs are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CpuRule {
    Cap,
    Share,
}

impl Named for CpuRule {
    const NAMES: &'static [(&'static str, Self, &'static str)] = &[
        ("cap", Self::Cap, "the most that a guest gets, by a quota"),
        (
            "share",
            Self::Share,
            "its part where guests want more than there is, by a weight, as hypervisors give it; \
             alone, a guest uses all of the CPUs that it is pinned to, as many as it has vCPUs, \
             rounded up",
        ),
    ];
}

impl Named for Pin {
    const NAMES: &'static [(&'static str, Self, &'static str)] = &[
        (
            "spread",
            Self::Spread,
            "guests are dealt over the guest CPUs in turn",
        ),
        ("pack", Self::Pack, "guests fill one CPU before the next"),
        ("none", Self::None, "every guest may use all guest CPUs"),
        (
            "socket",
            Self::Socket,
            "guests fill one socket before the next, and the first threads of its cores before the \
             second ones; memory is bound to the nodes of the CPUs",
        ),
        (
            "node",
            Self::Node,
            "guests are dealt over the memory nodes in turn, each within one node, first threads \
             of cores first; memory is bound to the node",
        ),
        (
            "diagonal",
            Self::Diagonal,
            "as node, and each guest one step further along the node's CPUs, so that neighbours in \
             number are taken last",
        ),
    ];
}

keys! {
    /// Keys of `[guest]`.
    GuestKeys {
        /// Kind of guest.
        kind: Choice<GuestKind> = Choice::NEW, Default("\"bare\"");
        /// What the vCPUs of a guest are in CPU time (bare guests are not held to them).
        cpu: Choice<CpuRule> = Choice::NEW, Default("\"cap\"");
        /// Period of the cap: a guest that has used up its part of a period stands still to its end.
        cpu_period: Time = Time { min: Duration::from_millis(1), max: Duration::from_secs(1), example: "100ms" }, Optional("20ms, and 100ms where guests have less than a twentieth of a CPU");
        /// Memory limit of a guest (bare guests are not held to it).
        memory: Memory = Memory, Default("\"256MiB per guest\"");
        /// How guests are laid on the guest CPUs.
        pin: PinKind = PinKind, Default("\"spread\"");
        /// Most processes and threads of a guest (bare guests are not held to it).
        pids: Whole<u32> = Whole { min: 16, max: 1_000_000 }, Default("2048");
        /// Deadline for the first healthy answer of a guest.
        ready_within: Time = Time { min: Duration::from_millis(100), max: Duration::from_secs(3600), example: "30s" }, Optional("1min, and 10min for machines");
    }
}

/// Until a guest answers: its servers start beside others.
const READY_WITHIN: Duration = Duration::from_secs(60);
/// A machine boots first, and where the emulator translates, it takes its time.
const MACHINE_READY_WITHIN: Duration = Duration::from_secs(600);

/// Reads the section with that of its machines; nothing where it has a problem.
pub(crate) fn read_guest(mut reader: Reader<'_, '_, '_>) -> Option<GuestShape> {
    let keys = GuestKeys::read(&mut reader);
    let machine = MachineKeys::read_below(&mut reader);
    let guest = keys.build(machine, reader.context);
    reader.finish();
    guest
}

impl GuestKeys {
    fn build(self, machine: MachineKeys, context: &mut Context) -> Option<GuestShape> {
        let vm = machine.build(context);
        let kind = self.kind?;
        let ready_within = match kind {
            GuestKind::Vm => MACHINE_READY_WITHIN,
            GuestKind::Bare | GuestKind::Container | GuestKind::Fake | GuestKind::External => {
                READY_WITHIN
            }
        };
        let vm = vm?;
        let cpu = match (self.cpu?, self.cpu_period) {
            (CpuRule::Cap, period) => Some(CpuTime::Cap { period }),
            (CpuRule::Share, None) => Some(CpuTime::Share),
            (CpuRule::Share, Some(_)) => {
                let span = context.spans.nearest("guest.cpu_period");
                let message = "`guest.cpu_period` is that of a cap, and `guest.cpu` is \"share\"";
                context.refuse(Code::Contradiction, span, message, "remove one of the two")
            }
        };
        Some(GuestShape {
            lab: match kind {
                GuestKind::Vm => LabShape::Vm(Box::new(vm)),
                other => other.into(),
            },
            cpu: cpu?,
            // [network] says it.
            packet_cpus: None,
            memory: self.memory?,
            pin: self.pin?,
            pids: self.pids?,
            ready_within: self.ready_within.unwrap_or(ready_within),
        })
    }

    /// What of them is said of a system that runs already.
    pub(crate) fn of_found(self) -> Self {
        Self {
            ready_within: self.ready_within,
            ..Self::default()
        }
    }

    pub(crate) fn from_shape(guest: &GuestShape) -> Self {
        Self {
            kind: Some(guest.kind()),
            cpu: Some(match guest.cpu {
                CpuTime::Cap { .. } => CpuRule::Cap,
                CpuTime::Share => CpuRule::Share,
            }),
            cpu_period: match guest.cpu {
                CpuTime::Cap { period } => period,
                CpuTime::Share => None,
            },
            memory: Some(guest.memory.clone()),
            pin: Some(guest.pin.clone()),
            pids: Some(guest.pids),
            ready_within: Some(guest.ready_within),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{super::testing::*, *};

    #[test]
    fn the_default_guest_needs_nothing() {
        let guest = with("").expect("valid").guest;
        assert_eq!(
            (
                guest.kind(),
                guest.pin.name(),
                guest.pids,
                guest.ready_within.as_secs()
            ),
            (GuestKind::Bare, "spread", 2048, 60)
        );
    }

    #[test]
    fn kinds_that_do_not_exist_are_refused() {
        assert!(
            refusal("[guest]\nkind = \"docker\"\n")
                .starts_with("study::unknown-choice: `guest.kind` cannot be `docker`")
        );
    }
}
