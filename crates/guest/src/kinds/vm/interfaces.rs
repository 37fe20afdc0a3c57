//! The interfaces of a machine in the document of its domain.

use rookery_study::vm_shape::{Network, NetworkShape, NicOffloads};

use super::xml::Element;
use crate::link::{BACK_END_BRIDGE, BRIDGE};

/// An interface of a machine.
#[derive(Clone, Debug)]
pub(super) struct Port {
    /// Its address on the wire.
    pub(super) mac: String,
    /// Its name on the host's side, where it has one.
    pub(super) link: String,
}

/// Its interfaces on bridges, the one to users first: in that order its kernel finds them.
pub(super) fn interfaces(
    nic: &NetworkShape,
    to_users: &Port,
    to_tiers: Option<&Port>,
) -> Vec<Element> {
    let bridge = match &nic.network {
        Network::Lab => BRIDGE,
        Network::HostBridge(name) => name,
        Network::User => return Vec::new(),
    };
    let coalesce = nic.coalesce.map(|packets| {
        let frames = Element::new("frames").with("max", packets);
        Element::new("coalesce").child(Element::new("rx").child(frames))
    });
    let to_users = interface(nic, bridge, to_users).children(coalesce);
    let to_tiers = to_tiers.map(|port| interface(nic, BACK_END_BRIDGE, port));
    std::iter::once(to_users).chain(to_tiers).collect()
}

fn interface(nic: &NetworkShape, bridge: &str, port: &Port) -> Element {
    let vhost = nic.vhost.map(|vhost| if vhost { "vhost" } else { "qemu" });
    let queues = (nic.queues > 1).then_some(nic.queues);
    let offloads = offloads(&nic.offloads);
    let has_driver = vhost.is_some() || queues.is_some() || !offloads.is_empty();
    let driver = has_driver.then(|| {
        Element::new("driver")
            .with_some("name", vhost)
            .with_some("queues", queues)
            .children(offloads)
    });
    Element::new("interface")
        .with("type", "bridge")
        .child(Element::new("source").with("bridge", bridge))
        .child(Element::new("mac").with("address", &port.mac))
        .child(Element::new("model").with("type", nic.model.name()))
        .child(Element::new("target").with("dev", &port.link))
        .children(driver)
        .child(Element::new("mtu").with("size", nic.mtu))
}

/// What is left to the host of what a machine sends, and to the machine of what it is sent. Who
/// takes no packets without checksums takes none that are to be cut.
fn offloads(asked: &NicOffloads) -> Vec<Element> {
    if asked.is_none() {
        return Vec::new();
    }
    let word = |on: bool| if on { "on" } else { "off" };
    let checksum = asked.checksum.map(word);
    let tso = match asked.checksum {
        Some(false) => Some("off"),
        _ => asked.tso.map(word),
    };
    let side = |name: &'static str| {
        Element::new(name)
            .with_some("csum", checksum)
            .with_some("tso4", tso)
            .with_some("tso6", tso)
            .with_some("ecn", tso.filter(|word| *word == "off"))
            .with_some("ufo", checksum.filter(|word| *word == "off"))
    };
    vec![side("host"), side("guest")]
}

#[cfg(test)]
mod tests {
    use rookery_study::{BackEnd, vm_shape::NicModel};

    use super::*;

    #[test]
    fn a_second_interface_is_on_the_bridge_of_tiers() {
        let nic = NetworkShape {
            model: NicModel::E1000,
            mtu: 9000,
            coalesce: Some(8),
            back_end: BackEnd::Separate,
            ..NetworkShape::default()
        };
        let port = |mac: &str, link: &str| Port {
            mac: mac.to_owned(),
            link: link.to_owned(),
        };
        let (first, second) = (
            port("52:54:00:4d:00:01", "v1"),
            port("52:54:00:4d:80:01", "b1"),
        );
        let text = Element::new("devices")
            .children(interfaces(&nic, &first, Some(&second)))
            .render();
        insta::assert_snapshot!(text, @r"
        <devices>
          <interface type='bridge'>
            <source bridge='br0'/>
            <mac address='52:54:00:4d:00:01'/>
            <model type='e1000'/>
            <target dev='v1'/>
            <mtu size='9000'/>
            <coalesce>
              <rx>
                <frames max='8'/>
              </rx>
            </coalesce>
          </interface>
          <interface type='bridge'>
            <source bridge='br1'/>
            <mac address='52:54:00:4d:80:01'/>
            <model type='e1000'/>
            <target dev='b1'/>
            <mtu size='9000'/>
          </interface>
        </devices>
        ");
    }
}
