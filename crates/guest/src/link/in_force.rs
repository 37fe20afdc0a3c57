//! What was asked of a guest's link, beside what the kernel says of it.

use std::{path::Path, time::Duration};

use rookery_cast::{low_u32, truncate_u64};
use rookery_host::{Host, Invocation, format_cpu_list, in_netns};
use rookery_study::{
    BackEnd, Impairment, LinkDevice, LinkShape, Named as _, RateLimit, RateQueue, plain_rate,
};
use serde::Deserialize;

use super::{
    BACK_END_BRIDGE, BACK_END_DEVICE, BRIDGE, GUEST_DEVICE, bridge_filters, guest_address,
    lines::{back_end_port, port},
    onward::routes_onward,
    packet_cpus::{Direction, placed},
    settings::{AskedLink, EndDevices, Side},
};
use crate::{route::route_to, storage::InForce};

/// Where the link of a guest is.
pub(crate) struct LinkPlace<'a> {
    /// The guest's namespace.
    pub(crate) guest: &'a Path,
    /// The lab's.
    pub(crate) lab: &'a Path,
    /// The guest's number.
    pub(crate) number: u16,
}

/// An interface as `ip -json -details link` shows it.
#[derive(Deserialize)]
pub(super) struct Device {
    #[serde(default)]
    ifname: String,
    #[serde(default)]
    mtu: u32,
    /// The bridge that it is a port of.
    #[serde(default)]
    master: String,
    #[serde(default)]
    linkinfo: Info,
}

#[derive(Default, Deserialize)]
struct Info {
    #[serde(default)]
    info_kind: String,
}

/// A queueing discipline as `tc -json` shows it.
#[derive(Deserialize)]
pub(super) struct Discipline {
    kind: String,
    #[serde(default)]
    options: DisciplineOptions,
}

#[derive(Default, Deserialize)]
struct DisciplineOptions {
    /// Bytes per second.
    rate: Option<u64>,
    limit: Option<u64>,
    delay: Option<Delay>,
    #[serde(rename = "loss-random")]
    loss: Option<Loss>,
}

#[derive(Deserialize)]
struct Delay {
    /// Seconds.
    delay: f64,
}

#[derive(Deserialize)]
struct Loss {
    /// A share.
    loss: f64,
}

/// The readings of a container's link.
pub(crate) fn readings(
    host: &dyn Host,
    asked: AskedLink<'_>,
    place: &LinkPlace<'_>,
) -> Vec<InForce> {
    let shape = asked.shape;
    let inside = devices(host, place.guest);
    let outside = devices(host, place.lab);
    let near = Side::Guest.devices(shape);
    let far = Side::Lab(place.number).devices(shape);
    let mut readings = vec![
        InForce::new(
            "network.device",
            shape.device.name(),
            device_in_force(host, place, &inside, &outside),
        ),
        InForce::new(
            "network.mtu",
            shape.mtu.to_string(),
            both(mtu_of(&inside, GUEST_DEVICE), mtu_of(&outside, far.first())),
        ),
    ];
    if shape.device != LinkDevice::Routed {
        readings.push(bridge_reading(shape.bridge_mtu, &outside));
    }
    readings.extend(filter_reading(place.lab));
    if shape.back_end == BackEnd::Separate {
        let has_interface = find(&inside, BACK_END_DEVICE).is_some();
        readings.push(back_end_reading(has_interface, &outside, place.number));
    }
    if !shape.offloads.is_none() {
        readings.extend(offload_readings(host, shape, place, [&near, &far]));
    }
    if let Some(packets) = shape.coalesce {
        let gathered =
            |namespace: &Path, end: &EndDevices| gathered(host, Some(namespace), end.first());
        let in_force = both(gathered(place.guest, &near), gathered(place.lab, &far));
        readings.push(InForce::new(
            "network.coalesce",
            packets.to_string(),
            in_force,
        ));
    }
    if shape.rate_limit.is_some() || !shape.impairment.is_none() {
        let ends = [
            disciplines(host, Some(place.guest), near.first()),
            disciplines(host, Some(place.lab), far.first()),
        ];
        readings.extend(limit_readings(shape.rate_limit, &ends));
        readings.extend(impairment_readings(&shape.impairment, &ends));
    }
    if !asked.packet_cpus.is_empty() {
        let end = |namespace: &Path, end: &EndDevices, direction| {
            in_netns(Some(namespace), || placed(&end.all, direction)).ok()?
        };
        readings.extend(packet_readings(asked.packet_cpus, |direction| {
            let (inside, outside) = (
                end(place.guest, &near, direction),
                end(place.lab, &far, direction),
            );
            let has_masks = inside.is_some() || outside.is_some();
            has_masks.then(|| both(inside, outside))
        }));
    }
    readings
}

