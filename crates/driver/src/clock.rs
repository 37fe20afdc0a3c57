//! Time as the driver counts it: nanoseconds since the common start of all users.

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

/// Nanoseconds since the common start.
pub type Nanos = u64;

/// A duration in nanoseconds; anything beyond 500 years is clamped.
#[must_use]
pub fn nanos(duration: Duration) -> Nanos {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// Nanoseconds as seconds.
#[must_use]
pub fn seconds(nanos: Nanos) -> f64 {
    nanos as f64 / 1e9
}

/// The monotonic clock, counted from the common start. Before the start it reads 0.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    start: Instant,
}

impl Clock {
    /// A clock that counts from `start`.
    #[must_use]
    pub fn new(start: Instant) -> Self {
        Self { start }
    }

    /// Since the common start; 0 before it.
    #[must_use]
    pub fn now(self) -> Nanos {
        nanos(self.start.elapsed())
    }

    /// The moment `at`.
    #[must_use]
    pub fn instant(self, at: Nanos) -> Instant {
        self.start + Duration::from_nanos(at)
    }

    /// Whether it is `at` or later. Unlike [`Clock::now`] it tells the start from the time before.
    #[must_use]
    pub fn reached(self, at: Nanos) -> bool {
        Instant::now() >= self.instant(at)
    }

    /// How long it is until `at`.
    #[must_use]
    pub fn until(self, at: Nanos) -> Duration {
        self.instant(at).saturating_duration_since(Instant::now())
    }
}

/// A span of time, begin included, end not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Span {
    /// Its begin.
    pub start: Nanos,
    /// Its end.
    pub end: Nanos,
}

impl Span {
    /// Whether `at` is inside.
    #[must_use]
    pub fn contains(self, at: Nanos) -> bool {
        self.start <= at && at < self.end
    }

    /// How much of `[from, to)` lies inside.
    #[must_use]
    pub fn overlap(self, from: Nanos, to: Nanos) -> Nanos {
        to.min(self.end).saturating_sub(from.max(self.start))
    }

    /// How long it is.
    #[must_use]
    pub fn length(self) -> Nanos {
        self.end.saturating_sub(self.start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_holds_its_begin_but_not_its_end() {
        let span = Span { start: 10, end: 20 };
        assert!(span.contains(10) && span.contains(19) && !span.contains(20) && !span.contains(9));
    }

    #[test]
    fn overlap_is_what_lies_inside() {
        let span = Span { start: 10, end: 20 };
        let cases = [
            ((0, 5), 0),
            ((0, 15), 5),
            ((12, 15), 3),
            ((15, 30), 5),
            ((0, 30), 10),
            ((25, 30), 0),
        ];
        for ((from, to), expected) in cases {
            assert_eq!(span.overlap(from, to), expected, "{from}..{to}");
        }
    }
}
