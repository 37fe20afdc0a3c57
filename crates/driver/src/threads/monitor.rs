//! The view from outside: progress, and when a trial is given up.

use std::{
    sync::atomic::{AtomicBool, Ordering::Relaxed},
    thread,
    time::Duration,
};

use rookery_cast::low_u32;

use super::{
    board::LoadView,
    control::{SWEEP, ThreadStatus, TrialControl},
};
use crate::{
    clock::{Clock, Nanos, nanos, seconds},
    phases::{Phase, Phases, Progress},
    record::second_of,
};

/// How often the trial is looked at from outside.
const LOOK: Duration = Duration::from_millis(50);
/// Within this time every thread has shown a second that is over.
const SHOWN_WITHIN: Duration = SWEEP.saturating_mul(2);

/// What was counted up to a moment.
#[derive(Debug, Default)]
struct Totals {
    at: Nanos,
    /// Seconds that were over.
    second: u32,
    requests: u64,
    errors: u64,
    arrivals: u64,
}

/// Watches a trial from the calling thread.
#[derive(Debug)]
pub struct TrialMonitor<'a> {
    /// The phases of the trial.
    pub phases: &'a Phases,
    /// The common start.
    pub clock: Clock,
    /// What the threads obey.
    pub control: &'a TrialControl,
    /// What they show, one each.
    pub statuses: &'a [ThreadStatus],
    /// When every user's last request failed for so long, the trial is ended.
    pub all_failing: Nanos,
    /// Progress is reported about twenty times per second and once more at the end, instead of once
    /// per second.
    pub every_look: bool,
}

impl TrialMonitor<'_> {
    /// Looks until all threads are done, and reports to `progress`. The reason if the load was
    /// ended early.
    pub fn watch(
        &self,
        stop: &AtomicBool,
        progress: &dyn Fn(Progress),
        done: &dyn Fn() -> bool,
    ) -> Option<String> {
        let mut aborted = None;
        let mut failing_since = None;
        let (mut view, mut last) = (LoadView::default(), Totals::default());
        while !done() {
            thread::sleep(LOOK);
            let now = self.clock.now();
            if aborted.is_none() {
                aborted = self.reason_to_stop(stop, now, &mut failing_since);
                if aborted.is_some() {
                    self.control.end(now);
                }
            }
            let over = second_of(now.saturating_sub(nanos(SHOWN_WITHIN)));
            let second_over = over > last.second;
            if second_over || (self.every_look && now > 0) {
                let totals = self.totals(now, over);
                let seconds = if second_over {
                    view.seconds(self.statuses.iter().map(|status| &status.seconds), over)
                } else {
                    Vec::new()
                };
                progress(Progress {
                    seconds,
                    ..self.progress(&last, &totals)
                });
                if second_over {
                    last = totals;
                }
            }
        }
        if self.every_look {
            let now = self.clock.now();
            progress(Progress {
                elapsed: Duration::from_nanos(now),
                phase: self.phase(now),
                requests_per_s: 0.0,
                errors_per_s: 0.0,
                arrivals_per_s: None,
                active_users: 0,
                seconds: Vec::new(),
            });
        }
        aborted
    }

    fn totals(&self, at: Nanos, second: u32) -> Totals {
        Totals {
            at,
            second,
            requests: self.sum(|status| status.requests.load(Relaxed)),
            errors: self.sum(|status| status.errors.load(Relaxed)),
            arrivals: self.sum(|status| status.arrivals.load(Relaxed)),
        }
    }

    fn progress(&self, last: &Totals, now: &Totals) -> Progress {
        let passed = seconds(now.at.saturating_sub(last.at));
        let rate = |before: u64, count: u64| count.saturating_sub(before) as f64 / passed;
        Progress {
            elapsed: Duration::from_nanos(now.at),
            phase: self.phase(now.at),
            requests_per_s: rate(last.requests, now.requests),
            errors_per_s: rate(last.errors, now.errors),
            arrivals_per_s: (now.arrivals > 0).then(|| rate(last.arrivals, now.arrivals)),
            active_users: low_u32(self.sum(|status| status.started.load(Relaxed).into())),
            seconds: Vec::new(),
        }
    }

    pub(super) fn reason_to_stop(
        &self,
        stop: &AtomicBool,
        now: Nanos,
        failing_since: &mut Option<Nanos>,
    ) -> Option<String> {
        if stop.load(Relaxed) {
            return Some("stopped on request".to_owned());
        }
        let started = self.sum(|status| status.started.load(Relaxed).into());
        let failing = self.sum(|status| status.failing.load(Relaxed).into());
        if started == 0 || failing < started {
            *failing_since = None;
            return None;
        }
        let since = *failing_since.get_or_insert(now);
        (now - since >= self.all_failing).then(|| {
            format!(
                "all {started} users failed for {:.0} s",
                seconds(self.all_failing)
            )
        })
    }

    fn sum(&self, of: impl Fn(&ThreadStatus) -> u64) -> u64 {
        self.statuses.iter().map(of).sum()
    }

    pub(super) fn phase(&self, now: Nanos) -> Phase {
        if self.control.ended().is_some() {
            Phase::Drain
        } else {
            self.phases.phase_at(now)
        }
    }
}
