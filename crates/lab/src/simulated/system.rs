//! The system under test in virtual time: CPUs, locks and the disk, and what it remembers of its
//! load.

use std::{collections::VecDeque, time::Duration};

use rookery_cast::truncate_u64;
use rookery_driver::{OperationId, Request, System};
use rookery_study::SimulatedUse;
use rookery_workload::random::{PurposeStream, RandomSource as _};

use super::cpus::Cpus;

/// Mean service times of one trial, s.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Demands {
    /// CPU of one page.
    pub(super) page_s: f64,
    /// Lock of a guest, per purchase.
    pub(super) lock_s: f64,
    /// Disk, per purchase.
    pub(super) disk_s: f64,
}

impl Demands {
    /// The demands of a study with `guests` guests and `pages` requests in a unit of work on
    /// average, all multiplied by `factor`.
    ///
    /// CPU demand grows by the factor 1 + c (guests - 1).
    pub(super) fn new(system: &SimulatedUse, guests: u32, pages: f64, factor: f64) -> Self {
        let overhead = 1.0 + system.guest_overhead * (f64::from(guests) - 1.0);
        Self {
            page_s: factor * overhead * system.cpu_demand.as_secs_f64() / pages,
            lock_s: factor * system.lock_demand.as_secs_f64(),
            disk_s: factor * system.disk_demand.as_secs_f64(),
        }
    }
}

/// The clock of a system that stands still at the end of every period.
#[derive(Clone, Copy, Debug)]
struct Freezes {
    period_s: f64,
    /// Time of a period in which the system works.
    work_s: f64,
}

impl Freezes {
    fn new(freeze: Duration, every: Duration) -> Self {
        Self {
            period_s: every.as_secs_f64(),
            work_s: every.saturating_sub(freeze).as_secs_f64(),
        }
    }

    fn never(self) -> bool {
        self.work_s >= self.period_s
    }

    /// Time worked until a moment of the wall clock.
    fn worked(self, wall_s: f64) -> f64 {
        if self.never() {
            return wall_s;
        }
        let periods = (wall_s / self.period_s).floor();
        periods * self.work_s + (wall_s - periods * self.period_s).min(self.work_s)
    }

    /// The moment of the wall clock at which so much time has been worked.
    fn wall(self, worked_s: f64) -> f64 {
        if self.never() {
            return worked_s;
        }
        let periods = (worked_s / self.work_s).floor();
        periods * self.period_s + (worked_s - periods * self.work_s)
    }
}

/// One server, first come, first served.
#[derive(Debug)]
struct Line {
    mean_s: f64,
    stream: PurposeStream,
    /// The first is being served.
    jobs: VecDeque<u32>,
    ends_s: f64,
}

impl Line {
    fn new(mean_s: f64, stream: PurposeStream) -> Self {
        Self {
            mean_s,
            stream,
            jobs: VecDeque::new(),
            ends_s: f64::INFINITY,
        }
    }

    fn arrive(&mut self, now_s: f64, job: u32) {
        self.jobs.push_back(job);
        if self.jobs.len() == 1 {
            self.serve(now_s);
        }
    }

    fn serve(&mut self, now_s: f64) {
        self.ends_s = if self.jobs.is_empty() {
            f64::INFINITY
        } else {
            now_s + self.mean_s * self.stream.exponential()
        };
    }

    fn depart(&mut self, now_s: f64) -> Option<u32> {
        let job = self.jobs.pop_front();
        self.serve(now_s);
        job
    }
}

/// Where the next job leaves.
#[derive(Clone, Copy, Debug)]
enum Place {
    Cpu(usize),
    Lock(usize),
    Disk,
}

