//! When a user acts next.

use std::time::Duration;

use rookery_stats::Pacing;
use rookery_workload::{DelayDistribution, RandomDelay};

use crate::{
    clock::{Nanos, nanos},
    record::Pause,
};

/// After a failure a user waits at least so long, and as much longer with each further failure, up
/// to ten times: a dead server is not hammered, however short the think time.
const BACK_OFF: Duration = Duration::from_millis(100);
const MOST_BACK_OFFS: u8 = 10;
/// The initial random delay is the mean think time, but not longer than this.
const LONGEST_INITIAL_DELAY: Duration = Duration::from_secs(10);

/// How users pace themselves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pace {
    /// What a delay counts from.
    pub pacing: Pacing,
    /// Mean think time or cycle time.
    pub time: Duration,
    /// How think times scatter about their mean.
    pub distribution: DelayDistribution,
}

impl Pace {
    /// The most that the initial random delay of a user may be.
    #[must_use]
    pub fn initial_delay(&self) -> Duration {
        self.time.min(LONGEST_INITIAL_DELAY)
    }

    /// When the next act is due after one that was begun at `sent` and ended at `done`, and the
    /// delay to compare with the real one (none after failures, whose back-off is no think time).
    /// `think` draws a think time.
    pub fn next(
        &self,
        sent: Nanos,
        done: Nanos,
        failures: Failures,
        think: impl FnOnce(RandomDelay) -> Nanos,
    ) -> (Nanos, Option<Pause>) {
        let drawn = match self.pacing {
            Pacing::Think | Pacing::Arrivals => think(RandomDelay {
                mean: self.time,
                distribution: self.distribution,
            }),
            Pacing::Cycle => nanos(self.time),
        };
        self.after(sent, done, failures, drawn)
    }

    /// As [`next`](Self::next), with the delay that was drawn: a think time, or the length of the
    /// cycle.
    #[must_use]
    pub fn after(
        &self,
        sent: Nanos,
        done: Nanos,
        failures: Failures,
        drawn: Nanos,
    ) -> (Nanos, Option<Pause>) {
        let from = match self.pacing {
            // Arrivals are paced by the schedule (the configuration is checked): a visitor that
            // stays thinks.
            Pacing::Think | Pacing::Arrivals => done,
            Pacing::Cycle => sent,
        };
        let pause = Pause { drawn, from };
        let due = pause.from + pause.drawn;
        match failures.0 {
            0 => (due.max(done), Some(pause)),
            failures => (due.max(done + nanos(BACK_OFF) * u64::from(failures)), None),
        }
    }
}

/// Failed acts of one user since its last success, as far as they matter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Failures(u8);

impl Failures {
    /// An act ended.
    pub fn count(&mut self, failed: bool) {
        self.0 = if failed {
            self.0.saturating_add(1).min(MOST_BACK_OFFS)
        } else {
            0
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Nanos = 1_000_000;

    fn pace(pacing: Pacing, time_ms: u64) -> Pace {
        Pace {
            pacing,
            time: Duration::from_millis(time_ms),
            distribution: DelayDistribution::Constant,
        }
    }

    #[test]
    fn think_time_follows_the_end_and_a_cycle_the_start() {
        let none = Failures::default();
        let (due, pause) =
            pace(Pacing::Think, 10).next(100 * MS, 105 * MS, none, |delay| nanos(delay.mean) / 2);
        assert_eq!(
            (due, pause),
            (
                110 * MS,
                Some(Pause {
                    drawn: 5 * MS,
                    from: 105 * MS
                })
            )
        );
        let cycle = |done| pace(Pacing::Cycle, 10).next(100 * MS, done, none, |_| 0).0;
        assert_eq!(cycle(105 * MS), 110 * MS);
        assert_eq!(cycle(150 * MS), 150 * MS, "a missed cycle starts at once");
    }

    #[test]
    fn failures_back_off_more_and_more_up_to_a_second() {
        let mut failures = Failures::default();
        let wait = |failures| pace(Pacing::Think, 0).next(0, 0, failures, |_| 0).0 / MS;
        let waits: Vec<u64> = (0..12)
            .map(|_| {
                failures.count(true);
                wait(failures)
            })
            .collect();
        assert_eq!(
            waits,
            [
                100, 200, 300, 400, 500, 600, 700, 800, 900, 1000, 1000, 1000
            ]
        );
        failures.count(false);
        assert_eq!(wait(failures), 0, "a success ends it");
    }
}
