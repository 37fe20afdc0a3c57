//! Whether the wall clock was set while a load was on.

use std::time::{Duration, Instant, SystemTime};

use rookery_stats::checks::{Remark, clock_step};

/// Both clocks read within this time belong together.
const TOGETHER: Duration = Duration::from_millis(1);
/// So often it is tried to read them so: on a crowded machine another may get the CPU between two
/// readings.
const TRIES: u32 = 100;

/// The wall clock and the monotonic clock at one moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BothClocks {
    wall: SystemTime,
    monotonic: Instant,
}

impl BothClocks {
    /// Both clocks, as close to each other as they can be read.
    pub(crate) fn read() -> Self {
        let mut best = Self::read_once();
        for _ in 1..TRIES {
            if best.1 <= TOGETHER {
                break;
            }
            let next = Self::read_once();
            if next.1 < best.1 {
                best = next;
            }
        }
        best.0
    }

    /// With how far the two readings may lie apart.
    fn read_once() -> (Self, Duration) {
        let before = Instant::now();
        let wall = SystemTime::now();
        let apart = before.elapsed();
        let monotonic = before + apart / 2;
        (Self { wall, monotonic }, apart)
    }

    /// Compare what has passed by either clock since then.
    pub(crate) fn check(self) -> Option<Remark> {
        let now = Self::read();
        let wall_s = match now.wall.duration_since(self.wall) {
            Ok(passed) => passed.as_secs_f64(),
            Err(back) => -back.duration().as_secs_f64(),
        };
        clock_step(
            wall_s,
            now.monotonic
                .saturating_duration_since(self.monotonic)
                .as_secs_f64(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_was_set_is_told_in_either_direction() {
        let minute = Duration::from_secs(60);
        let told = |ahead: bool| {
            let mut clocks = BothClocks::read();
            clocks.wall = if ahead {
                clocks.wall - minute
            } else {
                clocks.wall + minute
            };
            match clocks.check() {
                Some(Remark::Fault(fault)) => fault.text,
                other => panic!("{other:?}"),
            }
        };
        assert!(told(true).contains("set by +"), "{}", told(true));
        assert!(told(false).contains("set by -"), "{}", told(false));
    }
}
