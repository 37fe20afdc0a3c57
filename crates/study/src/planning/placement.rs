//! Lays guests on sockets and memory nodes.
//!
//! Within a group of CPUs (a socket, a node) the first hardware threads of all cores come before
//! the second ones, so that two guests share a core only when there are no free cores left. A guest
//! that fits into one group stays in it.

use std::collections::{BTreeMap, BTreeSet};

use rookery_cast::{count_u32, truncate_u64};

use crate::{CpuSet, Pin, Vcpus, plan::CpuPlace};

/// The CPUs of each of `guests` guests of `vcpus` vCPUs, for the pins that look at where CPUs sit.
/// `cpus` must hold at least as many CPUs as one guest is wide.
///
/// * `socket`: each guest takes the least loaded CPUs of the first socket that carries it within
///   `overcommit` vCPUs per CPU.
/// * `node`: guest `g` (from 0) begins its search with node `g` modulo the number of nodes.
/// * `diagonal`: each node is cut into as many slots as whole guests fit; guest `g` takes slot
///   `s = g mod slots` of node `(s + g / slots) mod nodes`. When all slots are taken, or where
///   nodes differ in size, the rest is laid as by `node`.
///
/// Where no group carries a guest alone, it takes the least loaded CPUs of all.
pub(super) fn lay(
    pin: Pin,
    guests: u32,
    vcpus: Vcpus,
    cpus: &CpuSet,
    places: &[CpuPlace],
    overcommit: f64,
) -> Vec<CpuSet> {
    let width = (vcpus.whole_cpus() as usize).min(cpus.len());
    let mut groups = groups(pin, cpus, places);
    let (share, most) = (
        vcpus.0.div_ceil(count_u32(width.max(1))).into(),
        truncate_u64((overcommit * 1000.0).round()),
    );
    let slots = groups
        .iter()
        .map(|group| group.cpus.len() / width.max(1))
        .min()
        .unwrap_or(0);
    let carried = |chosen: &[Seat]| {
        chosen.len() == width && chosen.iter().all(|seat| seat.load + share <= most)
    };
    (0..guests as usize)
        .map(|guest| {
            let on_diagonal = (pin == Pin::Diagonal)
                .then(|| diagonal(&groups, guest, slots, width))
                .flatten();
            let first = if pin == Pin::Socket {
                0
            } else {
                guest % groups.len().max(1)
            };
            let round = (first..groups.len()).chain(0..first);
            let chosen = on_diagonal
                .filter(|chosen| carried(chosen))
                .or_else(|| {
                    round
                        .map(|group| groups[group].lightest(group, width))
                        .find(|chosen| carried(chosen))
                })
                .unwrap_or_else(|| lightest_of_all(&groups, width));
            let mut pins: CpuSet = chosen
                .iter()
                .map(|seat| groups[seat.group].cpus[seat.rank])
                .collect();
            chosen
                .iter()
                .for_each(|seat| groups[seat.group].add(*seat, share));
            pins.sort_unstable();
            pins
        })
        .collect()
}

/// The memory nodes of each guest's CPUs; nothing where guests are not bound to them.
pub(super) fn nodes(binds_memory: bool, pins: &[CpuSet], places: &[CpuPlace]) -> Vec<CpuSet> {
    if !binds_memory {
        return Vec::new();
    }
    let nodes_of = |pin: &CpuSet| -> CpuSet {
        let nodes: BTreeSet<u32> = pin.iter().map(|cpu| place_of(*cpu, places).node).collect();
        nodes.into_iter().collect()
    };
    pins.iter().map(nodes_of).collect()
}

fn place_of(cpu: u32, places: &[CpuPlace]) -> CpuPlace {
    let known = places.iter().find(|place| place.cpu == cpu);
    known.copied().unwrap_or(CpuPlace {
        cpu,
        core: cpu,
        socket: 0,
        node: 0,
    })
}

/// A socket or a node.
struct Group {
    /// Its guest CPUs in the order in which they are filled.
    cpus: Vec<u32>,
    /// Thousandths of vCPUs on each, by rank in that order.
    loads: Vec<u64>,
    /// Load and rank, the least loaded first: searches lay thousands of guests again and again.
    order: BTreeSet<(u64, usize)>,
}

