//! What every link stands on: addresses, the bridge, and telling `ip`.

use std::{io, net::Ipv4Addr};

use rookery_host::{CommandError, Host, Invocation};
use rookery_study::{BackEnd, LEAST_MTU, LinkShape};

use super::{BACK_END_BRIDGE, BRIDGE};

/// The lab's side, where the driver is.
pub(crate) const LAB_ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 77, 255, 254);
/// The network of a lab's side and its guests.
pub(crate) const LAB_NETWORK: &str = "10.77.0.0/16";
/// The largest number of a guest: the address block, less the lab's own part. A Linux bridge takes
/// 1023 ports.
const LAST_NUMBER: u16 = 1023;

/// The lines that make each bridge of a lab whose guests are linked so.
pub(crate) fn bridges(shape: &LinkShape) -> Vec<String> {
    let mut all = vec![bridge(shape.bridge_mtu)];
    if shape.back_end == BackEnd::Separate {
        all.push(back_end_bridge(shape.bridge_mtu));
    }
    all
}

/// The lines that make the lab's bridge.
pub(super) fn bridge(mtu: u32) -> String {
    let own = bridge_lines(BRIDGE, mtu);
    format!("{own}address add {LAB_ADDRESS}/16 dev {BRIDGE}\n")
}

/// The lines that make the bridge of tiers. The lab has no port of it: what it asks the guests of
/// tiers for itself goes the way of the users, and so their calls alone are on that network.
fn back_end_bridge(mtu: u32) -> String {
    let [first, second] = BACK_END;
    let own = bridge_lines(BACK_END_BRIDGE, mtu);
    format!("route replace {first}.{second}.0.0/16 dev {BRIDGE}\n{own}")
}

/// A bridge. Its MTU is set, so that it does not become that of its least port: the kernel takes it
/// for set only where it was changed, which is why it is set twice.
fn bridge_lines(name: &str, mtu: u32) -> String {
    // Snooping would have the bridge send queries of its own.
    format!(
        "link add {name} type bridge stp_state 0 forward_delay 0 mcast_snooping 0\nlink set {name} \
         mtu {LEAST_MTU}\nlink set {name} mtu {mtu} up\n"
    )
}

/// Address of a guest: 10.77.0.1, 10.77.0.2, ...
///
/// # Errors
/// When the number is out of range.
pub(crate) fn guest_address(number: u16) -> io::Result<Ipv4Addr> {
    if !(1..=LAST_NUMBER).contains(&number) {
        return Err(io::Error::other(format!(
            "guest number {number} is out of range: a lab network carries 1 to {LAST_NUMBER} guests"
        )));
    }
    let [high, low] = number.to_be_bytes();
    Ok(Ipv4Addr::new(10, 77, high, low))
}

/// The network of tiers.
const BACK_END: [u8; 2] = [10, 76];

/// Address of a guest on the network of tiers: 10.76.0.1, 10.76.0.2, ...
///
/// # Errors
/// When the number is out of range.
pub(crate) fn back_end_address(number: u16) -> io::Result<Ipv4Addr> {
    let [_, _, high, low] = guest_address(number)?.octets();
    let [first, second] = BACK_END;
    Ok(Ipv4Addr::new(first, second, high, low))
}

/// Run `ip` once for several lines, in the namespace of the calling thread.
///
/// # Errors
/// When `ip` refuses one of them.
pub(crate) fn run_batch(
    host: &dyn Host,
    environment: &[(String, String)],
    batch: &str,
) -> io::Result<()> {
    let invocation = Invocation::new("ip")
        .args(["-batch", "-"])
        .stdin(batch)
        .envs(environment.to_vec());
    host.run(invocation).map(drop).map_err(|error| match error {
        CommandError::Failed { words, .. } => io::Error::other(format!(
            "`ip -batch -` says: {words}; it was told:\n{batch}"
        )),
        other => io::Error::other(other),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_stay_clear_of_the_lab() {
        assert_eq!(
            guest_address(1).expect("valid"),
            Ipv4Addr::new(10, 77, 0, 1)
        );
        assert_eq!(
            guest_address(1023).expect("valid"),
            Ipv4Addr::new(10, 77, 3, 255)
        );
        assert!(guest_address(0).is_err() && guest_address(1024).is_err());
    }
}
