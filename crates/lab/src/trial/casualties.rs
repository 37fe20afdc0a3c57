//! What became of guests that should have served.

use rookery_guest::Guest;
use rookery_monitor::GuestDeath;

/// A guest that lived to the end of the load, but lost processes for want of memory.
#[derive(Clone, Debug)]
pub(crate) struct Starved {
    pub(crate) guest: String,
    pub(crate) killed: u64,
    pub(crate) limit_mib: u64,
}

/// The living that lack memory, each with its limit; of the dead, the reason of their death says it.
pub(super) fn casualties(
    guests: &[Box<dyn Guest>],
    deaths: &[GuestDeath],
    limits_mib: &[u64],
) -> Vec<Starved> {
    guests
        .iter()
        .zip(limits_mib)
        .filter(|(guest, _)| deaths.iter().all(|death| death.guest != guest.name()))
        .map(|(guest, limit_mib)| Starved {
            guest: guest.name().to_owned(),
            killed: guest.memory_kills(),
            limit_mib: *limit_mib,
        })
        .filter(|starved| starved.killed > 0)
        .collect()
}

/// Whether a guest died, or may be half dead for want of memory: its web server still there, its
/// database killed.
pub(super) fn is_casualty(guest: &str, deaths: &[GuestDeath], starved: &[Starved]) -> bool {
    deaths.iter().any(|death| death.guest == guest)
        || starved.iter().any(|starved| starved.guest == guest)
}
