//! A direct way: each end is a MACVLAN interface on that interface of its host which leads to the
//! other host, and their packets are plain Ethernet frames on the segment that both are on.
//!
//! What the segment sees of a way are frames between its two ends alone. Their hardware addresses
//! are made of the run and the driver, and each end is told that of the other: nothing is asked for
//! on the segment, and nothing that others ask is answered, whose networks may have the same
//! addresses as the lab. A MACVLAN interface gets no frames for other hardware addresses than its
//! own, so that it can be no port of the lab's bridge: the lab routes between the two, and answers
//! for the driver there.

use std::{fmt, io, net::IpAddr, path::Path};

use rookery_host::{Host, NamespaceSysfs, RunId};
use serde::{Deserialize, Serialize};

use super::{DRIVER_DEVICE, EndLines, Switch, driver_address, hash};
use crate::{
    error::GuestError,
    link::{BRIDGE, LAB_ADDRESS, LAB_NETWORK},
    no_direct_way::NoDirectWay,
    route::{Route, forwarding, route_to},
};

/// The type of Ethernet interfaces, as the kernel numbers them.
const ETHERNET: &str = "1";
/// What the directory of an interface that is a radio has in `/sys`.
const RADIO: [&str; 2] = ["phy80211", "wireless"];

/// One end of a direct way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Direct {
    /// Which of the lab's drivers it leads to.
    pub(super) driver: u8,
    /// The address of this host on its own network.
    here: IpAddr,
    /// The address of the other host.
    there: IpAddr,
    /// The hardware address of this end.
    own: HardwareAddress,
    /// That of the other end.
    other: HardwareAddress,
}

/// A hardware address that is of no manufacturer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct HardwareAddress([u8; 6]);

impl HardwareAddress {
    fn new(first: u8, run: &RunId, driver: u8) -> Self {
        let [a, b, c, d] = hash(run).to_be_bytes();
        Self([first, a, b, c, d, driver])
    }
}

impl fmt::Display for HardwareAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

/// The first bytes of hardware addresses at labs and at drivers: both are given locally.
const OF_LABS: u8 = 0x02;
const OF_DRIVERS: u8 = 0x06;

impl Direct {
    pub(super) fn new(run: &RunId, driver: u8, here: IpAddr, there: IpAddr) -> Self {
        Self {
            driver,
            here,
            there,
            own: HardwareAddress::new(OF_LABS, run, driver),
            other: HardwareAddress::new(OF_DRIVERS, run, driver),
        }
    }

    pub(super) fn other_end(self) -> Self {
        Self {
            here: self.there,
            there: self.here,
            own: self.other,
            other: self.own,
            ..self
        }
    }

    pub(super) fn lab_lines(
        self,
        host: &dyn Host,
        device: &str,
        lab: &Path,
    ) -> Result<EndLines, GuestError> {
        let (driver, other) = (driver_address(self.driver), self.other);
        Ok(EndLines {
            outside: self.line(&interface_towards(host, self.there)?, device, lab),
            inside: format!(
                "link set {device} addrgenmode none arp off up\nneighbour replace {driver} lladdr \
                 {other} dev {device} nud permanent\nroute replace {driver}/32 dev {device} src \
                 {LAB_ADDRESS}\nneighbour replace proxy {driver} dev {BRIDGE}\n"
            ),
        })
    }

    pub(super) fn driver_lines(
        self,
        host: &dyn Host,
        network: &Path,
    ) -> Result<EndLines, GuestError> {
        let (own, other) = (driver_address(self.driver), self.other);
        Ok(EndLines {
            outside: self.line(
                &interface_towards(host, self.there)?,
                DRIVER_DEVICE,
                network,
            ),
            inside: format!(
                "address add {own}/32 dev {DRIVER_DEVICE}\nlink set {DRIVER_DEVICE} addrgenmode \
                 none arp off up\nneighbour replace {LAB_ADDRESS} lladdr {other} dev \
                 {DRIVER_DEVICE} nud permanent\nroute add {LAB_NETWORK} via {LAB_ADDRESS} dev \
                 {DRIVER_DEVICE} onlink src {own}\n"
            ),
        })
    }

