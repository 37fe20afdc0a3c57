//! Alarms of a thread's users: one timer of the kernel, set for the earliest.
//!
//! The timers of the runtime tick once in a millisecond and round up twice, at the tick and at the
//! wait for events, so that a user would come 1 to 2 ms late. A kernel timer on a grid of our own
//! makes it 0 to 1 ms.

use std::{
    cell::{Cell, RefCell},
    cmp::Reverse,
    collections::BinaryHeap,
    io,
    os::fd::OwnedFd,
    rc::Rc,
    time::Duration,
};

use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};

use tokio::io::{Interest, unix::AsyncFd};

use crate::clock::{Clock, Nanos};

/// Users are woken at multiples of this: those of one millisecond share one awakening. A user is
/// late by half of it on average; waking every user on its own cost about a third more CPU with
/// 2000 requests/s (docs/adr/0006-the-driver.md).
const GRID: Nanos = 1_000_000;

/// A timer that is not set.
pub(crate) fn timer() -> io::Result<OwnedFd> {
    Ok(timerfd_create(
        TimerfdClockId::Monotonic,
        TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC,
    )?)
}

/// The kernel's timer of one thread, watched by its runtime.
#[derive(Debug)]
pub struct AlarmClock(AsyncFd<Rc<OwnedFd>>);

impl AlarmClock {
    /// A timer that is not set. Within the runtime of its thread.
    ///
    /// # Errors
    /// When the kernel or the runtime refuses.
    pub fn new() -> io::Result<Self> {
        let timer = Rc::new(timer()?);
        // SAFETY: the descriptor is owned by what is registered: it is open, and the same, for as
        // long as the registration lasts.
        let registered = unsafe { AsyncFd::register_with_interest(timer, Interest::READABLE) };
        Ok(Self(registered.map_err(io::Error::from)?))
    }

    /// The timer itself, for [`Alarms::new`].
    #[must_use]
    pub fn timer(&self) -> Rc<OwnedFd> {
        Rc::clone(self.0.get_ref())
    }

    /// Call `ring` whenever the timer fires, until the runtime ends.
    pub async fn ring(self, ring: impl Fn()) {
        while let Ok(mut fired) = self.0.readable().await {
            // Setting the timer anew makes it fire anew: there is no need to read it.
            fired.clear_ready();
            ring();
        }
    }
}

/// Who is to be woken when.
#[derive(Debug)]
pub struct Alarms {
    clock: Clock,
    timer: Rc<OwnedFd>,
    /// (moment, row), the earliest on top.
    queue: RefCell<BinaryHeap<Reverse<(Nanos, u32)>>>,
    /// What the timer is set for.
    set_for: Cell<Nanos>,
}

impl Alarms {
    /// Nobody is to be woken yet.
    #[must_use]
    pub fn new(clock: Clock, timer: Rc<OwnedFd>) -> Self {
        Self {
            clock,
            timer,
            queue: RefCell::default(),
            set_for: Cell::new(Nanos::MAX),
        }
    }

    /// Wake `row` at `at`, or up to a millisecond later, once.
    pub fn set(&self, at: Nanos, row: u32) {
        self.set_exact(at.checked_next_multiple_of(GRID).unwrap_or(at), row);
    }

    /// Wake `row` at `at`, once.
    pub fn set_exact(&self, at: Nanos, row: u32) {
        self.queue.borrow_mut().push(Reverse((at, row)));
        if at < self.set_for.get() {
            self.arm(at);
        }
    }

    /// The timer fired: hand every row whose time has come to `wake`, and set the timer for the
    /// next.
    pub fn ring(&self, mut wake: impl FnMut(u32)) {
        let mut queue = self.queue.borrow_mut();
        self.set_for.set(Nanos::MAX);
        while let Some(&Reverse((at, row))) = queue.peek() {
            if !self.clock.reached(at) {
                self.arm(at);
                return;
            }
            queue.pop();
            wake(row);
        }
    }

    fn arm(&self, at: Nanos) {
        // A time of zero would switch the timer off.
        let left = self.clock.until(at).max(Duration::from_nanos(1));
        let to = Itimerspec {
            it_interval: Timespec::default(),
            it_value: Timespec {
                tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
                tv_nsec: left.subsec_nanos().into(),
            },
        };
        let set = timerfd_settime(&*self.timer, TimerfdTimerFlags::empty(), &to);
        debug_assert!(set.is_ok(), "a timer of our own takes every valid time");
        self.set_for.set(at);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use rustix::time::timerfd_gettime;

    use super::*;

    /// Alarms whose clock started `ago` before now.
    fn alarms(ago: Duration) -> Alarms {
        let timer = Rc::new(timer().expect("a timer"));
        Alarms::new(Clock::new(Instant::now() - ago), timer)
    }

    fn rung(alarms: &Alarms) -> Vec<u32> {
        let mut rows = Vec::new();
        alarms.ring(|row| rows.push(row));
        rows
    }

    fn seconds_left(alarms: &Alarms) -> i64 {
        let left = timerfd_gettime(&*alarms.timer)
            .expect("our own timer")
            .it_value;
        left.tv_sec + i64::from(left.tv_nsec > 0)
    }

    #[test]
    fn those_whose_time_has_come_are_woken_in_its_order() {
        const S: Nanos = 1_000_000_000;
        let alarms = alarms(Duration::from_secs(1_000));
        for (at, row) in [(5_000, 3), (900, 2), (700, 1), (999, 0), (4_000, 4)] {
            alarms.set(at * S, row);
        }
        assert_eq!(rung(&alarms), [1, 2, 0]);
        assert_eq!(seconds_left(&alarms), 3_000, "then the next is awaited");
        assert_eq!(rung(&alarms), [0; 0]);
        alarms.set(3_000 * S, 5);
        assert_eq!(seconds_left(&alarms), 2_000, "an earlier one comes first");
        alarms.set(6_000 * S, 6);
        assert_eq!(seconds_left(&alarms), 2_000, "a later one waits behind it");
    }

    #[test]
    fn those_of_one_millisecond_are_woken_together() {
        let alarms = alarms(Duration::from_secs(1_000));
        for (at, row) in [
            (999_999_000_001, 0),
            (999_999_999_999, 1),
            (1_000_000_000_000, 2),
        ] {
            alarms.set(at, row);
        }
        let queue = alarms.queue.borrow();
        assert!(
            queue
                .iter()
                .all(|&Reverse((at, _))| at == 1_000_000_000_000),
            "{queue:?}"
        );
    }

    #[test]
    fn nobody_is_woken_before_the_common_start() {
        let timer = Rc::new(timer().expect("a timer"));
        let alarms = Alarms::new(Clock::new(Instant::now() + Duration::from_secs(100)), timer);
        alarms.set(0, 1);
        assert_eq!(rung(&alarms), [0; 0]);
        assert_eq!(seconds_left(&alarms), 100);
    }
}