/// The guest's interface is of this kind; a pair whose other end is no port of a bridge is routed
/// where the lab has a route to it and sends on what comes from there.
fn device_in_force(
    host: &dyn Host,
    place: &LinkPlace<'_>,
    inside: &[Device],
    outside: &[Device],
) -> String {
    let kind = find(inside, GUEST_DEVICE).map_or("", |device| &device.linkinfo.info_kind);
    let end = port(LinkDevice::Routed, place.number);
    let is_free = find(outside, &end).is_some_and(|device| device.master.is_empty());
    let is_routed = kind == LinkDevice::Routed.kind()
        && is_free
        && has_route(host, place, &end)
        && in_netns(Some(place.lab), || routes_onward(place.number)).unwrap_or(false);
    match is_routed {
        true => LinkDevice::Routed.name().to_owned(),
        false => kind.to_owned(),
    }
}

/// Whether the lab's route to a guest leads over this interface.
fn has_route(host: &dyn Host, place: &LinkPlace<'_>, device: &str) -> bool {
    let Ok(address) = guest_address(place.number) else {
        return false;
    };
    let route = in_netns(Some(place.lab), || route_to(host, address.into()));
    matches!(route, Ok(Ok(Some(route))) if route.device == device)
}

/// How many packets an interface gathers, as `ethtool -c` says it; `None` where it does not.
/// `namespace` is where it is; `None` = that of the caller.
pub(super) fn gathered(host: &dyn Host, namespace: Option<&Path>, device: &str) -> Option<String> {
    let invocation = Invocation::new("ethtool").args(["-c", device]);
    let said = in_netns(namespace, || host.run(invocation));
    rx_frames(&said.ok().and_then(Result::ok)?)
}

fn rx_frames(said: &str) -> Option<String> {
    let value = said
        .lines()
        .find_map(|line| line.strip_prefix("rx-frames:"))?;
    let value = value.trim();
    (value != "n/a").then(|| value.to_owned())
}

/// The MTU of an interface of the caller's namespace; empty where it cannot be read.
pub(crate) fn host_mtu(device: &str) -> String {
    let path = Path::new("/sys/class/net").join(device).join("mtu");
    let read = std::fs::read_to_string(path).unwrap_or_default();
    read.trim().to_owned()
}

/// Tiers have a network of their own where a guest has an interface to it, and the lab's end of
/// that is a port of the network's bridge.
pub(super) fn back_end_reading(has_interface: bool, outside: &[Device], number: u16) -> InForce {
    let port = find(outside, &back_end_port(number));
    let is_port = port.is_some_and(|port| port.master == BACK_END_BRIDGE);
    let in_force = match has_interface && is_port {
        true => BackEnd::Separate,
        false => BackEnd::Shared,
    };
    let asked = BackEnd::Separate.name();
    InForce::new("network.back_end", asked, in_force.name())
}

pub(super) fn bridge_reading(asked: u32, devices: &[Device]) -> InForce {
    InForce::new(
        "network.bridge_mtu",
        asked.to_string(),
        mtu_of(devices, BRIDGE).map_or_else(String::new, |mtu| mtu.to_string()),
    )
}

/// Whether packets on the bridges of a lab go through filters; nothing where the kernel has none
/// for bridges.
pub(super) fn filter_reading(lab: &Path) -> Option<InForce> {
    let filters = in_netns(Some(lab), bridge_filters::in_force).ok()??;
    Some(InForce::new(
        "network.bridge_filters",
        "off",
        on_off(filters),
    ))
}

/// Nothing where `ip` says nothing.
pub(super) fn devices(host: &dyn Host, namespace: &Path) -> Vec<Device> {
    let invocation = || Invocation::new("ip").args(["-json", "-details", "link", "show"]);
    let said = said_in(host, Some(namespace), invocation());
    serde_json::from_str(&said).unwrap_or_default()
}

/// What a command says in a namespace; empty where it fails.
fn said_in(host: &dyn Host, namespace: Option<&Path>, invocation: Invocation) -> String {
    let said = in_netns(namespace, || host.run(invocation));
    said.ok().and_then(Result::ok).unwrap_or_default()
}

fn find<'a>(devices: &'a [Device], name: &str) -> Option<&'a Device> {
    devices.iter().find(|device| device.ifname == name)
}

pub(super) fn mtu_of(devices: &[Device], name: &str) -> Option<u32> {
    find(devices, name).map(|device| device.mtu)
}

