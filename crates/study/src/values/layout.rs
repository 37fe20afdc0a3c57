//! Layouts: which guests exist together.

use serde::{Deserialize, Serialize};

use super::Vcpus;
use crate::{Amount, Users};

/// One layout: every combination of its numbers is a point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Layout {
    /// Name in tables and figures.
    pub name: String,
    /// Numbers of guests.
    pub guests: Vec<u32>,
    /// vCPUs of each guest.
    pub vcpus: Vec<Vcpus>,
    /// Users of this layout instead of the load's.
    pub users: Option<Users>,
    /// The layout that it is compared with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<String>,
    /// What it says of the sections, in the order of the keys.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub overrides: Vec<Override>,
    /// Its groups of guests; empty where all guests are alike. A layout with groups has no guests,
    /// vCPUs and users of its own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<LayoutGroup>,
    /// How often its groups are repeated, each number a point; empty = once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tiles: Vec<u32>,
    /// The hosts on which the plan lays those of its groups that name none; empty where it lays
    /// none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<String>,
}

impl Layout {
    /// The hosts that it and its groups name, in their order; none where guests may be on any host.
    #[must_use]
    pub fn named_hosts(&self) -> Vec<&str> {
        let named = self.groups.iter().filter_map(|group| group.host.as_deref());
        distinct(self.hosts.iter().map(String::as_str).chain(named))
    }

    /// On how many hosts a trial of it is at most; 0 where one host, whichever, has all its guests.
    #[must_use]
    pub fn most_hosts(&self) -> usize {
        // A tier is on the host of its callers.
        let apart = self.groups.iter().filter(|group| group.tier_of.is_none());
        self.named_hosts().len().min(apart.count())
    }
}

/// The different ones of these names, in their order.
pub(crate) fn distinct<'n>(names: impl Iterator<Item = &'n str>) -> Vec<&'n str> {
    let mut all = Vec::new();
    names.for_each(|name| {
        if !all.contains(&name) {
            all.push(name);
        }
    });
    all
}

/// The places of these groups in the order in which they are planned: host by host, in each those
/// with users first, since the first group stands for the layout where one must.
pub(crate) fn host_by_host(groups: &[LayoutGroup]) -> Vec<usize> {
    let hosts = groups.iter().map(|group| group.host.as_deref());
    let hosts: Vec<Option<&str>> = hosts.collect();
    let mut order: Vec<usize> = (0..groups.len()).collect();
    order.sort_by_key(|place| {
        let host = hosts.iter().position(|host| *host == hosts[*place]);
        (host, groups[*place].tier_of.is_some())
    });
    order
}

/// Guests of a layout that are alike, beside others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LayoutGroup {
    /// Its name, different from those of the other groups of the layout.
    pub name: String,
    /// Number of guests in one tile.
    pub guests: u32,
    /// vCPUs of each guest.
    pub vcpus: Vcpus,
    /// Users of the group instead of the load's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub users: Option<Amount>,
    /// The group whose guests call it: a tier has no users of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tier_of: Option<String>,
    /// The host of its guests; none where all guests of a trial are on one host, or the plan
    /// chooses among the hosts of the layout.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// What it says of the sections, in the order of the keys.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub overrides: Vec<Override>,
}

/// A key of a section that has another value in one layout.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Override {
    /// The key with its section, as TOML: `guest.kind`, `stack.settings."php.opcache.enable"`.
    pub key: String,
    /// Its value as TOML; a list compares several.
    pub value: String,
}
