//! What `ip` is told to make a link.

use std::{io, net::Ipv4Addr, path::Path};

use rookery_study::{BackEnd, LinkDevice, LinkShape, VXLAN_OVERHEAD};

use super::{
    BACK_END_BRIDGE, BACK_END_DEVICE, BRIDGE, GUEST_DEVICE, LOWER_DEVICE,
    base::{LAB_ADDRESS, LAB_NETWORK, back_end_address, guest_address},
};

/// The port of VXLAN (RFC 7348, section 8).
const VXLAN_PORT: u16 = 4789;

/// Lines for `ip -batch`, to be given in this order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LinkLines {
    /// In the guest's namespace: both ends of the pair, and the guest's interface.
    pub(crate) inside: String,
    /// In the lab's: what is on the other end.
    pub(crate) outside: String,
    /// In the lab's: that end becomes a port of the bridge, or a route leads to it.
    pub(crate) join: String,
}

impl LinkLines {
    /// The lines for guest `number`, from 1; `lab` is the path of the lab's namespace.
    ///
    /// # Errors
    /// When the number is out of range.
    pub(crate) fn new(shape: &LinkShape, number: u16, lab: &Path) -> io::Result<Self> {
        let lab = lab.display();
        let address = guest_address(number)?;
        let mtu = shape.mtu;
        let pair_mtu = match shape.device {
            LinkDevice::Veth | LinkDevice::Macvlan | LinkDevice::Ipvlan | LinkDevice::Routed => mtu,
            LinkDevice::Vxlan => mtu + VXLAN_OVERHEAD,
        };
        let near = match shape.device.is_pair_end() {
            true => GUEST_DEVICE,
            false => LOWER_DEVICE,
        };
        let pair = format!(
            "link add {near} mtu {pair_mtu} type veth peer name v{number} mtu {pair_mtu} netns {lab}\n"
        );
        let upper = |kind: &str| {
            format!(
                "link set {LOWER_DEVICE} up\nlink add link {LOWER_DEVICE} name {GUEST_DEVICE} mtu \
                 {mtu} type {kind}\n"
            )
        };
        let (above, outside) = match shape.device {
            LinkDevice::Veth | LinkDevice::Routed => (String::new(), String::new()),
            LinkDevice::Macvlan => (upper("macvlan mode bridge"), String::new()),
            LinkDevice::Ipvlan => (upper("ipvlan mode l2"), String::new()),
            LinkDevice::Vxlan => tunnel(mtu, number, address),
        };
        let (to_tier, tier_port) = match shape.back_end {
            BackEnd::Shared => (String::new(), String::new()),
            BackEnd::Separate => back_end(shape.mtu, number, &lab.to_string())?,
        };
        let port = port(shape.device, number);
        let (own, join) = match shape.device {
            LinkDevice::Routed => routed(address, &port),
            _ => (
                format!(
                    "address add {address}/16 dev {GUEST_DEVICE}\nlink set {GUEST_DEVICE} up\n"
                ),
                format!("link set {port} master {BRIDGE} up\n"),
            ),
        };
        Ok(Self {
            inside: format!("link set lo up\n{pair}{above}{own}{to_tier}"),
            outside,
            join: format!("{join}{tier_port}"),
        })
    }
}

/// The interface that is the bridge's port of a guest.
pub(super) fn port(device: LinkDevice, number: u16) -> String {
    match device {
        LinkDevice::Veth | LinkDevice::Macvlan | LinkDevice::Ipvlan | LinkDevice::Routed => {
            format!("v{number}")
        }
        LinkDevice::Vxlan => format!("x{number}"),
    }
}

/// The guest's address and its way to the lab and all that lies behind it, in the guest's
/// namespace; in the lab's the way back. The lab's address is that of its bridge, for which it
/// answers at every interface.
fn routed(address: Ipv4Addr, port: &str) -> (String, String) {
    let inside = format!(
        "address add {address}/32 dev {GUEST_DEVICE}\nlink set {GUEST_DEVICE} up\nroute add \
         {LAB_ADDRESS}/32 dev {GUEST_DEVICE} src {address}\nroute add {LAB_NETWORK} via \
         {LAB_ADDRESS} dev {GUEST_DEVICE} src {address}\n"
    );
    let outside =
        format!("link set {port} up\nroute replace {address}/32 dev {port} src {LAB_ADDRESS}\n");
    (inside, outside)
}

/// The lab's end of a guest's link to the network of tiers, of a machine the interface there.
pub(crate) fn back_end_port(number: u16) -> String {
    format!("b{number}")
}

