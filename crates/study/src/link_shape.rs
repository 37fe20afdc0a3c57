//! How a container is linked to the network of its lab.

use std::{fmt, time::Duration};

use serde::{Deserialize, Serialize};

use crate::{names::Named, time_text::plain_time};

/// Bytes that VXLAN over IPv4 adds to a packet: the inner Ethernet header, and headers of VXLAN,
/// UDP and IP (RFC 7348, section 5).
pub const VXLAN_OVERHEAD: u32 = 50;
/// The largest packet of an Ethernet device of Linux, bytes.
pub const MOST_MTU: u32 = 65_535;
/// The least packet that IPv6 allows, bytes.
pub const LEAST_MTU: u32 = 1280;

/// The link between a container and the bridge of its lab.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LinkShape {
    /// What the guest's interface is.
    pub device: LinkDevice,
    /// Largest packet of the link, bytes: [`LEAST_MTU`] to [`LinkDevice::most_mtu`].
    pub mtu: u32,
    /// Largest packet of the bridge, bytes: [`LEAST_MTU`] to [`MOST_MTU`]. That of the link, unless
    /// a study is about links that do not fit their bridge.
    pub bridge_mtu: u32,
    /// What the interfaces of the link do for the kernel.
    pub offloads: Offloads,
    /// Packets that its interfaces gather before they hand them on (`rx-frames` of `ethtool -C`);
    /// `None` = as the kernel has it.
    pub coalesce: Option<u32>,
    /// Most that passes the link in each direction; `None` = no limit.
    pub rate_limit: Option<RateLimit>,
    /// What a longer way would do to packets, in each direction.
    pub impairment: Impairment,
    /// How guests reach the tier that they call.
    pub back_end: BackEnd,
}

impl Default for LinkShape {
    fn default() -> Self {
        Self {
            device: LinkDevice::Veth,
            mtu: Self::USUAL_MTU,
            bridge_mtu: Self::USUAL_MTU,
            offloads: Offloads::default(),
            coalesce: None,
            rate_limit: None,
            impairment: Impairment::default(),
            back_end: BackEnd::Shared,
        }
    }
}

impl LinkShape {
    /// That of Ethernet.
    pub const USUAL_MTU: u32 = 1500;
}

/// The network between guests and the tier that they call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BackEnd {
    /// That of the users.
    Shared,
    /// A bridge of its own, to which every guest has a second interface.
    Separate,
}

impl Named for BackEnd {
    const NAMES: &'static [(&'static str, Self, &'static str)] = &[
        ("shared", Self::Shared, "the network of the users"),
        (
            "separate",
            Self::Separate,
            "a bridge of its own, to which every guest has a second interface",
        ),
    ];
}

/// The guest's interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LinkDevice {
    /// One end of a pair whose other end is a port of the bridge.
    Veth,
    /// A MAC address of its own on the end of such a pair.
    Macvlan,
    /// An IP address of its own on the end of such a pair.
    Ipvlan,
    /// A tunnel through such a pair.
    Vxlan,
    /// One end of a pair to whose other end the lab routes, without the bridge.
    Routed,
}

impl LinkDevice {
    /// Its name, as studies have it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Routed => "routed",
            Self::Veth | Self::Macvlan | Self::Ipvlan | Self::Vxlan => self.kind(),
        }
    }

    /// The kind of the guest's interface, as `ip` knows it.
    #[must_use]
    pub fn kind(self) -> &'static str {
        match self {
            Self::Veth | Self::Routed => "veth",
            Self::Macvlan => "macvlan",
            Self::Ipvlan => "ipvlan",
            Self::Vxlan => "vxlan",
        }
    }

    /// Whether the guest's interface is the end of the pair itself, and nothing lies on it.
    #[must_use]
    pub fn is_pair_end(self) -> bool {
        matches!(self, Self::Veth | Self::Routed)
    }

    /// The largest MTU that it can have, bytes.
    #[must_use]
    pub fn most_mtu(self) -> u32 {
        match self {
            Self::Veth | Self::Macvlan | Self::Ipvlan | Self::Routed => MOST_MTU,
            Self::Vxlan => MOST_MTU - VXLAN_OVERHEAD,
        }
    }
}

/// What the interfaces of a link do for the kernel; `None` = as the kernel has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Offloads {
    /// Received packets are put together (generic receive offload).
    pub gro: Option<bool>,
    /// Packets to be sent are cut as late as possible (generic segmentation offload).
    pub gso: Option<bool>,
    /// Packets of TCP are cut by the interface (TCP segmentation offload).
    pub tso: Option<bool>,
    /// Checksums are left to the interface, in both directions.
    pub checksum: Option<bool>,
}

impl Offloads {
    /// All of them with their names.
    #[must_use]
    pub fn named(&self) -> [(&'static str, Option<bool>); 4] {
        [
            ("gro", self.gro),
            ("gso", self.gso),
            ("tso", self.tso),
            ("checksum", self.checksum),
        ]
    }

    /// Whether none is asked for.
    #[must_use]
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

/// A limit on the bits of a link, in each direction, by a token bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RateLimit {
    /// Most bits in a second.
    pub bits_per_s: u64,
    /// What waits for tokens.
    pub queue: RateQueue,
}

/// What waits in front of a rate limit; what finds the queue full is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RateQueue {
    /// As many bytes as the limit lets through in 50 ms.
    Usual,
    /// So many packets, 1 or more.
    Packets(u32),
}

/// Delay and loss of packets, in each direction of a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Impairment {
    /// By how much each packet is late.
    pub delay: Duration,
    /// Packets that are lost, of a million.
    pub loss_ppm: u32,
}

impl Impairment {
    /// The most of a million packets that may be lost.
    pub const MOST_LOSS_PPM: u32 = 500_000;

