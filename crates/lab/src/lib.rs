//! Conducts a run: template, clones, load, judgement, store; resumes it; finds it again.
//!
//! [`Conductor`] is the principal type: [`Conductor::start`] makes a new run from a study and its
//! plan, [`Conductor::resume`] takes up an interrupted one; both end with a [`Summary`]. What
//! happens on the way is reported as [`Event`]s.
//!
//! Within, `conduct` calls `trial` for each trial, whose guests are a `guest_set`; what differs
//! from workload to workload lies in `workloads`.

mod ceiling;
mod changes;
mod clock;
mod common_start;
mod conduct;
mod context;
mod disks;
mod driver_start;
mod elsewhere;
mod error;
mod event;
mod facts;
mod far_users;
mod group_context;
mod growth;
mod guest_set;
mod host_parts;
mod host_records;
mod host_settings;
mod lab_pool;
mod labels;
mod link_ceiling;
mod observed;
mod offered;
mod one_trial;
mod planned;
mod rehearsal;
mod removal;
mod rest;
mod run_dir;
pub mod simulated;
mod spread;
mod storage;
mod targets;
mod tiers;
mod trial;
mod trial_load;
mod workloads;

pub use ceiling::{CEILINGS, CeilingListener, Gauge, ceilings};
pub use changes::{ChangeError, MOST_REPEATS, PlanChange, PlanChanges};
pub use common_start::Party;
pub use conduct::{Conductor, Summary};
pub use elsewhere::{
    DrivenPart, GroupPart, Labs, LostDriver, PartOrder, RemoteDriver, RemoteEnd, RemoteError,
    RemoteLab, StartDecision, TrialOrder,
};
pub use error::{LabError, TrialError};
pub use event::{
    Event, GroupDetail, GuestDetail, Headline, Listener, LoadDetail, LoadEnd, LoadLimit,
    LoadedGroup, LoadedGuest, MOST_TOLD,
};
pub use facts::{check_plan, describe_host, host_facts};
pub use far_users::own_address_towards;
pub use host_parts::check_group_hosts;
pub use host_settings::check_profile;
pub use lab_pool::labels;
pub use labels::{LabelError, MOST_TAGS, RunLabels};
pub use link_ceiling::{LinkCeiling, LinkCeilings, LinkGauge, LinkListener};
pub use one_trial::OneTrialEnd;
pub use rehearsal::Rehearsal;
pub use removal::{DeleteError, delete};
pub use run_dir::{RunDir, find, find_of_study, is_running, runs, store_in, write_whole};
