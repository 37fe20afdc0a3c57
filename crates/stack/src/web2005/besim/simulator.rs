//! The back-end without its connections.

use std::{
    collections::HashMap,
    hash::{BuildHasher as _, RandomState},
    path::Path,
    sync::{
        Arc, Mutex, PoisonError, RwLock,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use rookery_workload::{
    RandomDelay,
    random::SplitMix64,
    web2005::{
        Model,
        besim::{
            Effect, Query, Reply, State, UserChanges, answer, banking::is_user, identity,
            ledger::LedgerEntry,
        },
    },
};

use super::{
    super::error::Web2005Error,
    ledger_file::{LedgerFile, LedgerSync},
};

/// Whether the back-end keeps what users change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StateKeeping {
    /// Writes are confirmed, entered into the ledger, and change nothing.
    #[default]
    Pure,
    /// Balances, payments and profiles change until the next reset.
    Overlay,
}

/// A write that did not reach the ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SimulatorFault;

/// Locks that changes of users are divided over.
const SHARDS: usize = 64;

type Shard = Mutex<HashMap<u32, UserChanges>>;

/// State and ledger of a back-end.
pub(crate) struct Simulator {
    state: RwLock<Arc<State>>,
    ledger: LedgerFile,
    /// Changes of users; no shards where none are kept.
    changes: Vec<Shard>,
    delay: RandomDelay,
    /// Queries so far, from which delays are drawn.
    asked: AtomicU64,
    hasher: RandomState,
}

impl Simulator {
    /// A back-end with a ledger in a file, or with none.
    pub(crate) fn open(
        state: State,
        keeping: StateKeeping,
        delay: RandomDelay,
        ledger: Option<(&Path, LedgerSync)>,
    ) -> Result<Self, Web2005Error> {
        let shards = match keeping {
            StateKeeping::Pure => 0,
            StateKeeping::Overlay => SHARDS,
        };
        let mut simulator = Self {
            state: RwLock::new(Arc::new(state)),
            ledger: LedgerFile::None,
            changes: (0..shards).map(|_| Shard::default()).collect(),
            delay,
            asked: AtomicU64::new(0),
            hasher: RandomState::new(),
        };
        if let Some((path, sync)) = ledger {
            simulator.ledger = LedgerFile::open(path, sync, &mut |entry| {
                simulator.replay(entry);
            })?;
        }
        Ok(simulator)
    }

    /// Answers a query. Its effect is done, and in the ledger, when this returns.
    pub(crate) async fn ask(&self, query: &Query<'_>) -> Result<Reply, SimulatorFault> {
        self.wait().await;
        let answer = self.changed(query);
        match answer.effect {
            Effect::None => {}
            Effect::Write(entry) => {
                self.ledger
                    .append(&entry)
                    .await
                    .map_err(|_| SimulatorFault)?;
            }
            Effect::Reset(state) => self.reset(*state),
        }
        Ok(answer.reply)
    }

    /// The answer to a query, with what it changes of its user kept.
    fn changed(&self, query: &Query<'_>) -> rookery_workload::web2005::besim::Answer {
        let state = Arc::clone(&self.state.read().unwrap_or_else(PoisonError::into_inner));
        let user = identity(query).filter(|user| is_user(&state, *user));
        let shard = user.and_then(|user| {
            let place = user as usize % self.changes.len().max(1);
            Some((user, self.changes.get(place)?))
        });
        let Some((user, shard)) = shard else {
            return answer(&state, query, None);
        };
        let mut shard = shard.lock().unwrap_or_else(PoisonError::into_inner);
        let mut changes = shard.get(&user).cloned().unwrap_or_default();
        let answer = answer(&state, query, Some(&mut changes));
        if matches!(answer.effect, Effect::Write(_)) {
            shard.insert(user, changes);
        }
        answer
    }

    /// Changes what a write of an earlier life had changed.
    fn replay(&self, entry: &LedgerEntry) {
        if self.changes.is_empty() || entry.model != Model::Banking {
            return;
        }
        let mut arguments = vec![entry.identity.to_string().into()];
        arguments.extend(entry.arguments.iter().map(|text| text.as_str().into()));
        let _ = self.changed(&Query {
            model: entry.model,
            command: entry.command,
            arguments,
        });
    }

    fn reset(&self, state: State) {
        *self.state.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(state);
        for shard in &self.changes {
            shard.lock().unwrap_or_else(PoisonError::into_inner).clear();
        }
    }

    /// Waits as long as the back-end of a study takes, without keeping a worker.
    async fn wait(&self) {
        if self.delay.mean.is_zero() {
            return;
        }
        let drawn = self.hasher.hash_one(self.asked.fetch_add(1, Relaxed));
        let delay_us = self.delay.microseconds(&mut SplitMix64::new(drawn));
        tokio::time::sleep(Duration::from_micros(delay_us)).await;
    }
}

#[cfg(test)]
mod tests {
    use rookery_workload::web2005::files::Shape;

    use super::*;

    fn open(keeping: StateKeeping, ledger: Option<&Path>) -> Simulator {
        let shape = Shape::new(Model::Banking, 40, 1.0, 7).expect("a shape");
        let ledger = ledger.map(|path| (path, LedgerSync::Process));
        Simulator::open(
            State::new(7, &shape),
            keeping,
            RandomDelay::default(),
            ledger,
        )
        .expect("a back-end")
    }

    fn ask(simulator: &Simulator, raw: &str) -> Reply {
        let query = Query::parse(raw).expect("a query");
        tokio::runtime::Builder::new_current_thread()
            .build()
            .expect("a runtime")
            .block_on(simulator.ask(&query))
            .expect("answered")
    }

    const TRANSFER: &str = "1&12&58&0000002058&0000004058&50.00&20041007";

    #[test]
    fn a_pure_back_end_answers_the_same_for_ever() {
        let simulator = open(StateKeeping::Pure, None);
        let before = ask(&simulator, "1&2&58");
        assert_eq!(ask(&simulator, TRANSFER), ask(&simulator, TRANSFER));
        assert_eq!(ask(&simulator, "1&2&58"), before);
    }

    #[test]
    fn kept_changes_come_back_from_the_ledger() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let path = dir.path().join("ledger.txt");
        let simulator = open(StateKeeping::Overlay, Some(&path));
        let before = ask(&simulator, "1&2&58");
        assert!(ask(&simulator, TRANSFER).ok);
        let after = ask(&simulator, "1&2&58");
        assert_ne!(after, before);
        assert_eq!(
            ask(&simulator, "1&2&59"),
            ask(&open(StateKeeping::Pure, None), "1&2&59")
        );
        drop(simulator);
        let again = open(StateKeeping::Overlay, Some(&path));
        assert_eq!(ask(&again, "1&2&58"), after);
        assert!(ask(&again, "1&0&1097157010&1&2000&40&/bank/images&0").ok);
        assert_eq!(ask(&again, "1&2&58"), before);
        // The ledger holds what was done, resets or not.
        assert_eq!(
            super::super::read_ledger(&path)
                .expect("readable")
                .transfers,
            (1, 5_000)
        );
    }
}
