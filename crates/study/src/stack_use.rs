//! The stack section: which stack, and how it is tuned.

use std::{collections::BTreeMap, fmt, str::FromStr, time::Duration};

use serde::{Deserialize, Serialize};

use crate::{
    Expression, ExpressionError,
    foreign_use::{ExternalUse, StackCommands},
    image_use::ImageUse,
    names::Named,
};

/// The stack section: which stack, with the keys that it has.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum StackUse {
    /// Rookery's own application server on SQLite.
    Embedded {
        /// Faithful or corrected pages.
        pages: Pages,
        /// CPU time that the server burns in every page on purpose; zero unless a study wants a
        /// slow-down of known size.
        #[serde(default, skip_serializing_if = "Duration::is_zero")]
        extra_cpu: Duration,
        /// Time for which every page waits without using the CPU.
        #[serde(default, skip_serializing_if = "Duration::is_zero")]
        extra_wait: Duration,
        /// The share of both times in which a page has the server for itself, 0 to 1.
        #[serde(default, skip_serializing_if = "is_zero")]
        serial_share: f64,
        /// Pages that take these times at once, for each vCPU.
        #[serde(default = "one_processor", skip_serializing_if = "is_one")]
        processors_per_vcpu: u32,
    },
    /// Apache, PHP and MariaDB.
    Lamp(LampUse),
    /// A database server alone.
    Database(DatabaseUse),
    /// SQLite behind Rookery's own small server.
    Sqlite,
    /// The small server that comes with the workload.
    Bundled,
    /// A system of the user that runs already.
    External(ExternalUse),
    /// A server of the user, made into guests.
    Image(Box<ImageUse>),
    /// A system that is computed instead of run.
    Simulated(SimulatedUse),
}

/// Whether a share is nothing, and need not be written.
#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes fields by reference"
)]
fn is_zero(share: &f64) -> bool {
    *share == 0.0
}

/// A processor for each vCPU.
const fn one_processor() -> u32 {
    1
}

/// Whether there is the usual number of processors, which need not be written.
#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes fields by reference"
)]
fn is_one(processors: &u32) -> bool {
    *processors == 1
}

impl StackUse {
    /// Which stack it is.
    #[must_use]
    pub fn kind(&self) -> StackKind {
        match self {
            Self::Embedded { .. } => StackKind::Embedded,
            Self::Lamp(_) => StackKind::Lamp,
            Self::Database(database) => database.engine.into(),
            Self::Sqlite => StackKind::Sqlite,
            Self::Bundled => StackKind::Bundled,
            Self::External(_) => StackKind::External,
            Self::Image(_) => StackKind::Image,
            Self::Simulated(_) => StackKind::Simulated,
        }
    }

    /// Faithful or corrected pages, of a stack that has pages.
    #[must_use]
    pub fn pages(&self) -> Option<Pages> {
        match self {
            Self::Embedded { pages, .. } => Some(*pages),
            Self::Lamp(lamp) => Some(lamp.pages),
            Self::Simulated(system) => Some(system.pages),
            Self::Database(_)
            | Self::Sqlite
            | Self::Bundled
            | Self::External(_)
            | Self::Image(_) => None,
        }
    }

    /// The keys of the LAMP stack, where it is that.
    #[must_use]
    pub fn lamp(&self) -> Option<&LampUse> {
        match self {
            Self::Lamp(lamp) => Some(lamp),
            _ => None,
        }
    }

    /// The keys of a database server, where it is one.
    #[must_use]
    pub fn database(&self) -> Option<&DatabaseUse> {
        match self {
            Self::Database(database) => Some(database),
            _ => None,
        }
    }

    /// The system that runs already, where it is one.
    #[must_use]
    pub fn external(&self) -> Option<&ExternalUse> {
        match self {
            Self::External(system) => Some(system),
            _ => None,
        }
    }

    /// The image, where guests are made from one.
    #[must_use]
    pub fn image(&self) -> Option<&ImageUse> {
        match self {
            Self::Image(image) => Some(image),
            _ => None,
        }
    }

    /// The commands of the user, where the stack is the user's own.
    #[must_use]
    pub fn commands(&self) -> Option<&StackCommands> {
        match self {
            Self::External(system) => Some(&system.commands),
            Self::Image(image) => Some(&image.commands),
            _ => None,
        }
    }

    /// The system that is computed, where nothing runs.
    #[must_use]
    pub fn simulated(&self) -> Option<&SimulatedUse> {
        match self {
            Self::Simulated(system) => Some(system),
            _ => None,
        }
    }
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
    /// The small server that comes with the workload, of one that has such a server.
    Bundled,
    /// A system of the user that runs already: nothing is made or started.
    External,
    /// A server of the user, made into guests from packages and files.
    Image,
    /// No stack at all: trials are computed from a queueing model, in virtual time.
    Simulated,
}

impl StackKind {
    /// As it is written in studies.
    #[must_use]
    pub fn name(self) -> &'static str {
        Named::name(self)
    }
}

/// Database servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Engine {
    /// MariaDB.
    Mariadb,
    /// PostgreSQL.
    Postgresql,
}

impl Engine {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Mariadb, Self::Postgresql];

    /// As its makers write it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Mariadb => "MariaDB",
            Self::Postgresql => "PostgreSQL",
        }
    }
}

impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl From<Engine> for StackKind {
    fn from(engine: Engine) -> Self {
        match engine {
            Engine::Mariadb => Self::Mariadb,
            Engine::Postgresql => Self::Postgresql,
        }
    }
}

