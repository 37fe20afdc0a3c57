//! Where the guests of a trial are, for whoever puts load on them.

use std::{
    net::{IpAddr, SocketAddr},
    path::{Path, PathBuf},
};

use rookery_guest::{Guest, Kind, Lab};
use serde::{Deserialize, Serialize};

/// Where the guests of a trial are: plain data, so that the driver may be another process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Targets {
    /// The network namespace that driver threads must enter; nothing = the host's own loopback.
    pub(crate) network: Option<PathBuf>,
    /// One for each guest, in their order.
    pub(crate) guests: Vec<Target>,
    /// Addresses that may be loaded wherever they are: those of guests that this run made, and
    /// those that the user allowed.
    pub(crate) confirmed: Vec<SocketAddr>,
}

/// Where one guest is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Target {
    /// Name of the guest.
    pub(crate) name: String,
    /// Address of its service.
    pub(crate) address: SocketAddr,
}

impl Targets {
    /// Where these guests are; the user has allowed to load `confirmed`.
    pub(crate) fn new(lab: &dyn Lab, guests: &[Box<dyn Guest>], confirmed: &[IpAddr]) -> Self {
        let made = lab.kind() != Kind::External;
        let addresses = guests.iter().map(|guest| guest.address());
        Self {
            confirmed: addresses
                .filter(|address| made || confirmed.contains(&address.ip()))
                .collect(),
            network: lab.network().map(Path::to_owned),
            guests: guests
                .iter()
                .map(|guest| Target {
                    name: guest.name().to_owned(),
                    address: guest.address(),
                })
                .collect(),
        }
    }
}
