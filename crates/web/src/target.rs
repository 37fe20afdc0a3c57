//! What may be loaded.

use std::net::SocketAddr;

use rookery_driver::DriverError;

/// Refuses another machine whose load was not confirmed.
pub(crate) fn check(guest: &str, target: SocketAddr, confirmed: bool) -> Result<(), DriverError> {
    // Loopback, also as an IPv4 address within IPv6.
    if confirmed || target.ip().to_canonical().is_loopback() {
        return Ok(());
    }
    Err(DriverError::ForeignTarget {
        guest: guest.to_owned(),
        target,
    })
}
