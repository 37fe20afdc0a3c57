//! Do the guests run where they are pinned? Every thread is looked at, again and again, while the load is steady.

use std::{
    collections::BTreeSet,
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use rookery_guest::ProcessProbe;
use rookery_host::{format_cpu_list, residence::Residence};
use rookery_store::Tuning;
use rookery_study::Point;
use rustix::thread::{CpuSet, sched_setaffinity};

/// The measured window is cut into so many parts, with a look at the end of each.
const LOOKS: u32 = 10;
/// The least time between two looks.
const LEAST_PAUSE: Duration = Duration::from_millis(100);
/// The most.
const MOST_PAUSE: Duration = Duration::from_secs(5);
/// After a look a pause of so many times its length: looking must not become load.
const PAUSE_PER_LOOK: u32 = 50;
/// How often the end of the load is looked for.
const WATCH_EVERY: Duration = Duration::from_millis(50);

/// When looks are taken, and where the looking thread runs.
pub(crate) struct Looks<'a> {
    /// Begin of the measured window.
    pub(crate) from: Instant,
    /// Its length.
    pub(crate) steady: Duration,
    /// The driver's CPUs.
    pub(crate) cpus: &'a [u32],
}

impl Looks<'_> {
    /// Look at the processes of each guest until the window has passed or the load is `over`. At least one look is taken.
    pub(crate) fn take(&self, mut probes: Vec<ProcessProbe>, over: &AtomicBool) -> Vec<Residence> {
        stay_on(self.cpus);
        let mut seen = vec![Residence::default(); probes.len()];
        let until = self.from + self.steady;
        let pause = (self.steady / LOOKS).clamp(LEAST_PAUSE, MOST_PAUSE);
        let mut next = self.from + pause;
        loop {
            while Instant::now() < next {
                if over.load(Ordering::Relaxed) {
                    return seen;
                }
                thread::sleep(WATCH_EVERY.min(next.saturating_duration_since(Instant::now())));
            }
            let began = Instant::now();
            for (probe, seen) in probes.iter_mut().zip(&mut seen) {
                seen.look(Path::new("/proc"), probe());
            }
            next = Instant::now() + pause.max(began.elapsed() * PAUSE_PER_LOOK);
            if next > until {
                return seen;
            }
        }
    }
}

/// Keep this thread, and what it starts, on the driver's CPUs: looking must not take time from the guests. Where it cannot be pinned it is a small
/// disturbance, not an error.
pub(crate) fn stay_on(cpus: &[u32]) {
    let mut mask = CpuSet::new();
    for cpu in cpus {
        if let Some(cpu) = usize::try_from(*cpu)
            .ok()
            .filter(|cpu| *cpu < CpuSet::MAX_CPU)
        {
            mask.set(cpu);
        }
    }
    let _ = sched_setaffinity(None, &mask);
}

/// What was seen of each guest beside its pins, as settings: CPUs, and memory nodes where guests are bound to some. A guest that was not seen has
/// none. `bound` = whether this kind of guest is held to memory nodes.
pub(crate) fn tunings(
    point: &Point,
    guests: &[String],
    seen: &[Residence],
    bound: bool,
) -> Vec<Tuning> {
    let mut rows = Vec::new();
    for (index, (guest, seen)) in guests
        .iter()
        .zip(seen)
        .enumerate()
        .filter(|(_, (_, seen))| seen.seen > 0)
    {
        let row = |name: &str, asked: String, effective: String, at_end: String| Tuning {
            guest: guest.clone(),
            name: name.to_owned(),
            asked,
            effective,
            at_end,
        };
        let pins: BTreeSet<u32> = point
            .pins
            .get(index)
            .into_iter()
            .flatten()
            .copied()
            .collect();
        let allowed = format_cpu_list(seen.cpus.iter().copied());
        let at_end = strays(seen, &pins).unwrap_or_else(|| allowed.clone());
        rows.push(row(
            "placement.cpus",
            format_cpu_list(pins),
            allowed,
            at_end,
        ));
        if let Some(nodes) = point.nodes.get(index).filter(|_| bound) {
            let may = format_cpu_list(seen.nodes.iter().copied());
            rows.push(row(
                "placement.memory",
                format_cpu_list(nodes.iter().copied()),
                may.clone(),
                may,
            ));
        }
    }
    rows
}

