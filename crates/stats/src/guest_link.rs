//! What the link of a guest to its lab did to a trial.

use rookery_workload::Window;

use crate::{KernelCount, KernelCounter, checks::Remark};

/// Share of a rate limit from which on it is said to bound a guest. Interfaces count a packet
/// before it is cut, without the headers of its pieces, which the limit counts too.
const REACHED: f64 = 0.9;
/// The interface of a guest that has a network of its own.
const INTERFACE: &str = "eth0";

/// The link of a guest as it was in force.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GuestLink {
    /// Name of the guest.
    pub guest: String,
    /// Its largest packet and that of the bridge, bytes, where both are known.
    pub packets: Option<PacketSizes>,
    /// Most bits in a second in each direction, where there is a limit.
    pub bits_per_s: Option<u64>,
    /// CPUs that it is kept on; none where that is not known.
    pub cpus: Vec<u32>,
    /// Its interface on the host, of a guest whose own kernel is not asked for its packets.
    pub tap: Option<String>,
}

impl GuestLink {
    /// What was counted of the interface to its users, as the guest sees it; `None` where nothing
    /// was. What a machine sends, its tap receives.
    pub(crate) fn counted(&self, counts: &[KernelCount], counter: KernelCounter) -> Option<u64> {
        let (scopes, counter) = match &self.tap {
            None => (vec![format!("{} {INTERFACE}", self.guest)], counter),
            Some(tap) => {
                let networks = ["lab", "host"].iter();
                let scopes = networks.map(|network| format!("{network} {tap}"));
                (scopes.collect(), counter.other_end())
            }
        };
        let found = counts
            .iter()
            .find(|count| count.counter == counter && scopes.contains(&count.scope));
        found.map(|found| found.count)
    }
}

/// Largest packets, bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketSizes {
    /// Of the guest's link.
    pub link: u32,
    /// Of the bridge.
    pub bridge: u32,
}

/// What is to be said of links: one that does not fit its bridge, and one whose limit was reached.
/// Nothing of it makes a trial void.
#[must_use]
pub fn link_remarks(links: &[GuestLink], counts: &[KernelCount], window: &Window) -> Vec<Remark> {
    let seconds = window.end_s - window.start_s;
    let reached = links
        .iter()
        .filter_map(|link| at_limit(link, counts, seconds));
    reached.chain(misfits(links)).map(Remark::Warning).collect()
}

/// The direction of a guest in which it came nearest to its limit, where it came near.
fn at_limit(link: &GuestLink, counts: &[KernelCount], seconds: f64) -> Option<String> {
    let limit = link.bits_per_s? as f64;
    let rate = |counter: KernelCounter| {
        let bytes = link.counted(counts, counter);
        bytes.map_or(0.0, |bytes| 8.0 * bytes as f64 / seconds)
    };
    let (sent, received) = (
        rate(KernelCounter::SentBytes),
        rate(KernelCounter::ReceivedBytes),
    );
    let (verb, most) = if sent >= received {
        ("sent", sent)
    } else {
        ("received", received)
    };
    (seconds > 0.0 && most >= REACHED * limit).then(|| {
        format!(
            "{} {verb} {:.1} Mbit/s over a link that is limited to {:.1} Mbit/s \
             (network.rate_limit): the limit bounds it",
            link.guest,
            most / 1e6,
            limit / 1e6
        )
    })
}

/// One sentence for all guests whose links do not fit in the same way.
fn misfits(links: &[GuestLink]) -> Option<String> {
    let misfit = |link: &&GuestLink| {
        link.packets
            .is_some_and(|packets| packets.link != packets.bridge)
    };
    let first = links.iter().find(misfit)?;
    let PacketSizes { link, bridge } = first.packets?;
    let like = links.iter().filter(misfit).count() - 1;
    let others = match like {
        0 => String::new(),
        1 => " (and that of one guest more)".to_owned(),
        more => format!(" (and those of {more} guests more)"),
    };
    let what = if link > bridge {
        "TCP keeps to the smaller in both directions, and other protocols only on the way to the \
         guest"
    } else {
        "TCP keeps to the smaller, and what other protocols send to the guest in larger packets is \
         lost"
    };
    Some(format!(
        "the link of {}{others} carries packets of {link} bytes, and the bridge of its lab {bridge} \
         (network.mtu, network.bridge_mtu): {what}",
        first.guest
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: Window = Window {
        start_s: 10.0,
        end_s: 20.0,
    };

    fn link(guest: &str, link: u32, bridge: u32, bits_per_s: Option<u64>) -> GuestLink {
        GuestLink {
            guest: guest.to_owned(),
            packets: Some(PacketSizes { link, bridge }),
            bits_per_s,
            cpus: Vec::new(),
            tap: None,
        }
    }

    fn sent(scope: &str, bytes: u64) -> KernelCount {
        KernelCount {
            scope: scope.to_owned(),
            counter: KernelCounter::SentBytes,
            count: bytes,
        }
    }

    fn said(links: &[GuestLink], counts: &[KernelCount]) -> Vec<String> {
        let remarks = link_remarks(links, counts, &WINDOW);
        remarks
            .into_iter()
            .map(|remark| match remark {
                Remark::Warning(text) => text,
                Remark::Fault(fault) => panic!("a fault: {}", fault.text),
            })
            .collect()
    }

    #[test]
    fn a_limit_that_is_reached_is_named_with_its_guest() {
        let links = [
            link("g1", 1500, 1500, Some(100_000_000)),
            link("g2", 1500, 1500, None),
        ];
        // 96 Mbit/s for ten seconds.
        let counts = [sent("g1 eth0", 120_000_000), sent("g2 eth0", 999_000_000)];
        assert_eq!(
            said(&links, &counts),
            [
                "g1 sent 96.0 Mbit/s over a link that is limited to 100.0 Mbit/s \
              (network.rate_limit): the limit bounds it"
            ]
        );
        assert!(said(&links, &[sent("g1 eth0", 100_000_000)]).is_empty());
        assert!(said(&links, &[]).is_empty());
        // What a machine sends, its tap receives.
        let machine = GuestLink {
            tap: Some("v1".to_owned()),
            ..link("g1", 1500, 1500, Some(100_000_000))
        };
        let counts = [sent("lab v1", 120_000_000), sent("g1 eth0", 1)];
        assert_eq!(
            said(std::slice::from_ref(&machine), &counts),
            [
                "g1 received 96.0 Mbit/s over a link that is limited to 100.0 Mbit/s \
              (network.rate_limit): the limit bounds it"
            ]
        );
        assert!(said(&[machine], &[sent("lab v11", 120_000_000)]).is_empty());
    }

    #[test]
    fn links_that_do_not_fit_their_bridge_are_named_once() {
        let links = [
            link("g1", 9000, 1500, None),
            link("g2", 9000, 1500, None),
            link("g3", 1500, 1500, None),
        ];
        assert_eq!(
            said(&links, &[]),
            [
                "the link of g1 (and that of one guest more) carries packets of 9000 bytes, and \
              the bridge of its lab 1500 (network.mtu, network.bridge_mtu): TCP keeps to the \
              smaller in both directions, and other protocols only on the way to the guest"
            ]
        );
        let small = said(&[link("g1", 1500, 9000, None)], &[]);
        assert!(small[0].ends_with("in larger packets is lost"), "{small:?}");
        let unknown = GuestLink {
            packets: None,
            ..link("g1", 0, 0, None)
        };
        assert!(said(&[unknown], &[]).is_empty());
    }
}
