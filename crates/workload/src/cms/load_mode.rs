//! How the rows of a site reach its database server.

use serde::{Deserialize, Serialize};

/// How the rows of a site reach its database server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LoadMode {
    /// By the server's own bulk load.
    #[default]
    Fast,
    /// By the statements of a dump, one after the other: `CREATE TABLE`, and `INSERT` of many rows
    /// at a time, as the study on Drupal did.
    SqlScript,
}

impl LoadMode {
    /// Its name in study files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fast => "fast",
            Self::SqlScript => "sql-script",
        }
    }
}
