//! Calibration trials: which buffer pool gives the hit ratio that a study asks for. They come before the first trial of a point, and what they
//! find is kept for all of its trials.

use rookery_guest::{Template, remove_all};
use rookery_store::{PoolRound, PoolSizing, Store};
use rookery_study::{StackKind, Trial};
use rookery_workload::orderentry::{
    Dialect,
    dial::{Dial, Tried},
};

use crate::{
    Event, LabError,
    driving::Ground,
    host_settings::HostSettings,
    readings::hit_ratio,
    stage::{Act, Stage, each_guest},
    traffic::Traffic,
};

const MIB: u64 = 1 << 20;
/// A page of PostgreSQL, bytes.
const PAGE: u64 = 8 << 10;
/// Pages of its buffers that a terminal's session may hold at once, and those of the server's own sessions.
const SESSION_PAGES: u64 = 8;
const SPARE_PAGES: u64 = 32;

/// How the search for a pool ended.
pub(crate) enum Sized {
    /// The study asks for no hit ratio, or the pool is known: this one, if any.
    Held(Option<u64>),
    /// The user stopped it.
    Stopped,
    /// A calibration trial failed, for this reason.
    Failed(String),
}

impl Stage<'_> {
    /// The pool that all trials of this trial's point hold: kept in the store, or found now and kept there.
    ///
    /// # Errors
    /// What is not the matter of one trial: no template, no driver, no host settings, no disk.
    pub(crate) fn pool(&self, store: &Store, trial: &Trial) -> Result<Sized, LabError> {
        let act = self.act(trial);
        let Some(target) = act
            .study
            .workload
            .orderentry
            .as_ref()
            .and_then(|wanted| wanted.hit_target)
        else {
            return Ok(Sized::Held(None));
        };
        let pools = store.pools()?;
        if let Some(known) = pools.iter().find(|pool| pool.point == act.point.id) {
            return Ok(Sized::Held(Some(known.bytes)));
        }
        let template = match self.place.grounded(act.stack.as_ref(), act.point.database) {
            Err(_) if self.stopped() => return Ok(Sized::Stopped),
            template => template?,
        };
        let held = match HostSettings::hold(
            act.study.host.settings.as_deref(),
            self.run,
            self.place.stop,
        ) {
            Err(_) if self.stopped() => return Ok(Sized::Stopped),
            held => held?,
        };
        let found = self.search(
            &act,
            &template,
            dial(&act, target.ratio()).with_hints(self.hints(&act, &pools)),
        );
        held.put_back()?;
        match found? {
            Ok(pool) => {
                store.keep_pool(&pool)?;
                Ok(Sized::Held(Some(pool.bytes)))
            }
            Err(_) if self.stopped() => Ok(Sized::Stopped),
            Err(reason) => Ok(Sized::Failed(reason)),
        }
    }

    /// What the calibration of other points has shown of the same data on the same server.
    fn hints(&self, act: &Act<'_>, pools: &[PoolSizing]) -> Vec<Tried> {
        let alike = self.plan.points.iter().filter(|point| {
            point.database == act.point.database
                && self.plan.study_of(point).stack.kind == act.study.stack.kind
        });
        alike
            .flat_map(|point| pools.iter().filter(|pool| pool.point == point.id))
            .flat_map(|pool| &pool.rounds)
            .map(|round| Tried {
                bytes: round.bytes,
                hit: round.hit,
            })
            .collect()
    }

    fn search(
        &self,
        act: &Act<'_>,
        template: &Template,
        mut dial: Dial,
    ) -> Result<Result<PoolSizing, String>, LabError> {
        let target = dial.target();
        while let Some(bytes) = dial.next() {
            if self.stopped() {
                return Ok(Err("stopped".to_owned()));
            }
            let hit = match self.round(act, template, bytes)? {
                Ok(hit) => hit,
                // Below the sizes that worked one may be too small for the server to work with: the nearest that works is good enough then.
                Err(reason)
                    if dial.tried().iter().any(|tried| tried.bytes > bytes) && !self.stopped() =>
                {
                    dial.refuse(bytes);
                    self.tried(act, bytes, target, Err(reason));
                    continue;
                }
                Err(reason) => {
                    let what = format!(
                        "a calibration trial with a buffer pool of {} failed: {reason}",
                        mib(bytes)
                    );
                    return Ok(Err(what));
                }
            };
            dial.tell(bytes, hit);
            self.tried(act, bytes, target, Ok(hit));
        }
        let Some(best) = dial.best() else {
            return Ok(Err("no buffer pool could be tried".to_owned()));
        };
        Ok(Ok(PoolSizing {
            point: act.point.id,
            target,
            bytes: best.bytes,
            hit: best.hit,
            reached: dial.reached(),
            rounds: dial
                .tried()
                .iter()
                .map(|tried| PoolRound {
                    bytes: tried.bytes,
                    hit: tried.hit,
                })
                .collect(),
        }))
    }

    fn tried(&self, act: &Act<'_>, bytes: u64, target: f64, measured: Result<f64, String>) {
        let point = act.point.id;
        let hit = measured.as_ref().ok().copied();
        let why = measured.err();
        (self.place.listener)(&Event::PoolTried {
            point,
            bytes,
            target,
            hit,
            why,
        });
    }

    /// One calibration trial: the whole of a trial but for its records. The hit ratio over all guests.
    fn round(
        &self,
        act: &Act<'_>,
        template: &Template,
        bytes: u64,
    ) -> Result<Result<f64, String>, LabError> {
        let mut guests = match self.clone_guests(
            act.study,
            act.stack.as_ref(),
            template,
            act.point,
            Some(bytes),
        ) {
            Ok(guests) => guests,
            Err(reason) => return Ok(Err(reason)),
        };
        let ready = self
            .start(act.study, &mut guests)
            .map_err(|error| error.to_string())
            .and_then(|()| each_guest(&mut guests, |_, guest| self.ready(act, guest, Some(bytes))));
        let driven = match ready {
            Ok(_) => {
                let ground = Ground::of(act.stack.as_ref(), self.place.lab, &guests);
                Traffic::of(self.plan, act.trial, act.point, act.stack.as_ref(), &ground)
                    .and_then(|traffic| self.drive(&traffic, act, &mut guests))
                    .map(Ok)
            }
            Err(reason) => Ok(Err(reason)),
        };
        let removed = remove_all(&mut guests);
        let driven = match driven {
            Err(LabError::Terminals(error)) => Err(error.to_string()),
            driven => driven?,
        };
        removed?;
        Ok(driven.and_then(|driven| match driven.deaths.first() {
            None if driven.measurement.aborted.is_some() => Err(format!(
                "the load was ended: {}",
                driven.measurement.aborted.unwrap_or_default()
            )),
            Some(death) => Err(format!(
                "guest {} died under load: {}",
                death.guest, death.reason
            )),
            None => match (hit_ratio(&driven.measurement), driven.silent) {
                (Some(hit), None) => Ok(hit),
                (_, Some(why)) => Err(format!("its buffers could not be read: {why}")),
                (None, None) => Err("no page was asked for".to_owned()),
            },
        }))
    }
}

/// The search of a point, within what its guests have memory for.
fn dial(act: &Act<'_>, target: f64) -> Dial {
    let data = act.point.database.orderentry();
    let database = data.map_or(MIB, |data| data.bytes());
    let most = (act.point.memory_mib * MIB * 7 / 10).min(2 * database);
    let terminals = act.point.users.iter().copied().max().unwrap_or(1);
    // InnoDB takes no less than 5 MiB, and steps of 1 MiB. PostgreSQL takes 128 KiB, but each session must be able to hold some pages at once.
    let (dialect, least, step) = match act.study.stack.kind {
        StackKind::Postgresql => (
            Dialect::Postgresql,
            PAGE * (SPARE_PAGES + SESSION_PAGES * u64::from(terminals)),
            PAGE,
        ),
        _ => (Dialect::Mariadb, 6 * MIB, MIB),
    };
    Dial::new(target, dialect, database, least, most, step)
}

fn mib(bytes: u64) -> String {
    format!(
        "{} MiB",
        (bytes as f64 / MIB as f64 * 100.0).round() / 100.0
    )
}