/// The whole system.
#[derive(Debug)]
pub(super) struct Computed {
    page_s: f64,
    cpus: Cpus,
    locks: Vec<Line>,
    disk: Line,
    freezes: Freezes,
    /// Draws of CPU work, by guest.
    work: Vec<PurposeStream>,
    /// Guest and operation of every job under way, by its number.
    jobs: Vec<(usize, OperationId)>,
    /// The request by which an order is stored.
    commits: OperationId,
    /// The next departure, in time worked.
    next: Option<(f64, Place)>,
    /// The last event, in time worked.
    now_s: f64,
    /// Orders in the database of each guest.
    orders: Vec<u64>,
    /// Core seconds of every guest at the end of each second of the wall clock.
    marks: Vec<Vec<f64>>,
}

impl Computed {
    /// A system of guests by their most cores and CPUs.
    pub(super) fn new(
        system: &SimulatedUse,
        demands: Demands,
        guests: &[(f64, Vec<u32>)],
        commits: OperationId,
        seed: u64,
    ) -> Self {
        let streams = |purpose: u64| {
            (0..guests.len() as u64)
                .map(move |guest| PurposeStream::new(seed, purpose << 32 | guest))
        };
        Self {
            page_s: demands.page_s,
            cpus: Cpus::new(guests),
            locks: streams(2)
                .map(|stream| Line::new(demands.lock_s, stream))
                .collect(),
            disk: Line::new(demands.disk_s, PurposeStream::new(seed, 3 << 32)),
            freezes: Freezes::new(system.freeze, system.freeze_every),
            work: streams(1).collect(),
            jobs: Vec::new(),
            commits,
            next: None,
            now_s: 0.0,
            orders: vec![0; guests.len()],
            marks: Vec::new(),
        }
    }

    /// Orders that each guest has stored.
    pub(super) fn orders(&self) -> &[u64] {
        &self.orders
    }

    /// Core seconds of each guest at the ends of the seconds 1, 2, 3, ... up to `end_s`.
    pub(super) fn usage(&mut self, end_s: f64) -> &[Vec<f64>] {
        self.mark(end_s);
        &self.marks
    }

    /// Note what was used at the ends of the seconds until now: since the last event nothing has
    /// changed.
    fn mark(&mut self, wall_s: f64) {
        while (self.marks.len() + 1) as f64 <= wall_s {
            let at_s = self.freezes.worked((self.marks.len() + 1) as f64);
            let used = (0..self.orders.len())
                .map(|guest| self.cpus.used_s(guest, at_s))
                .collect();
            self.marks.push(used);
        }
    }

    fn look_ahead(&mut self) {
        let cpu = self
            .cpus
            .next()
            .map(|(at_s, guest)| (at_s, Place::Cpu(guest)));
        let locks = self
            .locks
            .iter()
            .enumerate()
            .map(|(guest, lock)| (lock.ends_s, Place::Lock(guest)));
        let lines = locks
            .chain([(self.disk.ends_s, Place::Disk)])
            .filter(|(ends_s, _)| ends_s.is_finite());
        self.next = lines.chain(cpu).min_by(|(a, _), (b, _)| a.total_cmp(b));
    }

    /// A job leaves `place`: `true` = its answer is complete, else it is at its next station.
    fn leaves(&mut self, place: Place, job: u32) -> bool {
        let (guest, operation) = self.jobs[job as usize];
        let buys = operation == self.commits;
        match place {
            Place::Cpu(_) if buys && self.locks[guest].mean_s > 0.0 => {
                self.locks[guest].arrive(self.now_s, job)
            }
            Place::Cpu(_) | Place::Lock(_) if buys && self.disk.mean_s > 0.0 => {
                self.disk.arrive(self.now_s, job)
            }
            _ => {
                self.orders[guest] += u64::from(buys);
                return true;
            }
        }
        false
    }
}

impl System for Computed {
    fn arrive(&mut self, at: u64, request: Request) {
        let wall_s = at as f64 / 1e9;
        self.mark(wall_s);
        self.now_s = self.now_s.max(self.freezes.worked(wall_s));
        let Request {
            job,
            guest,
            operation,
        } = request;
        if self.jobs.len() <= job as usize {
            self.jobs.resize(job as usize + 1, (guest, operation));
        }
        self.jobs[job as usize] = (guest, operation);
        let work_s = self.page_s * self.work[guest].exponential();
        self.cpus.arrive(self.now_s, guest, job, work_s);
        self.look_ahead();
    }