/// Both ends of a link: one value where they agree; else that of the guest, and that of the lab.
pub(super) fn both<T: ToString + PartialEq>(guest: Option<T>, lab: Option<T>) -> String {
    match (guest, lab) {
        (Some(guest), Some(lab)) if guest == lab => guest.to_string(),
        (None, None) => String::new(),
        (guest, lab) => {
            let text = |value: Option<T>| value.map_or_else(|| "?".to_owned(), |v| v.to_string());
            format!("{} in the guest, {} in the lab", text(guest), text(lab))
        }
    }
}

fn offload_readings(
    host: &dyn Host,
    shape: &LinkShape,
    place: &LinkPlace<'_>,
    [near, far]: [&EndDevices; 2],
) -> Vec<InForce> {
    let of_end = |namespace: &Path, end: &EndDevices| {
        let device = end.offloading.first().map_or("", String::as_str);
        features(host, Some(namespace), device)
    };
    let inside = of_end(place.guest, near);
    let outside = of_end(place.lab, far);
    let asked = shape.offloads.named().into_iter().zip(FEATURES);
    asked
        .filter_map(|((name, asked), features)| {
            let effective = both(
                state(&inside, features).map(on_off),
                state(&outside, features).map(on_off),
            );
            Some(InForce::new(
                &format!("network.{name}"),
                on_off(asked?),
                effective,
            ))
        })
        .collect()
}

/// What `ethtool -k` says of an interface. `namespace` as for [`gathered`].
pub(super) fn features(host: &dyn Host, namespace: Option<&Path>, device: &str) -> String {
    said_in(
        host,
        namespace,
        Invocation::new("ethtool").args(["-k", device]),
    )
}

/// What `ethtool -k` calls each of [`Offloads::named`](rookery_study::Offloads::named).
const FEATURES: [&[&str]; 4] = [
    &["generic-receive-offload"],
    &["generic-segmentation-offload"],
    &["tcp-segmentation-offload"],
    &["rx-checksumming", "tx-checksumming"],
];

/// Whether all of these features are on; `None` where they differ or are not listed.
pub(super) fn state(said: &str, features: &[&str]) -> Option<bool> {
    let states = features.iter().map(|feature| {
        let value = said
            .lines()
            .find_map(|line| line.trim().strip_prefix(feature)?.strip_prefix(':'))?;
        match value.split_whitespace().next()? {
            "on" => Some(true),
            "off" => Some(false),
            _ => None,
        }
    });
    let states: Vec<bool> = states.collect::<Option<_>>()?;
    let first = *states.first()?;
    states.iter().all(|state| *state == first).then_some(first)
}

/// The queueing disciplines of an interface. `namespace` as for [`gathered`].
pub(super) fn disciplines(
    host: &dyn Host,
    namespace: Option<&Path>,
    device: &str,
) -> Vec<Discipline> {
    let invocation = Invocation::new("tc").args(["-json", "qdisc", "show", "dev", device]);
    parse_disciplines(&said_in(host, namespace, invocation))
}

/// The same from what `tc` says; none where it says nothing.
pub(super) fn parse_disciplines(said: &str) -> Vec<Discipline> {
    serde_json::from_str(said).unwrap_or_default()
}

pub(super) fn impairment_readings(
    asked: &Impairment,
    [inside, outside]: &[Vec<Discipline>; 2],
) -> Vec<InForce> {
    let of = |found: &[Discipline]| {
        let netem = found.iter().find(|discipline| discipline.kind == "netem")?;
        let options = &netem.options;
        let rounded = |number: f64| truncate_u64(number.round());
        Some(Impairment {
            delay: Duration::from_micros(
                options
                    .delay
                    .as_ref()
                    .map_or(0, |own| rounded(own.delay * 1e6)),
            ),
            loss_ppm: low_u32(
                options
                    .loss
                    .as_ref()
                    .map_or(0, |own| rounded(own.loss * 1e6)),
            ),
        })
    };
    let (guest, lab) = (of(inside), of(outside));
    let reading = |name: &str, asked: String, text: fn(&Impairment) -> String| {
        let ends = both(guest.as_ref().map(text), lab.as_ref().map(text));
        InForce::new(&format!("network.{name}"), asked, ends)
    };
    let delay = (!asked.delay.is_zero())
        .then(|| reading("delay", asked.delay_text(), Impairment::delay_text));
    let loss =
        (asked.loss_ppm > 0).then(|| reading("loss", asked.loss_text(), Impairment::loss_text));
    delay.into_iter().chain(loss).collect()
}

