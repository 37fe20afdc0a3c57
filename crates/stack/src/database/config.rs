//! What a database guest runs and reads: its service and the configuration of its server.
//!
//! Paths stand as placeholders in the texts: `{data}`, `{conf}`, `{run}`, `{address}`, `{port}`.
//! Nothing outside of them is written, and nothing below `/etc` is read.

mod mariadb;
mod postgresql;

use super::{Engine, Software};
use crate::tuning::Tuned;

pub(super) use mariadb::SOCKET as MARIADB_SOCKET;
pub(super) use postgresql::CONFIG as POSTGRESQL_CONFIG;

/// What a guest is given: arguments of its program, and files with their paths below the guest's
/// directory of configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Service {
    /// Arguments of the `rookery` program.
    pub args: Vec<String>,
    /// Path and text of each file.
    pub files: Vec<(String, String)>,
}

impl Service {
    fn of(files: impl IntoIterator<Item = (&'static str, String)>) -> Self {
        Self {
            args: ["supervise", "{conf}/services.toml"]
                .map(str::to_owned)
                .to_vec(),
            files: files
                .into_iter()
                .map(|(path, text)| (path.to_owned(), text))
                .collect(),
        }
    }
}

/// The service of a guest that serves terminals. The buffer pool of a `resizable` MariaDB may grow
/// while it runs, for which newer versions set addresses aside; PostgreSQL's changes at a start
/// only.
#[must_use]
pub fn guest(software: &Software, tuned: &Tuned, resizable: bool) -> Service {
    match software.engine {
        Engine::Mariadb => mariadb::guest(software, tuned, resizable),
        Engine::Postgresql => postgresql::guest(software, tuned),
    }
}

/// The service of the guest in which a template is made: an empty database is initialised, then the
/// server runs, with no care for a crash.
#[must_use]
pub fn builder(software: &Software) -> Service {
    match software.engine {
        Engine::Mariadb => mariadb::builder(software),
        Engine::Postgresql => postgresql::builder(software),
    }
}

#[cfg(test)]
mod tests;
