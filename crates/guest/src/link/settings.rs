//! Offloads, coalescing, rate limits, delay and loss of the interfaces of a link, and the CPUs of
//! its packets.

use std::io;

use rookery_host::{Host, Invocation};
use rookery_study::{BackEnd, Impairment, LinkDevice, LinkShape, Offloads, RateLimit, RateQueue};

use super::{
    BACK_END_DEVICE, GUEST_DEVICE, LOWER_DEVICE,
    lines::{back_end_port, port},
    packet_cpus,
};

/// The names that `ethtool -K` has for each of
/// [`Offloads::named`](rookery_study::Offloads::named).
const SWITCHES: [&[&str]; 4] = [&["gro"], &["gso"], &["tso"], &["rx", "tx"]];

/// How long packets wait for tokens at most, where no queue is asked for.
const USUAL_WAIT: &str = "50ms";
/// Tokens that a bucket holds: those of this part of a second.
const BUCKETS_PER_S: u64 = 200;
/// And no fewer than the largest packet before it is cut, twice.
const LEAST_BUCKET: u64 = 128 << 10;
/// Packets that may be late at a time; more would be lost without being asked for.
const LATE_PACKETS: u32 = 100_000;

/// What is asked for of the link of one guest.
#[derive(Clone, Copy, Debug)]
pub struct AskedLink<'a> {
    /// As all guests of the lab have it.
    pub shape: &'a LinkShape,
    /// CPUs on which its packets are handled; none = as the kernel has it.
    pub packet_cpus: &'a [u32],
}

impl<'a> From<&'a LinkShape> for AskedLink<'a> {
    fn from(shape: &'a LinkShape) -> Self {
        Self {
            shape,
            packet_cpus: &[],
        }
    }
}

/// What is asked for of the interfaces of one end of a link.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EndSettings<'a> {
    pub(crate) offloads: Offloads,
    pub(crate) coalesce: Option<u32>,
    pub(crate) rate_limit: Option<RateLimit>,
    pub(crate) impairment: Impairment,
    pub(crate) packet_cpus: &'a [u32],
}

impl<'a> From<AskedLink<'a>> for EndSettings<'a> {
    fn from(asked: AskedLink<'a>) -> Self {
        let AskedLink { shape, packet_cpus } = asked;
        Self {
            offloads: shape.offloads,
            coalesce: shape.coalesce,
            rate_limit: shape.rate_limit,
            impairment: shape.impairment,
            packet_cpus,
        }
    }
}

/// The interfaces of one end of a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EndDevices {
    /// Those whose offloads take part; of the first they are read back.
    pub(super) offloading: Vec<String>,
    /// Those through which users reach the guest; the first has its packets.
    pub(super) packets: Vec<String>,
    /// Those and the one to the network of tiers.
    pub(super) all: Vec<String>,
}

impl EndDevices {
    /// The interface that has the guest's packets.
    pub(super) fn first(&self) -> &str {
        self.packets.first().map_or("", String::as_str)
    }
}

/// One end of the link of a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// The guest's.
    Guest,
    /// The lab's, of the guest of this number.
    Lab(u16),
}

impl Side {
    /// The interfaces of this end.
    pub(crate) fn devices(self, shape: &LinkShape) -> EndDevices {
        let (first, lower) = (self.first(shape.device), self.lower());
        // An interface on top of a pair leaves all of its own to the pair.
        let offloading = match shape.device {
            LinkDevice::Veth | LinkDevice::Routed => vec![first.clone()],
            LinkDevice::Vxlan => vec![first.clone(), lower.clone()],
            LinkDevice::Macvlan | LinkDevice::Ipvlan => vec![lower.clone()],
        };
        let below = (!shape.device.is_pair_end() && lower != first).then_some(lower);
        let packets: Vec<String> = std::iter::once(first).chain(below).collect();
        let back_end = (shape.back_end == BackEnd::Separate).then(|| self.back_end());
        EndDevices {
            offloading,
            all: packets.iter().cloned().chain(back_end).collect(),
            packets,
        }
    }

