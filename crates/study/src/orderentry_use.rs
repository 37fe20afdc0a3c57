//! The order-entry workload as a study uses it, and the database of a guest.

use std::fmt;

use rookery_workload::{
    dvdstore::Size,
    orderentry::{
        Clients, DeliveryMode, Dialect, HitTarget, Isolation, Population, Profile, Scale,
        SchemaOptions,
        sql::Style,
        terminal::{Binding, Mix, Pacing},
    },
};
use serde::{Deserialize, Serialize};

use crate::{Amount, BufferPool, Per, Scaled, SettingValue, StackKind, TuningProfile};

/// Keys of the order-entry workload, the profile's presets filled in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OrderentryUse {
    /// The profile behind them.
    pub profile: Profile,
    /// How large each guest's database is.
    pub size: DatabaseSize,
    /// Divisor of a test database, 1 for a whole one.
    pub divisor: u32,
    /// Which warehouses a terminal works for.
    pub binding: Binding,
    /// How often each transaction comes.
    pub mix: Mix,
    /// How terminals pause; never [`Pacing::Rate`], which is the load's matter.
    pub pacing: Pacing,
    /// How steps become statements.
    pub statements: Style,
    /// The isolation level that is asked for.
    pub isolation: Isolation,
    /// How deliveries are executed.
    pub delivery: DeliveryMode,
    /// Whether references are declared.
    pub foreign_keys: bool,
    /// Whether payments have a key.
    pub history_pk: bool,
    /// Retries of a transaction at most.
    pub max_retries: u32,
    /// The buffer hit ratio that is held by sizing the buffer pool.
    pub hit_target: Option<HitTarget>,
    /// Whether the consistency conditions are checked after every trial.
    pub verify: bool,
}

impl OrderentryUse {
    /// Users of a load that does not say any: those of the profile. Nothing where they count by warehouses and warehouses follow from bytes or a rule.
    pub(crate) fn default_users(&self) -> Option<Amount> {
        let (amount, per) = match (self.profile.settings().clients, &self.size) {
            (Clients::Count(count), _) => (f64::from(count), Per::Guest),
            (Clients::PerVcpu(count), _) => (f64::from(count), Per::Vcpu),
            (
                Clients::PerWarehouse(count),
                DatabaseSize::Warehouses(Amount::Scaled(warehouses)),
            ) => (f64::from(count) * warehouses.amount, warehouses.per),
            (Clients::PerWarehouse(_), _) => return None,
        };
        Some(Amount::Scaled(Scaled { amount, per }))
    }

    /// The options of the schema.
    #[must_use]
    pub fn schema(&self) -> SchemaOptions {
        SchemaOptions {
            foreign_keys: self.foreign_keys,
            history_key: self.history_pk,
        }
    }
}

/// How large an order-entry database is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DatabaseSize {
    /// So many warehouses.
    Warehouses(Amount),
    /// As many warehouses as come closest to so many MiB (rules in bytes) on the stack's database.
    Mib(Amount),
}

/// Keys of the database stacks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DatabaseUse {
    /// The set of tunings to begin with.
    pub tuning: TuningProfile,
    /// State of the database's memory when the load begins.
    pub buffer_pool: BufferPool,
    /// Single settings on top of the tuning: `mariadb.innodb_buffer_pool_size` and its value.
    pub settings: std::collections::BTreeMap<String, SettingValue>,
}

impl StackKind {
    /// Whose SQL the stack speaks; nothing where it is no database of its own.
    #[must_use]
    pub fn dialect(self) -> Option<Dialect> {
        match self {
            Self::Mariadb => Some(Dialect::Mariadb),
            Self::Postgresql => Some(Dialect::Postgresql),
            Self::Sqlite => Some(Dialect::Sqlite),
            Self::Embedded | Self::Lamp | Self::Simulated => None,
        }
    }
}

/// What each guest of a point has in its database before the load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum PointData {
    /// A DVD Store of this nominal size.
    Dvdstore(Size),
    /// An order-entry database.
    Orderentry(OrderentryData),
}

/// An order-entry database, as numbers: the same numbers give the same rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OrderentryData {
    /// Warehouses, and the divisor of a test database.
    pub scale: Scale,
    /// Seed of every random stream of the rows.
    pub seed: u64,
    /// Whose database it is.
    pub dialect: Dialect,
    /// Whether references are declared.
    pub foreign_keys: bool,
    /// Whether payments have a key.
    pub history_pk: bool,
}

impl OrderentryData {
    /// The rows.
    #[must_use]
    pub fn population(&self) -> Population {
        Population::new(self.scale, self.seed)
    }

    /// The options of the schema.
    #[must_use]
    pub fn schema(&self) -> SchemaOptions {
        SchemaOptions {
            foreign_keys: self.foreign_keys,
            history_key: self.history_pk,
        }
    }

    /// About how many bytes it takes right after load, with its indexes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.scale.database_bytes(self.dialect)
    }
}

impl PointData {
    /// Nominal megabytes of a DVD Store, expected MiB of an order-entry database, rounded up.
    #[must_use]
    pub fn megabytes(self) -> u64 {
        match self {
            Self::Dvdstore(size) => size.megabytes(),
            Self::Orderentry(data) => data.bytes().div_ceil(1 << 20),
        }
    }

    /// The size of a DVD Store.
    #[must_use]
    pub fn dvdstore(self) -> Option<Size> {
        match self {
            Self::Dvdstore(size) => Some(size),
            Self::Orderentry(_) => None,
        }
    }

    /// An order-entry database.
    #[must_use]
    pub fn orderentry(self) -> Option<OrderentryData> {
        match self {
            Self::Dvdstore(_) => None,
            Self::Orderentry(data) => Some(data),
        }
    }
}

impl From<Size> for PointData {
    fn from(size: Size) -> Self {
        Self::Dvdstore(size)
    }
}

impl fmt::Display for PointData {
    /// `10MB`, `4 warehouses`, `2 warehouses of 1/100`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let data = match self {
            Self::Dvdstore(size) => return write!(f, "{size}"),
            Self::Orderentry(data) => data,
        };
        match data.scale.warehouses() {
            1 => f.write_str("1 warehouse")?,
            several => write!(f, "{several} warehouses")?,
        }
        match data.scale.divisor() {
            1 => Ok(()),
            divisor => write!(f, " of 1/{divisor}"),
        }
    }
}
