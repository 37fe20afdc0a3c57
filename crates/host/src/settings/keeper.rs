//! The keeper: applies profiles to this host, and puts everything back.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use serde::Serialize;

use super::{
    error::SettingsError,
    files::{Instance, Root},
    journal::{Journal, JournalFile, Layer},
    knob::{Knob, same},
    profile::{Profile, Setting},
    restore::{Restored, put_back, saved},
};
use crate::{Controller, Host, RealHost, RunId, StateDir, StateLock};

/// Applies profiles and puts everything back. Every change is in the journal before it is made.
#[derive(Clone)]
pub struct Keeper {
    pub(super) root: Root,
    state: StateDir,
    host: Arc<dyn Host>,
    /// This process; another one in tests of what the dead leave.
    pub(super) owner: Controller,
}

/// What may be done, and until when.
#[derive(Clone, Debug, Default)]
pub struct Consent {
    /// Knobs that can cost data at a power failure may be turned.
    pub data_loss: bool,
}

/// What became of one setting of a profile on one device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Outcome {
    /// The knob.
    pub knob: &'static str,
    /// Its device; empty when it has none.
    pub device: String,
    /// What the profile wants, in words.
    pub wanted: String,
    /// What became of it.
    #[serde(flatten)]
    pub effect: Effect,
}

/// What became of a setting.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "effect", rename_all = "kebab-case")]
pub enum Effect {
    /// It was as wanted.
    AsWanted {
        /// Value.
        present: String,
    },
    /// It was set.
    Set {
        /// Value before.
        before: String,
        /// Value read back.
        effective: String,
        /// The kernel made another value of the one that was written.
        adjusted: bool,
    },
    /// It can cost data, and there was no consent.
    Withheld {
        /// What it can do.
        danger: &'static str,
    },
    /// It cannot be set here.
    Refused {
        /// Why.
        reason: String,
    },
}

/// What was put back.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Reverted {
    /// Names of the profiles.
    pub profiles: Vec<String>,
    /// What had to be written.
    pub restored: Vec<Restored>,
    /// The host was booted since: the kernel has forgotten all changes itself.
    pub booted_since: bool,
}

/// Host settings that are held: dropped, they are put back.
#[must_use = "dropped at once, it puts everything back at once"]
pub struct Held {
    keeper: Keeper,
    outcomes: Vec<Outcome>,
    armed: bool,
}

impl Keeper {
    /// The keeper of this machine's settings.
    ///
    /// # Errors
    /// When `/proc` is not there.
    pub fn for_machine() -> Result<Self, SettingsError> {
        Self::new(
            Root::machine(),
            StateDir::from_environment(),
            Arc::new(RealHost),
        )
    }

    /// A keeper of other files, with other means.
    ///
    /// # Errors
    /// When `/proc` is not there.
    pub fn new(root: Root, state: StateDir, host: Arc<dyn Host>) -> Result<Self, SettingsError> {
        let owner = Controller::current().map_err(SettingsError::Unnamed)?;
        Ok(Self {
            root,
            state,
            host,
            owner,
        })
    }

    /// Apply a profile until it is reverted. All or nothing: on an error, or once `stop` is set,
    /// everything is put back. What single settings refuse is told in the outcomes.
    ///
    /// # Errors
    /// When a profile is applied already or somebody holds settings, when the journal cannot be
    /// written, or when stopped.
    pub fn apply(
        &self,
        profile: &Profile,
        consent: &Consent,
        stop: &AtomicBool,
    ) -> Result<Vec<Outcome>, SettingsError> {
        let mut session = self.session()?;
        session.drop_abandoned()?;
        if let Some(layer) = session.journal.layers.last() {
            return Err(busy(layer));
        }
        session.transact(profile, None, consent, stop, |session| session.keep_top())
    }

    /// Hold the settings of a profile for a time, for a run if one is named; a profile that is
    /// applied may lie below.
    ///
    /// # Errors
    /// When somebody else holds settings, when the journal cannot be written, or when stopped.
    pub fn hold(
        &self,
        profile: &Profile,
        run: Option<RunId>,
        consent: &Consent,
        stop: &AtomicBool,
    ) -> Result<Held, SettingsError> {
        let mut session = self.session()?;
        session.drop_abandoned()?;
        if let Some(layer) = session.journal.layers.last().filter(|layer| !layer.kept) {
            return Err(busy(layer));
        }
        let outcomes = session.transact(profile, run, consent, stop, |_| Ok(()))?;
        Ok(Held {
            keeper: self.clone(),
            outcomes,
            armed: true,
        })
    }

    /// Put everything back that was applied, and whatever the dead left.
    ///
    /// # Errors
    /// When somebody alive holds settings, or something cannot be put back; the journal then still
    /// knows of it.
    pub fn revert(&self) -> Result<Reverted, SettingsError> {
        if !self.journal_file().exists() {
            return Ok(Reverted::default());
        }
        let mut session = self.session()?;
        session
            .take_off(|layer| layer.kept || layer.is_abandoned() || layer.owner == self.owner)?;
        match session.journal.layers.last() {
            Some(layer) => Err(busy(layer)),
            None => Ok(session.told()),
        }
    }