    /// The interface to the network of tiers.
    fn back_end(self) -> String {
        match self {
            Self::Guest => BACK_END_DEVICE.to_owned(),
            Self::Lab(number) => back_end_port(number),
        }
    }

    /// Its ends of all pairs that a guest may have.
    pub(crate) fn pair_ends(self) -> [String; 2] {
        [self.lower(), self.back_end()]
    }

    /// Its end of the pair, below another interface.
    fn lower(self) -> String {
        match self {
            Self::Guest => LOWER_DEVICE.to_owned(),
            Self::Lab(number) => format!("v{number}"),
        }
    }

    /// The interface that has the guest's packets.
    fn first(self, device: LinkDevice) -> String {
        match self {
            Self::Guest => GUEST_DEVICE.to_owned(),
            Self::Lab(number) => port(device, number),
        }
    }
}

/// Set what a study asks for of the interfaces of one end; the caller is in their namespace.
///
/// # Errors
/// When `ethtool`, `tc` or the kernel refuses.
pub(crate) fn apply(
    host: &dyn Host,
    environment: &[(String, String)],
    asked: &EndSettings<'_>,
    devices: &EndDevices,
) -> io::Result<()> {
    let run = |invocation: Invocation| {
        host.run(invocation.envs(environment.to_vec()))
            .map(drop)
            .map_err(io::Error::other)
    };
    let words = offload_words(&asked.offloads);
    if !words.is_empty() {
        for device in &devices.offloading {
            run(Invocation::new("ethtool")
                .args(["-K", device])
                .args(words.clone()))?;
        }
    }
    if let Some(packets) = asked.coalesce {
        for device in &devices.packets {
            let packets = packets.to_string();
            run(Invocation::new("ethtool").args(["-C", device, "rx-frames", &packets]))?;
        }
    }
    let batch = discipline_lines(asked, devices.first());
    if !batch.is_empty() {
        run(Invocation::new("tc").args(["-batch", "-"]).stdin(batch))?;
    }
    packet_cpus::place(host, asked.packet_cpus, &devices.all)
}

/// What follows `ethtool -K DEVICE`; nothing where nothing is asked for.
fn offload_words(offloads: &Offloads) -> Vec<&'static str> {
    let asked = offloads.named().into_iter().zip(SWITCHES);
    asked
        .filter_map(|((_, on), switches)| {
            let word = if on? { "on" } else { "off" };
            Some(switches.iter().flat_map(move |switch| [*switch, word]))
        })
        .flatten()
        .collect()
}

/// Lines for `tc -batch` that impair and limit what leaves a device; nothing where neither is asked
/// for.
pub(super) fn discipline_lines(asked: &EndSettings<'_>, device: &str) -> String {
    let (first, below) = match asked.impairment {
        impairment if impairment.is_none() => (String::new(), "root".to_owned()),
        impairment => (impairment_line(impairment, device), "parent 3:1".to_owned()),
    };
    let limit = asked.rate_limit;
    first + &limit.map_or_else(String::new, |limit| limit_lines(limit, device, &below))
}

fn impairment_line(impairment: Impairment, device: &str) -> String {
    let (us, loss) = (impairment.delay.as_micros(), impairment.loss_text());
    format!(
        "qdisc replace dev {device} root handle 3: netem limit {LATE_PACKETS} delay {us}us loss \
         {loss}\n"
    )
}

