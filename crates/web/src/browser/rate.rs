//! The most that one user may receive.

use std::cell::Cell;

use rookery_driver::Nanos;

/// Receives stop so often in a second that each takes a twentieth of what is allowed.
const PER_SECOND: u64 = 20;

/// A schedule of receiving: at no moment more than the rate times the time since the begin. It is
/// one for all connections of a user, and absolute: time that the server takes is not added to it.
#[derive(Debug)]
pub(crate) struct RatedReceive {
    rate: Option<u64>,
    began: Nanos,
    bytes: Cell<u64>,
}

impl RatedReceive {
    /// From `began` on `rate` bytes per second; `None` = without limit.
    pub(crate) fn new(rate: Option<u64>, began: Nanos) -> Self {
        Self {
            rate,
            began,
            bytes: Cell::new(0),
        }
    }

    /// When the next bytes may be received; `None` = at once.
    pub(crate) fn next_at(&self) -> Option<Nanos> {
        let rate = self.rate?;
        let needed = u128::from(self.bytes.get()) * 1_000_000_000 / u128::from(rate.max(1));
        Some(
            self.began
                .saturating_add(u64::try_from(needed).unwrap_or(u64::MAX)),
        )
    }

    /// The most to receive at once.
    pub(crate) fn at_once(&self, buffer: usize) -> usize {
        let Some(rate) = self.rate else {
            return buffer;
        };
        rookery_cast::index((rate / PER_SECOND).max(512)).min(buffer)
    }

    /// What was received in all, heads of answers included.
    pub(crate) fn total(&self) -> u64 {
        self.bytes.get()
    }

    /// So many were received.
    pub(crate) fn received(&self, bytes: usize) {
        self.bytes.set(self.bytes.get() + bytes as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schedule_is_absolute() {
        let rated = RatedReceive::new(Some(100_000), 5_000);
        assert_eq!(rated.next_at(), Some(5_000));
        assert_eq!(rated.at_once(65_536), 5_000);
        rated.received(50_000);
        assert_eq!(rated.next_at(), Some(500_005_000));
        assert_eq!(rated.total(), 50_000);
        let free = RatedReceive::new(None, 0);
        free.received(1_000_000);
        assert_eq!((free.next_at(), free.at_once(65_536)), (None, 65_536));
    }
}
