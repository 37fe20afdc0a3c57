//! Where machines are plugged in: the lab's own bridge, a bridge of the host, or the emulator's
//! user mode; and the addresses that follow.

use std::{
    io,
    net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket},
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    thread::sleep,
    time::{Duration, Instant},
};

use rookery_host::{Host, HostError, Invocation, netns_path};
use rookery_study::{
    BackEnd, LinkShape,
    vm_shape::{GuestNet, Network, NetworkShape},
};
use serde::Deserialize;

use super::{plug::Plug, seed::Names};
use crate::{
    addresses::Blocks,
    lab_network::make_lab_network,
    label::{Label, run_name},
    link::{back_end_address, guest_address},
    spec::CalledBy,
};

/// The port of the service that discards what it gets.
const DISCARD: u16 = 9;
/// Length of the prefix of the lab's own network.
const LAB_PREFIX: u8 = 16;
/// A guest's address in user mode, where every guest is alone; the emulator's own choice.
const USER_ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 0, 2, 15);
/// Length of its prefix.
const USER_PREFIX: u8 = 24;

/// The network of a lab's machines.
#[derive(Debug)]
pub(super) enum LabNetwork {
    /// The lab's bridge in a network namespace of its own.
    Own {
        /// The namespace.
        namespace: PathBuf,
        /// Whether tiers have another bridge there.
        back_end: BackEnd,
    },
    /// A bridge of the host, which was there before and stays.
    Bridge {
        /// Its name.
        name: String,
        /// Addresses of guests.
        net: GuestNet,
        /// The host's own addresses on it.
        host: Vec<IpAddr>,
    },
    /// Each guest alone behind its emulator, seen at a loopback address of its own.
    User(Mutex<Blocks>),
}

impl LabNetwork {
    /// Make the lab's own network, or look whether the other one is what guests need.
    ///
    /// # Errors
    /// When it cannot be made, or guests could not be reached on it, with what to do.
    pub(super) fn open(host: &dyn Host, label: &Label, nic: &NetworkShape) -> io::Result<Self> {
        match (&nic.network, nic.addresses) {
            (Network::Lab, _) => {
                let shape = LinkShape {
                    bridge_mtu: nic.mtu,
                    back_end: nic.back_end,
                    ..LinkShape::default()
                };
                make_lab_network(host, label, &shape)?;
                Ok(Self::Own {
                    namespace: netns_path(&run_name(&label.run)),
                    back_end: nic.back_end,
                })
            }
            (Network::HostBridge(name), Some(net)) => {
                let host = addresses_on(host, name, net, nic.mtu)?;
                Ok(Self::Bridge {
                    name: name.clone(),
                    net,
                    host,
                })
            }
            (Network::HostBridge(name), None) => Err(io::Error::other(format!(
                "guests on {name} have no addresses"
            ))),
            (Network::User, _) => Ok(Self::User(Mutex::new(Blocks::reserve(&label.run)?))),
        }
    }

    /// The namespace that the driver has to enter; `None` = where it is.
    pub(super) fn namespace(&self) -> Option<&Path> {
        match self {
            Self::Own { namespace, .. } => Some(namespace),
            Self::Bridge { .. } | Self::User(_) => None,
        }
    }