/// Threads that ran where they must not, in words.
fn strays(seen: &Residence, pins: &BTreeSet<u32>) -> Option<String> {
    let strays = seen.strays(pins);
    let elsewhere = seen
        .ran_on
        .keys()
        .copied()
        .filter(|cpu| !pins.contains(cpu));
    (strays > 0).then(|| {
        format!(
            "{strays} of {} looks found a thread on CPU {}",
            seen.seen,
            format_cpu_list(elsewhere)
        )
    })
}

#[cfg(test)]
mod tests {
    use rookery_host::residence::ThreadPlace;

    use super::*;

    fn point(pins: Vec<Vec<u32>>, nodes: Vec<Vec<u32>>) -> Point {
        let text = "title = \"t\"\nworkload = { kind = \"dvdstore\" }\nload = { users = 2 }\nlayout = [{ name = \"a\", guests = 2 }]\nhost = { overcommit = 2 }\n";
        let document = rookery_study::Document::parse("s.toml", text)
            .unwrap_or_else(|problems| panic!("{problems}"));
        let facts = rookery_study::HostFacts {
            cpus: vec![0, 1],
            memory_mib: 8192,
            disk_free_mib: 8192,
            root: true,
            places: Vec::new(),
        };
        let plan = rookery_study::Plan::of(&document, &facts)
            .unwrap_or_else(|problems| panic!("{problems}"));
        Point {
            pins,
            nodes,
            ..plan.points[0].clone()
        }
    }

    fn seen(cpus: &[u32], ran_on: u32) -> Residence {
        let mut residence = Residence::default();
        residence.add(&ThreadPlace {
            ran_on,
            cpus: cpus.iter().copied().collect(),
            nodes: BTreeSet::from([1]),
        });
        residence
    }

    #[test]
    fn a_thread_that_strays_is_told() {
        let point = point(vec![vec![0, 2], vec![4]], vec![vec![0], vec![1]]);
        let guests = ["g1".to_owned(), "g2".to_owned()];
        let rows = tunings(&point, &guests, &[seen(&[0, 2], 2), seen(&[4, 5], 5)], true);
        let text: Vec<String> = rows
            .iter()
            .map(|row| {
                format!(
                    "{} {}: {} / {} / {}",
                    row.guest, row.name, row.asked, row.effective, row.at_end
                )
            })
            .collect();
        let expected = [
            "g1 placement.cpus: 0,2 / 0,2 / 0,2",
            "g1 placement.memory: 0 / 1 / 1",
            "g2 placement.cpus: 4 / 4-5 / 1 of 1 looks found a thread on CPU 5",
            "g2 placement.memory: 1 / 1 / 1",
        ];
        assert_eq!(text, expected);
        assert_eq!(
            tunings(
                &point,
                &guests,
                &[seen(&[0, 2], 0), Residence::default()],
                false
            )
            .len(),
            1
        );
    }

    #[test]
    fn looks_end_with_the_window_or_the_load() {
        let (over, own) = (AtomicBool::new(false), std::process::id());
        let probes = || -> Vec<ProcessProbe> { vec![Box::new(move || vec![own])] };
        let looks = Looks {
            from: Instant::now(),
            steady: Duration::from_millis(250),
            cpus: &[],
        };
        let seen = looks.take(probes(), &over);
        assert!(seen[0].seen > 0 && seen[0].strays(&seen[0].cpus) == 0);
        over.store(true, Ordering::Relaxed);
        let late = Looks {
            from: Instant::now() + Duration::from_secs(3600),
            ..looks
        };
        assert_eq!(late.take(probes(), &over), [Residence::default()]);
    }
}
