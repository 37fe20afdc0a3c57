//! What every stack in guests implements: what a guest runs, the state before the load, the audit
//! after it.

use std::{
    ops::ControlFlow,
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use rookery_guest::{Guest, Kind, Lab, Recipe, RoleMove, RunDirs, RunningSystem, Template};
use rookery_stats::DatabaseLoad;
use rookery_study::{Point, StorageRole};
use rookery_workload::FoundRow;

use crate::{error::StackError, service::Service, tier::TierAccess, tuning::Effective};

/// How long a guest may take to end by itself after a trial.
pub(crate) const STOP_GRACE: Duration = Duration::from_secs(10);

/// Hears what takes a while when a template is made: what is being made, and how far it is.
pub trait BuildListener: Sync {
    /// A part of a template is under way, as in `root of LAMP guests` and `fetching packages`.
    fn building(&self, what: &str, detail: &str);
}

impl<F: Fn(&str, &str) + Sync> BuildListener for F {
    fn building(&self, what: &str, detail: &str) {
        self(what, detail);
    }
}

/// Where a stack is at work.
#[derive(Clone, Copy)]
pub struct StackContext<'a> {
    /// The lab in which the guests stand.
    pub lab: &'a dyn Lab,
    /// Directories of the run, for other labs beside this one.
    pub dirs: &'a RunDirs,
    /// The program that guests run.
    pub program: &'a Path,
    /// Set when the user wants no more.
    pub stop: &'a AtomicBool,
    /// Hears of templates that are being made.
    pub listener: &'a dyn BuildListener,
}

impl StackContext<'_> {
    /// Whether the user wants to go on.
    pub fn go_on(&self) -> ControlFlow<()> {
        if self.stop.load(Ordering::Relaxed) {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }

    /// A template, built or found. The wait for another builder is reported once, and ends when
    /// the user wants no more.
    pub(crate) fn template(&self, recipe: &Recipe<'_>) -> Result<Template, StackError> {
        let reported = AtomicBool::new(false);
        let patience = || {
            if !reported.swap(true, Ordering::Relaxed) {
                self.building("template", "waiting for another run that builds a template");
            }
            self.go_on()
        };
        Ok(self.lab.template(recipe, &patience)?)
    }

    /// Report a part of a template that takes a while.
    pub(crate) fn building(&self, what: &str, detail: &str) {
        self.listener.building(what, detail);
    }
}

/// What an audit found in the database of a guest after the load.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// What is there beyond the loaded rows, as the workload's [`Proof`](rookery_workload::Proof)
    /// counts it; the first is the unit of work.
    pub rows: Vec<FoundRow>,
    /// What does not fit together, in words.
    pub faults: Vec<String>,
    /// What was said beside it, where the audit is the user's own.
    pub remarks: Vec<String>,
}

/// One setting of a guest as it was read back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EffectiveSetting {
    /// The key.
    pub name: String,
    /// Asked for; empty where nothing was.
    pub asked: String,
    /// In force; empty where the server does not say.
    pub in_force: String,
}

impl From<Effective> for EffectiveSetting {
    fn from(found: Effective) -> Self {
        Self {
            name: found.name,
            asked: found.asked.unwrap_or_default(),
            in_force: found.effective.unwrap_or_default(),
        }
    }
}

/// Guests that begin without data, to be loaded under the clock.
pub trait DatabaseLoader: Send + Sync {
    /// What the guests stand on.
    fn template(&self) -> &Template;

    /// What guest `index` of `point` runs while it is loaded: its database alone, with the
    /// settings that the study asks for.
    ///
    /// # Errors
    /// When these settings make no sense for this guest.
    fn service(&self, point: &Point, index: usize) -> Result<Service, StackError>;

    /// Load the database of a guest that was made and not started, and stop the guest in order.
    /// What loads files without a server does so on these CPUs.
    ///
    /// # Errors
    /// When the database cannot be made, or does not hold what it should.
    fn load(
        &self,
        context: &StackContext<'_>,
        guest: &mut dyn Guest,
        cpus: &[u32],
    ) -> Result<DatabaseLoad, StackError>;
}

