//! What a virtual machine used: as it is counted from outside, and as its own kernel counts it.

use serde::{Deserialize, Serialize};

/// One look at one virtual machine. Times count from the machine's start, or its boot.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MachineLook {
    /// Name of the guest.
    pub guest: String,
    /// When it was asked, seconds since the common start of all users.
    pub at_s: f64,
    /// From outside.
    pub outside: MachineOutside,
    /// From inside; `None` where the guest's service did not answer.
    pub inside: Option<MachineInside>,
}

/// What the host's libvirt counts of a machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachineOutside {
    /// CPU time of vCPUs and emulator, us.
    pub cpu_us: u64,
    /// CPU time of all vCPU threads, us.
    pub vcpu_us: u64,
    /// Time in which a vCPU was ready and did not run, all vCPUs, us.
    pub vcpu_wait_us: u64,
    /// Memory that the balloon leaves the guest, bytes.
    pub balloon_bytes: u64,
    /// Memory of the emulator's process, bytes.
    pub resident_bytes: u64,
    /// Reads from all its disks.
    pub reads: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Writes.
    pub writes: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// Flushes.
    pub flushes: u64,
    /// Time in all of these, us.
    pub disk_us: u64,
    /// Bytes that the guest received.
    pub received_bytes: u64,
    /// Bytes that the guest sent.
    pub sent_bytes: u64,
    /// Packets that were dropped on either way.
    pub dropped: u64,
}

/// What the kernel of a machine counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachineInside {
    /// Since its boot, by its own clock, us.
    pub uptime_us: u64,
    /// CPU time in programs (nice included), all vCPUs, us.
    pub user_us: u64,
    /// CPU time in its kernel (interrupts included), us.
    pub system_us: u64,
    /// Time in which a vCPU had nothing to do, us.
    pub idle_us: u64,
    /// Time in which a vCPU waited for its disk, us.
    pub iowait_us: u64,
    /// Time in which a vCPU was ready and the host ran something else, us; TCG does not tell, and
    /// there it is 0.
    pub steal_us: u64,
    /// Memory that it has, bytes.
    pub memory_bytes: u64,
    /// Memory that is to be had without swapping, bytes.
    pub available_bytes: u64,
    /// Time in which some task waited for a CPU, us; `None` where its kernel does not count.
    pub cpu_pressure_us: Option<u64>,
    /// Time in which some task waited for memory, us.
    pub memory_pressure_us: Option<u64>,
    /// Time in which some task waited for I/O, us.
    pub io_pressure_us: Option<u64>,
}
