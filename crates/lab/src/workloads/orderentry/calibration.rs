//! Calibration: which buffer pool gives the hit ratio that a study asks for. Its trials come before
//! the first trial of a point, and what they find is kept for all of its trials.

use rookery_stack::{BuiltStack, OrderentryStack, StackError};
use rookery_stats::Measurement;
use rookery_store::{PoolRound, PoolSizing, Store};
use rookery_study::{Plan, Point, Study};
use rookery_workload::orderentry::{
    DatabaseReadings,
    dial::{Dial, Tried},
};

use crate::{
    error::{Failure, LabError, TrialError},
    event::Event,
    observed::Observed,
};

const MIB: u64 = 1 << 20;

/// The search for a buffer pool of one point.
pub(crate) struct Calibration {
    point: u32,
    dial: Dial,
    /// The pool that is held: found before and kept in the store, or under trial.
    bytes: Option<u64>,
    /// Whether it was found before.
    known: bool,
}

impl Calibration {
    /// The search of a point, within what its guests have memory for; nothing where the study asks
    /// for no hit ratio.
    ///
    /// # Errors
    /// When the store cannot be read, or the stack has no pool whose size can be chosen.
    pub(crate) fn new(
        plan: &Plan,
        point: &Point,
        study: &Study,
        stack: &dyn OrderentryStack,
        store: &Store,
    ) -> Result<Option<Self>, Failure> {
        let Some(target) = stack.wanted().hit_target else {
            return Ok(None);
        };
        let Some(range) = stack.pool_range() else {
            let stack = stack.name();
            return Err(StackError::NoPool { stack }.into());
        };
        let pools = store.pools().map_err(LabError::from)?;
        let known = pools.iter().find(|pool| pool.point == point.id);
        let database = stack.data().bytes();
        let most = (point.only_group().memory_mib * MIB * 7 / 10).min(2 * database);
        let terminals = point.only_group().users.iter().copied().max().unwrap_or(1);
        let least = range.least + range.per_session * u64::from(terminals);
        let dial = Dial::new(
            target.ratio(),
            range.dialect,
            database,
            least,
            most,
            range.step,
        );
        Ok(Some(Self {
            point: point.id,
            dial: dial.with_hints(hints(plan, point, study, &pools)),
            bytes: known.map(|pool| pool.bytes),
            known: known.is_some(),
        }))
    }

    /// Let all guests from now on have the pool that was found before; whether there is one.
    pub(crate) fn apply_known(&self, stack: &mut BuiltStack) -> bool {
        if self.known {
            hold(stack, self.bytes);
        }
        self.known
    }

    /// Let the guests of the next calibration trial have the next pool; `false` = the search is at
    /// its end.
    pub(crate) fn next_round(&mut self, stack: &mut BuiltStack) -> bool {
        self.bytes = self.dial.next();
        hold(stack, self.bytes);
        self.bytes.is_some()
    }

    /// Learn from a calibration trial; the event that says what it gave.
    ///
    /// # Errors
    /// When it failed, and the search cannot go on without it.
    pub(crate) fn end_round(&mut self, round: Result<Observed, Failure>) -> Result<Event, Failure> {
        let bytes = self.bytes.unwrap_or_default();
        let (hit, why) = match round.and_then(|observed| hit_of(&observed)) {
            Ok(hit) => {
                self.dial.tell(bytes, hit);
                (Some(hit), None)
            }
            // Below the sizes that worked one may be too small for the server to work with: the
            // nearest that works is good enough then.
            Err(Failure::Trial(error))
                if self.dial.tried().iter().any(|tried| tried.bytes > bytes) =>
            {
                self.dial.refuse(bytes);
                (None, Some(error.to_string()))
            }
            Err(Failure::Trial(source)) => {
                return Err(Failure::Trial(TrialError::Calibration {
                    size: format!("a buffer pool of {}", mib(bytes)),
                    source: Box::new(source),
                }));
            }
            Err(failure) => return Err(failure),
        };
        Ok(Event::PoolTried {
            point: self.point,
            bytes,
            target: self.dial.target(),
            hit,
            why,
        })
    }

    /// Keep what was found in the store, and let all guests from now on have it.
    ///
    /// # Errors
    /// When nothing was found, or the store cannot be written.
    pub(crate) fn keep(self, store: &Store, stack: &mut BuiltStack) -> Result<(), Failure> {
        let Some(best) = self.dial.best() else {
            let what = "no buffer pool could be tried".to_owned();
            return Err(Failure::Trial(TrialError::NotCalibrated(what)));
        };
        let sizing = PoolSizing {
            point: self.point,
            target: self.dial.target(),
            bytes: best.bytes,
            hit: best.hit,
            reached: self.dial.reached(),
            rounds: self
                .dial
                .tried()
                .iter()
                .map(|tried| PoolRound {
                    bytes: tried.bytes,
                    hit: tried.hit,
                })
                .collect(),
        };
        store.keep_pool(&sizing).map_err(LabError::from)?;
        hold(stack, Some(best.bytes));
        Ok(())
    }
}

fn hold(stack: &mut BuiltStack, bytes: Option<u64>) {
    if let (BuiltStack::Orderentry(stack), Some(bytes)) = (stack, bytes) {
        stack.hold_pool(bytes);
    }
}

/// What the calibration of other points has shown of the same data on the same server.
fn hints(plan: &Plan, point: &Point, study: &Study, pools: &[PoolSizing]) -> Vec<Tried> {
    plan.points
        .iter()
        .filter(|other| {
            other.only_group().database == point.only_group().database
                && plan.study_of(other).stack.kind() == study.stack.kind()
        })
        .flat_map(|other| pools.iter().filter(|pool| pool.point == other.id))
        .flat_map(|pool| &pool.rounds)
        .map(|round| Tried {
            bytes: round.bytes,
            hit: round.hit,
        })
        .collect()
}

/// The hit ratio over all guests of a calibration trial.
fn hit_of(observed: &Observed) -> Result<f64, Failure> {
    let failed = |error: TrialError| Err(Failure::Trial(error));
    if let Some(death) = observed.seen.deaths.first() {
        return failed(TrialError::Died {
            guest: death.guest.clone(),
            reason: death.reason.clone(),
        });
    }
    let measured = observed.measured.first();
    if let Some(reason) = measured.and_then(|measured| measured.aborted.as_ref()) {
        return failed(TrialError::Aborted(reason.clone()));
    }
    if let Some(silent) = &observed.silent {
        let what = format!("its buffers could not be read: {silent}");
        return failed(TrialError::NotCalibrated(what));
    }
    match measured.and_then(hit_ratio) {
        Some(hit) => Ok(hit),
        None => failed(TrialError::NotCalibrated(
            "no page was asked for".to_owned(),
        )),
    }
}

/// Hit ratio over the buffers of all guests; nothing where no page was asked for.
fn hit_ratio(measurement: &Measurement) -> Option<f64> {
    let readings = measurement
        .guests
        .iter()
        .filter_map(|guest| guest.counters.orderentry()?.database);
    let sum = readings.fold(DatabaseReadings::default(), |sum, reading| {
        DatabaseReadings {
            logical_reads: sum.logical_reads + reading.logical_reads,
            misses: sum.misses + reading.misses,
            ..sum
        }
    });
    sum.hit_ratio()
}

fn mib(bytes: u64) -> String {
    format!(
        "{} MiB",
        (bytes as f64 / MIB as f64 * 100.0).round() / 100.0
    )
}
