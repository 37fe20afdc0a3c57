//! What became of guests that should have served.

use rookery_guest::Guest;

/// A guest that ended while it should have served.
#[derive(Clone, Debug)]
pub(crate) struct Death {
    pub(crate) guest: String,
    pub(crate) reason: String,
}

/// A guest that lived to the end of the load, but lost processes for want of memory.
#[derive(Clone, Debug)]
pub(crate) struct Starved {
    pub(crate) guest: String,
    pub(crate) killed: u64,
    pub(crate) limit_mib: u64,
}

/// The living that lack memory; of the dead, the reason of their death tells it.
pub(crate) fn starved(guests: &[Box<dyn Guest>], deaths: &[Death], limit_mib: u64) -> Vec<Starved> {
    let living = guests
        .iter()
        .filter(|guest| deaths.iter().all(|death| death.guest != guest.name()));
    let starved = living.map(|guest| Starved {
        guest: guest.name().to_owned(),
        killed: guest.memory_kills(),
        limit_mib,
    });
    starved.filter(|starved| starved.killed > 0).collect()
}
