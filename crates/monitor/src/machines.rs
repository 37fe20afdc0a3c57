//! What virtual machines say of themselves, and libvirt of them, beside the load.

use std::time::{Duration, Instant};

use rookery_guest::{Guest, MachineCounters, MachineProbe, OutsideCounters};
use rookery_stats::{MachineLook, MachineOutside};

use crate::{LoadState, SamplerConfig, affinity::stay_on, schedule::Course};

/// Looks that would come closer to each other than this are one.
const APART: Duration = Duration::from_secs(2);

/// The machines of a trial.
pub(crate) struct Machines(Vec<(String, MachineProbe)>);

impl Machines {
    /// The machines among the guests; `None` where there is none.
    pub(crate) fn new(guests: &[Box<dyn Guest>]) -> Option<Self> {
        let probes: Vec<_> = guests
            .iter()
            .filter_map(|guest| Some((guest.name().to_owned(), guest.machine_probe()?)))
            .collect();
        (!probes.is_empty()).then_some(Self(probes))
    }

    /// Look at all machines at the start, just before the window, right after it, and at the end. A
    /// machine that does not answer is left out.
    pub(crate) fn watch(self, config: &SamplerConfig, state: &LoadState) -> Vec<MachineLook> {
        stay_on(&config.cpus);
        state.started().map_or_else(Vec::new, |start| {
            self.watch_course(config.schedule.starting(start), state)
        })
    }

    fn watch_course(mut self, load: Course, state: &LoadState) -> Vec<MachineLook> {
        let mut looks = Vec::new();
        for moment in moments(load) {
            if !state.wait(moment) {
                break;
            }
            for (guest, probe) in &mut self.0 {
                // One after the other: all at once they would disturb what is measured.
                let counters = probe();
                let at_s = load.start.elapsed().as_secs_f64();
                looks.extend(counters.map(|counters| look(guest, at_s, &counters)));
            }
        }
        looks
    }
}

/// A look takes the host some CPU time: those that decide lie outside the window.
fn moments(load: Course) -> Vec<Instant> {
    let before = load.from.saturating_duration_since(load.start);
    let opening = load.from - (before / 2).min(APART);
    let closing = load.until;
    let mut moments = vec![opening, closing];
    if opening >= load.start + APART {
        moments.insert(0, load.start);
    }
    if load.end >= closing + APART {
        moments.push(load.end);
    }
    moments
}

fn look(guest: &str, at_s: f64, counters: &MachineCounters) -> MachineLook {
    MachineLook {
        guest: guest.to_owned(),
        at_s,
        outside: outside(&counters.outside),
        inside: counters.inside,
    }
}

fn outside(counters: &OutsideCounters) -> MachineOutside {
    let disks = |of: fn(&rookery_guest::DiskCounters) -> u64| {
        counters.disks.values().map(of).fold(0, u64::saturating_add)
    };
    MachineOutside {
        cpu_us: counters.cpu_us,
        vcpu_us: counters
            .vcpu_us
            .iter()
            .copied()
            .fold(0, u64::saturating_add),
        vcpu_wait_us: counters.vcpu_wait_us,
        balloon_bytes: counters.memory_bytes,
        resident_bytes: counters.resident_bytes,
        reads: disks(|disk| disk.reads),
        read_bytes: disks(|disk| disk.read_bytes),
        writes: disks(|disk| disk.writes),
        written_bytes: disks(|disk| disk.written_bytes),
        flushes: disks(|disk| disk.flushes),
        disk_us: disks(|disk| {
            disk.read_us
                .saturating_add(disk.write_us)
                .saturating_add(disk.flush_us)
        }),
        received_bytes: counters.received_bytes,
        sent_bytes: counters.sent_bytes,
        dropped: counters.dropped,
    }
}

#[cfg(test)]
mod tests {
    use std::{
        collections::BTreeMap,
        sync::atomic::{AtomicU64, Ordering},
    };

    use rookery_guest::DiskCounters;
    use rookery_stats::MachineInside;

    use super::*;

    fn course(before_ms: u64, steady_ms: u64, after_ms: u64) -> Course {
        let [before, steady, after] = [before_ms, steady_ms, after_ms].map(Duration::from_millis);
        let start = Instant::now();
        Course {
            start,
            from: start + before,
            until: start + before + steady,
            end: start + before + steady + after,
        }
    }

    #[test]
    fn looks_that_decide_lie_outside_the_window() {
        let ms = |load: Course| {
            let from_start = |moment: &Instant| moment.duration_since(load.start).as_millis();
            moments(load).iter().map(from_start).collect::<Vec<_>>()
        };
        assert_eq!(
            ms(course(10_000, 20_000, 5_000)),
            [0, 8_000, 30_000, 35_000]
        );
        assert_eq!(
            ms(course(3_000, 20_000, 1_000)),
            [1_500, 23_000],
            "too close to be worth two"
        );
        assert_eq!(ms(course(0, 20_000, 0)), [0, 20_000]);
    }

    #[test]
    fn a_machine_that_does_not_answer_is_left_out() {
        static CALLS: AtomicU64 = AtomicU64::new(0);
        let silent: MachineProbe = Box::new(|| None);
        let disk = |reads| DiskCounters {
            reads,
            read_us: 10,
            flush_us: 1,
            ..DiskCounters::default()
        };
        let answering: MachineProbe = Box::new(move || {
            let calls = CALLS.fetch_add(1, Ordering::Relaxed);
            let outside = OutsideCounters {
                vcpu_us: vec![calls, 1000],
                disks: BTreeMap::from([("vda".to_owned(), disk(3)), ("vdb".to_owned(), disk(4))]),
                ..OutsideCounters::default()
            };
            let inside = (calls > 0).then(|| MachineInside {
                steal_us: 7,
                ..MachineInside::default()
            });
            Some(MachineCounters { outside, inside })
        });
        let machines = Machines(vec![
            ("g1".to_owned(), silent),
            ("g2".to_owned(), answering),
        ]);
        let looks = machines.watch_course(course(0, 1, 0), &LoadState::default());
        let seen: Vec<_> = looks
            .iter()
            .map(|look| {
                (
                    look.guest.as_str(),
                    look.outside.vcpu_us,
                    look.inside.map(|inside| inside.steal_us),
                )
            })
            .collect();
        assert_eq!(seen, [("g2", 1000, None), ("g2", 1001, Some(7))]);
        assert_eq!(
            (looks[0].outside.reads, looks[0].outside.disk_us),
            (7, 22),
            "all disks together"
        );
        assert!(looks[0].at_s <= looks[1].at_s);
    }

    #[test]
    fn a_load_that_ends_early_ends_the_looks() {
        let probe: MachineProbe = Box::new(|| Some(MachineCounters::default()));
        let state = LoadState::default();
        state.finish();
        let looks =
            Machines(vec![("g1".to_owned(), probe)]).watch_course(course(0, 600_000, 0), &state);
        assert_eq!(looks.len(), 1, "the first look was due at once");
    }
}