pub(super) fn limit_readings(
    asked: Option<RateLimit>,
    [inside, outside]: &[Vec<Discipline>; 2],
) -> Vec<InForce> {
    let Some(limit) = asked else {
        return Vec::new();
    };
    let rate = |found: &[Discipline]| {
        let bucket = found.iter().find(|discipline| discipline.kind == "tbf");
        bucket
            .and_then(|bucket| bucket.options.rate)
            .map(|bytes| plain_rate(bytes.saturating_mul(8)))
    };
    let queue = |found: &[Discipline]| {
        let queue = found.iter().find(|discipline| discipline.kind == "pfifo");
        queue.and_then(|queue| queue.options.limit)
    };
    let mut readings = vec![InForce::new(
        "network.rate_limit",
        limit.to_string(),
        both(rate(inside), rate(outside)),
    )];
    if let RateQueue::Packets(packets) = limit.queue {
        readings.push(InForce::new(
            "network.queue_length",
            packets.to_string(),
            both(queue(inside), queue(outside)),
        ));
    }
    readings
}

/// Where packets are handled, as `placed` says it of each direction; of sending nothing is said
/// where no interface has queues to choose from.
pub(super) fn packet_readings(
    asked: &[u32],
    placed: impl Fn(Direction) -> Option<String>,
) -> Vec<InForce> {
    let cpus = format_cpu_list(asked.iter().copied());
    let received = placed(Direction::Receive).unwrap_or_default();
    let received = InForce::new("network.irq", cpus.clone(), received);
    let sent = placed(Direction::Send).map(|sent| InForce::new("network.irq_send", cpus, sent));
    std::iter::once(received).chain(sent).collect()
}

pub(super) fn on_off(on: bool) -> &'static str {
    if on { "on" } else { "off" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_interface_gathers_is_read_from_its_list() {
        let said = "Coalesce parameters for t0:\nAdaptive RX: n/a  TX: n/a\n\nrx-usecs: \
                    n/a\nrx-frames: 16\nrx-usecs-irq: n/a\nrx-frames-irq: n/a\n";
        assert_eq!(rx_frames(said).as_deref(), Some("16"));
        assert_eq!(rx_frames("rx-frames: n/a\n"), None);
        assert_eq!(rx_frames("netlink error: Operation not supported\n"), None);
    }

    #[test]
    fn ends_that_differ_are_both_shown() {
        assert_eq!(both(Some(1500), Some(1500)), "1500");
        assert_eq!(
            both(Some(9000), Some(1500)),
            "9000 in the guest, 1500 in the lab"
        );
        assert_eq!(both::<u32>(None, None), "");
        assert_eq!(both(None, Some(1)), "? in the guest, 1 in the lab");
    }

    #[test]
    fn features_are_read_as_ethtool_shows_them() {
        let said = "Features for eth0:\nrx-checksumming: on\ntx-checksumming: off\n\ttx-checksum-ipv4: \
                    off [fixed]\ngeneric-receive-offload: off\ntcp-segmentation-offload: on [requested off]\n";
        assert_eq!(state(said, FEATURES[0]), Some(false));
        assert_eq!(state(said, FEATURES[2]), Some(true));
        assert_eq!(state(said, FEATURES[3]), None, "they differ");
        assert_eq!(state(said, FEATURES[1]), None, "not listed");
    }

    #[test]
    fn disciplines_are_read_as_tc_shows_them() {
        let said = r#"[{"kind":"tbf","handle":"1:","root":true,"options":{"rate":12500000,"burst":131062,"lat":50000}},
            {"kind":"pfifo","handle":"2:","parent":"1:1","options":{"limit":100}},{"kind":"noqueue","root":true}]"#;
        let found: Vec<Discipline> = serde_json::from_str(said).expect("JSON");
        assert_eq!(found[0].options.rate, Some(12_500_000));
        assert_eq!(found[1].options.limit, Some(100));
        assert_eq!(found[2].options.rate, None);
    }

    #[test]
    fn delay_and_loss_are_those_of_both_ends() {
        let said = r#"[{"kind":"netem","handle":"3:","root":true,"options":{"limit":100000,
            "delay":{"delay":0.005,"jitter":0,"correlation":0},"loss-random":{"loss":0.00099999,"correlation":0},
            "ecn":false,"gap":0}}]"#;
        let ends = || serde_json::from_str::<Vec<Discipline>>(said).expect("JSON");
        let asked = Impairment {
            delay: Duration::from_millis(5),
            loss_ppm: 1000,
        };
        let found = impairment_readings(&asked, &[ends(), ends()]);
        let texts: Vec<(&str, &str)> = found
            .iter()
            .map(|one| (one.asked.as_str(), one.effective.as_str()))
            .collect();
        assert_eq!(texts, [("5ms", "5ms"), ("0.1%", "0.1%")]);
        let found = impairment_readings(&asked, &[ends(), Vec::new()]);
        assert_eq!(found[0].effective, "5ms in the guest, ? in the lab");
    }
}