    /// Put back what dead holders left (of one run only, if named); what is applied or held stays.
    /// The caller holds the lock of the state directory.
    ///
    /// # Errors
    /// When something cannot be put back; the journal then still knows of it.
    pub fn clean(
        &self,
        _lock: &StateLock,
        only: Option<&[RunId]>,
    ) -> Result<Reverted, SettingsError> {
        if !self.journal_file().exists() {
            return Ok(Reverted::default());
        }
        let mut session = Session::open(self)?;
        session.take_off(|layer| {
            let wanted = |only: &[RunId]| layer.run.as_ref().is_some_and(|run| only.contains(run));
            layer.is_abandoned() && only.is_none_or(wanted)
        })?;
        Ok(session.told())
    }

    /// Who has changed settings, in words, the lowest first.
    ///
    /// # Errors
    /// When the journal cannot be read.
    pub fn layers(&self) -> Result<Vec<String>, SettingsError> {
        let boot = self.root.boot();
        let journal = self.journal_file().load(&boot)?;
        let current = journal.layers.iter().filter(|_| journal.boot == boot);
        Ok(current
            .map(|layer| {
                let dead = if layer.is_abandoned() {
                    "; it is dead: `rookery clean` puts them back"
                } else {
                    ""
                };
                format!("{} ({} changes){dead}", layer.title(), layer.changes.len())
            })
            .collect())
    }

    fn journal_file(&self) -> JournalFile {
        JournalFile::in_dir(&self.state)
    }

    fn session(&self) -> Result<Session<'_>, SettingsError> {
        let lock = self.state.lock().map_err(|source| SettingsError::Lock {
            path: self.state.path().to_owned(),
            source,
        })?;
        let mut session = Session::open(self)?;
        session.lock = Some(lock);
        Ok(session)
    }
}

fn busy(layer: &Layer) -> SettingsError {
    SettingsError::Busy {
        who: layer.title(),
        help: if layer.kept {
            "`rookery host revert` first"
        } else {
            "wait until it ends, or end it"
        },
    }
}

/// The journal, open and locked.
struct Session<'k> {
    keeper: &'k Keeper,
    /// `None` where the caller holds it.
    lock: Option<StateLock>,
    journal: Journal,
    reverted: Reverted,
}

impl<'k> Session<'k> {
    fn open(keeper: &'k Keeper) -> Result<Self, SettingsError> {
        let boot = keeper.root.boot();
        let mut session = Self {
            keeper,
            lock: None,
            journal: keeper.journal_file().load(&boot)?,
            reverted: Reverted::default(),
        };
        if session.journal.boot != boot {
            session.journal.boot = boot;
            session.journal.layers.clear();
            session.reverted.booted_since = true;
            session.save()?;
        }
        Ok(session)
    }

    /// What was put back.
    fn told(&mut self) -> Reverted {
        std::mem::take(&mut self.reverted)
    }

    fn save(&self) -> Result<(), SettingsError> {
        self.keeper
            .journal_file()
            .save(&self.journal, self.keeper.host.as_ref())
    }

    fn drop_abandoned(&mut self) -> Result<(), SettingsError> {
        self.take_off(Layer::is_abandoned)
    }

    /// Put layers back from the top as long as `which` says so.
    fn take_off(&mut self, which: impl Fn(&Layer) -> bool) -> Result<(), SettingsError> {
        while let Some(layer) = self.journal.layers.last().filter(|layer| which(layer)) {
            let restoration = put_back(&self.keeper.root, self.keeper.host.as_ref(), layer);
            let profile = layer.profile.clone();
            self.reverted.restored.extend(restoration.restored);
            if !restoration.failed.is_empty() {
                return Err(SettingsError::NotRestored(restoration.failed));
            }
            self.journal.layers.pop();
            self.save()?;
            self.reverted.profiles.push(profile);
        }
        Ok(())
    }

    /// Make a layer and finish it, or leave nothing of it.
    fn transact(
        &mut self,
        profile: &Profile,
        run: Option<RunId>,
        consent: &Consent,
        stop: &AtomicBool,
        finish: impl FnOnce(&mut Self) -> Result<(), SettingsError>,
    ) -> Result<Vec<Outcome>, SettingsError> {
        let root = &self.keeper.root;
        self.journal.layers.push(Layer {
            profile: profile.name.clone(),
            owner: self.keeper.owner,
            run,
            kept: false,
            namespaces: (
                root.link("proc/thread-self/ns/net"),
                root.link("proc/thread-self/ns/ipc"),
            ),
            changes: Vec::new(),
        });
        let made = self.make(profile, consent, stop);
        let made = made.and_then(|outcomes| finish(self).map(|()| outcomes));
        if made.is_err() {
            if let Some(top) = self.journal.layers.last_mut() {
                top.kept = false;
            }
            let owner = self.keeper.owner;
            self.take_off(|layer| layer.owner == owner && !layer.kept)?;
        }
        made
    }

