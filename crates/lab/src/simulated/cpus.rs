//! CPUs of guests in virtual time: each guest is a station whose jobs share its cores equally, and
//! guests share the host's CPUs.
//!
//! A guest with n jobs ready wants min(n, its limit) cores; no job runs on more than one. A quota
//! is thus a slower CPU, not one that stands still for a part of each period. A guest spreads what
//! it wants evenly over the CPUs that it is pinned to; where more is wanted of a CPU than it has,
//! its guests get equal parts of it, and nobody more than it wants (max-min fairness, as the
//! kernel's scheduler aims for).

use std::{cmp::Reverse, collections::BinaryHeap};

/// One guest: processor sharing by a virtual clock that runs at the speed of each of its jobs, so
/// that a job of work w that enters at V leaves at V + w.
#[derive(Debug)]
struct Sharing {
    /// Most cores.
    limit: f64,
    /// Indexes of its CPUs.
    pins: Vec<usize>,
    /// End in virtual time and job. Bits of non-negative numbers are ordered as the numbers are.
    jobs: BinaryHeap<Reverse<(u64, u32)>>,
    virtual_s: f64,
    /// Cores at work since `since_s`.
    cores: f64,
    since_s: f64,
    /// Core seconds used until then.
    used_s: f64,
}

impl Sharing {
    fn wanted(&self) -> f64 {
        self.limit.min(self.jobs.len() as f64)
    }

    fn first(&self) -> Option<(f64, u32)> {
        self.jobs
            .peek()
            .map(|Reverse((ends, job))| (f64::from_bits(*ends), *job))
    }

    /// Bring clocks up to `now_s`.
    fn advance(&mut self, now_s: f64) {
        let elapsed = (now_s - self.since_s).max(0.0);
        self.used_s += elapsed * self.cores;
        self.since_s = now_s;
        self.virtual_s = match self.first() {
            Some((ends, _)) => {
                (self.virtual_s + elapsed * self.cores / self.jobs.len() as f64).min(ends)
            }
            // An empty guest may start its clock anew, which keeps it precise.
            None => 0.0,
        };
    }

    /// When its next job leaves.
    fn next_s(&self) -> Option<f64> {
        let (ends, _) = self.first()?;
        Some(self.since_s + (ends - self.virtual_s).max(0.0) * self.jobs.len() as f64 / self.cores)
    }
}

/// The CPUs of all guests.
#[derive(Debug)]
pub(super) struct Cpus {
    guests: Vec<Sharing>,
    /// Number of host CPUs that any guest is pinned to.
    cpus: usize,
    /// Whether guests can want more of a CPU than there is.
    contended: bool,
}

impl Cpus {
    /// Guests by their most cores and the CPUs that they are pinned to (numbers of the host).
    pub(super) fn new(guests: &[(f64, Vec<u32>)]) -> Self {
        let mut known: Vec<u32> = guests
            .iter()
            .flat_map(|(_, pins)| pins.iter().copied())
            .collect();
        known.sort_unstable();
        known.dedup();
        let guests: Vec<Sharing> = guests
            .iter()
            .map(|(limit, pins)| Sharing {
                // A guest without CPUs of its own never was planned; it would not run.
                limit: limit.min(pins.len() as f64),
                pins: pins
                    .iter()
                    .filter_map(|cpu| known.binary_search(cpu).ok())
                    .collect(),
                jobs: BinaryHeap::new(),
                virtual_s: 0.0,
                cores: 0.0,
                since_s: 0.0,
                used_s: 0.0,
            })
            .collect();
        let wanted = |cpu: usize| -> f64 {
            let pinned = guests.iter().filter(|guest| guest.pins.contains(&cpu));
            pinned
                .map(|guest| guest.limit / guest.pins.len() as f64)
                .sum()
        };
        Self {
            contended: (0..known.len()).any(|cpu| wanted(cpu) > 1.0 + 1e-9),
            cpus: known.len(),
            guests,
        }
    }

    /// A job with so much work enters a guest.
    pub(super) fn arrive(&mut self, now_s: f64, guest: usize, job: u32, work_s: f64) {
        let sharing = &mut self.guests[guest];
        sharing.advance(now_s);
        sharing
            .jobs
            .push(Reverse(((sharing.virtual_s + work_s).to_bits(), job)));
        self.reallocate(now_s, guest);
    }

    /// The next job that leaves: when, and of which guest.
    pub(super) fn next(&self) -> Option<(f64, usize)> {
        let all = self.guests.iter().enumerate();
        all.filter_map(|(guest, sharing)| Some((sharing.next_s()?, guest)))
            .min_by(|(a, _), (b, _)| a.total_cmp(b))
    }

