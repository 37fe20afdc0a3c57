//! Where sampling threads run.

use rustix::thread::{CpuSet, sched_setaffinity};

/// Keep this thread, and what it starts, on these CPUs (the driver's): sampling must not take time
/// from the guests. Where it cannot be pinned it is a small disturbance, not an error.
pub(crate) fn stay_on(cpus: &[u32]) {
    let _ = sched_setaffinity(None, &cpu_mask(cpus));
}

/// The CPUs as the kernel takes them; numbers beyond its mask are left out.
#[must_use]
pub fn cpu_mask(cpus: &[u32]) -> CpuSet {
    let mut mask = CpuSet::new();
    for cpu in cpus
        .iter()
        .filter_map(|cpu| usize::try_from(*cpu).ok())
        .filter(|cpu| *cpu < CpuSet::MAX_CPU)
    {
        mask.set(cpu);
    }
    mask
}
