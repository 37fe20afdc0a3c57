//! The stack section: which stack, and how it is tuned.

use std::{collections::BTreeMap, time::Duration};

use serde::{Deserialize, Serialize};

use crate::{DatabaseUse, Expression, ExpressionError};

/// The stack section.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StackUse {
    /// Which stack.
    pub kind: StackKind,
    /// Faithful or corrected pages.
    pub pages: Pages,
    /// What only LAMP has; there exactly when `kind` is [`StackKind::Lamp`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lamp: Option<LampUse>,
    /// What only database servers have; there exactly when `kind` is [`StackKind::Mariadb`] or [`StackKind::Postgresql`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub database: Option<DatabaseUse>,
    /// CPU time that the embedded server burns in every page on purpose; zero unless a study wants a slow-down of known size.
    #[serde(default, skip_serializing_if = "Duration::is_zero")]
    pub extra_cpu: Duration,
    /// The system that is computed instead of run; there exactly when `kind` is [`StackKind::Simulated`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub simulated: Option<SimulatedUse>,
}

/// Stacks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StackKind {
    /// Rookery's own application server on SQLite.
    #[default]
    Embedded,
    /// Apache, PHP and MariaDB of the distribution.
    Lamp,
    /// MariaDB of the distribution alone, for order entry.
    Mariadb,
    /// PostgreSQL of the distribution alone, for order entry.
    Postgresql,
    /// SQLite behind Rookery's own small server, for order entry.
    Sqlite,
    /// No stack at all: trials are computed from a queueing model, in virtual time.
    Simulated,
}

/// Whether the pages reproduce the known defects of the original.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pages {
    /// As the original, with its defects.
    Faithful,
    /// Without them.
    #[default]
    Corrected,
}

/// The system under test of a simulated study, and the host that it would run on.
///
/// An order costs CPU time on every page, in equal parts on average; at the purchase it then passes the lock of its guest and the disk of the host,
/// one after the other. CPUs are shared equally by whoever is ready; lock and disk serve one order at a time, first come, first served. All service
/// times are exponential around their means.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SimulatedUse {
    /// CPUs of the simulated host, the driver's included.
    pub host_cpus: u32,
    /// CPU time of an order on one core, on average.
    pub cpu_demand: Duration,
    /// Time of an order on the disk that all guests share, on average.
    pub disk_demand: Duration,
    /// Time of an order under the lock that every guest has of its own, on average: the part that more CPUs do not speed up.
    pub lock_demand: Duration,
    /// Growth of all CPU demand with each further guest: factor 1 + c (guests - 1).
    pub guest_overhead: f64,
    /// Deviation of the demands from trial to trial, as a share: all of a trial are multiplied by one log-normal factor.
    pub noise: f64,
    /// How long the whole system stands still at the end of every `freeze_every`; zero for never.
    pub freeze: Duration,
    /// Time from one freeze to the next.
    pub freeze_every: Duration,
}

/// Keys of the LAMP stack.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LampUse {
    /// How Apache serves.
    pub server: WebServer,
    /// The set of tunings to begin with.
    pub tuning: TuningProfile,
    /// State of the database's memory when the load begins.
    pub buffer_pool: BufferPool,
    /// Single settings on top of the tuning: `mariadb.innodb_buffer_pool_size` and its value.
    pub settings: BTreeMap<String, SettingValue>,
}

/// Ways in which Apache serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WebServer {
    /// A process for each connection, with PHP inside.
    Prefork,
    /// Threads for connections, PHP in processes of its own (php-fpm).
    Event,
}

/// Sets of tunings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TuningProfile {
    /// What the distribution ships.
    Stock,
    /// The formulas of the PureFlex study.
    Pureflex,
    /// The database settings of the Red Hat Enterprise Virtualization study.
    Rhev,
    /// What a good administrator does today.
    Modern,
}

impl TuningProfile {
    /// As it is written in studies, and the name of its file.
    #[must_use]
    pub fn name(self) -> &'static str {
        crate::grammar::kinds::Named::name(self)
    }
}

/// State of the database's memory when the load begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BufferPool {
    /// As after the start of the server.
    Cold,
    /// All tables and indexes were read once.
    Warm,
}

/// The value of a setting.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SettingValue {
    /// On or off, in the words of the component.
    Boolean(bool),
    /// A word that is handed on as it is.
    Text(String),
    /// A number, or a formula over the shape of the guest; sizes in bytes.
    Expression(Expression),
}

impl SettingValue {
    /// Reads a text: an expression where it is one (`8MiB`, `64 * vcpus`), otherwise words (`O_DIRECT`, `128M`).
    ///
    /// # Errors
    ///
    /// When it looks like a formula and is none, so that a mistyped formula does not become words.
    pub fn parse(text: &str) -> Result<Self, ExpressionError> {
        match Expression::parse(text) {
            Ok(expression) => Ok(Self::Expression(expression)),
            Err(error) if looks_like_a_formula(text) => Err(error),
            Err(_) => Ok(Self::Text(text.to_owned())),
        }
    }
}

/// Whether whoever wrote this must have meant a formula: only its characters, a product or a function, and a digit.
fn looks_like_a_formula(text: &str) -> bool {
    text.chars()
        .all(|c| c.is_ascii_alphanumeric() || "_.%*/+-(), ".contains(c))
        && text.contains(['*', '('])
        && text.contains(|c: char| c.is_ascii_digit())
}

impl std::fmt::Display for SettingValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Boolean(value) => write!(f, "{value}"),
            Self::Text(text) => f.write_str(text),
            Self::Expression(expression) => write!(f, "{expression}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(text: &str) -> &'static str {
        match SettingValue::parse(text) {
            Ok(SettingValue::Boolean(_)) => "boolean",
            Ok(SettingValue::Text(_)) => "text",
            Ok(SettingValue::Expression(_)) => "expression",
            Err(_) => "refused",
        }
    }

    #[test]
    fn words_and_formulas_are_told_apart() {
        for text in [
            "8MiB",
            "64",
            "-1",
            "80% * memory",
            "max(256, 64 * vcpus)",
            "vcpus",
        ] {
            assert_eq!(kind(text), "expression", "{text}");
        }
        for text in [
            "O_DIRECT",
            "128M",
            "On",
            "tcp://*:80",
            "*",
            "E_ALL & ~E_NOTICE",
            "utf8mb4",
            "/var/run/x",
        ] {
            assert_eq!(kind(text), "text", "{text}");
        }
        for text in ["64 * vcpu", "max(256, 64 * vcpus", "80 % of (memory)"] {
            assert_eq!(kind(text), "refused", "{text}");
        }
    }
}
