//! Lays guests on CPUs.

use std::collections::BTreeMap;

use rookery_cast::{count_u32, truncate_u64};

use super::placement;
use super::thousandths;
use crate::{CpuSet, Pin, Pinning, Vcpus, plan::CpuPlace};

/// The CPUs of each of `guests` guests of `vcpus` vCPUs. `cpus` must hold at least as many CPUs as
/// one guest is wide.
///
/// * `spread`: guests are dealt over the CPUs in turn; each takes as many CPUs as it has vCPUs,
///   rounded up.
/// * `pack`: each guest takes the first CPUs that carry it within `overcommit` vCPUs each, or the
///   emptiest where none do.
/// * `none`: each guest has all CPUs.
/// * a table: each guest has the CPUs of its row; there are enough rows.
/// * all others look at where the CPUs sit: see [`placement::lay`].
pub(super) fn lay(
    pin: &Pinning,
    guests: u32,
    vcpus: Vcpus,
    cpus: &CpuSet,
    places: &[CpuPlace],
    overcommit: f64,
) -> Vec<CpuSet> {
    let pin = match pin {
        Pinning::Policy(pin) => *pin,
        Pinning::Table(rows) => return rows.iter().take(guests as usize).cloned().collect(),
    };
    let width = (vcpus.whole_cpus() as usize).min(cpus.len());
    match pin {
        Pin::None => vec![cpus.clone(); guests as usize],
        Pin::Spread => (0..guests as usize)
            .map(|guest| run_of(cpus, guest * width, width))
            .collect(),
        Pin::Pack => pack(guests, vcpus, cpus, width, overcommit),
        Pin::Socket | Pin::Node | Pin::Diagonal => {
            placement::lay(pin, guests, vcpus, cpus, places, overcommit)
        }
    }
}

/// `width` CPUs from position `start` on, round the end, ascending.
fn run_of(cpus: &CpuSet, start: usize, width: usize) -> CpuSet {
    let mut run: CpuSet = (0..width)
        .map(|step| cpus[(start + step) % cpus.len()])
        .collect();
    run.sort_unstable();
    run
}

fn pack(guests: u32, vcpus: Vcpus, cpus: &CpuSet, width: usize, overcommit: f64) -> Vec<CpuSet> {
    // Thousandths of a vCPU that a guest adds to each of its CPUs, and that a CPU may carry.
    let share = vcpus.0.div_ceil(count_u32(width));
    let most = truncate_u64((overcommit * 1000.0).round());
    let mut load = vec![0_u64; cpus.len()];
    // CPUs fill from the left, so the search need not start again where guests no longer fit.
    let mut first = 0;
    let mut pins = Vec::with_capacity(guests as usize);
    for _ in 0..guests {
        let fits = |start: usize| {
            load[start..start + width]
                .iter()
                .all(|load| load + u64::from(share) <= most)
        };
        let places = cpus.len() - width;
        let start = (first..=places).find(|start| fits(*start));
        let chosen: Vec<usize> = match start {
            Some(start) => {
                first = start;
                (start..start + width).collect()
            }
            None => {
                first = places + 1;
                emptiest(&load, width)
            }
        };
        for position in &chosen {
            load[*position] += u64::from(share);
        }
        pins.push(chosen.iter().map(|position| cpus[*position]).collect());
    }
    pins
}

/// The `width` positions of least load, ascending.
fn emptiest(load: &[u64], width: usize) -> Vec<usize> {
    let mut positions: Vec<usize> = (0..load.len()).collect();
    positions.sort_by_key(|position| load[*position]);
    positions.truncate(width);
    positions.sort_unstable();
    positions
}

/// CPUs that all guests together can use at most.
///
/// Guests whose CPUs overlap form a group; a group can use the smaller of its vCPUs and its CPUs.
pub(super) fn capacity<'p>(guests: impl Iterator<Item = (&'p CpuSet, Vcpus)> + Clone) -> f64 {
    let mut groups = Groups::default();
    for (pin, _) in guests.clone() {
        groups.join(pin);
    }
    let mut wanted_of: BTreeMap<usize, u64> = BTreeMap::new();
    for (pin, vcpus) in guests {
        if let Some(cpu) = pin.first() {
            *wanted_of.entry(groups.of(*cpu)).or_default() += u64::from(vcpus.0);
        }
    }
    let sizes = groups.sizes();
    let usable = wanted_of
        .iter()
        .map(|(group, wanted)| (*wanted).min(1000 * sizes.get(group).copied().unwrap_or(0)));
    usable.sum::<u64>() as f64 / 1000.0
}

