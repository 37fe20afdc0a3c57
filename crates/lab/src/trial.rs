//! One trial: its guests, its load, its record.

mod casualties;
mod context;
mod group_loads;
mod judgement;
mod load;
mod load_events;
mod load_time;
mod placement;
mod record;
mod runner;
mod template_loads;

pub(crate) use casualties::Casualties;
pub(crate) use context::TrialRunner;
pub(crate) use judgement::{Evidence, Measured, Told, audit, ended, judge, texts};
pub(crate) use record::{failed, reason};
pub(crate) use runner::TrialEnd;
