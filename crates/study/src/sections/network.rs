//! `[network]`: how guests are linked to the network of their lab.

use std::time::Duration;

use rookery_cast::{low_u32, truncate_u64};

use super::storage::Switch;
use crate::{
    grammar::{
        Context, SectionInfo, keys,
        kinds::{Choice, PacketCpusKind, PerSecond, Percent, Time, Whole},
    },
    link_shape::{
        BackEnd, DeviceName, Impairment, LEAST_MTU, LinkDevice, LinkShape, MOST_MTU, Offloads,
        RateLimit, RateQueue,
    },
    names::Named,
    problem::Code,
    values::{GuestKind, GuestShape, LabShape},
    vm_shape::{Network, NetworkShape, NicModel, NicOffloads, VmShape},
};

pub(super) const SECTION: SectionInfo = SectionInfo {
    name: "network",
    many: false,
    meaning: "How guests are linked to the network of their lab: containers and machines. What is \
              not said is as the kernel has it.",
    keys: NetworkKeys::keys,
    below: &[],
};

/// Longest delay of a packet.
const LONGEST_DELAY: Duration = Duration::from_secs(10);
/// Most packets that an interface gathers: the kernel looks at no more at a time.
const MOST_GATHERED: u32 = 64;
/// Longest queue in front of a rate limit, packets.
const LONGEST_QUEUE: u32 = 1_000_000;

keys! {
    /// Keys of `[network]`.
    NetworkKeys {
        /// What the guest's interface is.
        device: Choice<DeviceName> = Choice::NEW, Optional("\"loopback\" for bare guests, \"veth\" \
            for containers, \"virtio\" for machines, or what [guest.vm] says");
        /// Largest packet of the guest's link, bytes; 65485 is the most of a vxlan, 65521 of a
        /// machine.
        mtu: Whole<u32> = Whole { min: LEAST_MTU, max: MOST_MTU }, Optional("1500");
        /// Packets that the interfaces of a guest's link gather before they hand them on
        /// (`rx-frames` of `ethtool -C`): of machines on a bridge that on the host; those of
        /// containers take it where the kernel has it.
        coalesce: Whole<u32> = Whole { min: 0, max: MOST_GATHERED }, Optional("as the kernel has it");
        /// The network on which guests call a tier.
        back_end: Choice<BackEnd> = Choice::NEW, Default("\"shared\"");
        /// CPUs on which packets of a guest's link are received at both of its ends, of a machine
        /// at the host's, and sent where an interface has several queues; `[0, 1]` is one list of
        /// CPUs, `["0", "1"]` a factor.
        irq: PacketCpusKind = PacketCpusKind, Optional("as the kernel has it, on the CPU of the sender");
        /// Packets of TCP are cut by the interface, of machines by the other side of a virtio
        /// interface; needs `checksum`.
        tso: Choice<Switch> = Choice::NEW, Optional("as the kernel has it");
        /// Checksums are left to the interface, sent and received, of machines to the other side
        /// of a virtio interface.
        checksum: Choice<Switch> = Choice::NEW, Optional("as the kernel has it");
        /// Most that passes the link of a guest, in each direction.
        rate_limit: PerSecond = PerSecond::Bits, Default("\"none\"");
        /// Packets that wait for the rate limit in each direction; more are dropped.
        queue_length: Whole<u32> = Whole { min: 1, max: LONGEST_QUEUE }, Optional("as many bytes \
            as the limit lets through in 50 ms");
        /// By how much every packet is late, in each direction.
        delay: Time = Time { min: Duration::ZERO, max: LONGEST_DELAY, example: "5ms" }, Default("\"0s\"");
        /// Packets that are lost, in each direction.
        loss: Percent = Percent { min: 0.0, max: 0.5, example: "0.1%" }, Default("0.0");
        /// Largest packet of the lab's bridge, bytes (this key and those below: containers only).
        bridge_mtu: Whole<u32> = Whole { min: LEAST_MTU, max: MOST_MTU }, Optional("that of the links");
        /// Received packets are put together (generic receive offload).
        gro: Choice<Switch> = Choice::NEW, Optional("as the kernel has it");
        /// Packets are cut as late as possible (generic segmentation offload).
        gso: Choice<Switch> = Choice::NEW, Optional("as the kernel has it");
    }
}

