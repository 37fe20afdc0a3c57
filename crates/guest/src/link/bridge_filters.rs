//! Packet filters on the bridges of a lab. Where the kernel has `br_netfilter`, every packet that
//! crosses a bridge goes through the filters for IP packets and ARP, those of its namespace. A lab
//! has none: it would pay for looking, with every packet of every guest.

use std::{fs, io};

use rookery_host::Host;

/// Whether packets on bridges go through filters; each network namespace has its own. A kernel
/// older than 5.3 has them in the host's own alone, where they stay as they are.
const SWITCHES: [&str; 3] = [
    "/proc/sys/net/bridge/bridge-nf-call-arptables",
    "/proc/sys/net/bridge/bridge-nf-call-ip6tables",
    "/proc/sys/net/bridge/bridge-nf-call-iptables",
];

/// Leave them out on all bridges of the namespace that the caller is in.
///
/// # Errors
/// When the kernel has them and keeps them.
pub(crate) fn leave_out(host: &dyn Host) -> io::Result<()> {
    host.step("packet filters of bridges")?;
    for switch in SWITCHES {
        match fs::write(switch, "0") {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(io::Error::new(error.kind(), format!("{switch}: {error}")));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Whether packets on bridges of the caller's namespace go through filters; nothing where the
/// kernel has none there.
pub(super) fn in_force() -> Option<bool> {
    let read = SWITCHES.iter().filter_map(|switch| fs::read(switch).ok());
    read.map(|value| value.trim_ascii() != b"0")
        .reduce(|first, second| first || second)
}
