//! Host settings: what they are ([`audit`]), what they should be ([`Profile`]), and changing them
//! so that all can be put back ([`Keeper`]).
//!
//! Nothing is ever changed but by a command of the user or for the time of a run. Every change is
//! in a journal, durably, before it is made; it is put back by [`Keeper::revert`], when a [`Held`]
//! is dropped, or by [`Keeper::clean`] once its owner is dead.

mod audit;
mod catalogue;
mod error;
mod files;
mod irqbalance;
mod journal;
mod keeper;
mod knob;
mod profile;
mod profile_toml;
mod restore;
mod tuned;

#[cfg(test)]
mod fault_tests;

pub use audit::{Advice, Audit, AuditRow, audit};
pub use catalogue::{KNOBS, knob};
pub use error::SettingsError;
pub use files::Root;
pub use irqbalance::{IrqBalance, irqbalance};
pub use keeper::{Consent, Effect, Held, Keeper, Outcome, Reverted};
pub use knob::{Knob, Scope};
pub use profile::{Profile, ProfileError, ProfileProblem, Setting, Wanted};
pub use restore::Restored;
pub use tuned::{Tuned, tuned};
