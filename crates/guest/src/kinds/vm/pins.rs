//! Which CPUs carry which guest: the tables of the scale-out paper, made for any machine, and
//! audited.
//!
//! Guests are dealt out over the memory nodes in turn, and each one's vCPUs stay within one node as
//! long as it has so many CPUs.

use std::collections::{BTreeMap, BTreeSet};

use rookery_host::{CpuPlace, HostError};

/// The pins of one guest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuestPins {
    /// The host CPU of each vCPU.
    pub cpus: Vec<u32>,
    /// The memory nodes of these CPUs, ascending.
    pub nodes: Vec<u32>,
}

/// Pins for `guests` guests of `vcpus` vCPUs each on these CPUs: 16x1, 8x2, 4x4 and 2x8 on the
/// paper's machine of 16 cores.
///
/// # Errors
/// When there are fewer CPUs than vCPUs.
pub fn pin_table(
    places: &[CpuPlace],
    guests: u32,
    vcpus: u32,
) -> Result<Vec<GuestPins>, HostError> {
    let wanted = u64::from(guests) * u64::from(vcpus);
    if wanted > places.len() as u64 {
        let what = format!(
            "{guests} guests of {vcpus} vCPUs take {wanted} CPUs, and there are {}",
            places.len()
        );
        let help = "take fewer guests, smaller guests, or no pins";
        return Err(HostError::refused(what, help));
    }
    let mut free: BTreeMap<u32, Vec<CpuPlace>> = BTreeMap::new();
    for place in places {
        free.entry(place.node).or_default().push(*place);
    }
    for cpus in free.values_mut() {
        // First threads of all cores before any second thread.
        cpus.sort_by_key(|place| (place.cpu != place.core, place.cpu));
        cpus.reverse();
    }
    let nodes: Vec<u32> = free.keys().copied().collect();
    let mut table = Vec::new();
    for guest in 0..guests as usize {
        // In turn, beginning with the node after that of the guest before; the first one that has
        // room for all of it.
        let turn = (0..nodes.len()).map(|step| nodes[(guest + step) % nodes.len()]);
        let whole = turn
            .into_iter()
            .find(|node| free[node].len() >= vcpus as usize);
        let order: Vec<u32> = whole.map_or_else(|| nodes.clone(), |node| vec![node]);
        let mut taken = Vec::new();
        for node in order {
            let left = vcpus as usize - taken.len();
            let cpus = free.entry(node).or_default();
            taken.extend(
                cpus.split_off(cpus.len().saturating_sub(left))
                    .into_iter()
                    .rev(),
            );
        }
        let nodes: BTreeSet<u32> = taken.iter().map(|place| place.node).collect();
        table.push(GuestPins {
            cpus: taken.iter().map(|place| place.cpu).collect(),
            nodes: nodes.into_iter().collect(),
        });
    }
    Ok(table)
}

/// What is amiss with a table of pins on this machine, in words: CPUs that are not there, that two
/// guests share, or whose memory node is not that of the guest.
#[must_use]
pub fn audit_pins(places: &[CpuPlace], table: &[GuestPins]) -> Vec<String> {
    let mut problems = Vec::new();
    let mut holders: BTreeMap<u32, usize> = BTreeMap::new();
    for (index, pins) in table.iter().enumerate() {
        let number = index + 1;
        for cpu in &pins.cpus {
            match places.iter().find(|place| place.cpu == *cpu) {
                None => problems.push(format!(
                    "guest {number} is pinned to CPU {cpu}, which this \
                    host has not"
                )),
                Some(place) if !pins.nodes.contains(&place.node) => problems.push(format!(
                    "guest {number} runs on CPU {cpu} of memory node {}, but its memory lies on \
                     node {}",
                    place.node,
                    rookery_host::format_cpu_list(pins.nodes.iter().copied())
                )),
                Some(_) => {}
            }
            if let Some(other) = holders.insert(*cpu, number) {
                problems.push(format!("guests {other} and {number} share CPU {cpu}"));
            }
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The machine of the paper's tables: 16 cores, even ones on node 0.
    fn paper() -> Vec<CpuPlace> {
        (0..16)
            .map(|cpu| CpuPlace {
                cpu,
                core: cpu,
                socket: cpu % 2,
                node: cpu % 2,
            })
            .collect()
    }

    #[test]
    fn the_papers_layouts_stay_within_their_nodes() {
        for (guests, vcpus) in [(16, 1), (8, 2), (4, 4), (2, 8)] {
            let table = pin_table(&paper(), guests, vcpus).expect("fits");
            assert_eq!(table.len(), guests as usize);
            assert!(
                table
                    .iter()
                    .all(|pins| pins.nodes.len() == 1 && pins.cpus.len() == vcpus as usize)
            );
            assert_eq!(audit_pins(&paper(), &table), Vec::<String>::new());
        }
        let table = pin_table(&paper(), 4, 4).expect("fits");
        let cpus: Vec<_> = table
            .iter()
            .map(|pins| (pins.cpus.clone(), pins.nodes[0]))
            .collect();
        // Table 4.3.1-3 of the paper.
        assert_eq!(
            cpus,
            [
                (vec![0, 2, 4, 6], 0),
                (vec![1, 3, 5, 7], 1),
                (vec![8, 10, 12, 14], 0),
                (vec![9, 11, 13, 15], 1)
            ]
        );
    }

    #[test]
    fn a_guest_larger_than_a_node_takes_two() {
        let table = pin_table(&paper(), 1, 12).expect("fits");
        assert_eq!(table[0].nodes, [0, 1]);
        assert_eq!(table[0].cpus.len(), 12);
        assert!(pin_table(&paper(), 3, 8).is_err());
    }

    #[test]
    fn the_audit_finds_what_the_papers_first_table_gets_wrong() {
        // Table 4.3.1-1 puts CPUs 0 to 7 on node 0, the tables after it the even ones: both cannot
        // be.
        let table: Vec<GuestPins> = (0..16)
            .map(|cpu| GuestPins {
                cpus: vec![cpu],
                nodes: vec![cpu / 8],
            })
            .collect();
        let problems = audit_pins(&paper(), &table);
        assert_eq!(problems.len(), 8);
        insta::assert_snapshot!(problems[0], @"guest 2 runs on CPU 1 of memory node 1, but its \
            memory lies on node 0");
        let shared = [
            GuestPins {
                cpus: vec![3, 3],
                nodes: vec![1],
            },
            GuestPins {
                cpus: vec![99],
                nodes: vec![0],
            },
        ];
        assert_eq!(
            audit_pins(&paper(), &shared),
            [
                "guests 1 and 1 share CPU 3",
                "guest 2 is pinned to CPU 99, which this host has not"
            ]
        );
    }
}
