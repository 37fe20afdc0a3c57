//! How far CPUs are from each other at one moment: the time that a cache line takes from one to
//! the other and back.
//!
//! Where the host is a guest itself, its hypervisor moves its CPUs over cores that share a cache or
//! do not, within seconds and unseen. Whatever two CPUs do together, as driver and guest do with
//! every packet, is then faster or slower though nothing of the system under test changed; the
//! same exchange after each trial tells the one from the other.

use std::{
    hint::spin_loop,
    sync::atomic::{AtomicU32, Ordering},
    thread,
    time::{Duration, Instant},
};

use rookery_stats::{KernelCount, KernelCounter};

use crate::affinity::stay_on;

/// Exchanges of a round: from a tenth to half of a millisecond.
const EXCHANGES: u32 = 1_000;
/// Rounds of a pair; the median of their times counts, since interrupts delay some.
const ROUNDS: u32 = 15;
/// Pairs that are looked at, spread over those that are given: it takes milliseconds for each.
const MOST_PAIRS: usize = 8;
/// Longest look at a pair: one of its CPUs may have other work.
const PATIENCE: Duration = Duration::from_millis(50);
/// Looks at the line between two looks at the clock.
const LOOKS: u32 = 1_000;
/// Says that no exchange follows.
const END: u32 = u32::MAX;

/// A line of a cache of its own; adjacent lines are fetched in pairs.
#[repr(align(128))]
struct Line(AtomicU32);

/// The time of one exchange of a cache line between the CPUs of each pair, ns, of at most eight
/// pairs. A pair of one CPU is left out, as is one that this thread may not use or that is too
/// busy.
/// It ends within 0.4 s, and within a tenth of that on an idle host.
#[must_use]
pub fn cpu_distances(pairs: &[(u32, u32)]) -> Vec<KernelCount> {
    let step = pairs.len().div_ceil(MOST_PAIRS).max(1);
    let looked_at = pairs
        .iter()
        .step_by(step)
        .filter(|(one, other)| one != other);
    let counts = looked_at.filter_map(|(one, other)| {
        Some(KernelCount {
            scope: format!("cpus {one} {other}"),
            counter: KernelCounter::CacheLine,
            count: between(*one, *other)?,
        })
    });
    counts.collect()
}

/// The median time of an exchange between two CPUs, ns; `None` where they cannot be used in time.
fn between(one: u32, other: u32) -> Option<u64> {
    let line = Line(AtomicU32::new(0));
    let until = Instant::now() + PATIENCE;
    // On threads of their own: where the caller may run stays as it is.
    thread::scope(|scope| {
        let answering = scope.spawn(|| is_on(other) && answer(&line, until));
        let asking = scope.spawn(|| {
            let times = is_on(one).then(|| ask(&line, until)).flatten();
            line.0.store(END, Ordering::Release);
            times
        });
        let times = asking.join().ok().flatten();
        let answered = answering.join().is_ok_and(|answered| answered);
        times.filter(|_| answered)
    })
}

/// Move this thread to a CPU; whether it is there.
fn is_on(cpu: u32) -> bool {
    stay_on(&[cpu]);
    usize::try_from(cpu).is_ok_and(|cpu| rustix::thread::sched_getcpu() == cpu)
}

/// The side whose clock counts: it writes odd numbers and waits for the even ones after them.
fn ask(line: &Line, until: Instant) -> Option<u64> {
    let mut times = Vec::new();
    let mut number = 0;
    for _ in 0..ROUNDS {
        let began = Instant::now();
        for _ in 0..EXCHANGES {
            line.0.store(number + 1, Ordering::Release);
            number += 2;
            wait_for(line, until, |seen| seen == number)?;
        }
        times.push(began.elapsed().as_nanos() / u128::from(EXCHANGES));
    }
    times.sort_unstable();
    u64::try_from(times[times.len() / 2]).ok()
}

/// The other side; whether the first one came to its end.
fn answer(line: &Line, until: Instant) -> bool {
    loop {
        match wait_for(line, until, |seen| seen % 2 == 1) {
            Some(END) => return true,
            Some(seen) => line.0.store(seen + 1, Ordering::Release),
            None => return false,
        }
    }
}

/// Look at a line until it holds what is waited for; `None` when that takes too long.
fn wait_for(line: &Line, until: Instant, wanted: impl Fn(u32) -> bool) -> Option<u32> {
    loop {
        for _ in 0..LOOKS {
            let seen = line.0.load(Ordering::Acquire);
            if wanted(seen) {
                return Some(seen);
            }
            spin_loop();
        }
        if Instant::now() > until {
            return None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_cpus_that_are_there_have_a_distance() {
        // A busy machine may have no time for both at once: then nothing is said of them.
        let distances = cpu_distances(&[(0, 1)]);
        assert!(distances.len() <= 1, "{distances:?}");
        for distance in distances {
            assert_eq!(distance.scope, "cpus 0 1");
            assert!(distance.count > 0);
        }
    }

    #[test]
    fn pairs_that_cannot_be_looked_at_are_left_out() {
        let pairs = [(0, 0), (0, 100_000), (100_000, 0)];
        assert_eq!(cpu_distances(&pairs), []);
    }

    #[test]
    fn sides_that_share_a_cpu_still_come_to_an_end() {
        let line = Line(AtomicU32::new(0));
        let until = Instant::now() + Duration::from_secs(60);
        thread::scope(|scope| {
            let answering = scope.spawn(|| answer(&line, until));
            for number in [1, 3, 5] {
                line.0.store(number, Ordering::Release);
                assert_eq!(
                    wait_for(&line, until, |seen| seen == number + 1),
                    Some(number + 1)
                );
            }
            line.0.store(END, Ordering::Release);
            assert!(answering.join().expect("no panic"));
        });
    }

    #[test]
    fn a_side_that_is_silent_is_not_waited_for() {
        let line = Line(AtomicU32::new(0));
        assert_eq!(ask(&line, Instant::now()), None);
        assert!(!answer(&Line(AtomicU32::new(0)), Instant::now()));
    }
}