    fn make(
        &mut self,
        profile: &Profile,
        consent: &Consent,
        stop: &AtomicBool,
    ) -> Result<Vec<Outcome>, SettingsError> {
        let mut outcomes = Vec::new();
        for setting in &profile.settings {
            if stop.load(Ordering::Relaxed) {
                return Err(SettingsError::Interrupted);
            }
            self.turn(setting, consent, &mut outcomes)?;
        }
        Ok(outcomes)
    }

    /// Turn one knob on all its devices: look, journal, write, read back.
    fn turn(
        &mut self,
        setting: &Setting,
        consent: &Consent,
        outcomes: &mut Vec<Outcome>,
    ) -> Result<(), SettingsError> {
        let (root, knob) = (&self.keeper.root, setting.knob);
        let outcome = |instance: &str, effect| Outcome {
            knob: knob.key,
            device: instance.to_owned(),
            wanted: setting.wanted.to_string(),
            effect,
        };
        let instances = root.instances(knob, &setting.devices);
        if instances.is_empty() {
            let reason = "this kernel or machine has no such setting".to_owned();
            outcomes.push(outcome("", Effect::Refused { reason }));
        }
        let mut open = Vec::new();
        for instance in instances {
            match look(root, setting, &instance, consent) {
                Ok(present) => open.push((instance, present)),
                Err(effect) => outcomes.push(outcome(&instance.name, effect)),
            }
        }
        if open.is_empty() {
            return Ok(());
        }
        let changes: Vec<_> = open
            .iter()
            .map(|(instance, present)| saved(root, knob, instance, present))
            .collect();
        if let Some(layer) = self.journal.layers.last_mut() {
            layer.changes.extend(changes);
        }
        self.save()?;
        for (instance, present) in &open {
            let effect = self.write(knob, instance, present, &setting.wanted.candidates(present));
            outcomes.push(outcome(&instance.name, effect));
        }
        Ok(())
    }

    /// Write the first value that the kernel takes, and read back what came of it.
    fn write(
        &self,
        knob: &Knob,
        instance: &Instance,
        before: &str,
        candidates: &[String],
    ) -> Effect {
        let root = &self.keeper.root;
        let mut refusals = Vec::new();
        for value in candidates {
            let step = self.keeper.host.step("write a host setting");
            let now = step
                .and_then(|()| root.write(&instance.path, value))
                .map(|()| root.present(knob, instance));
            match now {
                // Some drivers accept a value and do not mind it.
                Ok(Ok(effective)) if same(before, &effective) => {
                    refusals.push(format!("the kernel makes `{before}` of `{value}`"))
                }
                Ok(Ok(effective)) => {
                    return Effect::Set {
                        before: before.to_owned(),
                        adjusted: !same(value, &effective),
                        effective,
                    };
                }
                Ok(Err(reason)) => refusals.push(format!(
                    "`{value}` was written but cannot be read back: {reason}"
                )),
                Err(error) => refusals.push(format!("the kernel does not take `{value}`: {error}")),
            }
        }
        Effect::Refused {
            reason: refusals.join("; "),
        }
    }

    fn keep_top(&mut self) -> Result<(), SettingsError> {
        if self
            .journal
            .layers
            .last()
            .is_some_and(|layer| layer.changes.is_empty())
        {
            // Nothing was changed, so there is nothing to revert.
            self.journal.layers.pop();
        } else if let Some(layer) = self.journal.layers.last_mut() {
            layer.kept = true;
        }
        self.save()
    }
}

impl Drop for Session<'_> {
    fn drop(&mut self) {
        if let Some(lock) = &self.lock {
            self.keeper.state.remove_if_empty(lock);
        }
    }
}

/// The present value of what is to be changed; what becomes of it when it is not.
fn look(
    root: &Root,
    setting: &Setting,
    instance: &Instance,
    consent: &Consent,
) -> Result<String, Effect> {
    let knob = setting.knob;
    let present = root
        .present(knob, instance)
        .map_err(|error| Effect::Refused {
            reason: error.to_string(),
        })?;
    if setting.wanted.holds(&present) {
        return Err(Effect::AsWanted { present });
    }
    if let Some(danger) = knob.danger.filter(|_| !consent.data_loss) {
        return Err(Effect::Withheld { danger });
    }
    match root.fixed(knob, instance, &present) {
        Some(reason) => Err(Effect::Refused { reason }),
        None => Ok(present),
    }
}

impl Held {
    /// What became of each setting.
    #[must_use]
    pub fn outcomes(&self) -> &[Outcome] {
        &self.outcomes
    }

    /// Put everything back now.
    ///
    /// # Errors
    /// When something cannot be put back; the journal then still knows of it.
    pub fn put_back(mut self) -> Result<Reverted, SettingsError> {
        self.release()
    }

    fn release(&mut self) -> Result<Reverted, SettingsError> {
        self.armed = false;
        let mut session = self.keeper.session()?;
        let owner = self.keeper.owner;
        session.take_off(|layer| layer.owner == owner && !layer.kept)?;
        Ok(session.told())
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if self.armed {
            // What fails stays in the journal: `clean` and `revert` try again.
            let _ = self.release();
        }
    }
}
