//! The address of a host that was typed.

use std::{
    io,
    net::{SocketAddr, ToSocketAddrs},
};

use thiserror::Error;

/// Why a host has no address.
#[derive(Debug, Error)]
pub(crate) enum AddressError {
    /// It is not known.
    #[error("the host has no address: {0}")]
    Unknown(#[from] io::Error),
    /// It is known, without an address.
    #[error("the host has no address")]
    Missing,
}

/// The address of `HOST` or `HOST:PORT`, with `port` where none is said; of several the first of
/// version 4.
///
/// # Errors
/// When there is none.
pub(crate) fn address_of(authority: &str, port: u16) -> Result<SocketAddr, AddressError> {
    let has_port = authority
        .rsplit_once(':')
        .is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    let with_port = if has_port {
        authority.to_owned()
    } else {
        format!("{authority}:{port}")
    };
    // `localhost` may be ::1 first, where few test servers listen.
    let all: Vec<SocketAddr> = with_port.to_socket_addrs()?.collect();
    let first = all.iter().find(|address| address.is_ipv4());
    first
        .or_else(|| all.first())
        .copied()
        .ok_or(AddressError::Missing)
}
