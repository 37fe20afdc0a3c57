//! Groups whose host the plan chooses: [`place`].

use std::borrow::Cow;

use super::{cpus::Division, groups, thousandths};
use crate::{Document, HostFacts, Layout, LayoutGroup, document::PlacedLayout, values::distinct};

/// The document as if each group of a layout with `hosts` had named its host.
///
/// A group, with its tier, is laid where the fuller of CPUs and memory is least full then, the
/// largest first; those that name a host are there before. What counts is the largest number of
/// tiles and the level that asks for most memory, so that a group is on one host at all loads and
/// levels: what differs between points is never where guests are.
pub(super) fn place<'d>(
    document: &'d Document,
    division: &Division,
    host: &HostFacts,
) -> Cow<'d, Document> {
    let layouts = document.study().layouts.iter().enumerate();
    let left_to_us = layouts.filter(|(_, layout)| !layout.hosts.is_empty());
    let placed: Vec<PlacedLayout> = left_to_us
        .map(|(place, layout)| {
            let mut groups = layout.groups.clone();
            let asked = asked(document, layout, (division, host));
            choose(&mut groups, &layout.hosts, &asked);
            PlacedLayout { place, groups }
        })
        .collect();
    if placed.is_empty() {
        return Cow::Borrowed(document);
    }
    Cow::Owned(document.with_placed(placed))
}

/// Parts of what a host has.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Share {
    cpus: f64,
    memory: f64,
}

impl Share {
    fn and(self, other: Self) -> Self {
        Self {
            cpus: self.cpus + other.cpus,
            memory: self.memory + other.memory,
        }
    }

    /// That of the fuller of both.
    fn fuller(self) -> f64 {
        self.cpus.max(self.memory)
    }
}

/// What each group of a layout asks of a host at most.
fn asked(
    document: &Document,
    layout: &Layout,
    (division, host): (&Division, &HostFacts),
) -> Vec<Share> {
    let tiles = layout.tiles.iter().copied().max().unwrap_or(1);
    let mut memory_mib = vec![0; layout.groups.len()];
    for (index, variant) in document.variants().iter().enumerate() {
        let own = variant.study.layouts.first();
        if own.is_none_or(|own| own.name != layout.name) {
            continue;
        }
        let spans = document.group_spans(index);
        let asked = groups::memory_asked(variant, layout, tiles, spans, (division, host));
        for (most, asked) in memory_mib.iter_mut().zip(asked) {
            *most = asked.max(*most);
        }
    }
    let study = document.study();
    let cpus = division.guests.len() as f64 * study.host.overcommit * 1000.0;
    let memory = host.memory_mib.saturating_sub(study.host.reserve_mib);
    let share = |(group, mib): (&LayoutGroup, u64)| {
        let guests = group.guests.saturating_mul(tiles);
        Share {
            cpus: thousandths(guests, group.vcpus) as f64 / cpus,
            memory: mib as f64 / memory.max(1) as f64,
        }
    };
    layout.groups.iter().zip(memory_mib).map(share).collect()
}

/// Gives each group that names no host one of `hosts`.
fn choose(groups: &mut [LayoutGroup], hosts: &[String], asked: &[Share]) {
    let hosts = distinct(hosts.iter().map(String::as_str));
    let mut taken = vec![Share::default(); hosts.len()];
    // Groups that call each other are together, by the name of the one that users call.
    let mut sets: Vec<(String, Vec<usize>, Share)> = Vec::new();
    for (place, group) in groups.iter().enumerate() {
        let share = asked.get(place).copied().unwrap_or_default();
        if let Some(named) = &group.host {
            let host = hosts.iter().position(|host| host == named);
            if let Some(taken) = host.and_then(|host| taken.get_mut(host)) {
                *taken = taken.and(share);
            }
            continue;
        }
        let front = group.tier_of.as_ref().unwrap_or(&group.name);
        match sets.iter_mut().find(|(name, ..)| name == front) {
            Some((_, set, all)) => {
                set.push(place);
                *all = all.and(share);
            }
            None => sets.push((front.clone(), vec![place], share)),
        }
    }
    // Stable: equal ones stay in the order of the file.
    sets.sort_by(|(.., one), (.., other)| other.fuller().total_cmp(&one.fuller()));
    for (_, set, share) in sets {
        let then = taken.iter().map(|taken| taken.and(share).fuller());
        let least = then
            .enumerate()
            .min_by(|(_, one), (_, other)| one.total_cmp(other));
        let Some((host, _)) = least else { return };
        taken[host] = taken[host].and(share);
        for place in set {
            groups[place].host = Some(hosts[host].to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Vcpus;

    /// Name, the group that it is a tier of, the host that it names, shares of CPUs and memory.
    type Wanted<'a> = (&'a str, Option<&'a str>, Option<&'a str>, f64, f64);

    /// Where these groups are then.
    fn chosen(groups: &[Wanted<'_>], hosts: &[&str]) -> String {
        let mut all: Vec<LayoutGroup> = groups
            .iter()
            .map(|(name, tier_of, host, ..)| LayoutGroup {
                name: (*name).to_owned(),
                guests: 1,
                vcpus: Vcpus(1000),
                users: None,
                tier_of: tier_of.map(str::to_owned),
                host: host.map(str::to_owned),
                overrides: Vec::new(),
            })
            .collect();
        let shares = groups.iter();
        let shares: Vec<Share> = shares
            .map(|(.., cpus, memory)| Share {
                cpus: *cpus,
                memory: *memory,
            })
            .collect();
        let hosts: Vec<String> = hosts.iter().map(|host| (*host).to_owned()).collect();
        choose(&mut all, &hosts, &shares);
        let host = |group: &LayoutGroup| group.host.clone().unwrap_or_default();
        all.iter().map(host).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn the_largest_is_first_and_each_is_where_there_is_most_room() {
        let plain = |name, cpus, memory| (name, None, None, cpus, memory);
        let groups = [
            plain("small", 0.2, 0.2),
            plain("wide", 0.6, 0.1),
            plain("fat", 0.1, 0.5),
        ];
        assert_eq!(chosen(&groups, &["a", "b"]), "b a b");
        assert_eq!(chosen(&groups, &["a"]), "a a a");
        assert_eq!(chosen(&groups, &["a", "b", "c", "d"]), "c a b");
    }

    #[test]
    fn what_names_a_host_is_there_and_counts() {
        let named = [
            ("left", None, Some("a"), 0.5, 0.1),
            ("right", None, None, 0.2, 0.1),
            ("more", None, None, 0.2, 0.1),
        ];
        assert_eq!(chosen(&named, &["a", "b"]), "a b b");
    }

    #[test]
    fn a_tier_is_with_its_callers() {
        let tiers = [
            ("database", Some("web"), None, 0.4, 0.1),
            ("other", None, None, 0.5, 0.1),
            ("web", None, None, 0.3, 0.1),
        ];
        assert_eq!(chosen(&tiers, &["a", "b"]), "a b a");
    }

    #[test]
    fn equal_groups_take_turns() {
        let groups = ["one", "two", "three", "four"].map(|name| (name, None, None, 0.25, 0.1));
        assert_eq!(chosen(&groups, &["a", "b"]), "a b a b");
    }
}