    pub(super) fn removal(self, device: &str) -> String {
        let driver = driver_address(self.driver);
        format!("link delete {device}\nneighbour delete proxy {driver} dev {BRIDGE}\n")
    }

    fn line(self, lower: &str, device: &str, namespace: &Path) -> String {
        format!(
            "link add link {lower} name {device} address {} netns {} type macvlan mode private\n",
            self.own,
            namespace.display()
        )
    }
}

/// The lab routes between the interface and the bridge, and answers at once for the driver.
pub(super) fn lab_switches(device: &str) -> Vec<Switch> {
    vec![
        (forwarding(BRIDGE), "1"),
        (forwarding(device), "1"),
        (
            format!("/proc/sys/net/ipv4/neigh/{BRIDGE}/proxy_delay"),
            "0",
        ),
    ]
}

/// The interface of this host that leads to another host on the same segment.
///
/// # Errors
/// When there is none, or it is no Ethernet.
pub(super) fn interface_towards(host: &dyn Host, there: IpAddr) -> Result<String, GuestError> {
    let refused = |why| GuestError::NoDirectWay { there, why };
    let what = "looking at the interface to another host";
    let route = route_to(host, there).map_err(|error| GuestError::in_lab(what, error))?;
    let Route { device, gateway } = route.ok_or_else(|| refused(NoDirectWay::NoRoute))?;
    if let Some(gateway) = gateway {
        return Err(refused(NoDirectWay::Behind { gateway }));
    }
    let known = in_sysfs(&device).map_err(|error| GuestError::in_lab(what, error));
    let (kind, has) = known?;
    if kind.trim() != ETHERNET {
        return Err(refused(NoDirectWay::NoEthernet { device }));
    }
    if has.iter().any(|name| RADIO.contains(&name.as_str())) {
        return Err(refused(NoDirectWay::Radio { device }));
    }
    Ok(device)
}

/// The type of an interface of the caller's namespace, and the names in its directory of `/sys`.
fn in_sysfs(device: &str) -> io::Result<(String, Vec<String>)> {
    let sysfs = NamespaceSysfs::open()?;
    let directory = format!("class/net/{device}");
    let kind = sysfs.read(&format!("{directory}/type"))?;
    Ok((kind, sysfs.names(&directory)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end(run: &str, driver: u8) -> Direct {
        let run = RunId::try_from(run.to_owned()).expect("valid");
        let (here, there) = (IpAddr::from([10, 0, 0, 1]), IpAddr::from([10, 0, 0, 2]));
        Direct::new(&run, driver, here, there)
    }

    #[test]
    fn ends_of_a_segment_have_hardware_addresses_that_differ() {
        let near = end("ab12", 3);
        let far = near.other_end();
        assert_eq!((far.here, far.there), (near.there, near.here));
        assert_eq!((far.own, far.other), (near.other, near.own));
        assert_eq!(far.other_end(), near);
        let all = [near, far, end("ab13", 3), end("ab12", 4)].map(|end| end.own.to_string());
        for (place, one) in all.iter().enumerate() {
            assert!(!all[..place].contains(one), "{all:?}");
        }
        // Given locally, and of one interface.
        for own in [near.own, far.own] {
            assert_eq!(own.0[0] & 0b11, 0b10);
        }
    }

    #[test]
    fn the_interface_is_born_in_the_other_namespace() {
        let end = Direct {
            own: HardwareAddress([2, 0, 0x1a, 0, 0xff, 3]),
            ..end("ab12", 3)
        };
        assert_eq!(
            end.line("eno1", "d3", Path::new("/lab")),
            "link add link eno1 name d3 address 02:00:1a:00:ff:03 netns /lab type macvlan mode \
             private\n"
        );
    }
}
