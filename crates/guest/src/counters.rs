//! What is counted of a guest as a machine of its own: from outside, by whoever runs it, and from
//! inside, by its own kernel.

use std::collections::BTreeMap;

use rookery_stats::MachineInside;
use serde::{Deserialize, Serialize};

/// Reads the counters of one guest; may be moved to another thread. `None` while nothing is counted
/// of it.
pub type MachineProbe = Box<dyn FnMut() -> Option<MachineCounters> + Send>;

/// The counters of one guest at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachineCounters {
    /// From outside.
    pub outside: OutsideCounters,
    /// From inside; `None` while the guest's service does not answer.
    pub inside: Option<MachineInside>,
}

/// What is counted of a guest from outside.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutsideCounters {
    /// CPU time of vCPUs and emulator, us.
    pub cpu_us: u64,
    /// Of it in the host's user mode, us.
    pub user_us: u64,
    /// Of it in the host's kernel, us.
    pub system_us: u64,
    /// CPU time of each vCPU, us.
    pub vcpu_us: Vec<u64>,
    /// Time in which a vCPU was ready and did not run, all vCPUs, us.
    pub vcpu_wait_us: u64,
    /// Memory that the guest has now (balloon), bytes.
    pub memory_bytes: u64,
    /// Memory of the emulator's process, bytes.
    pub resident_bytes: u64,
    /// Its disks, by their names in the guest.
    pub disks: BTreeMap<String, DiskCounters>,
    /// Bytes that the guest received.
    pub received_bytes: u64,
    /// Bytes that the guest sent.
    pub sent_bytes: u64,
    /// Packets that were dropped on either way.
    pub dropped: u64,
}

/// I/O of one disk of a guest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskCounters {
    /// Reads.
    pub reads: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Time in reads, us.
    pub read_us: u64,
    /// Writes.
    pub writes: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// Time in writes, us.
    pub write_us: u64,
    /// Flushes.
    pub flushes: u64,
    /// Time in flushes, us.
    pub flush_us: u64,
}