    /// How guest `number` (from 1) is reached at a port by who calls it.
    ///
    /// # Errors
    /// When there is no address left for it.
    pub(super) fn plug(&self, number: u16, port: u16, called_by: CalledBy) -> io::Result<Plug> {
        let same = |inside: Ipv4Addr, prefix: u8| Plug {
            inside,
            prefix,
            back_end: None,
            listens: inside,
            outside: SocketAddr::from((inside, port)),
        };
        match self {
            Self::Own { back_end, .. } => {
                let plug = same(guest_address(number)?, LAB_PREFIX);
                let to_tiers = match back_end {
                    BackEnd::Shared => return Ok(plug),
                    BackEnd::Separate => back_end_address(number)?,
                };
                let listens = match called_by {
                    CalledBy::Users => plug.inside,
                    CalledBy::Guests => to_tiers,
                };
                Ok(Plug {
                    back_end: Some(to_tiers),
                    listens,
                    outside: SocketAddr::from((listens, port)),
                    ..plug
                })
            }
            Self::Bridge { net, host, .. } => {
                let address = net.address(number).ok_or_else(|| {
                    io::Error::other(format!(
                        "the network {net} has no address for guest {number}: begin lower, or run \
                         fewer guests"
                    ))
                })?;
                if host.contains(&IpAddr::V4(address)) {
                    let what = format!(
                        "the address {address} of guest {number} is the host's own: begin above or \
                         below it"
                    );
                    return Err(io::Error::other(what));
                }
                Ok(same(address, net.prefix))
            }
            Self::User(blocks) => {
                let mut blocks = blocks.lock().unwrap_or_else(PoisonError::into_inner);
                Ok(Plug {
                    inside: USER_ADDRESS,
                    prefix: USER_PREFIX,
                    back_end: None,
                    listens: USER_ADDRESS,
                    outside: blocks.address(number, port)?,
                })
            }
        }
    }
}

/// How long a neighbour has to answer: those of a local network do within milliseconds.
const NEIGHBOUR_PATIENCE: Duration = Duration::from_millis(400);
/// Between two looks at the table of neighbours.
const NEIGHBOUR_LOOK: Duration = Duration::from_millis(50);

impl LabNetwork {
    /// Looks for somebody who has the address of a plug already: two machines of one address would
    /// each get part of the other's load.
    ///
    /// # Errors
    /// When somebody answers for it, or it cannot be looked for.
    pub(super) fn refuse_taken(&self, host: &dyn Host, plug: &Plug) -> io::Result<()> {
        let Self::Bridge { name, .. } = self else {
            return Ok(());
        };
        let address = plug.inside;
        let words = address.to_string();
        // A machine of an earlier trial may have had it.
        host.run(Invocation::new("ip").args(["neigh", "flush", "to", &words, "dev", name]))?;
        // The kernel asks who has the address before it sends anything there.
        UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?.send_to(&[0], (address, DISCARD))?;
        let until = Instant::now() + NEIGHBOUR_PATIENCE;
        while Instant::now() < until {
            sleep(NEIGHBOUR_LOOK);
            let said = host.run(
                Invocation::new("ip").args(["-json", "neigh", "show", "to", &words, "dev", name]),
            )?;
            if let Some(owner) = neighbour(&said) {
                return Err(HostError::refused(
                    format!("the address {address} on {name} belongs to {owner} already"),
                    "name addresses that nobody has: `addresses` begins with the first guest's",
                )
                .into());
            }
        }
        Ok(())
    }
}

/// The hardware address of the neighbour that `ip` tells of; `None` where nobody answered.
fn neighbour(said: &str) -> Option<String> {
    let found: Vec<Neighbour> = serde_json::from_str(said).ok()?;
    found.into_iter().find_map(|neighbour| neighbour.lladdr)
}

/// A neighbour as `ip -json neigh` tells it.
#[derive(Deserialize)]
struct Neighbour {
    #[serde(default)]
    lladdr: Option<String>,
}

/// Name of a guest's interface on the host's side: short in a namespace of the lab, that of its
/// hardware address among interfaces of others.
pub(super) fn link_name(nic: &NetworkShape, names: &Names) -> String {
    match nic.network {
        Network::Lab => names.link.clone(),
        Network::HostBridge(_) | Network::User => {
            format!("rk{}", names.mac.split(':').skip(2).collect::<String>())
        }
    }
}

/// An interface as `ip -json -details address` tells it.
#[derive(Deserialize)]
struct Link {
    #[serde(default)]
    mtu: u32,
    #[serde(default)]
    linkinfo: LinkInfo,
    #[serde(default)]
    addr_info: Vec<LinkAddress>,
}