/// Keys of the database servers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DatabaseUse {
    /// Which server.
    pub engine: Engine,
    /// The set of tunings to begin with.
    pub tuning: TuningProfile,
    /// State of the database's memory when the load begins.
    pub buffer_pool: BufferPool,
    /// Single settings on top of the tuning: `mariadb.innodb_buffer_pool_size` and its value.
    pub settings: BTreeMap<String, SettingValue>,
}

/// How the pages of a web stack behave where the original ones are known to be wrong.
///
/// | defect of the original | `Faithful` | `Corrected` |
/// |---|---|---|
/// | history rows of rolled-back orders stay in `CUST_HIST` | yes | no |
/// | stock is read first and written back later as an absolute number: concurrent orders lose updates | yes | no |
/// | a deadlock is answered as `Insufficient stock` | where the database can have one | no |
/// | input reaches the database as SQL, and pages as HTML | no: parameters are bound and output escaped in both modes | no |
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pages {
    /// As the original, with its defects as far as the database can have them.
    Faithful,
    /// Without them: stock changes by a checked relative update, history belongs to the order's
    /// transaction.
    #[default]
    Corrected,
}

/// A text that names no [`Pages`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a behaviour of the pages; write `faithful` or `corrected`")]
pub struct ParsePagesError(pub String);

impl FromStr for Pages {
    type Err = ParsePagesError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        [Self::Faithful, Self::Corrected]
            .into_iter()
            .find(|pages| Named::name(*pages) == text)
            .ok_or_else(|| ParsePagesError(text.to_owned()))
    }
}

impl fmt::Display for Pages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(Named::name(*self))
    }
}

/// The system under test of a simulated study, and the host that it would run on.
///
/// An order costs CPU time on every page, in equal parts on average; at the purchase it then passes
/// the lock of its guest and the disk of the host, one after the other. CPUs are shared equally by
/// whoever is ready; lock and disk serve one order at a time, first come, first served. All service
/// times are exponential around their means.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SimulatedUse {
    /// Faithful or corrected pages; either costs the same.
    #[serde(default)]
    pub pages: Pages,
    /// CPUs of the simulated host, the driver's included.
    pub host_cpus: u32,
    /// CPU time of an order on one core, on average.
    pub cpu_demand: Duration,
    /// Time of an order on the disk that all guests share, on average.
    pub disk_demand: Duration,
    /// Time of an order under the lock that every guest has of its own, on average: the part that
    /// more CPUs do not speed up.
    pub lock_demand: Duration,
    /// Growth of all CPU demand with each further guest: factor 1 + c (guests - 1).
    pub guest_overhead: f64,
    /// Deviation of the demands from trial to trial, as a share: all of a trial are multiplied by
    /// one log-normal factor.
    pub noise: f64,
    /// How long the whole system stands still at the end of every `freeze_every`; zero for never.
    pub freeze: Duration,
    /// Time from one freeze to the next.
    pub freeze_every: Duration,
}

/// Which site the guests of the LAMP stack serve.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LampSite {
    /// The pages that come with Rookery.
    #[default]
    Own,
    /// That of the user: the path of its tree, or of an archive of it.
    Tree(String),
}

impl LampSite {
    /// Whether it is the one that comes with Rookery.
    #[must_use]
    pub fn is_own(&self) -> bool {
        *self == Self::Own
    }
}

/// Keys of the LAMP stack.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LampUse {
    /// Which site it serves.
    #[serde(default, skip_serializing_if = "LampSite::is_own")]
    pub site: LampSite,
    /// Faithful or corrected pages.
    pub pages: Pages,
    /// How Apache serves.
    pub server: WebServer,
    /// The set of tunings to begin with.
    pub tuning: TuningProfile,
    /// State of the database's memory when the load begins.
    pub buffer_pool: BufferPool,
    /// Single settings on top of the tuning: `mariadb.innodb_buffer_pool_size` and its value.
    pub settings: BTreeMap<String, SettingValue>,
}

/// How Apache serves PHP.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum WebServer {
    /// A process for each connection, PHP within it (`mpm_prefork`, `mod_php`).
    #[default]
    Prefork,
    /// Threads for connections, PHP in a pool of processes of its own (`mpm_event`, `php-fpm`).
    Event,
}

impl fmt::Display for WebServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(Named::name(*self))
    }
}

/// Sets of tunings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TuningProfile {
    /// What the distribution ships.
    Stock,
    /// The formulas of the PureFlex study.
    Pureflex,
    /// The settings of the study of Drupal on disks and solid-state disks.
    Sun2009,
    /// The database settings of the Red Hat Enterprise Virtualization study.
    Rhev,
    /// What a good administrator does today.
    Modern,
}

impl TuningProfile {
    /// As it is written in studies, and the name of its file.
    #[must_use]
    pub fn name(self) -> &'static str {
        Named::name(self)
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
    /// Reads a text: an expression where it is one (`8MiB`, `64 * vcpus`), otherwise words
    /// (`O_DIRECT`, `128M`).
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

/// Whether whoever wrote this must have meant a formula: only its characters, a product or a
/// function, and a digit.
fn looks_like_a_formula(text: &str) -> bool {
    text.chars()
        .all(|c| c.is_ascii_alphanumeric() || "_.%*/+-(), ".contains(c))
        && text.contains(['*', '('])
        && text.contains(|c: char| c.is_ascii_digit())
}

impl fmt::Display for SettingValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
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
    fn pages_are_read_back() {
        for pages in [Pages::Faithful, Pages::Corrected] {
            assert_eq!(pages.to_string().parse(), Ok(pages));
        }
        assert_eq!(
            "Faithful".parse::<Pages>(),
            Err(ParsePagesError("Faithful".to_owned()))
        );
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