/// A CPU of a group that a guest may take. Sorts by load, then in the order in which CPUs are
/// filled.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Seat {
    load: u64,
    group: usize,
    rank: usize,
}

impl Group {
    fn of(cpus: Vec<u32>) -> Self {
        Self {
            loads: vec![0; cpus.len()],
            order: (0..cpus.len()).map(|rank| (0, rank)).collect(),
            cpus,
        }
    }

    /// Its least loaded CPUs, as many as a guest takes or as there are; of equal ones the first. It
    /// is group number `group`.
    fn lightest(&self, group: usize, width: usize) -> Vec<Seat> {
        let seats = self.order.iter().take(width);
        seats
            .map(|(load, rank)| Seat {
                load: *load,
                group,
                rank: *rank,
            })
            .collect()
    }

    fn add(&mut self, seat: Seat, share: u64) {
        self.order.remove(&(seat.load, seat.rank));
        self.loads[seat.rank] += share;
        self.order.insert((self.loads[seat.rank], seat.rank));
    }
}

/// The guest CPUs by socket or node.
fn groups(pin: Pin, cpus: &CpuSet, places: &[CpuPlace]) -> Vec<Group> {
    // Which thread of its core a CPU is: the others of the core may belong to the driver.
    let thread = |place: &CpuPlace| {
        let siblings = places.iter().filter(|other| other.core == place.core);
        siblings.filter(|other| other.cpu < place.cpu).count()
    };
    let mut found: BTreeMap<u32, Vec<(usize, u32)>> = BTreeMap::new();
    for cpu in cpus {
        let place = place_of(*cpu, places);
        let group = if pin == Pin::Socket {
            place.socket
        } else {
            place.node
        };
        found.entry(group).or_default().push((thread(&place), *cpu));
    }
    let ordered = |mut group: Vec<(usize, u32)>| {
        group.sort_unstable();
        Group::of(group.into_iter().map(|(_, cpu)| cpu).collect())
    };
    found.into_values().map(ordered).collect()
}

/// The slot of a guest on the diagonal; nothing when all are taken.
fn diagonal(groups: &[Group], guest: usize, slots: usize, width: usize) -> Option<Vec<Seat>> {
    let slot = guest.checked_rem(slots)?;
    let round = guest / slots;
    if round >= groups.len() {
        return None;
    }
    let group = (slot + round) % groups.len();
    let seat = |rank: usize| {
        let load = *groups[group].loads.get(rank)?;
        Some(Seat { load, group, rank })
    };
    (slot * width..(slot + 1) * width).map(seat).collect()
}

