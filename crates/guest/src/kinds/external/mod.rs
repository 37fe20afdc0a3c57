//! Systems that run already: they are found, seen and asked, and otherwise left alone.

mod guest;
mod lab;

use crate::storage::{IoLimiter, StorageAbility};
pub(super) use lab::ExternalLab;

/// What storage such systems can have: their own, of which nothing is known.
pub(super) const STORAGE: StorageAbility = StorageAbility {
    keeps_data: false,
    io_limits: IoLimiter::Nothing,
};
