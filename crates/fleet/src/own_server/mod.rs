//! A NATS server that is started for one fleet: the program of the distribution, on a host that
//! does nothing else, with a certificate and a user of its own.
//!
//! The controller makes all keys ([`UserKeys`]) and looks at the host before anything is touched
//! ([`look`]); the agent of the host starts and ends the process ([`ServerProcess`]).

mod keys;
mod look;
mod process;

use std::{
    io,
    net::{SocketAddr, ToSocketAddrs as _},
};

use serde::{Deserialize, Serialize};

pub use self::process::ServeError;
pub(crate) use self::{
    keys::UserKeys,
    look::{Step, look},
    process::ServerProcess,
};
use crate::{
    error::{HostError, HostFault},
    hosts::OwnServer,
};

/// The program.
const PROGRAM: &str = "nats-server";
/// The directory of the server, in that of the fleet, and its files.
const DIRECTORY: &str = "nats";
const CONFIG: &str = "server.conf";
const CERTIFICATE: &str = "server.pem";
const KEY: &str = "server.key";
const LOG: &str = "server.log";

/// The files of a server. They have a secret: they are never logged.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ServerFiles {
    config: String,
    certificate: String,
    key: String,
}

impl std::fmt::Debug for ServerFiles {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ServerFiles")
    }
}

/// The configuration of a server whose files lie in its working directory: one user, who may use
/// our subjects alone. Once it listens it writes where, to a file with the number of its process.
fn config(listen: SocketAddr, public_key: &str) -> String {
    format!(
        "listen: \"{listen}\"\nports_file_dir: \".\"\n\
         tls {{ cert_file: \"{CERTIFICATE}\", key_file: \"{KEY}\", timeout: 5 }}\n\
         authorization {{ users: [ {{ nkey: {public_key}, permissions: {{ \
         publish: \"rookery.>\", subscribe: \"rookery.>\" }} }} ] }}\n"
    )
}

/// The end of a removal: what is absent needs none.
fn absent_or(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// Where a server listens: at the address of its host.
///
/// # Errors
/// When the address is no IP address and is not known here as a name of one.
pub(crate) fn listen(own: &OwnServer) -> Result<SocketAddr, HostError> {
    let address = own.host.address.as_str();
    let fault = |words: String| HostError::new(&own.host, HostFault::NoAddress { words });
    let mut found = (address, own.port)
        .to_socket_addrs()
        .map_err(|error| fault(error.to_string()))?;
    found
        .next()
        .ok_or_else(|| fault("none is known".to_owned()))
}
