//! What a page may do to the run that serves it, where `--control` allows it.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use rookery_lab::{ChangeError, PlanChange, PlanChanges};

/// How a run is to be stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// When the trial that is under way has ended and is stored.
    AfterTrial,
    /// At once, as by Ctrl-C.
    Now,
}

impl Stop {
    /// By the name that the page sends.
    pub(crate) fn named(name: &str) -> Option<Self> {
        match name {
            "after-trial" => Some(Self::AfterTrial),
            "now" => Some(Self::Now),
            _ => None,
        }
    }
}

/// The switches of a run. Nothing else can be done to it.
#[derive(Clone, Debug)]
pub struct Control {
    stop: Arc<AtomicBool>,
    after_trial: Arc<AtomicBool>,
    changes: PlanChanges,
}

impl Control {
    /// `stop` is the flag that Ctrl-C sets.
    #[must_use]
    pub fn new(stop: Arc<AtomicBool>) -> Self {
        Self {
            stop,
            after_trial: Arc::default(),
            changes: PlanChanges::default(),
        }
    }

    /// Where changes of the plan wait for the conductor.
    #[must_use]
    pub fn changes(&self) -> PlanChanges {
        self.changes.clone()
    }

    pub(crate) fn change(&self, change: PlanChange) -> Result<(), ChangeError> {
        self.changes.ask(change)
    }

    /// A trial has ended and is stored: the run stops here if that was asked for.
    pub fn trial_ended(&self) {
        if self.after_trial.load(Ordering::SeqCst) {
            self.stop.store(true, Ordering::SeqCst);
        }
    }

    /// Whether the run stops after the trial that is under way.
    #[must_use]
    pub fn stops_after_trial(&self) -> bool {
        self.after_trial.load(Ordering::SeqCst)
    }

    pub(crate) fn stop(&self, how: Stop) {
        let flag = match how {
            Stop::AfterTrial => &self.after_trial,
            Stop::Now => &self.stop,
        };
        flag.store(true, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_stops_now_or_after_its_trial() {
        let stop = Arc::new(AtomicBool::new(false));
        let control = Control::new(Arc::clone(&stop));
        control.trial_ended();
        assert!(!stop.load(Ordering::SeqCst), "nobody asked");
        control.stop(Stop::AfterTrial);
        assert!(control.stops_after_trial() && !stop.load(Ordering::SeqCst));
        control.trial_ended();
        assert!(stop.load(Ordering::SeqCst));
        let stop = Arc::new(AtomicBool::new(false));
        Control::new(Arc::clone(&stop)).stop(Stop::Now);
        assert!(stop.load(Ordering::SeqCst));
        assert_eq!(Stop::named("rm -rf"), None);
    }
}
