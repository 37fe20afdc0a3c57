//! Addresses of guests on a network that the lab did not make.

use std::net::{IpAddr, Ipv4Addr};

use serde::{Deserialize, Serialize};

/// An IPv4 address with the length of its network's prefix: `192.168.1.50/24`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct GuestNet {
    /// The first guest's address; guest `n` has the one `n - 1` above it.
    pub first: Ipv4Addr,
    /// Length of the prefix, bits: 1 to 30.
    pub prefix: u8,
}

impl GuestNet {
    /// The address of guest `number` (from 1); `None` where the network has none left for it.
    #[must_use]
    pub fn address(self, number: u16) -> Option<Ipv4Addr> {
        let address = u32::from(self.first).checked_add(u32::from(number.checked_sub(1)?))?;
        let hosts = u32::MAX.checked_shr(u32::from(self.prefix))?;
        let inside = address & !hosts == u32::from(self.first) & !hosts;
        let host = address & hosts;
        (inside && host != 0 && host != hosts).then(|| Ipv4Addr::from(address))
    }

    /// Whether an address belongs to this network.
    #[must_use]
    pub fn holds(self, address: IpAddr) -> bool {
        let IpAddr::V4(address) = address else {
            return false;
        };
        let hosts = u32::MAX.checked_shr(u32::from(self.prefix)).unwrap_or(0);
        u32::from(address) & !hosts == u32::from(self.first) & !hosts
    }
}

/// A text that is no address of a guest with the length of its network's prefix.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseGuestNetError {
    /// It is no address with a prefix.
    #[error(
        "`{}` is no address with a prefix: write it as in 192.168.1.50/24",
        text.escape_debug()
    )]
    NotAnAddress {
        /// The text.
        text: String,
    },
    /// No guest can have the address.
    #[error(
        "`{text}` is no address of a guest: it names a network of 1 to 30 bits, or one that is \
         not for guests"
    )]
    NotForGuests {
        /// The text.
        text: String,
    },
}

impl std::str::FromStr for GuestNet {
    type Err = ParseGuestNetError;

    fn from_str(text: &str) -> Result<Self, ParseGuestNetError> {
        let fail = || ParseGuestNetError::NotAnAddress {
            text: text.to_owned(),
        };
        let (first, prefix) = text.split_once('/').ok_or_else(fail)?;
        let net = Self {
            first: first.parse().map_err(|_| fail())?,
            prefix: prefix.parse().map_err(|_| fail())?,
        };
        if !(1..=30).contains(&net.prefix) || net.address(1).is_none() {
            return Err(ParseGuestNetError::NotForGuests {
                text: text.to_owned(),
            });
        }
        Ok(net)
    }
}

impl TryFrom<String> for GuestNet {
    type Error = ParseGuestNetError;

    fn try_from(text: String) -> Result<Self, ParseGuestNetError> {
        text.parse()
    }
}

impl From<GuestNet> for String {
    fn from(net: GuestNet) -> Self {
        net.to_string()
    }
}

impl std::fmt::Display for GuestNet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.first, self.prefix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guests_count_up_within_their_network() {
        let net: GuestNet = "192.168.1.250/24".parse().expect("valid");
        assert_eq!(net.address(1), Some(Ipv4Addr::new(192, 168, 1, 250)));
        assert_eq!(net.address(5), Some(Ipv4Addr::new(192, 168, 1, 254)));
        assert_eq!(
            (net.address(6), net.address(7), net.address(0)),
            (None, None, None),
            "broadcast, another network, no guest"
        );
        assert!(
            net.holds("192.168.1.1".parse().expect("address"))
                && !net.holds("192.168.2.1".parse().expect("address"))
        );
        assert!(!net.holds("::1".parse().expect("address")));
        assert_eq!(
            serde_json::to_string(&net).expect("json"),
            r#""192.168.1.250/24""#
        );
    }

    #[test]
    fn what_no_guest_can_have_is_refused() {
        for text in [
            "",
            "10.0.0.1",
            "10.0.0.1/31",
            "10.0.0.1/0",
            "10.0.0.0/8",
            "10.0.0.255/24",
            "::1/64",
            "10.0.0.1/24\nx",
            "10.0.0.1/-1",
        ] {
            assert!(text.parse::<GuestNet>().is_err(), "{text}");
            assert!(
                serde_json::from_value::<GuestNet>(text.into()).is_err(),
                "{text}"
            );
        }
        let whole: GuestNet = "255.255.255.253/30".parse().expect("valid");
        assert_eq!(
            (whole.address(2), whole.address(3), whole.address(u16::MAX)),
            (Some(Ipv4Addr::new(255, 255, 255, 254)), None, None)
        );
    }
}
