//! Phases, lives, early ends, and when a trial is given up.

use std::{
    sync::atomic::{AtomicBool, Ordering::Relaxed},
    time::{Duration, Instant},
};

use super::*;
use crate::{
    clock::{Nanos, Span, nanos},
    phases::{Phase, Phases},
};

const S: Nanos = 1_000_000_000;

fn phases() -> Phases {
    Phases {
        ramp_up: Duration::from_secs(10),
        settle: Duration::from_secs(5),
        steady: Duration::from_secs(20),
        ramp_down: Duration::from_secs(8),
        drain: Duration::from_secs(1),
    }
}

#[test]
fn users_appear_evenly_and_stop_in_start_order() {
    let lives: Vec<_> = (0..4).map(|user| phases().lifetime(user, 4)).collect();
    assert_eq!(
        lives,
        [
            (0, 40 * S),
            (5 * S / 2, 41 * S),
            (5 * S, 42 * S),
            (15 * S / 2, 43 * S)
        ],
        "load is kept up until 39 s, the window ends at 35 s"
    );
}

#[test]
fn without_ramp_down_all_stop_at_the_end_of_the_window() {
    let phases = Phases {
        ramp_down: Duration::ZERO,
        ..phases()
    };
    assert!((0..7).all(|user| phases.lifetime(user, 7).1 == 35 * S));
    assert_eq!(
        phases.window(),
        Span {
            start: 15 * S,
            end: 35 * S
        }
    );
}

#[test]
fn an_early_end_is_the_earliest() {
    let control = TrialControl::new();
    assert_eq!(control.ended(), None);
    control.end(7);
    control.end(9);
    assert_eq!(control.ended(), Some(7 + 2 * nanos(SWEEP)));
    let span = |start, end| Span { start, end };
    assert_eq!(control.measured(span(3, S)), span(3, 7 + 2 * nanos(SWEEP)));
    assert_eq!(
        control.measured(span(S, 2 * S)),
        span(S, S),
        "a window that never began is empty"
    );
}

#[test]
fn this_thread_knows_its_cpu_time() {
    let clock = Clock::new(Instant::now());
    let before = CpuUse::now(clock);
    let spun: u64 = (0..2_000_000u64).fold(0, |sum, n| std::hint::black_box(sum ^ n));
    let used = CpuUse::now(clock).since(before);
    assert!(used.ran > 0, "{spun} {used:?}");
}

fn monitor<'a>(
    phases: &'a Phases,
    control: &'a TrialControl,
    statuses: &'a [ThreadStatus],
) -> TrialMonitor<'a> {
    TrialMonitor {
        phases,
        clock: Clock::new(Instant::now()),
        control,
        statuses,
        all_failing: 10 * S,
        every_look: false,
    }
}

/// Feed (second, started, failing) to a watch; the second at which it stops the trial.
fn stops_at(course: &[(u64, u32, u32)]) -> Option<u64> {
    let (phases, control, statuses) = (
        phases(),
        TrialControl::new(),
        [ThreadStatus::default(), ThreadStatus::default()],
    );
    let monitor = monitor(&phases, &control, &statuses);
    let stop = AtomicBool::new(false);
    let mut since = None;
    course.iter().find_map(|&(second, started, failing)| {
        statuses[0].started.store(started - started / 2, Relaxed);
        statuses[1].started.store(started / 2, Relaxed);
        statuses[0].failing.store(failing - failing / 2, Relaxed);
        statuses[1].failing.store(failing / 2, Relaxed);
        monitor
            .reason_to_stop(&stop, second * S, &mut since)
            .map(|_| second)
    })
}

#[test]
fn ten_seconds_of_failure_of_all_users_end_a_trial() {
    assert_eq!(
        stops_at(&[(0, 0, 0), (100, 0, 0)]),
        None,
        "nobody has begun"
    );
    assert_eq!(stops_at(&[(1, 5, 5), (10, 5, 5), (11, 5, 5)]), Some(11));
    assert_eq!(
        stops_at(&[(1, 5, 5), (20, 6, 5), (21, 6, 6), (30, 6, 6)]),
        None,
        "one success begins the count anew"
    );
    assert_eq!(
        stops_at(&[(1, 5, 4), (100, 5, 4)]),
        None,
        "one user still gets through"
    );
}

#[test]
fn every_moment_has_its_phase() {
    let phases = Phases {
        ramp_up: Duration::ZERO,
        settle: Duration::ZERO,
        steady: Duration::from_secs(1),
        ramp_down: Duration::ZERO,
        drain: Duration::ZERO,
    };
    let control = TrialControl::new();
    let monitor = monitor(&phases, &control, &[]);
    assert_eq!(
        (monitor.phase(0), monitor.phase(5), monitor.phase(S)),
        (Phase::Waiting, Phase::Steady, Phase::Drain)
    );
    control.end(5);
    assert_eq!(monitor.phase(10), Phase::Drain);
}

/// A preparation that gives its number, or fails.
struct Numbers {
    fails: Option<usize>,
}

impl ThreadTask for Numbers {
    type Ready = usize;
    type Report = usize;
    type Output = usize;
    type Error = DriverError;

    fn prepare(&self, index: usize) -> Result<(usize, usize), DriverError> {
        if self.fails == Some(index) {
            return Err(DriverError::Start(io::ErrorKind::Other.into()));
        }
        Ok((10 * index, index))
    }

    fn work(&self, index: usize, ready: usize, _: Clock) -> usize {
        ready + index
    }
}

#[test]
fn threads_begin_together_or_not_at_all() {
    let placement = Placement {
        cpus: &[None; 3],
        network: None,
    };
    let start = |mut reports: Vec<usize>| {
        reports.sort_unstable();
        assert_eq!(reports, [0, 1, 2], "all are prepared before the start");
        Ok(Clock::new(Instant::now()))
    };
    let (outputs, seen) =
        run_together(placement, &Numbers { fails: None }, start, |_, _| 7).expect("all begin");
    assert_eq!((outputs, seen), (vec![0, 11, 22], 7));
    let never = |_| -> Result<Clock, DriverError> { panic!("one was not prepared") };
    let refused = run_together(placement, &Numbers { fails: Some(1) }, never, |_, _| ());
    assert!(matches!(refused, Err(DriverError::Start(_))));
}
