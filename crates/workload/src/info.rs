//! What every crate needs to know of a workload, as data: its operations, its unit of work, its
//! metrics.

use serde::{Deserialize, Serialize};

use crate::Metric;

/// A workload as data. Generic code asks this instead of naming a workload.
#[derive(Debug, PartialEq)]
pub struct WorkloadInfo {
    /// Its name in study files and stored runs.
    pub name: &'static str,
    /// Its name in prose: `DVD Store`.
    pub title: &'static str,
    /// Its operations, in the order in which they are listed.
    pub operations: &'static [OperationInfo],
    /// What throughput counts.
    pub unit: UnitOfWork,
    /// What the time of an operation covers, as a sentence.
    pub times: &'static str,
    /// Who does the work.
    pub clients: Clients,
    /// What its counters yield, in the order of [`Counters::metrics`](crate::Counters::metrics).
    pub metrics: &'static [Metric],
    /// The name of the metric that a trial is summed up by.
    pub headline: &'static str,
    /// What its own checks of a trial look at, in words; `None` where it has none.
    pub own_checks: Option<&'static str>,
    /// What the driver is to what is measured.
    pub driver: DriverRole,
}

/// What the driver is to what is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DriverRole {
    /// It observes from outside: where it is the limit, the trial is void.
    Observer,
    /// It is one end of what is measured, and may be the limit as the other end may.
    End,
}

impl WorkloadInfo {
    /// The operation of this name.
    #[must_use]
    pub fn operation(&self, name: &str) -> Option<&'static OperationInfo> {
        self.operations
            .iter()
            .find(|operation| operation.name == name)
    }

    /// The operation whose completions are units of work: the one with the role
    /// [`Whole`](OperationRole::Whole) or [`Main`](OperationRole::Main).
    #[must_use]
    pub fn main_operation(&self) -> &'static str {
        self.operations
            .iter()
            .find(|operation| operation.role != OperationRole::Part)
            .map_or("", |operation| operation.name)
    }

    /// Whether the operation of this name is one request. Only a unit of work that consists of
    /// several requests is none; names that the workload does not list are requests.
    #[must_use]
    pub fn is_request(&self, name: &str) -> bool {
        self.operation(name)
            .is_none_or(|operation| operation.role != OperationRole::Whole)
    }

    /// The metric of this name.
    #[must_use]
    pub fn metric(&self, name: &str) -> Option<&'static Metric> {
        self.metrics.iter().find(|metric| metric.name == name)
    }
}

/// One operation of a workload: the name under which its times are recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OperationInfo {
    /// Its name in study files, tables and stored runs.
    pub name: &'static str,
    /// What it is to the unit of work.
    pub role: OperationRole,
}

impl OperationInfo {
    /// A request within a unit of work, or beside it.
    #[must_use]
    pub const fn part(name: &'static str) -> Self {
        Self {
            name,
            role: OperationRole::Part,
        }
    }
}

/// What an operation is to the unit of work. A workload has exactly one operation that is
/// [`Whole`](Self::Whole) or [`Main`](Self::Main).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OperationRole {
    /// The unit of work as a whole. It consists of other operations and is no request of its own.
    Whole,
    /// A request whose completions are the units of work.
    Main,
    /// A request within a unit of work, or beside it.
    Part,
}

/// What a workload's throughput counts, in words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnitOfWork {
    /// One of them: `order`.
    pub singular: &'static str,
    /// Several: `orders`.
    pub plural: &'static str,
    /// So many per minute: `orders/min`.
    pub rate: &'static str,
}

/// Who does the work, in words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clients {
    /// One of them: `user`.
    pub singular: &'static str,
    /// Several: `users`.
    pub plural: &'static str,
}

/// How often an operation was meant to be drawn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MixShare {
    /// The operation's name.
    pub operation: String,
    /// Its share relative to the sum of all shares of the mix.
    pub share: f64,
}

impl MixShare {
    /// The share of one operation.
    #[must_use]
    pub fn new(operation: &str, share: f64) -> Self {
        Self {
            operation: operation.to_owned(),
            share,
        }
    }
}
