//! From the `[stack]` section of a study to the stack behind it: the one list of stacks.

use rookery_study::{SimulatedUse, StackUse, Study, WorkloadKind};

use crate::{
    Stack, StackError,
    stacks::{DatabaseStack, EmbeddedStack, LampStack, SqliteStack, open_sample},
};

/// What serves the load of a study's variant.
pub enum OpenStack<'s> {
    /// A stack in guests.
    Guests(Box<dyn Stack>),
    /// Nothing: its trials are computed.
    Simulated(&'s SimulatedUse),
}

impl OpenStack<'_> {
    /// The stack, where there is one.
    #[must_use]
    pub fn guests(self) -> Option<Box<dyn Stack>> {
        match self {
            Self::Guests(stack) => Some(stack),
            Self::Simulated(_) => None,
        }
    }
}

/// The stack of a study's variant.
///
/// # Errors
/// When the stack does not serve the study's workload.
pub fn open(study: &Study) -> Result<OpenStack<'_>, StackError> {
    Ok(OpenStack::Guests(match &study.stack {
        StackUse::Embedded { pages, extra_cpu } => {
            Box::new(EmbeddedStack::new(study, *pages, *extra_cpu)?)
        }
        StackUse::Lamp(wanted) => Box::new(LampStack::new(study, wanted)?),
        StackUse::Database(wanted) => Box::new(DatabaseStack::new(study, wanted)?),
        StackUse::Sqlite => Box::new(SqliteStack::new(study)?),
        StackUse::Bundled => bundled(study)?,
        StackUse::Simulated(system) => return Ok(OpenStack::Simulated(system)),
    }))
}

/// The stack of a study's variant without its database; nothing where it cannot do without.
///
/// # Errors
/// As [`open()`].
pub fn open_without_database(study: &Study) -> Result<Option<Box<dyn Stack>>, StackError> {
    Ok(match &study.stack {
        StackUse::Lamp(wanted) => Some(Box::new(LampStack::without_database(study, wanted)?)),
        _ => None,
    })
}

/// The stack that comes with the workload of a study.
///
/// # Errors
/// When none comes with it.
fn bundled(study: &Study) -> Result<Box<dyn Stack>, StackError> {
    match study.workload.kind() {
        WorkloadKind::Sample => open_sample(study),
        other @ (WorkloadKind::Dvdstore | WorkloadKind::Orderentry) => {
            Err(StackError::OtherWorkload {
                stack: "the bundled stack",
                workload: other.name(),
            })
        }
    }
}
