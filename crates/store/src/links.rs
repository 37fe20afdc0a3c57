//! The links of guests, from their settings.

use std::collections::BTreeSet;

use rookery_stats::{GuestLink, PacketSizes};
use rookery_study::parse_rate;

use crate::model::Tuning;

/// The link of each guest whose network was read back, in the order of the settings; what was not
/// read is not known. What both ends of a link differ in is not known either.
#[must_use]
pub fn guest_links(tunings: &[Tuning]) -> Vec<GuestLink> {
    let mut guests: Vec<&str> = Vec::new();
    for tuning in tunings {
        if tuning.name == "network.mtu" && !guests.contains(&tuning.guest.as_str()) {
            guests.push(&tuning.guest);
        }
    }
    let links = guests.into_iter().map(|guest| {
        let of = |name: &str| {
            let found = tunings
                .iter()
                .find(|tuning| tuning.guest == guest && tuning.name == name);
            found.map(|found| found.effective.as_str())
        };
        let size = |name: &str| of(name)?.parse().ok();
        GuestLink {
            guest: guest.to_owned(),
            packets: size("network.mtu")
                .zip(size("network.bridge_mtu"))
                .map(|(link, bridge)| PacketSizes { link, bridge }),
            bits_per_s: of("network.rate_limit").and_then(parse_rate),
            cpus: of("placement.cpus").map(cpus).unwrap_or_default(),
            tap: of("network.tap").map(str::to_owned),
        }
    });
    links.collect()
}

/// CPUs of a list such as `0,2-3`; none where it is no list.
fn cpus(text: &str) -> Vec<u32> {
    /// A host has no more.
    const MOST: u32 = 65_536;
    let mut all = BTreeSet::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        match (first.trim().parse::<u32>(), last.trim().parse::<u32>()) {
            (Ok(first), Ok(last)) if first <= last && last < MOST => all.extend(first..=last),
            _ => return Vec::new(),
        }
    }
    all.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tuning(guest: &str, name: &str, effective: &str) -> Tuning {
        Tuning {
            guest: guest.to_owned(),
            name: name.to_owned(),
            asked: String::new(),
            effective: effective.to_owned(),
            at_end: effective.to_owned(),
        }
    }

    #[test]
    fn links_are_found_among_all_settings() {
        let tunings = [
            tuning("host", "vm.swappiness", "60"),
            tuning("g1", "network.mtu", "9000"),
            tuning("g1", "network.bridge_mtu", "1500"),
            tuning("g1", "network.rate_limit", "100Mbit"),
            tuning("g2", "network.mtu", "65536"),
            tuning("g2", "network.tap", "v2"),
            tuning("g3", "network.mtu", "9000 in the guest, 1500 in the lab"),
            tuning("g3", "network.bridge_mtu", "1500"),
        ];
        let link = |guest: &str, packets, bits_per_s| GuestLink {
            guest: guest.to_owned(),
            packets,
            bits_per_s,
            cpus: Vec::new(),
            tap: (guest == "g2").then(|| "v2".to_owned()),
        };
        let sizes = PacketSizes {
            link: 9000,
            bridge: 1500,
        };
        assert_eq!(
            guest_links(&tunings),
            [
                link("g1", Some(sizes), Some(100_000_000)),
                link("g2", None, None),
                link("g3", None, None),
            ]
        );
    }

    #[test]
    fn lists_of_cpus_are_read_as_they_are_shown() {
        assert_eq!(cpus("0,2-4"), [0, 2, 3, 4]);
        for wrong in ["", "x", "3-1", "0-4000000000"] {
            assert!(cpus(wrong).is_empty(), "{wrong}");
        }
    }
}