/// What only containers have, and why machines do not.
const CONTAINER_KEYS: [(&str, &str); 3] = [
    (
        "bridge_mtu",
        "shapes the links of containers: a machine's tap has the largest packet of its bridge",
    ),
    (
        "gro",
        "shapes the links of containers: the host puts no packets of a machine together, and the \
         machine's own kernel those that it receives",
    ),
    (
        "gso",
        "shapes the links of containers: on which side of a machine's interface packets are cut, \
         `network.tso` says",
    ),
];
/// What interfaces on the host have.
const HOST_KEYS: [&str; 7] = [
    "irq",
    "tso",
    "checksum",
    "rate_limit",
    "queue_length",
    "delay",
    "loss",
];
/// What the interfaces of containers and machines have beside.
const LINK_KEYS: [&str; 3] = ["mtu", "coalesce", "back_end"];

impl NetworkKeys {
    /// Give guests the network that the section asks for. What they cannot have is refused.
    pub(crate) fn apply(self, guest: &mut GuestShape, context: &mut Context) {
        if self.misread(SECTION.name, context) {
            return;
        }
        let kind = guest.kind();
        match &mut guest.lab {
            LabShape::Container(link) => {
                if let Some(asked) = self.link(context) {
                    *link = asked;
                }
                guest.packet_cpus = self.irq;
            }
            LabShape::Vm(shape) => {
                for (key, why) in CONTAINER_KEYS {
                    refuse_all(&[key], why, context);
                }
                self.machine(shape, context);
                guest.packet_cpus = self.irq;
            }
            LabShape::Bare | LabShape::Fake | LabShape::External => {
                let what = format!("shapes the links of guests, but {kind} guests have none");
                refuse_all(&LINK_KEYS, &what, context);
                refuse_all(&HOST_KEYS, &what, context);
                refuse_all(&CONTAINER_KEYS.map(|(key, _)| key), &what, context);
                if self
                    .device
                    .is_some_and(|device| device != DeviceName::Loopback)
                {
                    self.refuse_device(kind, "loopback", context);
                }
            }
        }
    }

    /// The link of containers.
    fn link(&self, context: &mut Context) -> Option<LinkShape> {
        let device = match self.device {
            None => LinkDevice::Veth,
            Some(DeviceName::Link(device)) => device,
            Some(_) => {
                self.refuse_device(GuestKind::Container, "veth", context);
                return None;
            }
        };
        let mtu = self.mtu.unwrap_or(LinkShape::USUAL_MTU);
        if mtu > device.most_mtu() {
            let most = device.most_mtu();
            let message = format!(
                "`network.mtu` is {mtu}, and a {} carries packets of at most {most} bytes",
                device.name()
            );
            refuse("mtu", message, &format!("write `mtu = {most}`"), context);
            return None;
        }
        if self.cuts_without_checksums(context) {
            return None;
        }
        if (device, self.back_end) == (LinkDevice::Ipvlan, Some(BackEnd::Separate)) {
            let message = "`network.back_end` is \"separate\", and a guest with an ipvlan answers at \
                           no other address than that of the ipvlan";
            let help = "write `device = \"macvlan\"`, or remove one of the two";
            refuse("back_end", message.to_owned(), help, context);
            return None;
        }
        if device == LinkDevice::Routed && self.bridge_mtu.is_some() {
            let message = "`network.bridge_mtu` is that of a bridge, and there is none on the way to \
                           a routed guest";
            let help = "remove the key, or write `device = \"veth\"`";
            refuse("bridge_mtu", message.to_owned(), help, context);
            return None;
        }
        let on = |switch: Option<Switch>| switch.map(|switch| switch.0);
        Some(LinkShape {
            device,
            mtu,
            bridge_mtu: self.bridge_mtu.unwrap_or(mtu),
            offloads: Offloads {
                gro: on(self.gro),
                gso: on(self.gso),
                tso: on(self.tso),
                checksum: on(self.checksum),
            },
            coalesce: self.coalesce,
            rate_limit: self.limit(context)?,
            impairment: self.impairment()?,
            back_end: self.back_end?,
        })
    }

