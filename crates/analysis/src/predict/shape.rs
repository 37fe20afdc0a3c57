//! How guests share the CPUs of their host: all that a queueing model must know of a layout.

use rookery_cast::truncate_u32;
use rookery_study::{GuestShape, Point, Vcpus};
use serde::Serialize;

/// Guests that share CPUs with each other and with nobody else.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Group {
    /// Guests.
    pub guests: u32,
    /// CPUs that they share.
    pub cpus: u32,
}

/// A layout.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Shape {
    /// Number of guests.
    pub guests: u32,
    /// vCPUs of each guest.
    pub vcpus: f64,
    /// CPUs that one guest can use at once.
    pub servers: u32,
    /// Cores that one guest can use: its quota where its kind has one, else `servers`.
    pub cap: f64,
    /// Who shares CPUs with whom.
    pub groups: Vec<Group>,
    /// Memory limit of each guest, MiB.
    pub memory_mib: u64,
}

impl Shape {
    /// The shape of a planned point of these guests.
    #[must_use]
    pub fn from_point(point: &Point, guest: &GuestShape) -> Self {
        let group = point.only_group();
        let width = group.pins.iter().map(Vec::len).max().unwrap_or(1).max(1);
        let servers = u32::try_from(width)
            .unwrap_or(u32::MAX)
            .min(group.vcpus.whole_cpus().max(1));
        let quota = if guest.caps_cpu_time() {
            group.vcpus.cpus()
        } else {
            f64::from(servers)
        };
        Self {
            guests: group.guests,
            vcpus: group.vcpus.cpus(),
            servers,
            cap: quota.min(f64::from(servers)),
            groups: groups(&group.pins),
            memory_mib: group.memory_mib,
        }
    }

    /// Cores that all guests together can use.
    #[must_use]
    pub fn capacity(&self) -> f64 {
        let of = |group: &Group| (f64::from(group.guests) * self.cap).min(f64::from(group.cpus));
        self.groups.iter().map(of).sum()
    }

    /// Whether guests together could use more cores than they share.
    #[must_use]
    pub fn shares(&self, group: &Group) -> bool {
        f64::from(group.guests) * self.cap > f64::from(group.cpus) + 1e-9
    }

    /// Short name: `4 x 0.25 vCPU`.
    #[must_use]
    pub fn label(&self) -> String {
        format!(
            "{} x {} vCPU",
            self.guests,
            Vcpus(truncate_u32((self.vcpus * 1000.0).round()))
        )
    }

    /// Whether two stand for the same guests on the same CPUs.
    #[must_use]
    pub fn same(&self, other: &Self) -> bool {
        self.guests == other.guests
            && self.vcpus == other.vcpus
            && self.cap == other.cap
            && self.groups == other.groups
    }
}

/// Guests whose CPUs overlap belong together. Equal groups keep the order of their first guest.
fn groups(pins: &[Vec<u32>]) -> Vec<Group> {
    let mut known: Vec<(u32, Vec<u32>)> = Vec::new();
    for pin in pins {
        let (mut guests, mut cpus) = (1, pin.clone());
        known.retain(|(others, set)| {
            let apart = set.iter().all(|cpu| !pin.contains(cpu));
            if !apart {
                guests += others;
                cpus.extend(set);
            }
            apart
        });
        cpus.sort_unstable();
        cpus.dedup();
        known.push((guests, cpus));
    }
    let group = |(guests, cpus): (u32, Vec<u32>)| Group {
        guests,
        cpus: u32::try_from(cpus.len().max(1)).unwrap_or(u32::MAX),
    };
    known.into_iter().map(group).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guests_of_overlapping_cpus_share() {
        let of = |pins: &[&[u32]]| groups(&pins.iter().map(|pin| pin.to_vec()).collect::<Vec<_>>());
        let group = |guests, cpus| Group { guests, cpus };
        assert_eq!(of(&[&[0], &[1], &[0]]), [group(1, 1), group(2, 1)]);
        assert_eq!(of(&[&[0, 1], &[2, 3], &[1, 2]]), [group(3, 4)]);
        assert_eq!(of(&[[0, 1, 2].as_slice(); 4]), [group(4, 3)]);
    }

    #[test]
    fn capacity_is_the_smaller_of_quotas_and_cpus() {
        let shape = |cap: f64, groups: Vec<Group>| Shape {
            guests: 4,
            vcpus: cap,
            servers: 1,
            cap,
            groups,
            memory_mib: 128,
        };
        let one_core = vec![Group { guests: 4, cpus: 1 }];
        assert_eq!(shape(0.25, one_core.clone()).capacity(), 1.0);
        assert_eq!(shape(0.5, one_core.clone()).capacity(), 1.0);
        assert_eq!(shape(0.125, one_core.clone()).capacity(), 0.5);
        let (full, half) = (shape(0.5, one_core.clone()), shape(0.125, one_core));
        assert!(full.shares(&full.groups[0]) && !half.shares(&half.groups[0]));
        assert_eq!(half.label(), "4 x 0.125 vCPU");
    }
}
