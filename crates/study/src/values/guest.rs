//! What a guest is: its kind, its shape, and where its vCPUs are.

use std::{fmt, time::Duration};

use serde::{Deserialize, Serialize};

use crate::{
    Amount,
    link_shape::{LinkShape, PacketCpus},
    names::Named,
    time_text::plain_time,
    values::swap::Swap,
    vm_shape::VmShape,
};

/// The guest section.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GuestShape {
    /// Kind of guest, with what all guests of that kind have in common.
    pub lab: LabShape,
    /// What its vCPUs are in CPU time (not enforced by `bare`).
    #[serde(default)]
    pub cpu: CpuTime,
    /// Its weight where guests want more CPU time than there is, 1 to 10,000, as version 2 of
    /// control groups counts it; `None` = as the kernel has it, or by its vCPUs where they are
    /// shares.
    #[serde(default)]
    pub cpu_weight: Option<u32>,
    /// CPUs on which packets of its link are handled (containers and machines); `None` = as the
    /// kernel has it.
    #[serde(default)]
    pub packet_cpus: Option<PacketCpus>,
    /// Memory limit in MiB (not enforced by `bare`).
    pub memory: Amount,
    /// Where its memory goes that does not fit into the limit (containers and machines).
    #[serde(default)]
    pub swap: Swap,
    /// How vCPUs are laid on the guest CPUs.
    pub pin: Pinning,
    /// Largest number of processes and threads of a guest (not enforced by `bare`).
    pub pids: u32,
    /// Deadline for the first healthy answer.
    pub ready_within: Duration,
}

impl GuestShape {
    /// Kind of guest.
    #[must_use]
    pub fn kind(&self) -> GuestKind {
        self.lab.kind()
    }

    /// Whether a guest gets no more CPU time than its vCPUs.
    #[must_use]
    pub fn caps_cpu_time(&self) -> bool {
        matches!(self.kind(), GuestKind::Container | GuestKind::Vm) && self.cpu != CpuTime::Share
    }

    /// The CPUs on which packets of a guest's link are handled, of a guest that runs on the CPUs
    /// `own`, where all guests of the trial together have `all`; none = as the kernel has it.
    #[must_use]
    pub fn packets_on(&self, own: &[u32], all: &[u32]) -> CpuSet {
        let asked = self.packet_cpus.as_ref();
        asked.map_or_else(CpuSet::new, |asked| asked.resolve(own, all))
    }

    /// The shape of guests that are machines; nothing for other kinds.
    #[must_use]
    pub fn vm(&self) -> Option<&VmShape> {
        match &self.lab {
            LabShape::Vm(shape) => Some(shape),
            LabShape::Bare | LabShape::Container(_) | LabShape::Fake | LabShape::External => None,
        }
    }
}

/// What the vCPUs of a guest are in CPU time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CpuTime {
    /// The most that it gets in every period.
    Cap {
        /// The period; `None` = chosen.
        period: Option<Duration>,
    },
    /// Its proportion where others want CPU time, too.
    Share,
}

impl fmt::Display for CpuTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cap { period: None } => f.write_str("capped at their vCPUs"),
            Self::Cap {
                period: Some(period),
            } => write!(
                f,
                "capped at their vCPUs in periods of {}",
                plain_time(*period)
            ),
            Self::Share => f.write_str("sharing CPU time by their vCPUs"),
        }
    }
}

impl Default for CpuTime {
    fn default() -> Self {
        Self::Cap { period: None }
    }
}

/// Kinds of guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GuestKind {
    /// A process group on a loopback address of its own.
    Bare,
    /// An OCI container run by runc.
    Container,
    /// A virtual machine on libvirt and QEMU.
    Vm,
    /// A guest in name only, for tests and dry runs.
    Fake,
    /// A system that was not made here: it is found running. A study has it by its stack.
    External,
}

impl GuestKind {
    /// As it is written in a study.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Bare => "bare",
            Self::Container => "container",
            Self::Vm => "vm",
            Self::Fake => "fake",
            Self::External => "external",
        }
    }
}

