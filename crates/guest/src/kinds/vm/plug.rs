//! How a machine is plugged into a network: its addresses, and where the driver finds it.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// How one guest is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Plug {
    /// Its address as it knows it.
    pub(super) inside: Ipv4Addr,
    /// Length of the prefix of its network.
    pub(super) prefix: u8,
    /// Its address on the network of tiers, where that is another network.
    pub(super) back_end: Option<Ipv4Addr>,
    /// That of its addresses at which its service listens.
    pub(super) listens: Ipv4Addr,
    /// Where its service is, for the driver.
    pub(super) outside: SocketAddr,
}

/// A port that the emulator forwards to its guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Forward {
    /// On the host's loopback.
    pub(super) outside: SocketAddr,
    /// Of the guest.
    pub(super) inside: SocketAddr,
}

impl Plug {
    /// What has to be forwarded so that these ports of the guest are where the driver looks;
    /// nothing where the guest is on a bridge.
    pub(super) fn forwards(&self, ports: &[u16]) -> Vec<Forward> {
        if !self.is_forwarded() {
            return Vec::new();
        }
        let forward = |port: &u16| Forward {
            outside: SocketAddr::new(self.outside.ip(), *port),
            inside: SocketAddr::from((self.inside, *port)),
        };
        ports.iter().map(forward).collect()
    }

    /// Where the host reaches what listens at its address on the network of the users.
    pub(super) fn users_side(&self) -> IpAddr {
        match self.is_forwarded() {
            true => self.outside.ip(),
            false => IpAddr::V4(self.inside),
        }
    }

    fn is_forwarded(&self) -> bool {
        self.outside.ip() != IpAddr::V4(self.listens)
    }
}
