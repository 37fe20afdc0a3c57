//! The links of guests, from their settings.

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
        }
    });
    links.collect()
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
            tuning("g3", "network.mtu", "9000 in the guest, 1500 in the lab"),
            tuning("g3", "network.bridge_mtu", "1500"),
        ];
        let link = |guest: &str, packets, bits_per_s| GuestLink {
            guest: guest.to_owned(),
            packets,
            bits_per_s,
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
}
