//! What something used of this machine.

/// CPU time, memory and I/O of a guest, a process group or the host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// CPU time since its start, us.
    pub cpu_us: u64,
    /// Memory now, bytes.
    pub memory_bytes: u64,
    /// Requests to block devices since its start; `None` where nobody counts them.
    pub io: Option<IoUsage>,
    /// Where the CPU time went; `None` where nobody tells.
    pub split: Option<CpuSplit>,
    /// Time for which its CPUs stood still because it had used up its quota, us, summed over CPUs;
    /// `None` where nobody counts it.
    pub throttled_us: Option<u64>,
}

/// Where CPU time went since a start, in parts that add up to the whole, us.
///
/// Of processes and containers there are `user` and `system`; of a virtual machine there are
/// `guest`, `system` and `emulator`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuSplit {
    /// In programs.
    pub user_us: u64,
    /// In the host's kernel on their behalf; of a virtual machine: on behalf of its vCPUs (exits,
    /// KVM itself).
    pub system_us: u64,
    /// In the guest's own code, its kernel included. Under KVM what the processor spent in guest
    /// mode; under TCG the vCPU threads in user mode, which translate the guest's code and execute
    /// what came out: there the guest cannot be told from its translation.
    pub guest_us: u64,
    /// All else of the emulator: its other threads (disk, network, timers), and devices that a vCPU
    /// thread under KVM emulates itself.
    pub emulator_us: u64,
}

impl CpuSplit {
    /// The larger of both, part by part: counters whose parts are taken from several files at
    /// slightly different moments must not go back.
    #[must_use]
    pub fn at_least(self, before: Self) -> Self {
        Self {
            user_us: self.user_us.max(before.user_us),
            system_us: self.system_us.max(before.system_us),
            guest_us: self.guest_us.max(before.guest_us),
            emulator_us: self.emulator_us.max(before.emulator_us),
        }
    }
}

/// Requests to block devices, since a start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IoUsage {
    /// Reads.
    pub reads: u64,
    /// Writes.
    pub writes: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub written_bytes: u64,
}

/// Reads the usage of one subject; may be moved to a sampler's thread. `None` when the subject is
/// gone.
pub type UsageProbe = Box<dyn FnMut() -> Option<Usage> + Send>;
