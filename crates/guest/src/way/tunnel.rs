//! A tunnel: each end is a VXLAN interface (RFC 7348), and that at the lab a port of its bridge.
//! Its packets travel between the hosts as UDP, through a socket that belongs to the interface.

use std::{net::IpAddr, path::Path};

use rookery_host::RunId;
use serde::{Deserialize, Serialize};

use super::{DRIVER_DEVICE, EndLines, TUNNEL_PORT, driver_address, hash};
use crate::link::BRIDGE;

/// Largest packets through a tunnel on a network that carries 1500 bytes.
const MTU_OVER_IPV4: u32 = 1_450;
const MTU_OVER_IPV6: u32 = 1_430;

/// One end of a tunnel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tunnel {
    /// Which of the lab's drivers it leads to.
    pub(super) driver: u8,
    /// The network identifier, 24 bits; the same at both ends.
    identifier: u32,
    /// The address of this host on its own network.
    here: IpAddr,
    /// The address of the other host.
    there: IpAddr,
}

impl Tunnel {
    pub(super) fn new(run: &RunId, driver: u8, here: IpAddr, there: IpAddr) -> Self {
        Self {
            driver,
            identifier: hash(run) & 0x00ff_ff00 | u32::from(driver),
            here,
            there,
        }
    }

    pub(super) fn other_end(self) -> Self {
        Self {
            here: self.there,
            there: self.here,
            ..self
        }
    }

    pub(super) fn lab_lines(self, device: &str, lab: &Path) -> EndLines {
        EndLines {
            outside: self.line(device, lab),
            inside: format!("link set {device} master {BRIDGE} up\n"),
        }
    }

    pub(super) fn driver_lines(self, network: &Path) -> EndLines {
        let address = driver_address(self.driver);
        EndLines {
            outside: self.line(DRIVER_DEVICE, network),
            inside: format!(
                "address add {address}/16 dev {DRIVER_DEVICE}\nlink set {DRIVER_DEVICE} up\n"
            ),
        }
    }

    fn line(self, device: &str, namespace: &Path) -> String {
        let mtu = match self.there {
            IpAddr::V4(_) => MTU_OVER_IPV4,
            IpAddr::V6(_) => MTU_OVER_IPV6,
        };
        format!(
            "link add {device} netns {} mtu {mtu} type vxlan id {} local {} remote {} dstport \
             {TUNNEL_PORT}\n",
            namespace.display(),
            self.identifier,
            self.here,
            self.there
        )
    }
}

/// The end at the lab is the interface alone.
pub(super) fn removal(device: &str) -> String {
    format!("link delete {device}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end(run: &str, driver: u8) -> Tunnel {
        let run = RunId::try_from(run.to_owned()).expect("valid");
        let (here, there) = (IpAddr::from([10, 0, 0, 1]), IpAddr::from([10, 0, 0, 2]));
        Tunnel::new(&run, driver, here, there)
    }

    #[test]
    fn both_ends_lead_to_each_other_and_runs_are_apart() {
        let near = end("ab12", 3);
        let far = near.other_end();
        assert_eq!((far.here, far.there), (near.there, near.here));
        assert_eq!(far.identifier, near.identifier);
        assert_ne!(end("ab13", 3).identifier, near.identifier);
        assert_ne!(end("ab12", 4).identifier, near.identifier);
        assert!(near.identifier < 1 << 24);
    }

    #[test]
    fn the_interface_is_born_in_the_other_namespace() {
        let end = Tunnel {
            identifier: 258,
            ..end("ab12", 2)
        };
        assert_eq!(
            end.line("d2", Path::new("/lab")),
            "link add d2 netns /lab mtu 1450 type vxlan id 258 local 10.0.0.1 remote 10.0.0.2 \
             dstport 4789\n"
        );
    }
}