/// Where the guests of a stack come from.
#[derive(Clone, Copy)]
pub enum Origin<'a> {
    /// They are cloned from a template, and started.
    Cloned(&'a dyn ClonedGuests),
    /// They run already: nothing is made.
    Running(&'a dyn RunningGuests),
}

impl<'a> Origin<'a> {
    /// The template of guests that are cloned.
    #[must_use]
    pub fn template(self) -> Option<&'a Template> {
        match self {
            Self::Cloned(guests) => Some(guests.template()),
            Self::Running(_) => None,
        }
    }
}

/// Guests that are cloned from a template: what each of them runs.
pub trait ClonedGuests: Send + Sync {
    /// What the guests stand on.
    fn template(&self) -> &Template;

    /// What guest `index` of `point` runs.
    ///
    /// # Errors
    /// When the settings that the study asks for make no sense for this guest.
    fn service(&self, point: &Point, index: usize) -> Result<Service, StackError>;

    /// What guest `index` of `point` runs when it calls the guest of a tier.
    ///
    /// # Errors
    /// When the stack has no tiers, or as [`ClonedGuests::service`].
    fn front_service(
        &self,
        point: &Point,
        index: usize,
        tier: &TierAccess,
    ) -> Result<Service, StackError> {
        let _ = (point, index, tier);
        Err(StackError::NoTiers)
    }

    /// Where others reach a guest of a tier, and what lets them in; nothing of guests that users
    /// ask.
    fn access(&self, guest: &dyn Guest) -> Option<TierAccess> {
        let _ = guest;
        None
    }

    /// What is moved from the data of a clone to the volume of a role, before its server runs.
    fn moved(&self, role: StorageRole) -> Vec<RoleMove> {
        let _ = role;
        Vec::new()
    }

    /// Prepare a clone whose server does not run yet. What has volumes of its own is there already.
    ///
    /// # Errors
    /// When its data cannot be written.
    fn prepare_clone(&self, kind: Kind, guest: &dyn Guest) -> Result<(), StackError> {
        let _ = (kind, guest);
        Ok(())
    }
}

/// Guests that run already.
pub trait RunningGuests: Send + Sync {
    /// The system.
    fn system(&self) -> &RunningSystem;

    /// Put back what the trial before changed. The system may be started again by it.
    ///
    /// # Errors
    /// When that fails.
    fn reset(&self, guest: &dyn Guest) -> Result<(), StackError>;
}

/// How much of what users were told is looked for by an audit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuditScope {
    /// All of it.
    Everything,
    /// What the audit counts; the rest may be anything.
    Counted,
    /// Nothing: there is no audit.
    Nothing,
}

/// A stack whose guests can be had: how they are warmed, asked and audited.
pub trait GuestStack: Send + Sync {
    /// Where its guests come from.
    fn origin(&self) -> Origin<'_>;

    /// Bring a healthy guest into the state in which the load shall find it.
    ///
    /// # Errors
    /// When its server refuses.
    fn warm(&self, context: &StackContext<'_>, guest: &mut dyn Guest) -> Result<(), StackError> {
        let _ = (context, guest);
        Ok(())
    }

    /// The settings in force in a healthy guest, guest `index` of `point`.
    ///
    /// # Errors
    /// When the guest does not answer.
    fn settings(
        &self,
        context: &StackContext<'_>,
        guest: &dyn Guest,
        point: &Point,
        index: usize,
    ) -> Result<Vec<EffectiveSetting>, StackError> {
        let _ = (context, guest, point, index);
        Ok(Vec::new())
    }

    /// Let a healthy guest answer one request as a user of its workload would send it.
    ///
    /// # Errors
    /// When it is not answered as it should be.
    fn answer(&self, context: &StackContext<'_>, guest: &dyn Guest) -> Result<(), StackError>;

    /// How much its audit looks for.
    fn audit_scope(&self) -> AuditScope {
        AuditScope::Everything
    }

    /// Look at what the load left in the database of a guest, and end the guest. One that `died`
    /// is started again for it: what its server recovers counts.
    ///
    /// # Errors
    /// When the database cannot be read.
    fn audit(
        &self,
        context: &StackContext<'_>,
        guest: &mut dyn Guest,
        died: bool,
    ) -> Result<Found, StackError>;
}
