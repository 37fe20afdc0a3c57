//! `[guest]`: what a guest is.

use std::time::Duration;

use crate::{
    grammar::{
        Context, Reader, SectionInfo, keys,
        kinds::{Choice, Memory, PinKind, SwapUse, Time, Whole},
    },
    names::Named,
    problem::Code,
    sections::machine::{self, MachineKeys},
    values::{CpuTime, GuestKind, GuestShape, LabShape, Pin, Swap, SwapKind},
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
        /// Period of the cap: a guest that has used up its part of a period stands still to its
        /// end.
        cpu_period: Time = Time { min: Duration::from_millis(1), max: Duration::from_secs(1), example: "100ms" }, Optional("20ms, and 100ms where guests have less than a twentieth of a CPU");
        /// Weight of a guest where guests want more CPU time than there is: one of 300 gets three
        /// times what one of 100 gets (bare guests have it where root runs them).
        cpu_weight: Whole<u32> = Whole { min: 1, max: MOST_WEIGHT }, Optional("100, or by the vCPUs where `cpu` is \"share\"");
        /// Memory limit of a guest (bare guests are not held to it).
        memory: Memory = Memory, Default("\"256MiB per guest\"");
        /// Where memory of a guest goes that does not fit (containers; machines to a file, which is
        /// a disk of theirs).
        swap: SwapUse = SwapUse, Default("\"none\"");
        /// How guests are laid on the guest CPUs.
        pin: PinKind = PinKind, Default("\"spread\"");
        /// Most processes and threads of a guest (bare guests are not held to it).
        pids: Whole<u32> = Whole { min: 16, max: 1_000_000 }, Default("2048");
        /// Deadline for the first healthy answer of a guest.
        ready_within: Time = Time { min: Duration::from_millis(100), max: Duration::from_secs(3600), example: "30s" }, Optional("1min, and 10min for machines");
    }
}

/// Largest weight of a control group.
const MOST_WEIGHT: u32 = 10_000;

/// Containers swap to what the host has, machines to a disk of their own.
fn check_swap(swap: Swap, kind: GuestKind, context: &mut Context) -> Option<()> {
    let device = match swap {
        Swap::None => return Some(()),
        Swap::Device { kind, .. } => kind,
    };
    let (message, help) = match (kind, device) {
        (GuestKind::Container, _) | (GuestKind::Vm, SwapKind::File) => return Some(()),
        (GuestKind::Vm, SwapKind::Zram) => (
            "`guest.swap` is \"zram\", and the system of machines has no such devices".to_owned(),
            "write `swap = \"file\"`: a disk of its own for each machine",
        ),
        (GuestKind::Bare | GuestKind::Fake | GuestKind::External, _) => (
            format!("`guest.swap` is that of containers and machines, and these are {kind} guests"),
            "remove it, or write `kind = \"container\"`",
        ),
    };
    let span = context.spans.nearest("guest.swap");
    context.refuse(Code::Contradiction, span, message, help)
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
        let swap = self.swap?;
        check_swap(swap, kind, context)?;
        Some(GuestShape {
            lab: match kind {
                GuestKind::Vm => LabShape::Vm(Box::new(vm)),
                other => other.into(),
            },
            cpu: cpu?,
            cpu_weight: self.cpu_weight,
            // [network] says it.
            packet_cpus: None,
            memory: self.memory?,
            swap,
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
            cpu_weight: guest.cpu_weight,
            memory: Some(guest.memory.clone()),
            swap: Some(guest.swap),
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
    fn weights_are_those_of_control_groups() {
        let weight = |line: &str| {
            let study = with(&format!("[guest]\n{line}\n")).expect("valid");
            let again = crate::Study::parse("again", &study.to_toml());
            assert_eq!(again.unwrap_or_else(|problems| panic!("{problems}")), study);
            study.guest.cpu_weight
        };
        assert_eq!(weight(""), None);
        assert_eq!(weight("cpu_weight = 300"), Some(300));
        assert_eq!(weight("cpu = \"share\"\ncpu_weight = 1"), Some(1));
        for bad in [0, 10_001] {
            let told = refusal(&format!("[guest]\ncpu_weight = {bad}\n"));
            assert!(told.starts_with("study::out-of-range"), "{told}");
        }
    }

    #[test]
    fn containers_and_machines_swap() {
        let container = "[guest]\nkind = \"container\"\nswap = \"zram 64MiB\"\n";
        let study = with(container).expect("valid");
        assert_eq!(study.guest.swap.to_string(), "zram 64MiB");
        let again = crate::Study::parse("again", &study.to_toml());
        assert_eq!(again.unwrap_or_else(|problems| panic!("{problems}")), study);
        assert_eq!(with("").expect("valid").guest.swap, Swap::None);
        let lines =
            |kind: &str, swap: &str| format!("[guest]\nkind = \"{kind}\"\nswap = \"{swap}\"\n");
        for (kind, swap) in [("bare", "file"), ("fake", "file"), ("vm", "zram")] {
            let told = refusal(&lines(kind, swap));
            assert!(
                told.starts_with("study::contradiction: `guest.swap`"),
                "{told}"
            );
        }
        for (kind, swap) in [("bare", "none"), ("vm", "file 1GiB")] {
            assert!(with(&lines(kind, swap)).is_ok(), "{kind} {swap}");
        }
    }

    #[test]
    fn kinds_that_do_not_exist_are_refused() {
        assert!(
            refusal("[guest]\nkind = \"docker\"\n")
                .starts_with("study::unknown-choice: `guest.kind` cannot be `docker`")
        );
    }
}
