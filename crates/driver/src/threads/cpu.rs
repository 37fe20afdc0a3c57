//! CPU time of a driver thread.

use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

use crate::clock::{Clock, Nanos};

/// CPU time of this thread and the time that it waited for a CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuUse {
    pub(crate) ran: Nanos,
    pub(crate) waited: Nanos,
    pub(crate) wall: Nanos,
}

impl CpuUse {
    pub(super) fn now(clock: Clock) -> Self {
        let ran = clock_gettime(ClockId::ThreadCPUTime);
        Self {
            ran: ran.tv_sec.cast_unsigned() * 1_000_000_000 + ran.tv_nsec.cast_unsigned(),
            waited: waited().unwrap_or(0),
            wall: clock.now(),
        }
    }

    pub(super) fn since(self, earlier: Self) -> Self {
        Self {
            ran: self.ran.saturating_sub(earlier.ran),
            waited: self.waited.saturating_sub(earlier.waited),
            wall: self.wall.saturating_sub(earlier.wall),
        }
    }

    /// Adds what another thread used.
    pub(crate) fn add(&mut self, other: Self) {
        self.ran += other.ran;
        self.waited += other.waited;
        self.wall += other.wall;
    }
}

/// Second field of schedstat; kernels without it tell nothing, and then nothing is claimed.
fn waited() -> Option<Nanos> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().nth(1)?.parse().ok()
}
