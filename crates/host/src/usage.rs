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

/// Reads the usage of one subject; may be moved to a sampler's thread. `None` when the subject is gone.
pub type UsageProbe = Box<dyn FnMut() -> Option<Usage> + Send>;
