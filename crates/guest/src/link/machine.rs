//! The link of a machine to a bridge: its taps, which its emulator makes and which go with it.
//!
//! What is asked of it is set on the tap when the machine has one and does not run yet.

use std::{collections::BTreeSet, io, path::Path};

use rookery_host::{Host, in_netns, in_unnamed_netns};
use rookery_study::{BackEnd, Offloads, vm_shape::NetworkShape};
use serde::{Deserialize, Serialize};

use super::{
    BACK_END_DEVICE, GUEST_DEVICE,
    base::run_batch,
    in_force::{
        back_end_reading, both, bridge_reading, devices, disciplines, features, filter_reading,
        gathered, impairment_readings, limit_readings, mtu_of, on_off, packet_readings,
        parse_disciplines, state,
    },
    lines::back_end_port,
    packet_cpus::placed,
    settings::{EndDevices, EndSettings, apply, discipline_lines},
};
use crate::storage::InForce;

/// The tap that is tried.
const TRIED: &str = "t0";

/// The link of one machine.
pub(crate) struct MachineLink<'a> {
    /// As all guests of the lab have it.
    pub(crate) nic: &'a NetworkShape,
    /// CPUs on which its packets are handled; none = as the kernel has it.
    pub(crate) packet_cpus: &'a [u32],
    /// The namespace of the lab's network; `None` = that of the caller, on a bridge of the host.
    pub(crate) lab: Option<&'a Path>,
    /// Name of its tap.
    pub(crate) tap: String,
    /// The guest's number.
    pub(crate) number: u16,
}

/// What a machine says of its own end of the link.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct MachineEnd {
    /// Names of its interfaces that are up.
    pub(crate) interfaces: BTreeSet<String>,
    /// The features that a virtio interface to the users and its driver have agreed on, a digit for
    /// each, from the first.
    pub(crate) features: String,
    /// The queueing disciplines of that interface, as `tc -json` shows them; empty where none was
    /// asked for.
    pub(crate) disciplines: String,
}

/// Bits of those features (virtio 1.2, section 5.1.3).
mod feature {
    /// Packets are taken from the guest without checksums.
    pub(super) const CHECKSUM: usize = 0;
    /// Packets of TCP over IPv4 are taken from the guest before they are cut.
    pub(super) const TSO4: usize = 11;
    /// The same over IPv6.
    pub(super) const TSO6: usize = 12;
}

impl MachineEnd {
    /// Whether it and the host have agreed on all of these; `None` where they differ, or are not
    /// known.
    fn agrees_on(&self, features: &[usize]) -> Option<bool> {
        let mut states = features
            .iter()
            .map(|bit| match self.features.as_bytes().get(*bit)? {
                b'1' => Some(true),
                b'0' => Some(false),
                _ => None,
            });
        let first = states.next()??;
        states.all(|state| state == Some(first)).then_some(first)
    }
}

impl MachineLink<'_> {
    /// Set what is asked for of its taps.
    ///
    /// # Errors
    /// When `tc` or the kernel refuses.
    pub(crate) fn apply(
        &self,
        host: &dyn Host,
        environment: &[(String, String)],
    ) -> io::Result<()> {
        let settings = settings(self.nic, self.packet_cpus);
        in_netns(self.lab, || {
            apply(host, environment, &settings, &self.devices())
        })
        .and_then(|done| done)
    }

    /// Lines by which the machine's own `tc` limits and impairs what it sends; nothing where
    /// neither is asked for.
    pub(crate) fn lines_inside(&self) -> String {
        discipline_lines(&settings(self.nic, &[]), GUEST_DEVICE)
    }

    /// Whether its own end has something to say: [`MachineEnd`].
    pub(crate) fn is_read_inside(&self) -> bool {
        let nic = self.nic;
        nic.back_end == BackEnd::Separate || !nic.offloads.is_none() || nic.has_disciplines()
    }

    /// What was asked of it, beside what the kernel says of its taps and the machine of its end.
    pub(crate) fn readings(&self, host: &dyn Host, inside: &MachineEnd) -> Vec<InForce> {
        let nic = self.nic;
        let mut readings = vec![InForce::new("network.tap", "", self.tap.clone())];
        if let Some(lab) = self.lab {
            let devices = devices(host, lab);
            let mtu = mtu_of(&devices, &self.tap);
            readings.push(InForce::new(
                "network.mtu",
                nic.mtu.to_string(),
                mtu.map_or_else(String::new, |mtu| mtu.to_string()),
            ));
            readings.push(bridge_reading(nic.mtu, &devices));
            readings.extend(filter_reading(lab));
            if nic.back_end == BackEnd::Separate {
                let has_interface = inside.interfaces.contains(BACK_END_DEVICE);
                readings.push(back_end_reading(has_interface, &devices, self.number));
            }
        }
        if !nic.offloads.is_none() {
            readings.extend(self.offload_readings(host, inside));
        }
        if let Some(packets) = nic.coalesce {
            let in_force = gathered(host, self.lab, &self.tap).unwrap_or_default();
            let packets = packets.to_string();
            readings.push(InForce::new("network.coalesce", packets, in_force));
        }
        if nic.has_disciplines() {
            let ends = [
                parse_disciplines(&inside.disciplines),
                disciplines(host, self.lab, &self.tap),
            ];
            readings.extend(limit_readings(nic.rate_limit, &ends));
            readings.extend(impairment_readings(&nic.impairment, &ends));
        }
        if !self.packet_cpus.is_empty() {
            let all = self.devices().all;
            readings.extend(packet_readings(self.packet_cpus, |direction| {
                in_netns(self.lab, || placed(&all, direction)).ok()?
            }));
        }
        readings
    }

    /// What is left to the host of what the machine sends, and to the machine of what it is sent.
    fn offload_readings(&self, host: &dyn Host, inside: &MachineEnd) -> Vec<InForce> {
        let of_tap = features(host, self.lab, &self.tap);
        let ends = [
            (
                inside.agrees_on(&[feature::TSO4, feature::TSO6]),
                state(&of_tap, &["tcp-segmentation-offload"]),
            ),
            (
                inside.agrees_on(&[feature::CHECKSUM]),
                state(&of_tap, &["tx-checksumming"]),
            ),
        ];
        let asked = self.nic.offloads.named().into_iter().zip(ends);
        asked
            .filter_map(|((name, asked), (guest, lab))| {
                let in_force = both(guest.map(on_off), lab.map(on_off));
                Some(InForce::new(
                    &format!("network.{name}"),
                    on_off(asked?),
                    in_force,
                ))
            })
            .collect()
    }

    fn devices(&self) -> EndDevices {
        let back_end = self.nic.back_end == BackEnd::Separate;
        of_tap(&self.tap, back_end.then(|| back_end_port(self.number)))
    }
}