fn lightest_of_all(groups: &[Group], width: usize) -> Vec<Seat> {
    let mut seats: Vec<Seat> = (0..groups.len())
        .flat_map(|group| groups[group].lightest(group, width))
        .collect();
    seats.sort_unstable();
    seats.truncate(width);
    seats
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The host of the RHEV study: two sockets of eight cores, no second threads. `even` = even
    /// numbers on the first socket, as three of its tables have it; otherwise the lower half, as
    /// the table of 1-vCPU guests has it.
    fn rhev(even: bool) -> Vec<CpuPlace> {
        let place = |cpu| {
            let node = if even { cpu % 2 } else { cpu / 8 };
            CpuPlace {
                cpu,
                core: cpu,
                socket: node,
                node,
            }
        };
        (0..16).map(place).collect()
    }

    /// Two sockets of two cores of two threads; siblings are numbered behind all cores.
    fn threads() -> Vec<CpuPlace> {
        let place = |cpu| CpuPlace {
            cpu,
            core: cpu % 4,
            socket: cpu % 4 / 2,
            node: cpu % 4 / 2,
        };
        (0..8).map(place).collect()
    }

    fn laid(pin: Pin, guests: u32, vcpus: u32, places: &[CpuPlace]) -> Vec<CpuSet> {
        let cpus = places.iter().map(|place| place.cpu).collect();
        lay(pin, guests, Vcpus(vcpus), &cpus, places, 1.0)
    }

    /// The tables of the RHEV study, as its authors printed them: vCPUs, guest, CPUs, memory node.
    const TABLES: &str = include_str!("../../tests/data/seeds/001_guest_pinning.csv");

    fn table(vcpus: u32) -> Vec<(CpuSet, CpuSet)> {
        let rows = TABLES
            .lines()
            .skip(1)
            .map(|row| row.split(',').collect::<Vec<_>>());
        let of_size = rows.filter(|row| row[0] == vcpus.to_string());
        let numbers = |text: &str| {
            text.split(' ')
                .map(|number| number.parse().expect("a number"))
                .collect()
        };
        of_size
            .map(|row| (numbers(row[2]), numbers(row[3])))
            .collect()
    }

    #[test]
    fn the_tables_of_the_rhev_study_come_out_exactly() {
        for (vcpus, guests, pin, even) in [
            (1, 16, Pin::Socket, false),
            (2, 8, Pin::Diagonal, true),
            (4, 4, Pin::Node, true),
            (8, 2, Pin::Node, true),
        ] {
            let places = rhev(even);
            let pins = laid(pin, guests, vcpus * 1000, &places);
            let nodes = nodes(pin.binds_memory(), &pins, &places);
            let rows: Vec<_> = pins.into_iter().zip(nodes).collect();
            assert_eq!(rows, table(vcpus), "{guests} guests of {vcpus} vCPU");
        }
        // The CPUs of the 1-vCPU table are those of the other enumeration too; only its nodes
        // contradict the other tables.
        let pins = laid(Pin::Node, 16, 1000, &rhev(true));
        assert!(pins.iter().eq(table(1).iter().map(|(cpus, _)| cpus)));
    }

    #[test]
    fn second_threads_come_last() {
        let alone = |pins: &[u32]| pins.iter().map(|cpu| vec![*cpu]).collect::<Vec<_>>();
        assert_eq!(
            laid(Pin::Socket, 8, 1000, &threads()),
            alone(&[0, 1, 4, 5, 2, 3, 6, 7])
        );
        assert_eq!(
            laid(Pin::Node, 8, 1000, &threads()),
            alone(&[0, 2, 1, 3, 4, 6, 5, 7])
        );
        assert_eq!(
            laid(Pin::Node, 2, 2000, &threads()),
            [vec![0, 1], vec![2, 3]]
        );
        assert_eq!(
            laid(Pin::Diagonal, 4, 2000, &threads()),
            [vec![0, 1], vec![6, 7], vec![2, 3], vec![4, 5]]
        );
    }

    #[test]
    fn a_guest_that_fits_into_no_node_takes_of_all() {
        let places = threads();
        let pins = laid(Pin::Node, 1, 6000, &places);
        assert_eq!(pins, [vec![0, 1, 2, 3, 4, 5]]);
        assert_eq!(
            nodes(Pin::Node.binds_memory(), &pins, &places),
            [vec![0, 1]]
        );
        // Two nodes of three CPUs: the third guest of two finds one free CPU on each.
        let small: Vec<CpuPlace> = rhev(true).into_iter().take(6).collect();
        assert_eq!(
            laid(Pin::Node, 3, 2000, &small),
            [vec![0, 2], vec![1, 3], vec![4, 5]]
        );
        // Where CPUs are shared it stays on one.
        assert_eq!(
            lay(Pin::Node, 3, Vcpus(2000), &(0..6).collect(), &small, 2.0)[2],
            [0, 4]
        );
    }

    #[test]
    fn parts_of_a_cpu_are_dealt_before_they_are_stacked() {
        assert_eq!(
            laid(Pin::Node, 5, 500, &threads()),
            [vec![0], vec![2], vec![1], vec![3], vec![4]]
        );
        // A socket of four CPUs carries eight halves.
        let socket = laid(Pin::Socket, 9, 500, &threads());
        assert_eq!(
            socket[3..],
            [vec![5], vec![0], vec![1], vec![4], vec![5], vec![2]]
        );
    }

    #[test]
    fn what_is_not_known_is_one_node_of_plain_cores() {
        let pins = lay(Pin::Node, 3, Vcpus(1000), &vec![1, 4, 6], &[], 1.0);
        assert_eq!(pins, [vec![1], vec![4], vec![6]]);
        assert_eq!(
            nodes(Pin::Node.binds_memory(), &pins, &[]),
            [vec![0], vec![0], vec![0]]
        );
        assert!(
            nodes(Pin::Spread.binds_memory(), &pins, &[]).is_empty(),
            "spread binds no memory"
        );
    }
}