    /// Refuses cutting by who has no checksums.
    fn cuts_without_checksums(&self, context: &mut Context) -> bool {
        let cuts = (self.tso, self.checksum) == (Some(Switch(true)), Some(Switch(false)));
        if cuts {
            let message = "`network.tso` is \"on\", but who cuts a packet also writes its checksum, \
                           and `network.checksum` is \"off\"";
            refuse("tso", message.to_owned(), "remove one of the two", context);
        }
        cuts
    }

    fn impairment(&self) -> Option<Impairment> {
        Some(Impairment {
            delay: self.delay?,
            loss_ppm: ppm(self.loss?),
        })
    }

    /// The rate limit, if there is one.
    #[expect(
        clippy::option_option,
        reason = "nothing is what was refused, as everywhere in the grammar"
    )]
    fn limit(&self, context: &mut Context) -> Option<Option<RateLimit>> {
        match (self.rate_limit?, self.queue_length) {
            (Some(bits_per_s), queue) => Some(Some(RateLimit {
                bits_per_s,
                queue: queue.map_or(RateQueue::Usual, RateQueue::Packets),
            })),
            (None, None) => Some(None),
            (None, Some(_)) => {
                let message = "`network.queue_length` is that of a rate limit, and there is none: \
                               the interfaces of the lab pass every packet on at once";
                let help = "add `rate_limit = \"100Mbit\"`, or remove the key";
                refuse("queue_length", message.to_owned(), help, context);
                None
            }
        }
    }

    /// The interface of machines.
    fn machine(&self, shape: &mut VmShape, context: &mut Context) {
        let said = |key: &str, context: &Context| context.spans.has(&format!("guest.vm.{key}"));
        if let Some(mtu) = self.mtu {
            if said("mtu", context) {
                let message = "`network.mtu` and `guest.vm.mtu` both say the largest packet";
                refuse("mtu", message.to_owned(), "remove one of the two", context);
            }
            shape.nic.mtu = mtu;
        }
        shape.nic.coalesce = self.coalesce;
        if let Some(back_end) = self.back_end {
            shape.nic.back_end = back_end;
        }
        match self.device {
            None | Some(DeviceName::Virtio) => {}
            Some(DeviceName::E1000) => shape.nic.model = NicModel::E1000,
            Some(DeviceName::Vhost) => {
                if shape.nic.vhost == Some(false) {
                    let message = "`network.device` is \"vhost\", and `guest.vm.vhost` is \"off\"";
                    refuse(
                        "device",
                        message.to_owned(),
                        "remove one of the two",
                        context,
                    );
                }
                shape.nic.vhost = Some(true);
            }
            Some(DeviceName::User) => {
                if said("network", context) && shape.nic.network != Network::User {
                    let message =
                        "`network.device` is \"user\", and `guest.vm.network` names a bridge";
                    refuse(
                        "device",
                        message.to_owned(),
                        "remove one of the two",
                        context,
                    );
                }
                shape.nic.network = Network::User;
            }
            Some(DeviceName::Loopback | DeviceName::Link(_)) => {
                self.refuse_device(GuestKind::Vm, "virtio", context);
            }
        }
        if shape.nic.network == Network::User {
            let why = "shapes interfaces on the host, and a machine in user mode has none";
            refuse_all(&HOST_KEYS, why, context);
        } else {
            self.tap(&mut shape.nic, context);
        }
        let problems = shape.problems();
        if !problems.is_empty() {
            let message = format!("`network` and `guest.vm`: {}", problems.join("; "));
            let help = "change these keys of [network] or [guest.vm]";
            refuse("device", message, help, context);
        }
    }

    /// What the interface of a machine on a bridge has at both ends.
    fn tap(&self, nic: &mut NetworkShape, context: &mut Context) {
        if self.cuts_without_checksums(context) {
            return;
        }
        let on = |switch: Option<Switch>| switch.map(|switch| switch.0);
        nic.offloads = NicOffloads {
            tso: on(self.tso),
            checksum: on(self.checksum),
        };
        if let Some(limit) = self.limit(context) {
            nic.rate_limit = limit;
        }
        if let Some(impairment) = self.impairment() {
            nic.impairment = impairment;
        }
    }

    fn refuse_device(&self, kind: GuestKind, usual: &str, context: &mut Context) {
        let device = self.device.map_or("", Named::name);
        let message = format!("`network.device` is \"{device}\", and no {kind} guest has that");
        let help = format!("write `device = \"{usual}\"`, or remove the key");
        refuse("device", message, &help, context);
    }

    /// What of a guest's shape this section says, without what is usual: layouts whose guests are
    /// of another kind could not have it.
    pub(crate) fn of(guest: &GuestShape) -> Self {
        match &guest.lab {
            LabShape::Container(link) => {
                let usual = LinkShape::default();
                let switch = |on: Option<bool>| on.map(Switch);
                Self {
                    device: Some(DeviceName::Link(link.device))
                        .filter(|_| link.device != usual.device),
                    mtu: Some(link.mtu).filter(|mtu| *mtu != usual.mtu),
                    bridge_mtu: Some(link.bridge_mtu).filter(|mtu| *mtu != link.mtu),
                    gro: switch(link.offloads.gro),
                    gso: switch(link.offloads.gso),
                    tso: switch(link.offloads.tso),
                    checksum: switch(link.offloads.checksum),
                    coalesce: link.coalesce,
                    irq: guest.packet_cpus.clone(),
                    back_end: Some(link.back_end).filter(|asked| *asked != usual.back_end),
                    ..Self::of_disciplines(link.rate_limit, &link.impairment)
                }
            }
            // All else of a machine is in [guest.vm].
            LabShape::Vm(shape) => Self {
                device: (shape.nic.model == NicModel::E1000).then_some(DeviceName::E1000),
                coalesce: shape.nic.coalesce,
                back_end: Some(shape.nic.back_end).filter(|asked| *asked != BackEnd::Shared),
                irq: guest.packet_cpus.clone(),
                tso: shape.nic.offloads.tso.map(Switch),
                checksum: shape.nic.offloads.checksum.map(Switch),
                ..Self::of_disciplines(shape.nic.rate_limit, &shape.nic.impairment)
            },
            LabShape::Bare | LabShape::Fake | LabShape::External => Self::default(),
        }
    }

    /// The keys of a limit and of a longer way.
    fn of_disciplines(limit: Option<RateLimit>, impairment: &Impairment) -> Self {
        Self {
            rate_limit: limit.map(|limit| Some(limit.bits_per_s)),
            queue_length: limit.and_then(|limit| match limit.queue {
                RateQueue::Usual => None,
                RateQueue::Packets(packets) => Some(packets),
            }),
            delay: Some(impairment.delay).filter(|delay| !delay.is_zero()),
            loss: Some(f64::from(impairment.loss_ppm) / 1e6).filter(|loss| *loss > 0.0),
            ..Self::default()
        }
    }
}