    fn next(&self) -> Option<u64> {
        // Rounded up, so that no event comes before its time.
        self.next
            .map(|(at_s, _)| truncate_u64((self.freezes.wall(at_s.max(self.now_s)) * 1e9).ceil()))
    }

    fn depart(&mut self) -> Option<u32> {
        let (at_s, place) = self.next?;
        let at_s = at_s.max(self.now_s);
        self.mark(self.freezes.wall(at_s));
        self.now_s = at_s;
        let job = match place {
            Place::Cpu(guest) => self.cpus.depart(at_s, guest),
            Place::Lock(guest) => self.locks[guest].depart(at_s),
            Place::Disk => self.disk.depart(at_s),
        };
        let answered = job.filter(|job| self.leaves(place, *job));
        self.look_ahead();
        answered
    }
}

#[cfg(test)]
mod tests {
    use rookery_web::workloads::dvdstore::{BROWSE, PURCHASE};

    use super::*;

    #[test]
    fn a_frozen_clock_stands_still_at_the_end_of_every_period() {
        let freezes = Freezes::new(Duration::from_secs(1), Duration::from_secs(10));
        for (wall_s, worked_s) in [
            (0.0, 0.0),
            (8.0, 8.0),
            (9.0, 9.0),
            (9.7, 9.0),
            (10.0, 9.0),
            (12.0, 11.0),
            (25.0, 23.0),
        ] {
            assert!((freezes.worked(wall_s) - worked_s).abs() < 1e-9, "{wall_s}");
        }
        // What would end within the freeze ends after it.
        assert!((freezes.wall(9.5) - 10.5).abs() < 1e-9 && (freezes.wall(8.0) - 8.0).abs() < 1e-9);
    }

    #[test]
    fn a_purchase_passes_cpu_lock_and_disk_and_is_stored_once() {
        let system = SimulatedUse {
            pages: rookery_study::Pages::Corrected,
            host_cpus: 2,
            cpu_demand: Duration::from_millis(5),
            disk_demand: Duration::from_millis(1),
            lock_demand: Duration::from_millis(1),
            guest_overhead: 0.0,
            noise: 0.0,
            freeze: Duration::ZERO,
            freeze_every: Duration::from_secs(10),
        };
        let mut computed = Computed::new(
            &system,
            Demands::new(&system, 1, 5.0, 1.0),
            &[(1.0, vec![0])],
            PURCHASE,
            7,
        );
        for (job, operation) in [(0, BROWSE), (1, PURCHASE)] {
            computed.arrive(
                0,
                Request {
                    job,
                    guest: 0,
                    operation,
                },
            );
        }
        let mut departures = Vec::new();
        while computed.next().is_some() {
            departures.push(computed.depart());
        }
        assert_eq!(departures.len(), 4, "two CPUs, a lock and a disk");
        let mut answered: Vec<u32> = departures.into_iter().flatten().collect();
        answered.sort_unstable();
        assert_eq!((answered, computed.orders()), (vec![0, 1], &[1][..]));
        let used = computed.usage(1.0)[0][0];
        assert!(used > 0.0 && used < 0.1, "{used}");
    }

    #[test]
    fn overhead_grows_with_every_further_guest() {
        let system = SimulatedUse {
            pages: rookery_study::Pages::Corrected,
            host_cpus: 2,
            cpu_demand: Duration::from_millis(5),
            disk_demand: Duration::ZERO,
            lock_demand: Duration::ZERO,
            guest_overhead: 0.1,
            noise: 0.0,
            freeze: Duration::ZERO,
            freeze_every: Duration::from_secs(10),
        };
        let pages = |guests| Demands::new(&system, guests, 5.0, 1.0).page_s * 5.0 * 1e3;
        assert!((pages(1) - 5.0).abs() < 1e-12 && (pages(3) - 6.0).abs() < 1e-12);
    }
}