/// `below` says what the limit hangs on.
fn limit_lines(limit: RateLimit, device: &str, below: &str) -> String {
    let bits = limit.bits_per_s;
    let bucket = (bits / 8 / BUCKETS_PER_S).max(LEAST_BUCKET);
    let mut lines = format!(
        "qdisc replace dev {device} {below} handle 1: tbf rate {bits}bit burst {bucket} latency \
         {USUAL_WAIT}\n"
    );
    if let RateQueue::Packets(packets) = limit.queue {
        lines +=
            &format!("qdisc replace dev {device} parent 1:1 handle 2: pfifo limit {packets}\n");
    }
    lines
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn only_what_is_asked_for_is_set() {
        assert!(offload_words(&Offloads::default()).is_empty());
        let offloads = Offloads {
            gso: Some(true),
            checksum: Some(false),
            ..Offloads::default()
        };
        assert_eq!(
            offload_words(&offloads),
            ["gso", "on", "rx", "off", "tx", "off"]
        );
    }

    #[test]
    fn buckets_hold_a_packet_that_is_not_yet_cut() {
        let limit = |bits_per_s, queue| RateLimit { bits_per_s, queue };
        assert_eq!(
            limit_lines(limit(100_000_000, RateQueue::Packets(10)), "v1", "root"),
            "qdisc replace dev v1 root handle 1: tbf rate 100000000bit burst 131072 latency 50ms\n\
             qdisc replace dev v1 parent 1:1 handle 2: pfifo limit 10\n"
        );
        assert!(
            limit_lines(limit(10_000_000_000, RateQueue::Usual), "v1", "root")
                .contains("burst 6250000 ")
        );
    }

    #[test]
    fn a_limit_hangs_on_what_impairs() {
        let lines = |shape: &LinkShape| {
            let settings = EndSettings::from(AskedLink::from(shape));
            discipline_lines(&settings, "v1")
        };
        let mut shape = LinkShape::default();
        assert_eq!(lines(&shape), "");
        shape.impairment = Impairment {
            delay: Duration::from_millis(5),
            loss_ppm: 1000,
        };
        let late =
            "qdisc replace dev v1 root handle 3: netem limit 100000 delay 5000us loss 0.1%\n";
        assert_eq!(lines(&shape), late);
        shape.rate_limit = Some(RateLimit {
            bits_per_s: 100_000_000,
            queue: RateQueue::Usual,
        });
        let both = lines(&shape);
        let limit = both.strip_prefix(late).expect("both");
        assert!(
            limit.starts_with("qdisc replace dev v1 parent 3:1 handle 1: tbf "),
            "{limit}"
        );
    }

    fn devices(side: Side, device: LinkDevice) -> EndDevices {
        side.devices(&LinkShape {
            device,
            back_end: BackEnd::Separate,
            ..LinkShape::default()
        })
    }

    #[test]
    fn offloads_are_those_of_the_pair_and_of_tunnels() {
        for (side, device, offloading) in [
            (Side::Guest, LinkDevice::Veth, vec!["eth0"]),
            (Side::Guest, LinkDevice::Macvlan, vec!["u0"]),
            (Side::Lab(3), LinkDevice::Macvlan, vec!["v3"]),
            (Side::Lab(3), LinkDevice::Vxlan, vec!["x3", "v3"]),
            (Side::Lab(3), LinkDevice::Routed, vec!["v3"]),
        ] {
            assert_eq!(devices(side, device).offloading, offloading);
        }
    }

    #[test]
    fn packets_pass_every_interface_of_an_end() {
        for (side, device, packets) in [
            (Side::Guest, LinkDevice::Veth, vec!["eth0"]),
            (Side::Guest, LinkDevice::Macvlan, vec!["eth0", "u0"]),
            (Side::Lab(3), LinkDevice::Macvlan, vec!["v3"]),
        ] {
            assert_eq!(devices(side, device).packets, packets);
        }
        let all = |side| devices(side, LinkDevice::Vxlan).all;
        assert_eq!(all(Side::Lab(3)), ["x3", "v3", "b3"]);
        assert_eq!(all(Side::Guest), ["eth0", "u0", "eth1"]);
        let alone = Side::Lab(3).devices(&LinkShape::default());
        assert_eq!(
            (alone.all, alone.packets),
            (vec!["v3".to_owned()], vec!["v3".to_owned()])
        );
    }
}
