//! The pause between two trials.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    thread::sleep,
    time::{Duration, Instant},
};

use rookery_study::Study;

use crate::event::{Event, Listener};

/// How soon a pause notices that the user wants no more.
const LOOK: Duration = Duration::from_millis(100);

/// The pause of a study; there is none before the first trial, nor where nothing is measured.
pub(crate) struct Rest {
    length: Duration,
    due: bool,
}

impl Rest {
    pub(crate) fn new(study: &Study) -> Self {
        Self {
            length: match study.stack.simulated() {
                Some(_) => Duration::ZERO,
                None => study.load.rest,
            },
            due: false,
        }
    }

    /// Wait before a trial, unless it is the first.
    pub(crate) fn take(&mut self, stop: &AtomicBool, listener: &Listener<'_>) {
        if !std::mem::replace(&mut self.due, true) || self.length.is_zero() {
            return;
        }
        listener(&Event::Resting {
            seconds: self.length.as_secs_f64(),
        });
        let end = Instant::now() + self.length;
        while !stop.load(Ordering::Relaxed) {
            match end.checked_duration_since(Instant::now()) {
                Some(left) if !left.is_zero() => sleep(left.min(LOOK)),
                _ => break,
            }
        }
    }
}
