//! Statements that a user wrote down: the load of a trial, what makes the tables, and what is
//! counted in them afterwards.

mod compiled;
mod job;
mod session;
mod setup;
mod user;

use std::{
    net::IpAddr,
    path::PathBuf,
    sync::atomic::AtomicBool,
    time::{Duration, Instant},
};

use rookery_driver::{Load, Phases, Progress, Secrets};
use rookery_stats::{Measurement, Pacing};
use rookery_workload::sql::SqlWorkload;
use serde::{Deserialize, Serialize};

use self::{compiled::Compiled, job::Statements};
use crate::{
    OltpError, Target,
    trial::{
        Threads, drive_job,
        job::{Common, Place},
    },
};

pub use setup::{count_records, set_up};

/// A guest of a trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StatementsGuest {
    /// Its name in results.
    pub name: String,
    /// Its database.
    pub target: Target,
    /// Its users, at least 1, each with a connection; of an open load the connections that serve
    /// its arrivals, at least one for each thread.
    pub users: u32,
}

/// One trial: users in a closed loop, each with a connection of its own, or visitors that arrive
/// and take one of those that are there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StatementsConfig {
    /// The guests.
    pub guests: Vec<StatementsGuest>,
    /// Threads that carry the users.
    pub threads: Threads,
    /// Network namespace that the threads enter, as a path; `None` = stay.
    pub network: Option<PathBuf>,
    /// Loop type. Each arrival of an open load waits for a connection of its guest, in order;
    /// [`max_in_flight`](rookery_driver::OpenLoad::max_in_flight) counts those that wait, too.
    pub load: Load,
    /// Phases. Users start evenly over ramp-up.
    pub phases: Phases,
    /// What users do.
    pub workload: SqlWorkload,
    /// What a pause counts from.
    pub pacing: Pacing,
    /// Limit on an operation that has none of its own.
    pub timeout: Duration,
    /// Seed of all random streams.
    pub seed: u64,
    /// Foreign addresses that the user named and confirmed; loopback is always allowed, and any
    /// address inside `network`.
    pub confirmed: Vec<IpAddr>,
}

/// Runs one trial, as [`trial::run`](crate::trial::run) does.
///
/// # Errors
/// When no load was put on: settings that cannot be, a foreign target, a CPU or network namespace
/// that cannot be had, a database that refuses the user or a statement, no database at all that
/// answers, or a stop before the start.
pub fn run_statements(
    config: &StatementsConfig,
    start: &dyn Fn() -> Instant,
    stop: &AtomicBool,
    progress: &(dyn Fn(Progress) + Sync),
) -> Result<Measurement, OltpError> {
    config
        .workload
        .check()
        .map_err(|fault| OltpError::setting(fault.to_string()))?;
    let compiled = Compiled::new(&config.workload)?;
    let common = config.common();
    common.check(0)?;
    common.check_arrivals()?;
    let (mut workload, mut secrets) = (config.workload.clone(), Secrets::default());
    secrets
        .reveal(&mut workload.feeders)
        .map_err(|error| OltpError::setting(error.to_string()))?;
    let job = Statements::new(config, workload, compiled);
    let mut measurement = drive_job(common, job, start, stop, progress)?.measurement;
    for guest in &mut measurement.guests {
        secrets.mask_examples(&mut guest.errors);
    }
    Ok(measurement)
}

impl StatementsConfig {
    fn common(&self) -> Common {
        let guests = self.guests.iter().map(|guest| Place {
            name: guest.name.clone(),
            target: guest.target.clone(),
            connections: guest.users,
        });
        Common {
            guests: guests.collect(),
            threads: self.threads.clone(),
            network: self.network.clone(),
            load: self.load.clone(),
            phases: self.phases,
            spacing: self.pacing,
            patience: None,
            seed: self.seed,
            confirmed: self.confirmed.clone(),
        }
    }
}