impl fmt::Display for GuestKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The guests of a lab: their kind, with what all of them have in common.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", from = "StoredLabShape")]
pub enum LabShape {
    /// Process groups.
    Bare,
    /// Containers that are linked to the lab's bridge so.
    Container(LinkShape),
    /// Guests in name only.
    Fake,
    /// Systems that run already.
    External,
    /// Virtual machines of this shape.
    Vm(Box<VmShape>),
}

/// A shape as runs have it on file: earlier releases name a container by its kind
/// alone.
#[derive(Deserialize)]
#[serde(untagged)]
enum StoredLabShape {
    Kind(GuestKind),
    Container { container: LinkShape },
    Vm { vm: Box<VmShape> },
}

impl From<StoredLabShape> for LabShape {
    fn from(stored: StoredLabShape) -> Self {
        match stored {
            StoredLabShape::Kind(kind) => kind.into(),
            StoredLabShape::Container { container } => Self::Container(container),
            StoredLabShape::Vm { vm } => Self::Vm(vm),
        }
    }
}

impl LabShape {
    /// The kind of its guests.
    #[must_use]
    pub fn kind(&self) -> GuestKind {
        match self {
            Self::Bare => GuestKind::Bare,
            Self::Container(_) => GuestKind::Container,
            Self::Fake => GuestKind::Fake,
            Self::External => GuestKind::External,
            Self::Vm(_) => GuestKind::Vm,
        }
    }
}

/// The default of each kind.
impl From<GuestKind> for LabShape {
    fn from(kind: GuestKind) -> Self {
        match kind {
            GuestKind::Bare => Self::Bare,
            GuestKind::Container => Self::Container(LinkShape::default()),
            GuestKind::Fake => Self::Fake,
            GuestKind::External => Self::External,
            GuestKind::Vm => Self::Vm(Box::default()),
        }
    }
}

/// Placement of vCPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pin {
    /// Guests are dealt over the guest CPUs round robin.
    Spread,
    /// Guests fill one CPU before the next.
    Pack,
    /// Every guest may use all guest CPUs.
    None,
    /// Guests fill one socket before the next.
    Socket,
    /// Guests are dealt over the memory nodes in turn.
    Node,
    /// As `Node`, and with each guest one step further along the CPUs of the node.
    Diagonal,
}

/// Where guests are pinned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Pinning {
    /// As a policy lays them.
    Policy(Pin),
    /// The CPUs of each guest; memory is bound to their nodes.
    Table(Vec<CpuSet>),
}

impl Pinning {
    /// Whether guests are bound to the memory nodes of their CPUs.
    #[must_use]
    pub fn binds_memory(&self) -> bool {
        match self {
            Self::Policy(pin) => pin.binds_memory(),
            Self::Table(_) => true,
        }
    }

    /// In a word: the name of the policy, or `table`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Policy(pin) => Named::name(*pin),
            Self::Table(_) => "table",
        }
    }
}

impl Pin {
    /// Whether guests are bound to the memory nodes of their CPUs.
    #[must_use]
    pub fn binds_memory(self) -> bool {
        matches!(self, Self::Socket | Self::Node | Self::Diagonal)
    }
}

/// CPU numbers, ascending, without duplicates.
pub type CpuSet = Vec<u32>;

/// vCPUs in thousandths, so that 0.25 is exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Vcpus(pub u32);

impl Vcpus {
    /// As a number of CPUs.
    #[must_use]
    pub fn cpus(self) -> f64 {
        f64::from(self.0) / 1000.0
    }

    /// Whole CPUs that are needed to hold it.
    #[must_use]
    pub fn whole_cpus(self) -> u32 {
        self.0.div_ceil(1000)
    }
}

impl std::fmt::Display for Vcpus {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.cpus())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn containers_of_earlier_runs_have_the_usual_link() {
        let read = |text: &str| serde_json::from_str::<LabShape>(text).expect("a shape");
        assert_eq!(
            read("\"container\""),
            LabShape::Container(LinkShape::default())
        );
        assert_eq!(read("\"bare\""), LabShape::Bare);
        assert_eq!(read("{\"vm\":{\"memory_mib\":128}}").kind(), GuestKind::Vm);
        let jumbo = LabShape::Container(LinkShape {
            mtu: 9000,
            ..LinkShape::default()
        });
        let text = serde_json::to_string(&jumbo).expect("plain data");
        assert_eq!(read(&text), jumbo);
    }
}