    /// Whether packets pass as they are.
    #[must_use]
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// The delay as a study writes it: `5ms`.
    #[must_use]
    pub fn delay_text(&self) -> String {
        plain_time(self.delay)
    }

    /// The loss in percent: `0.1%`.
    #[must_use]
    pub fn loss_text(&self) -> String {
        format!("{}%", f64::from(self.loss_ppm) / 1e4)
    }
}

impl fmt::Display for RateLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&plain_rate(self.bits_per_s))
    }
}

/// Units of rates and their bits per second, largest first.
pub(crate) const RATE_UNITS: [(&str, u64); 3] = [
    ("Gbit", 1_000_000_000),
    ("Mbit", 1_000_000),
    ("kbit", 1_000),
];

/// Bits per second in their largest whole unit, as a study writes them: `100Mbit`.
#[must_use]
pub fn plain_rate(bits_per_s: u64) -> String {
    RATE_UNITS
        .iter()
        .find(|(_, unit)| bits_per_s > 0 && bits_per_s.is_multiple_of(*unit))
        .map_or_else(
            || format!("{bits_per_s}bit"),
            |(name, unit)| format!("{}{name}", bits_per_s / unit),
        )
}

/// The bits per second that [`plain_rate`] wrote.
#[must_use]
pub fn parse_rate(text: &str) -> Option<u64> {
    let end = text.find(|character: char| !character.is_ascii_digit())?;
    let (number, unit) = text.split_at(end);
    let known = RATE_UNITS.iter().chain(&[("bit", 1)]);
    let (_, bits) = known.into_iter().find(|(name, _)| *name == unit)?;
    number.parse::<u64>().ok()?.checked_mul(*bits)
}

/// CPUs on which the packets of a guest's link are handled, at both of its ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PacketCpus {
    /// As a policy says.
    Policy(PacketPolicy),
    /// These, ascending; one or more.
    These(Vec<u32>),
}

impl PacketCpus {
    /// The CPUs for a guest that runs on the CPUs `own`, where all guests of the trial together
    /// have `all`.
    #[must_use]
    pub fn resolve(&self, own: &[u32], all: &[u32]) -> Vec<u32> {
        match self {
            Self::Policy(PacketPolicy::Spread) => all.to_vec(),
            Self::Policy(PacketPolicy::Guest) => own.to_vec(),
            Self::These(cpus) => cpus.clone(),
        }
    }
}

/// Policies for the CPUs on which packets are handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PacketPolicy {
    /// All CPUs that guests of the trial have.
    Spread,
    /// The guest's own CPUs.
    Guest,
}

impl Named for PacketPolicy {
    const NAMES: &'static [(&'static str, Self, &'static str)] = &[
        ("spread", Self::Spread, "all CPUs that guests have"),
        ("guest", Self::Guest, "the CPUs of the guest itself"),
    ];
}

/// What a study may call the interface of a guest, whatever its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DeviceName {
    Loopback,
    Link(LinkDevice),
    Virtio,
    Vhost,
    E1000,
    User,
}

impl Named for DeviceName {
    const NAMES: &'static [(&'static str, Self, &'static str)] = &[
        (
            "loopback",
            Self::Loopback,
            "an address of the host's loopback; bare guests have no other",
        ),
        (
            "veth",
            Self::Link(LinkDevice::Veth),
            "a pair of interfaces, one of them a port of the lab's bridge; containers",
        ),
        (
            "macvlan",
            Self::Link(LinkDevice::Macvlan),
            "a MAC address of its own on the end of such a pair; containers",
        ),
        (
            "ipvlan",
            Self::Link(LinkDevice::Ipvlan),
            "an IP address of its own on the end of such a pair; containers",
        ),
        (
            "vxlan",
            Self::Link(LinkDevice::Vxlan),
            "a tunnel through such a pair; containers",
        ),
        (
            "routed",
            Self::Link(LinkDevice::Routed),
            "such a pair whose other end the lab routes to, without the bridge; containers",
        ),
        (
            "virtio",
            Self::Virtio,
            "a virtio interface on a bridge; machines",
        ),
        (
            "vhost",
            Self::Vhost,
            "the same, its packets handled by the host's kernel; machines",
        ),
        (
            "e1000",
            Self::E1000,
            "an emulated Intel interface on a bridge; machines",
        ),
        (
            "user",
            Self::User,
            "the emulator's user mode, which forwards one port; machines",
        ),
    ];
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_written_in_their_largest_whole_unit() {
        for (bits, text) in [
            (100_000_000, "100Mbit"),
            (1_000_000_000, "1Gbit"),
            (1_500_000_000, "1500Mbit"),
            (64_000, "64kbit"),
            (1, "1bit"),
            (0, "0bit"),
        ] {
            assert_eq!(plain_rate(bits), text);
            assert_eq!(parse_rate(text), Some(bits));
        }
        for text in ["", "100", "Mbit", "1 Mbit", "99999999999999999999bit"] {
            assert_eq!(parse_rate(text), None, "{text}");
        }
    }

    #[test]
    fn policies_choose_among_the_cpus_of_guests() {
        let chosen = |asked: PacketCpus| asked.resolve(&[2], &[0, 2, 4]);
        assert_eq!(chosen(PacketCpus::Policy(PacketPolicy::Spread)), [0, 2, 4]);
        assert_eq!(chosen(PacketCpus::Policy(PacketPolicy::Guest)), [2]);
        assert_eq!(chosen(PacketCpus::These(vec![1])), [1]);
    }

    #[test]
    fn a_tunnel_needs_room_for_its_headers() {
        assert_eq!(LinkDevice::Vxlan.most_mtu(), 65_485);
        assert_eq!(LinkDevice::Macvlan.most_mtu(), 65_535);
    }
}
