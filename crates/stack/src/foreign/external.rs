//! A system that runs already, as a stack.

use std::path::Path;

use rookery_guest::{Guest, Health, Kind, RunningSystem};
use rookery_study::{ExternalUse, Point, PointData, StackCommands, Study, Workload, WorkloadKind};

use super::commands::UserCommands;
use crate::{
    AuditScope, BuiltStack, EffectiveSetting, Found, GuestStack, Origin, RunningGuests, Stack,
    StackContext, StackError,
    page::get,
    workloads::{SERVED, serve},
};

/// Its name in errors.
const NAME: &str = "a system that runs already";

/// The stack as a study asks for it.
pub(crate) struct ExternalStack {
    system: RunningSystem,
    commands: StackCommands,
    workload: Workload,
}

impl ExternalStack {
    /// As a study asks for it.
    pub(crate) fn new(study: &Study, wanted: &ExternalUse) -> Self {
        Self {
            system: RunningSystem {
                address: wanted.target,
                health: Health::Http(wanted.health.clone()),
                usage: wanted.usage.clone(),
            },
            commands: wanted.commands.clone(),
            workload: study.workload.clone(),
        }
    }
}

impl Stack for ExternalStack {
    fn name(&self) -> &'static str {
        NAME
    }

    fn serves(&self) -> &'static [WorkloadKind] {
        SERVED
    }

    /// Whether it is there shows when it is asked.
    fn check_host(&self, _kind: Kind, _templates: &Path) -> Result<(), StackError> {
        Ok(())
    }

    /// Its settings are its own.
    fn check_settings(&self, _point: &Point, _index: usize) -> Result<(), StackError> {
        Ok(())
    }

    /// Nothing is built.
    fn build(
        &self,
        _context: &StackContext<'_>,
        data: PointData,
    ) -> Result<BuiltStack, StackError> {
        let guests = ExternalGuests {
            system: self.system.clone(),
            commands: self.commands.clone(),
        };
        serve(NAME, Box::new(guests), &self.workload, data)
    }
}

/// The system as the one guest of its trials.
struct ExternalGuests {
    system: RunningSystem,
    commands: StackCommands,
}

impl RunningGuests for ExternalGuests {
    fn system(&self) -> &RunningSystem {
        &self.system
    }

    fn reset(&self, guest: &dyn Guest) -> Result<(), StackError> {
        UserCommands::new(&self.commands).reset(guest)
    }
}

impl GuestStack for ExternalGuests {
    fn origin(&self) -> Origin<'_> {
        Origin::Running(self)
    }

    fn warm(&self, _context: &StackContext<'_>, guest: &mut dyn Guest) -> Result<(), StackError> {
        UserCommands::new(&self.commands).prepare(guest)
    }

    fn settings(
        &self,
        _context: &StackContext<'_>,
        guest: &dyn Guest,
        _point: &Point,
        _index: usize,
    ) -> Result<Vec<EffectiveSetting>, StackError> {
        UserCommands::new(&self.commands).settings(guest)
    }

    fn answer(&self, context: &StackContext<'_>, guest: &dyn Guest) -> Result<(), StackError> {
        let Health::Http(path) = guest.health() else {
            return Ok(());
        };
        get(context.lab.network(), guest.address(), path).map(drop)
    }

    fn audit_scope(&self) -> AuditScope {
        UserCommands::new(&self.commands).audit_scope()
    }

    /// Whether it died or not: it is left as it is, and the user's audit looks where it likes.
    fn audit(
        &self,
        _context: &StackContext<'_>,
        guest: &mut dyn Guest,
        _died: bool,
    ) -> Result<Found, StackError> {
        UserCommands::new(&self.commands).audit(guest)
    }
}
