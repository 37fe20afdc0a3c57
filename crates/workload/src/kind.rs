//! The names of all workloads. What belongs to each is in the registry.

use serde::{Deserialize, Serialize};

/// The workloads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WorkloadKind {
    /// DVD Store 2.1 over HTTP.
    Dvdstore,
    /// Five transactions of a wholesale company on a database.
    Orderentry,
    /// Operations over HTTP that a user wrote down.
    Http,
    /// Statements on a database that a user wrote down.
    Sql,
    /// A bank on line, with a file set and a simulated back-end.
    WebBanking,
    /// A shop on line, with a file set and a simulated back-end.
    WebEcommerce,
    /// Downloads and the pages that lead to them, with a file set and a simulated back-end.
    WebSupport,
    /// Reading, logging in, creating and logging out on a content-management site.
    Cms,
    /// Bytes back and forth, to load a network.
    Netstream,
    /// Records that are read, listed and written over HTTP: an example, and for tests.
    Sample,
}