/// The CPUs on which one group of guests after others is laid: those that the others left, where
/// they carry it within `overcommit` vCPUs each, else all.
pub(super) fn left_over(
    cpus: &CpuSet,
    taken: &[CpuSet],
    guests: u32,
    vcpus: Vcpus,
    overcommit: f64,
) -> CpuSet {
    let free: CpuSet = cpus
        .iter()
        .copied()
        .filter(|cpu| !taken.iter().any(|pin| pin.contains(cpu)))
        .collect();
    let wanted = thousandths(guests, vcpus) as f64 / 1000.0 / overcommit;
    let enough = free.len() as f64 + 1e-9 >= wanted && free.len() >= vcpus.whole_cpus() as usize;
    if enough { free } else { cpus.clone() }
}

/// CPUs joined by guests that span them: a union-find forest.
#[derive(Default)]
struct Groups {
    position: BTreeMap<u32, usize>,
    parent: Vec<usize>,
}

impl Groups {
    fn position(&mut self, cpu: u32) -> usize {
        let next = self.parent.len();
        let position = *self.position.entry(cpu).or_insert(next);
        if position == next {
            self.parent.push(next);
        }
        position
    }

    fn root(&mut self, mut position: usize) -> usize {
        while self.parent[position] != position {
            self.parent[position] = self.parent[self.parent[position]];
            position = self.parent[position];
        }
        position
    }

    fn of(&mut self, cpu: u32) -> usize {
        let position = self.position(cpu);
        self.root(position)
    }

    fn join(&mut self, pin: &CpuSet) {
        for pair in pin.windows(2) {
            let (a, b) = (self.of(pair[0]), self.of(pair[1]));
            self.parent[b] = a;
        }
        if let [one] = pin.as_slice() {
            self.position(*one);
        }
    }

    /// CPUs of each group.
    fn sizes(&mut self) -> BTreeMap<usize, u64> {
        let mut sizes = BTreeMap::new();
        for position in 0..self.parent.len() {
            *sizes.entry(self.root(position)).or_default() += 1;
        }
        sizes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pins(pin: Pin, guests: u32, vcpus: u32, cpus: u32, overcommit: f64) -> Vec<CpuSet> {
        lay(
            &Pinning::Policy(pin),
            guests,
            Vcpus(vcpus),
            &(0..cpus).collect(),
            &[],
            overcommit,
        )
    }

    #[test]
    fn spread_deals_in_turn() {
        assert_eq!(
            pins(Pin::Spread, 3, 250, 2, 1.0),
            [vec![0], vec![1], vec![0]]
        );
        assert_eq!(
            pins(Pin::Spread, 3, 2000, 3, 2.0),
            [vec![0, 1], vec![0, 2], vec![1, 2]]
        );
    }

    #[test]
    fn pack_fills_one_cpu_before_the_next() {
        assert_eq!(
            pins(Pin::Pack, 5, 250, 2, 1.0),
            [vec![0], vec![0], vec![0], vec![0], vec![1]]
        );
        assert_eq!(pins(Pin::Pack, 4, 1000, 3, 4.0), vec![vec![0]; 4]);
        assert_eq!(pins(Pin::Pack, 2, 1500, 4, 1.0), [vec![0, 1], vec![2, 3]]);
        assert_eq!(
            pins(Pin::Pack, 3, 600, 2, 1.0),
            [vec![0], vec![1], vec![0]],
            "nothing fits, the emptiest takes it"
        );
    }

    #[test]
    fn none_shares_all() {
        assert_eq!(pins(Pin::None, 2, 1000, 3, 1.0), vec![vec![0, 1, 2]; 2]);
    }

    #[test]
    fn capacity_is_bounded_by_vcpus_and_by_cpus() {
        let capacity_of = |pin, guests, vcpus, cpus| {
            let pins = pins(pin, guests, vcpus, cpus, 9.0);
            capacity(pins.iter().map(|pin| (pin, Vcpus(vcpus))))
        };
        assert_eq!(capacity_of(Pin::Spread, 4, 250, 1), 1.0);
        assert_eq!(capacity_of(Pin::Spread, 4, 1000, 1), 1.0);
        assert_eq!(capacity_of(Pin::Spread, 2, 250, 4), 0.5);
        assert_eq!(capacity_of(Pin::Spread, 2, 1500, 3), 3.0);
        assert_eq!(
            capacity_of(Pin::Spread, 3, 600, 2),
            1.6,
            "one CPU carries two guests and is full, the other one"
        );
        assert_eq!(capacity_of(Pin::None, 3, 600, 2), 1.8);
    }
}
