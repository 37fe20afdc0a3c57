//! Time that pages take on purpose.

use std::time::Duration;

/// Time that every page takes on purpose.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ExtraTime {
    /// CPU time that it burns.
    pub cpu: Duration,
    /// Time for which it waits without using the CPU.
    pub wait: Duration,
    /// The share of both in which it has the server for itself, 0 to 1.
    pub serial_share: f64,
    /// Pages that take this time at once, as processors of their own; others wait for one. 0 counts
    /// as 1. Files need none.
    pub processors: usize,
}
