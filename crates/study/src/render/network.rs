//! The links of guests in a plan.

use crate::{
    BackEnd, GuestShape, Impairment, LabShape, LinkShape, PacketCpus, PacketPolicy, Plan,
    RateLimit, RateQueue, grammar::kinds::cpu_list, vm_shape::NetworkShape,
};

/// What of the links of guests is not the usual, but for what is a factor.
pub(super) fn unusual(guest: &GuestShape, plan: &Plan) -> Vec<String> {
    match &guest.lab {
        LabShape::Container(link) => link_of(link, guest.packet_cpus.as_ref(), plan),
        LabShape::Vm(shape) => interface_of(&shape.nic, guest.packet_cpus.as_ref(), plan),
        LabShape::Bare | LabShape::Fake | LabShape::External => Vec::new(),
    }
}

/// What of the interfaces of machines is not the usual, but for what is a factor.
fn interface_of(nic: &NetworkShape, packet_cpus: Option<&PacketCpus>, plan: &Plan) -> Vec<String> {
    let usual = NetworkShape::default();
    let others = [
        (
            "device",
            (nic.model != usual.model).then(|| nic.model.name().to_owned()),
        ),
        (
            "mtu",
            (nic.mtu != usual.mtu).then(|| format!("packets of up to {} bytes", nic.mtu)),
        ),
        ("coalesce", nic.coalesce.map(gathered)),
        ("irq", packet_cpus.map(packets_on)),
        ("back_end", of_tiers(nic.back_end)),
    ];
    others
        .into_iter()
        .chain(disciplines(nic.rate_limit, &nic.impairment))
        .chain(nic.offloads.named().map(offload))
        .filter(|(key, _)| !plan.varies("network", key) && !plan.varies("guest", "vm.mtu"))
        .filter_map(|(_, text)| text)
        .collect()
}

/// What of the links of containers is not the usual, but for what is a factor.
fn link_of(link: &LinkShape, packet_cpus: Option<&PacketCpus>, plan: &Plan) -> Vec<String> {
    let usual = LinkShape::default();
    let others = [
        (
            "device",
            (link.device != usual.device).then(|| link.device.name().to_owned()),
        ),
        (
            "mtu",
            (link.mtu != usual.mtu).then(|| format!("packets of up to {} bytes", link.mtu)),
        ),
        (
            "bridge_mtu",
            (link.bridge_mtu != link.mtu)
                .then(|| format!("packets of up to {} bytes on the bridge", link.bridge_mtu)),
        ),
        ("coalesce", link.coalesce.map(gathered)),
        ("irq", packet_cpus.map(packets_on)),
        ("back_end", of_tiers(link.back_end)),
    ];
    others
        .into_iter()
        .chain(disciplines(link.rate_limit, &link.impairment))
        .chain(link.offloads.named().map(offload))
        .filter(|(key, _)| !plan.varies("network", key))
        .filter_map(|(_, text)| text)
        .collect()
}

/// A limit and a longer way.
fn disciplines(
    limit: Option<RateLimit>,
    impairment: &Impairment,
) -> [(&'static str, Option<String>); 4] {
    [
        (
            "rate_limit",
            limit.map(|limit| format!("at most {limit}/s in each direction of a guest")),
        ),
        (
            "queue_length",
            limit.and_then(|limit| match limit.queue {
                RateQueue::Usual => None,
                RateQueue::Packets(packets) => Some(format!("{packets} packets wait for it")),
            }),
        ),
        (
            "delay",
            (!impairment.delay.is_zero()).then(|| {
                let delay = impairment.delay_text();
                format!("packets {delay} late in each direction")
            }),
        ),
        (
            "loss",
            (impairment.loss_ppm > 0).then(|| {
                let loss = impairment.loss_text();
                format!("{loss} of packets lost in each direction")
            }),
        ),
    ]
}

/// An offload that is asked for.
fn offload((name, on): (&'static str, Option<bool>)) -> (&'static str, Option<String>) {
    let word = on.map(|on| format!("{name} {}", if on { "on" } else { "off" }));
    (name, word)
}

/// The network of tiers, where they have one.
fn of_tiers(back_end: BackEnd) -> Option<String> {
    (back_end == BackEnd::Separate).then(|| "tiers on a network of their own".to_owned())
}

/// How many packets are handed on together.
fn gathered(packets: u32) -> String {
    format!("up to {packets} packets gathered")
}

/// Where packets are handled.
fn packets_on(asked: &PacketCpus) -> String {
    match asked {
        PacketCpus::Policy(PacketPolicy::Spread) => "packets on all CPUs of guests".to_owned(),
        PacketCpus::Policy(PacketPolicy::Guest) => "packets on the CPUs of their guest".to_owned(),
        PacketCpus::These(cpus) => format!("packets on CPUs {}", cpu_list(cpus)),
    }
}
