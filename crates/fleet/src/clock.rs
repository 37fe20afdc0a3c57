//! How far the clocks of two machines are apart.
//!
//! A message is answered with the time there. The answer was given between sending and receiving,
//! so the difference of the clocks lies between `there - received` and `there - sent`, whatever the
//! ways took. The intervals of several round trips are intersected (Marzullo 1984); while neither
//! clock is stepped, the difference lies in all of them.

use std::{
    sync::LazyLock,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use rookery_store::HostClock;
use serde::{Deserialize, Serialize};

/// A question for the time there, and its answer; all in microseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoundTrip {
    /// When it was asked, by the clock here.
    pub sent_us: i64,
    /// The time there.
    pub there_us: i64,
    /// When the answer came, by the clock here.
    pub received_us: i64,
}

/// How far a clock is ahead of the one here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockOffset {
    /// Microseconds that it is ahead; below 0 it is behind.
    pub offset_us: i64,
    /// How wrong that may be at most, microseconds.
    pub bound_us: i64,
    /// Whether no single difference agrees with every round trip: a clock was stepped, or drifts
    /// fast.
    pub stepped: bool,
}

impl ClockOffset {
    /// What several round trips say together; nothing where there are none.
    ///
    /// ```
    /// use rookery_fleet::{ClockOffset, RoundTrip};
    ///
    /// let trips = [
    ///     RoundTrip { sent_us: 0, there_us: 1_050, received_us: 100 },
    ///     RoundTrip { sent_us: 200, there_us: 1_220, received_us: 260 },
    /// ];
    /// // Between 950 and 1050, and between 960 and 1020.
    /// let offset = ClockOffset::from_round_trips(&trips).unwrap();
    /// assert_eq!((offset.offset_us, offset.bound_us, offset.stepped), (990, 30, false));
    /// ```
    #[must_use]
    pub fn from_round_trips(trips: &[RoundTrip]) -> Option<Self> {
        let lowest = trips
            .iter()
            .map(|trip| trip.there_us.saturating_sub(trip.received_us))
            .max()?;
        let highest = trips
            .iter()
            .map(|trip| trip.there_us.saturating_sub(trip.sent_us))
            .min()?;
        let apart = highest.saturating_sub(lowest);
        Some(Self {
            offset_us: lowest.saturating_add(apart / 2),
            bound_us: (apart.saturating_abs().saturating_add(1)) / 2,
            stepped: apart < 0,
        })
    }
}

impl From<ClockOffset> for HostClock {
    fn from(clock: ClockOffset) -> Self {
        Self {
            offset_us: clock.offset_us,
            bound_us: clock.bound_us,
            stepped: clock.stepped,
        }
    }
}

impl From<HostClock> for ClockOffset {
    fn from(clock: HostClock) -> Self {
        Self {
            offset_us: clock.offset_us,
            bound_us: clock.bound_us,
            stepped: clock.stepped,
        }
    }
}

/// Now as this process counts it: microseconds since 1970 by the wall clock when it was asked for
/// the first time, and from then on by the monotonic clock. Users begin at moments of this clock:
/// a wall clock that is set meanwhile, here or on a driver's host, moves none of them.
pub(crate) fn now_us() -> i64 {
    static CLOCK: LazyLock<SteadyClock> = LazyLock::new(SteadyClock::start);
    CLOCK.at(Instant::now())
}

/// A moment by the clock of [`now_us`]; one that has passed is now.
pub(crate) fn instant_at(time_us: i64) -> Instant {
    let ahead_us = u64::try_from(time_us.saturating_sub(now_us())).unwrap_or(0);
    Instant::now() + Duration::from_micros(ahead_us)
}

/// The time of a moment that lies ahead, by the same clock.
pub(crate) fn time_of(moment: Instant) -> i64 {
    let until = moment.saturating_duration_since(Instant::now());
    now_us().saturating_add(i64::try_from(until.as_micros()).unwrap_or(i64::MAX))
}

/// A clock that nobody sets.
struct SteadyClock {
    /// When it began by the wall clock, microseconds since 1970.
    begun_us: i64,
    begun: Instant,
}

impl SteadyClock {
    fn start() -> Self {
        let since = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        Self {
            begun_us: i64::try_from(since.as_micros()).unwrap_or(i64::MAX),
            begun: Instant::now(),
        }
    }

    fn at(&self, moment: Instant) -> i64 {
        let passed = moment.saturating_duration_since(self.begun).as_micros();
        self.begun_us
            .saturating_add(i64::try_from(passed).unwrap_or(i64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trip(sent_us: i64, there_us: i64, received_us: i64) -> RoundTrip {
        RoundTrip {
            sent_us,
            there_us,
            received_us,
        }
    }

    #[test]
    fn the_difference_lies_within_its_bound() {
        // 5 ms ahead; the way there takes all of the time, then the way back.
        let trips = [trip(0, 5_000 + 300, 300), trip(1_000, 5_000 + 1_000, 1_200)];
        let offset = ClockOffset::from_round_trips(&trips).expect("two trips");
        assert!(
            (offset.offset_us - 5_000).abs() <= offset.bound_us,
            "{offset:?}"
        );
        assert!(offset.bound_us <= 100 && !offset.stepped, "{offset:?}");
        assert_eq!(ClockOffset::from_round_trips(&[]), None);
    }

    #[test]
    fn a_wall_clock_that_is_set_moves_nothing() {
        // Begun while the wall clock was an hour behind; it was set right since.
        let begun = Instant::now();
        let begun_us = now_us() - 3_600_000_000;
        let clock = SteadyClock { begun_us, begun };
        let later = begun + Duration::from_millis(1_500);
        assert_eq!(clock.at(later) - begun_us, 1_500_000);
        assert_eq!(clock.at(begun), begun_us);
    }

    #[test]
    fn a_step_of_a_clock_is_seen() {
        let trips = [trip(0, 50, 100), trip(1_000, 81_050, 1_100)];
        let offset = ClockOffset::from_round_trips(&trips).expect("two trips");
        assert!(offset.stepped && offset.bound_us >= 39_000, "{offset:?}");
    }
}
