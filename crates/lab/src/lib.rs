//! Conducts a run: template, clones, load, judgement, store; resumes it; finds it again.
//!
//! [`Conductor`] is the principal type: [`Conductor::start`] makes a new run from a study and its plan, [`Conductor::resume`] takes up an interrupted
//! one; both end with a [`Summary`]. What happens on the way is told as [`Event`]s.

mod ask;
mod calibration;
mod ceiling;
mod conduct;
mod driving;
mod error;
mod event;
mod facts;
mod fate;
mod growth;
mod host_settings;
mod labs;
mod ledger;
mod machines;
mod offered;
mod readings;
mod rehearsal;
mod residence;
mod run_dir;
pub mod simulated;
mod stack;
mod stage;
mod storage;
mod timekeeping;
mod traffic;
mod trial;

pub use ceiling::{CEILINGS, Gauge, Hear};
pub use conduct::{Conductor, Summary};
pub use error::LabError;
pub use event::{Event, Listener};
pub use facts::{check_plan, describe_host, host_facts};
pub use host_settings::check_profile;
pub use rehearsal::Rehearsal;
pub use run_dir::{RunDir, find, find_of_study, store_in, write_whole};