/// That link: in the guest's namespace, and in the lab's.
fn back_end(mtu: u32, number: u16, lab: &str) -> io::Result<(String, String)> {
    let (address, port) = (back_end_address(number)?, back_end_port(number));
    let inside = format!(
        "link add {BACK_END_DEVICE} mtu {mtu} type veth peer name {port} mtu {mtu} netns \
         {lab}\naddress add {address}/16 dev {BACK_END_DEVICE}\nlink set {BACK_END_DEVICE} up\n"
    );
    Ok((
        inside,
        format!("link set {port} master {BACK_END_BRIDGE} up\n"),
    ))
}

/// Both ends of a tunnel through the pair: in the guest's namespace and in the lab's. Each guest
/// has a network identifier of its own. The ends of the pair have addresses that nothing else has.
fn tunnel(mtu: u32, number: u16, address: Ipv4Addr) -> (String, String) {
    let [_, _, high, low] = address.octets();
    let far = Ipv4Addr::new(10, 78, high, low);
    let near = Ipv4Addr::new(10, 79, high, low);
    let end = |device: &str, lower: &str, local: Ipv4Addr, remote: Ipv4Addr| {
        format!(
            "address add {local} peer {remote}/32 dev {lower}\nlink set {lower} up\nlink add \
             {device} mtu {mtu} type vxlan id {number} local {local} remote {remote} dstport \
             {VXLAN_PORT} dev {lower}\n"
        )
    };
    (
        end(GUEST_DEVICE, LOWER_DEVICE, near, far),
        end(&format!("x{number}"), &format!("v{number}"), far, near),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(device: LinkDevice) -> String {
        let shape = LinkShape {
            device,
            mtu: 9000,
            ..LinkShape::default()
        };
        let lines = LinkLines::new(&shape, 258, Path::new("/lab")).expect("in range");
        format!("{}--\n{}{}", lines.inside, lines.outside, lines.join)
    }

    #[test]
    fn a_pair_reaches_from_the_guest_to_the_bridge() {
        insta::assert_snapshot!(lines(LinkDevice::Veth), @r"
        link set lo up
        link add eth0 mtu 9000 type veth peer name v258 mtu 9000 netns /lab
        address add 10.77.1.2/16 dev eth0
        link set eth0 up
        --
        link set v258 master br0 up
        ");
    }

    #[test]
    fn routes_lead_to_both_ends_of_a_pair() {
        insta::assert_snapshot!(lines(LinkDevice::Routed), @r"
        link set lo up
        link add eth0 mtu 9000 type veth peer name v258 mtu 9000 netns /lab
        address add 10.77.1.2/32 dev eth0
        link set eth0 up
        route add 10.77.255.254/32 dev eth0 src 10.77.1.2
        route add 10.77.0.0/16 via 10.77.255.254 dev eth0 src 10.77.1.2
        --
        link set v258 up
        route replace 10.77.1.2/32 dev v258 src 10.77.255.254
        ");
    }

    #[test]
    fn a_second_pair_reaches_to_the_bridge_of_tiers() {
        let shape = LinkShape {
            back_end: BackEnd::Separate,
            ..LinkShape::default()
        };
        let lines = LinkLines::new(&shape, 2, Path::new("/lab")).expect("in range");
        insta::assert_snapshot!(format!("{}--\n{}", lines.inside, lines.join), @r"
        link set lo up
        link add eth0 mtu 1500 type veth peer name v2 mtu 1500 netns /lab
        address add 10.77.0.2/16 dev eth0
        link set eth0 up
        link add eth1 mtu 1500 type veth peer name b2 mtu 1500 netns /lab
        address add 10.76.0.2/16 dev eth1
        link set eth1 up
        --
        link set v2 master br0 up
        link set b2 master br1 up
        ");
    }

    #[test]
    fn an_interface_lies_on_the_pair() {
        insta::assert_snapshot!(lines(LinkDevice::Macvlan), @r"
        link set lo up
        link add u0 mtu 9000 type veth peer name v258 mtu 9000 netns /lab
        link set u0 up
        link add link u0 name eth0 mtu 9000 type macvlan mode bridge
        address add 10.77.1.2/16 dev eth0
        link set eth0 up
        --
        link set v258 master br0 up
        ");
    }

    #[test]
    fn a_tunnel_goes_through_the_pair() {
        insta::assert_snapshot!(lines(LinkDevice::Vxlan), @r"
        link set lo up
        link add u0 mtu 9050 type veth peer name v258 mtu 9050 netns /lab
        address add 10.79.1.2 peer 10.78.1.2/32 dev u0
        link set u0 up
        link add eth0 mtu 9000 type vxlan id 258 local 10.79.1.2 remote 10.78.1.2 dstport 4789 dev u0
        address add 10.77.1.2/16 dev eth0
        link set eth0 up
        --
        address add 10.78.1.2 peer 10.79.1.2/32 dev v258
        link set v258 up
        link add x258 mtu 9000 type vxlan id 258 local 10.78.1.2 remote 10.79.1.2 dstport 4789 dev v258
        link set x258 master br0 up
        ");
    }
}