    /// The next job of a guest leaves.
    pub(super) fn depart(&mut self, now_s: f64, guest: usize) -> Option<u32> {
        let sharing = &mut self.guests[guest];
        sharing.advance(now_s);
        let Reverse((ends, job)) = sharing.jobs.pop()?;
        sharing.virtual_s = f64::from_bits(ends);
        self.reallocate(now_s, guest);
        Some(job)
    }

    /// Core seconds that a guest used until `now_s`, which is not before its last event.
    pub(super) fn used_s(&self, guest: usize, now_s: f64) -> f64 {
        let sharing = &self.guests[guest];
        sharing.used_s + (now_s - sharing.since_s).max(0.0) * sharing.cores
    }

    /// The jobs of `changed` became more or fewer.
    fn reallocate(&mut self, now_s: f64, changed: usize) {
        if !self.contended {
            let sharing = &mut self.guests[changed];
            sharing.cores = sharing.wanted();
            return;
        }
        let cores = shares(&self.guests, self.cpus);
        for (sharing, cores) in self.guests.iter_mut().zip(cores) {
            if (sharing.cores - cores).abs() > 1e-12 {
                sharing.advance(now_s);
                sharing.cores = cores;
            }
        }
    }
}

/// The cores of every guest.
fn shares(guests: &[Sharing], cpus: usize) -> Vec<f64> {
    let mut cores = vec![0.0; guests.len()];
    for cpu in 0..cpus {
        let mut wanted: Vec<(f64, usize)> = guests
            .iter()
            .enumerate()
            .filter(|(_, guest)| !guest.jobs.is_empty() && guest.pins.contains(&cpu))
            .map(|(index, guest)| (guest.wanted() / guest.pins.len() as f64, index))
            .collect();
        // Who wants least is served first; what it leaves is shared by the others.
        wanted.sort_by(|(a, _), (b, _)| a.total_cmp(b));
        let (mut left, mut waiting) = (1.0, wanted.len());
        for (wish, guest) in wanted {
            let share = wish.min(left / waiting as f64);
            cores[guest] += share;
            left -= share;
            waiting -= 1;
        }
    }
    cores
}

#[cfg(test)]
mod tests {
    use super::*;

    /// When each of the jobs leaves; all enter at 0 with their work.
    fn leaves(cpus: &mut Cpus, jobs: &[(usize, f64)]) -> Vec<(u32, f64)> {
        for (job, (guest, work_s)) in (0..).zip(jobs) {
            cpus.arrive(0.0, *guest, job, *work_s);
        }
        let mut left = Vec::new();
        while let Some((at, guest)) = cpus.next() {
            let job = cpus.depart(at, guest).expect("a job");
            left.push((job, (at * 1e6).round() / 1e6));
        }
        left
    }

    #[test]
    fn jobs_share_a_core_equally_and_none_has_two() {
        let mut one = Cpus::new(&[(1.0, vec![4])]);
        assert_eq!(
            leaves(&mut one, &[(0, 1.0), (0, 2.0)]),
            [(0, 2.0), (1, 3.0)]
        );
        assert!((one.used_s(0, 9.0) - 3.0).abs() < 1e-9);
        let mut two = Cpus::new(&[(2.0, vec![4, 5])]);
        assert_eq!(
            leaves(&mut two, &[(0, 1.0), (0, 2.0)]),
            [(0, 1.0), (1, 2.0)]
        );
    }

    #[test]
    fn a_quota_is_a_slower_cpu() {
        let mut quarter = Cpus::new(&[(0.25, vec![0])]);
        assert_eq!(leaves(&mut quarter, &[(0, 1.0)]), [(0, 4.0)]);
    }

    #[test]
    fn guests_on_one_cpu_get_equal_parts_and_leave_what_they_do_not_want() {
        // Two guests that want a whole core each, one that is held to a tenth.
        let mut three = Cpus::new(&[(1.0, vec![0]), (1.0, vec![0]), (0.1, vec![0])]);
        // 0.45 and 0.45 and 0.1, until the first is done after 1 s; then 0.9 for the second.
        assert_eq!(
            leaves(&mut three, &[(0, 0.45), (1, 0.9), (2, 0.2)]),
            [(0, 1.0), (1, 1.5), (2, 2.0)]
        );
    }

    #[test]
    fn guests_of_their_own_cpus_do_not_disturb_each_other() {
        let mut apart = Cpus::new(&[(1.0, vec![0]), (1.0, vec![1])]);
        assert!(!apart.contended);
        assert_eq!(
            leaves(&mut apart, &[(0, 1.0), (1, 1.0)]),
            [(0, 1.0), (1, 1.0)]
        );
    }
}
