//! How fast CPUs are at one moment: the time of a fixed calculation on each.
//!
//! Clocks of CPUs change with heat and load, and where the host is a guest itself, other guests
//! share its cores unseen. Repeats of a trial then differ though nothing of the system under test
//! did; the same calculation beside each trial tells the one from the other.

use std::{hint::black_box, thread, time::Instant};

use rookery_stats::{KernelCount, KernelCounter};

use crate::affinity::stay_on;

/// Steps of the calculation: about a third of a millisecond, each waits for the one before.
const STEPS: u32 = 200_000;
/// Times that it is done: the first ones wake the CPU, interrupts delay some, the fastest counts.
const ROUNDS: u32 = 20;
/// CPUs that are looked at, spread over those that are given: it takes milliseconds for each.
const MOST_CPUS: usize = 16;

/// The time of a fixed calculation on each of these CPUs, one after another, at most sixteen of
/// them. A CPU on which this thread may not run is left out. It ends within 0.2 s on an idle host.
#[must_use]
pub fn cpu_speeds(cpus: &[u32], counter: KernelCounter) -> Vec<KernelCount> {
    let step = cpus.len().div_ceil(MOST_CPUS).max(1);
    let looked_at = cpus.iter().step_by(step);
    // On a thread of its own: where the caller may run stays as it is.
    let measured = looked_at.map(|cpu| thread::scope(|scope| scope.spawn(|| on(*cpu)).join()));
    let counts = cpus.iter().step_by(step).zip(measured);
    let counts = counts.filter_map(|(cpu, ns)| {
        Some(KernelCount {
            scope: format!("cpu {cpu}"),
            counter,
            count: ns.ok().flatten()?,
        })
    });
    counts.collect()
}

/// Nanoseconds of the fastest round on a CPU.
fn on(cpu: u32) -> Option<u64> {
    stay_on(&[cpu]);
    let is_there = usize::try_from(cpu).is_ok_and(|cpu| rustix::thread::sched_getcpu() == cpu);
    let rounds = (0..ROUNDS).map(|_| {
        let began = Instant::now();
        black_box(calculation(black_box(1)));
        u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX)
    });
    is_there.then(|| rounds.min()).flatten()
}

/// A chain of multiplications and shifts: no memory, nothing that runs beside another step.
fn calculation(seed: u64) -> u64 {
    (0..STEPS).fold(seed, |state, _| {
        let state = state.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (state >> 29);
        state.wrapping_add(1)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cpu_that_is_there_has_a_time() {
        let speeds = cpu_speeds(&[0], KernelCounter::FixedWorkBefore);
        assert_eq!(speeds.len(), 1, "{speeds:?}");
        assert_eq!(speeds[0].scope, "cpu 0");
        assert!(speeds[0].count > 0, "{speeds:?}");
        assert_eq!(cpu_speeds(&[100_000], KernelCounter::FixedWorkAfter), []);
    }

    #[test]
    fn of_many_cpus_some_are_looked_at() {
        let many = vec![0; 100];
        assert_eq!(cpu_speeds(&many, KernelCounter::FixedWorkBefore).len(), 15);
    }
}
