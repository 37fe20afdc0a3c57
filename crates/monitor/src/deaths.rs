//! Whether the guests live while the load is on.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

use rookery_guest::{Guest, GuestState};
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

/// Watch the guests until the load is over. The first that die end the load; so does `stop`.
pub(crate) fn watch(
    guests: &mut [Box<dyn Guest>],
    state: &LoadState,
    stop: &AtomicBool,
) -> Vec<GuestDeath> {
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
        if !deaths.is_empty() {
            state.end_early().store(true, Ordering::Relaxed);
            return deaths;
        }
        thread::sleep(WATCH_EVERY);
    }
    Vec::new()
}