/// What is asked of the taps of a machine. What they gather and what is left to whom, the emulator
/// sets.
fn settings<'a>(nic: &NetworkShape, packet_cpus: &'a [u32]) -> EndSettings<'a> {
    EndSettings {
        offloads: Offloads::default(),
        coalesce: None,
        rate_limit: nic.rate_limit,
        impairment: nic.impairment,
        packet_cpus,
    }
}

/// A tap to the users, and one to the network of tiers, if there is one.
fn of_tap(tap: &str, to_tiers: Option<String>) -> EndDevices {
    let packets = vec![tap.to_owned()];
    EndDevices {
        offloading: packets.clone(),
        all: packets.iter().cloned().chain(to_tiers).collect(),
        packets,
    }
}

/// Set what is asked for of a tap in a network namespace that has no name; both are gone
/// afterwards.
///
/// # Errors
/// When `tc` or the kernel refuses.
pub(super) fn try_tap(host: &dyn Host, nic: &NetworkShape, packet_cpus: &[u32]) -> io::Result<()> {
    let settings = settings(nic, packet_cpus);
    in_unnamed_netns(|| {
        let queues = if nic.queues > 1 { " multi_queue" } else { "" };
        run_batch(
            host,
            &[],
            &format!("tuntap add dev {TRIED} mode tap{queues}\n"),
        )?;
        apply(host, &[], &settings, &of_tap(TRIED, None))
    })?
}

#[cfg(test)]
mod tests {
    use rookery_study::{RateLimit, RateQueue};

    use super::*;

    #[test]
    fn packets_pass_the_tap_to_users_and_that_to_tiers() {
        let nic = NetworkShape {
            back_end: BackEnd::Separate,
            ..NetworkShape::default()
        };
        let link = MachineLink {
            nic: &nic,
            packet_cpus: &[],
            lab: None,
            tap: "v3".to_owned(),
            number: 3,
        };
        let devices = link.devices();
        assert_eq!(devices.first(), "v3");
        assert_eq!(devices.all, ["v3", "b3"]);
        assert!(link.is_read_inside() && link.lines_inside().is_empty());
    }

    #[test]
    fn a_limit_is_that_of_both_ends() {
        let nic = NetworkShape {
            rate_limit: Some(RateLimit {
                bits_per_s: 100_000_000,
                queue: RateQueue::Usual,
            }),
            ..NetworkShape::default()
        };
        let link = MachineLink {
            nic: &nic,
            packet_cpus: &[0],
            lab: None,
            tap: "v1".to_owned(),
            number: 1,
        };
        assert_eq!(
            link.lines_inside(),
            "qdisc replace dev eth0 root handle 1: tbf rate 100000000bit burst 131072 latency 50ms\n"
        );
    }

    #[test]
    fn features_are_digits_from_the_first() {
        let end = |features: &str| MachineEnd {
            features: features.to_owned(),
            ..MachineEnd::default()
        };
        let both_on = end("1000000000011");
        assert_eq!(both_on.agrees_on(&[feature::CHECKSUM]), Some(true));
        assert_eq!(
            both_on.agrees_on(&[feature::TSO4, feature::TSO6]),
            Some(true)
        );
        let one = end("0000000000010");
        assert_eq!(
            one.agrees_on(&[feature::TSO4, feature::TSO6]),
            None,
            "they differ"
        );
        assert_eq!(one.agrees_on(&[feature::CHECKSUM]), Some(false));
        assert_eq!(end("").agrees_on(&[feature::CHECKSUM]), None);
    }
}
