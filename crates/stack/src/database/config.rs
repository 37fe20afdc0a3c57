//! What a database guest runs and reads: its service and the configuration of its server.
//!
//! Paths stand as placeholders in the texts: `{data}`, `{conf}`, `{run}`, `{address}`, `{port}`,
//! and `{log}` and `{temporary}` where these have volumes of their own.
//! Nothing outside of them is written, and nothing below `/etc` is read.

mod mariadb;
mod postgresql;

use std::collections::BTreeSet;

use rookery_study::StorageRole;

use super::{Engine, Software};
use crate::{SupervisedService, tuning::Tuned};

pub(super) use mariadb::SOCKET as MARIADB_SOCKET;
pub(super) use postgresql::CONFIG as POSTGRESQL_CONFIG;

/// The service of a guest that serves terminals. The buffer pool of a `resizable` MariaDB may grow
/// while it runs, for which newer versions set addresses aside; PostgreSQL's changes at a start
/// only. What has volumes of its own are `roles`.
#[must_use]
pub fn guest(
    software: &Software,
    tuned: &Tuned,
    resizable: bool,
    roles: &BTreeSet<StorageRole>,
) -> SupervisedService {
    match software.engine {
        Engine::Mariadb => mariadb::guest(software, tuned, resizable, roles),
        // It finds them by links that are in its data.
        Engine::Postgresql => postgresql::guest(software, tuned),
    }
}

/// The service of the guest in which a template is made: an empty database is initialised, then the
/// server runs, with no care for a crash.
#[must_use]
pub fn builder(software: &Software) -> SupervisedService {
    match software.engine {
        Engine::Mariadb => mariadb::builder(software),
        Engine::Postgresql => postgresql::builder(software),
    }
}

/// The service of a guest whose database is loaded under the clock: as [`builder`], but with the
/// settings of a tuning.
#[must_use]
pub fn loading(
    software: &Software,
    tuned: &Tuned,
    roles: &BTreeSet<StorageRole>,
) -> SupervisedService {
    match software.engine {
        Engine::Mariadb => mariadb::loading(software, tuned, roles),
        Engine::Postgresql => postgresql::loading(software, tuned, roles),
    }
}

#[cfg(test)]
mod tests;