/// A share of at most a half in parts of a million.
fn ppm(share: f64) -> u32 {
    low_u32(truncate_u64((share * 1e6).round()))
}

fn refuse(key: &str, message: String, help: &str, context: &mut Context) {
    let span = context.spans.nearest(&format!("{}.{key}", SECTION.name));
    context.refuse::<()>(Code::Contradiction, span, message, help);
}

/// Refuses each of these keys that is in the file.
fn refuse_all(keys: &[&str], why: &str, context: &mut Context) {
    for key in keys {
        let path = format!("{}.{key}", SECTION.name);
        if context.spans.has(&path) {
            refuse(key, format!("`{path}` {why}"), "remove it", context);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{super::testing::*, *};
    use crate::Study;

    const CONTAINER: &str = "[guest]\nkind = \"container\"\n";

    fn link(network: &str) -> LinkShape {
        let study = with(&format!("{CONTAINER}[network]\n{network}")).expect("valid");
        let again = Study::parse("again", &study.to_toml());
        assert_eq!(again.unwrap_or_else(|problems| panic!("{problems}")), study);
        match study.guest.lab {
            LabShape::Container(link) => link,
            other => panic!("{other:?}"),
        }
    }

    fn machine(text: &str) -> VmShape {
        let study = with(&format!("[guest]\nkind = \"vm\"\n{text}")).expect("valid");
        let again = Study::parse("again", &study.to_toml());
        assert_eq!(again.unwrap_or_else(|problems| panic!("{problems}")), study);
        study.guest.vm().expect("a machine").clone()
    }

    #[test]
    fn interfaces_gather_packets_where_there_are_interfaces() {
        assert_eq!(link("coalesce = 16\n").coalesce, Some(16));
        let shape = machine("[network]\ncoalesce = 0\n");
        assert_eq!(shape.nic.coalesce, Some(0));
        let of_user = "[guest]\nkind = \"vm\"\n[network]\ndevice = \"user\"\ncoalesce = 4\n";
        assert!(refusal(of_user).contains("user mode has no interface"));
        assert!(
            refusal("[network]\ncoalesce = 4\n").contains("`network.coalesce` shapes the links")
        );
        let many = format!("{CONTAINER}[network]\ncoalesce = 65\n");
        assert!(refusal(&many).starts_with("study::out-of-range: `network.coalesce`"));
    }

    #[test]
    fn links_are_those_of_ethernet_unless_said() {
        assert_eq!(link(""), LinkShape::default());
        let jumbo = link("device = \"vxlan\"\nmtu = 9000\n");
        assert_eq!(
            (jumbo.device, jumbo.mtu, jumbo.bridge_mtu),
            (LinkDevice::Vxlan, 9000, 9000)
        );
        assert_eq!(link("bridge_mtu = 1400\n").bridge_mtu, 1400);
    }

    #[test]
    fn offloads_and_limits_reach_the_link() {
        let shape = link("gro = \"off\"\ntso = \"on\"\nrate_limit = \"100Mbit\"\n");
        assert_eq!(
            (shape.offloads.gro, shape.offloads.tso, shape.offloads.gso),
            (Some(false), Some(true), None)
        );
        let limit = RateLimit {
            bits_per_s: 100_000_000,
            queue: RateQueue::Usual,
        };
        assert_eq!(shape.rate_limit, Some(limit));
        let queued = link("rate_limit = \"1Gbit\"\nqueue_length = 100\n");
        assert_eq!(
            queued.rate_limit.map(|limit| limit.queue),
            Some(RateQueue::Packets(100))
        );
    }

    #[test]
    fn delay_and_loss_reach_the_link() {
        let shape = link("delay = \"5ms\"\nloss = \"0.1%\"\n");
        assert_eq!(
            shape.impairment,
            Impairment {
                delay: Duration::from_millis(5),
                loss_ppm: 1000
            }
        );
        assert_eq!(
            (shape.impairment.delay_text(), shape.impairment.loss_text()),
            ("5ms".to_owned(), "0.1%".to_owned())
        );
    }

    #[test]
    fn packets_are_handled_on_cpus_that_are_said() {
        for kind in ["container", "vm"] {
            let packets = |irq: &str| {
                let text = format!("[guest]\nkind = \"{kind}\"\n[network]\n{irq}\n");
                let study = with(&text).expect("valid");
                let again = Study::parse("again", &study.to_toml());
                assert_eq!(again.unwrap_or_else(|problems| panic!("{problems}")), study);
                study.guest.packets_on(&[2], &[0, 2, 4])
            };
            assert!(packets("").is_empty(), "as the kernel has it");
            assert_eq!(packets("irq = \"spread\""), [0, 2, 4]);
            assert_eq!(packets("irq = \"guest\""), [2]);
            assert_eq!(packets("irq = [1, 0]"), [0, 1]);
        }
    }

    #[test]
    fn a_list_of_cpus_is_one_value_and_a_list_of_lists_a_factor() {
        let levels = |irq: &str| {
            let found = document(&format!("{CONTAINER}[network]\nirq = {irq}\n"));
            let document = found.expect("valid");
            let factor = document.factors().first();
            factor.map_or_else(Vec::new, |factor| factor.levels.clone())
        };
        assert!(levels("[0, 1]").is_empty());
        assert_eq!(levels("[\"spread\", \"0-1\"]"), ["spread", "0-1"]);
        assert_eq!(levels("[\"guest\", [0, 1]]"), ["guest", "[0, 1]"]);
    }

    #[test]
    fn machines_have_devices_of_their_own() {
        assert_eq!(
            machine(
                "[guest.vm]\nimage = \"/srv/debian.qcow2\"\n[network]\ndevice = \"e1000\"\nmtu = \
                 9000\n"
            )
            .nic,
            crate::vm_shape::NetworkShape {
                model: NicModel::E1000,
                mtu: 9000,
                ..Default::default()
            }
        );
        assert_eq!(
            machine("[network]\ndevice = \"user\"\n").nic.network,
            Network::User
        );
        assert_eq!(
            machine("[network]\ndevice = \"vhost\"\n").nic.vhost,
            Some(true)
        );
    }

    #[test]
    fn limits_and_offloads_reach_the_taps_of_machines() {
        let nic = machine(
            "[network]\ntso = \"off\"\nrate_limit = \"100Mbit\"\nqueue_length = 10\nloss \
             = \"0.1%\"\n",
        )
        .nic;
        assert_eq!(
            (nic.offloads.tso, nic.offloads.checksum),
            (Some(false), None)
        );
        let limit = RateLimit {
            bits_per_s: 100_000_000,
            queue: RateQueue::Packets(10),
        };
        assert_eq!(
            (nic.rate_limit, nic.impairment.loss_ppm),
            (Some(limit), 1000)
        );
    }

    #[test]
    fn what_a_guest_cannot_have_is_refused() {
        let vm = "[guest]\nkind = \"vm\"\n";
        let image = "[guest.vm]\nimage = \"/srv/debian.qcow2\"\n";
        let texts = [
            "[network]\nmtu = 9000\ndevice = \"veth\"\n".to_owned(),
            format!("{CONTAINER}[network]\ndevice = \"virtio\"\n"),
            format!("{CONTAINER}[network]\ndevice = \"vxlan\"\nmtu = 65500\n"),
            format!("{CONTAINER}[network]\ntso = \"on\"\nchecksum = \"off\"\n"),
            format!("{CONTAINER}[network]\nqueue_length = 10\n"),
            format!("{CONTAINER}[network]\nmtu = 100\n"),
            format!("{CONTAINER}[network]\nirq = \"driver\"\n"),
            format!("{CONTAINER}[network]\ndevice = \"routed\"\nbridge_mtu = 9000\n"),
            format!("{CONTAINER}[network]\ndevice = \"ipvlan\"\nback_end = \"separate\"\n"),
            format!("{vm}[network]\nback_end = \"separate\"\ndevice = \"user\"\n"),
            "[network]\nback_end = \"separate\"\n".to_owned(),
            "[network]\nirq = \"guest\"\n".to_owned(),
            format!("{vm}[network]\nirq = \"guest\"\n[guest.vm]\nnetwork = \"user\"\n"),
            format!("{vm}[network]\ndevice = \"macvlan\"\n"),
            format!("{vm}[network]\ngro = \"off\"\ngso = \"off\"\nbridge_mtu = 9000\n"),
            format!("{vm}[network]\ndevice = \"user\"\nrate_limit = \"1Gbit\"\ntso = \"off\"\n"),
            format!("{vm}[network]\ndevice = \"e1000\"\n"),
            format!("{vm}{image}[network]\ndevice = \"e1000\"\ntso = \"off\"\n"),
            format!("{vm}[network]\ntso = \"on\"\nchecksum = \"off\"\n"),
            format!("{vm}[network]\nmtu = 9000\n[guest.vm]\nmtu = 1500\n"),
            format!("{vm}[network]\ndevice = \"user\"\nmtu = 9000\n"),
            format!("{vm}[network]\ndevice = \"e1000\"\n{image}network = \"user\"\n"),
        ];
        insta::assert_snapshot!(texts.map(|text| refusal(&text)).join("\n"));
    }
}
