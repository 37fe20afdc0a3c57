//! Whether the guests live, and their volumes hold, while the load is on.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

use rookery_guest::{Guest, GuestState, VolumeFault, VolumeLook};
use serde::{Deserialize, Serialize};

use crate::LoadState;

/// How often the living guests are looked at during load.
const WATCH_EVERY: Duration = Duration::from_millis(100);

/// A guest that ended while it should have served.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GuestDeath {
    /// Name of the guest.
    pub guest: String,
    /// How it ended: `exit code 1`, `killed by signal 9`.
    pub reason: String,
}

/// A guest whose volume is full or fails.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StorageLoss {
    /// Name of the guest.
    pub guest: String,
    /// What is wrong with its volume.
    pub fault: VolumeFault,
}

impl StorageLoss {
    /// The guests of which this is so now.
    #[must_use]
    pub fn all(guests: &[Box<dyn Guest>], look: VolumeLook) -> Vec<Self> {
        let losses = guests.iter().filter_map(|guest| {
            Some(Self {
                guest: guest.name().to_owned(),
                fault: guest.volume_fault(look)?,
            })
        });
        losses.collect()
    }
}

/// What ended a load early.
#[derive(Debug, Default)]
pub(crate) struct Losses {
    pub(crate) deaths: Vec<GuestDeath>,
    pub(crate) storage: Vec<StorageLoss>,
}

/// Watch the guests until the load is over. The first that die, or whose storage does not hold, end
/// the load; so does `stop`.
pub(crate) fn watch(guests: &mut [Box<dyn Guest>], state: &LoadState, stop: &AtomicBool) -> Losses {
    while !state.is_over() {
        if stop.load(Ordering::Relaxed) {
            state.end_early().store(true, Ordering::Relaxed);
        }
        let deaths: Vec<GuestDeath> = guests
            .iter_mut()
            .filter_map(|guest| match guest.state() {
                GuestState::Ended(reason) => Some(GuestDeath {
                    guest: guest.name().to_owned(),
                    reason,
                }),
                GuestState::Created | GuestState::Running => None,
            })
            .collect();
        let storage = StorageLoss::all(guests, VolumeLook::Passing);
        if !(deaths.is_empty() && storage.is_empty()) {
            state.end_early().store(true, Ordering::Relaxed);
            return Losses { deaths, storage };
        }
        thread::sleep(WATCH_EVERY);
    }
    Losses::default()
}