#[derive(Default, Deserialize)]
struct LinkInfo {
    #[serde(default)]
    info_kind: String,
}

#[derive(Deserialize)]
struct LinkAddress {
    #[serde(default)]
    local: Option<IpAddr>,
}

/// The host's addresses on a bridge, once it is sure that guests can be reached there.
fn addresses_on(host: &dyn Host, bridge: &str, net: GuestNet, mtu: u32) -> io::Result<Vec<IpAddr>> {
    let invocation =
        Invocation::new("ip").args(["-json", "-details", "address", "show", "dev", bridge]);
    let said = host.run(invocation).map_err(|error| {
        let help = format!("the bridge {bridge} has to exist before the run (docs/vm.md)");
        HostError::because(error, help)
    })?;
    Ok(judge_link(&said, bridge, net, mtu)?)
}

/// What `ip` says of the bridge, judged.
fn judge_link(said: &str, bridge: &str, net: GuestNet, mtu: u32) -> Result<Vec<IpAddr>, HostError> {
    let links: Vec<Link> = serde_json::from_str(said).map_err(|error| {
        HostError::refused(
            format!("what `ip` says of {bridge} cannot be read: {error}"),
            "use iproute2 5 or later",
        )
    })?;
    // Filters leave an empty object for whatever does not match.
    let link = links.into_iter().find(|link| link.mtu > 0);
    let link = link.filter(|link| link.linkinfo.info_kind == "bridge");
    let link = link.ok_or_else(|| {
        HostError::refused(
            format!("{bridge} is no bridge"),
            "`ip link show type bridge` lists those that are",
        )
    })?;
    // A port with another size would change that of the bridge, which is not ours to change.
    if link.mtu != mtu {
        let carried = link.mtu;
        return Err(HostError::refused(
            format!("{bridge} carries packets of {carried} bytes, and guests were to have {mtu}"),
            format!("write `mtu = {carried}`"),
        ));
    }
    let addresses: Vec<IpAddr> = link
        .addr_info
        .into_iter()
        .filter_map(|address| address.local)
        .collect();
    if !addresses.iter().any(|address| net.holds(*address)) {
        return Err(HostError::refused(
            format!(
                "the host has no address of the network {net} on {bridge}: guests there would be \
                 out of its reach"
            ),
            "give the bridge an address of that network, or name the network that it has one of",
        ));
    }
    Ok(addresses)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAID: &str = r#"[{"ifname":"br0","mtu":1500,"linkinfo":{"info_kind":"bridge","info_data":{}},
        "addr_info":[{"family":"inet","local":"192.168.1.2","prefixlen":24},{"family":"inet6","local":"fe80::1","prefixlen":64}]}]"#;

    fn net(text: &str) -> GuestNet {
        text.parse().expect("valid")
    }

    #[test]
    fn a_bridge_of_the_host_is_looked_at_before_anything_is_made() {
        let addresses = judge_link(SAID, "br0", net("192.168.1.50/24"), 1500).expect("right");
        assert_eq!(addresses[0], IpAddr::from([192, 168, 1, 2]));
        let refusals = [
            judge_link(SAID, "br0", net("192.168.2.50/24"), 1500),
            judge_link(SAID, "br0", net("192.168.1.50/24"), 9000),
            judge_link(
                &SAID.replace("\"bridge\"", "\"dummy\""),
                "br0",
                net("192.168.1.50/24"),
                1500,
            ),
            judge_link("[{}]", "br0", net("192.168.1.50/24"), 1500),
            judge_link("no", "br0", net("192.168.1.50/24"), 1500),
        ];
        let words: Vec<String> = refusals
            .into_iter()
            .map(|refusal| refusal.expect_err("wrong").to_string())
            .collect();
        insta::assert_snapshot!(words.join("\n"), @r"
        the host has no address of the network 192.168.2.50/24 on br0: guests there would be out of its reach
        br0 carries packets of 1500 bytes, and guests were to have 9000
        br0 is no bridge
        br0 is no bridge
        what `ip` says of br0 cannot be read: expected ident at line 1 column 2
        ");
    }

    #[test]
    fn guests_on_a_bridge_never_have_the_hosts_address() {
        let network = LabNetwork::Bridge {
            name: "br0".to_owned(),
            net: net("192.168.1.1/24"),
            host: vec![IpAddr::from([192, 168, 1, 2])],
        };
        let plug = network.plug(1, 80, CalledBy::Users).expect("free");
        assert_eq!(
            (plug.outside, plug.prefix),
            ("192.168.1.1:80".parse().expect("address"), 24)
        );
        assert_eq!(plug.forwards(&[80, 81]), []);
        assert!(
            network.plug(2, 80, CalledBy::Users).is_err()
                && network.plug(255, 80, CalledBy::Users).is_err()
                && network.plug(3, 80, CalledBy::Users).is_ok()
        );
        assert_eq!(network.namespace(), None);
    }

    #[test]
    fn a_neighbour_is_whoever_answered() {
        let said = |state: &str| format!(r#"[{{"dst":"192.168.1.50"{state}}}]"#);
        assert_eq!(neighbour(&said(r#","state":["INCOMPLETE"]"#)), None);
        assert_eq!(neighbour("[]"), None);
        let found = neighbour(&said(
            r#","lladdr":"52:54:00:aa:bb:cc","state":["REACHABLE"]"#,
        ));
        assert_eq!(found.as_deref(), Some("52:54:00:aa:bb:cc"));
    }

    #[test]
    fn in_user_mode_each_guest_has_a_loopback_address() {
        let run = rookery_host::RunId::try_from("plugs".to_owned()).expect("valid");
        let network = LabNetwork::User(Mutex::new(Blocks::reserve(&run).expect("a block")));
        let plug = |number| network.plug(number, 28_099, CalledBy::Users);
        let plugs = [1, 2].map(|number| plug(number).expect("free"));
        assert!(
            plugs
                .iter()
                .all(|plug| plug.outside.ip().is_loopback() && plug.inside == USER_ADDRESS)
        );
        assert_ne!(plugs[0].outside, plugs[1].outside);
        let forwards = plugs[0].forwards(&[28_099, 7]);
        assert_eq!(forwards.len(), 2);
        assert_eq!(
            (forwards[1].outside.ip(), forwards[1].outside.port()),
            (plugs[0].outside.ip(), 7)
        );
        assert_eq!(forwards[1].inside, "10.0.2.15:7".parse().expect("address"));
        assert_eq!(plugs[0].users_side(), plugs[0].outside.ip());
    }

    #[test]
    fn a_guest_of_a_tier_listens_on_the_network_of_tiers() {
        let network = |back_end| LabNetwork::Own {
            namespace: PathBuf::from("/lab"),
            back_end,
        };
        let plug = |back_end, called_by| network(back_end).plug(258, 80, called_by).expect("free");
        let tier = plug(BackEnd::Separate, CalledBy::Guests);
        assert_eq!(tier.outside, "10.76.1.2:80".parse().expect("address"));
        assert_eq!(tier.users_side(), IpAddr::from([10, 77, 1, 2]));
        assert_eq!(tier.forwards(&[80]), []);
        let caller = plug(BackEnd::Separate, CalledBy::Users);
        assert_eq!(caller.outside, "10.77.1.2:80".parse().expect("address"));
        assert_eq!(caller.back_end, Some(Ipv4Addr::new(10, 76, 1, 2)));
        let alone = plug(BackEnd::Shared, CalledBy::Guests);
        assert_eq!((alone.back_end, alone.listens), (None, alone.inside));
    }
}
