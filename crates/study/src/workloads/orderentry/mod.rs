//! Order entry as a study uses it, and the database of a guest.

mod check;
mod keys;
mod plan;
mod render;
mod values;

use std::fmt;

use rookery_stats::qos::PercentileLimit;
use rookery_workload::{
    DelayDistribution, MixShare,
    orderentry::{
        Clients, DeliveryMode, Dialect, HitTarget, Isolation, Population, Profile, Scale,
        SchemaOptions, TRANSACTIONS,
        sql::Style,
        terminal::{Binding, Mix, Pacing},
    },
};
use serde::{Deserialize, Serialize};

use super::{DataRequest, OtherSections, Pace, PointData, WorkloadUse, scatter};
use crate::{Amount, Engine, Per, Scaled, StackKind, StackUse, grammar::Context};

pub(super) use keys::OrderentryKeys;
pub(super) use plan::size_notes;

/// The stacks that serve it.
pub(super) const STACKS: [StackKind; 3] =
    [StackKind::Mariadb, StackKind::Postgresql, StackKind::Sqlite];

/// What a reader must know of limits on its operations.
pub(super) const LIMITS: &str = "Order entry: the five after it. Where a study of profile \
                                 \"spec\", \"seed001\" or \"seed003\" gives no limit at all, \
                                 those of its profile hold for the 90th percentiles.";

/// Loading a database with its indexes, MiB/s.
pub(super) const LOAD_MIB_PER_S: f64 = 20.0;

/// MiB on disk per MiB of a database under load: new orders at full speed over some minutes.
pub(super) const USED_MIB_PER_MIB: f64 = 1.5;

/// Checking the consistency conditions of a database after a trial, MiB/s.
const VERIFY_MIB_PER_S: f64 = 40.0;

/// Most rounds of a search for a buffer hit ratio, of which about half are needed.
const CALIBRATION_ROUNDS: u32 = 3;

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
    /// How think times scatter about their means.
    #[serde(default = "specified", skip_serializing_if = "is_specified")]
    pub think_distribution: DelayDistribution,
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

/// How think times scatter in the benchmark that the workload follows.
const THINK: DelayDistribution = DelayDistribution::TruncatedExponential;

fn specified() -> DelayDistribution {
    THINK
}

fn is_specified(distribution: &DelayDistribution) -> bool {
    *distribution == THINK
}

impl OrderentryUse {
    /// Users of a load that does not say any: those of the profile. Nothing where they count by
    /// warehouses and warehouses follow from bytes or a rule.
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

    /// What a test database means for figures.
    pub(super) fn caveat(&self) -> Option<String> {
        self.scale.is_mini().then(|| {
            format!(
                "The databases are test databases with 1/{} of the rows: nopm measured on them \
                 means nothing beyond this run.",
                self.scale.divisor()
            )
        })
    }

    /// About how many bytes it takes right after load, with its indexes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.scale.database_bytes(self.dialect)
    }
}

impl fmt::Display for OrderentryData {
    /// `4 warehouses`, `2 warehouses of 1/100`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.scale.warehouses() {
            1 => f.write_str("1 warehouse")?,
            several => write!(f, "{several} warehouses")?,
        }
        match self.scale.divisor() {
            1 => Ok(()),
            divisor => write!(f, " of 1/{divisor}"),
        }
    }
}

/// Whose SQL a stack speaks; nothing where it does not serve order entry.
fn dialect(stack: &StackUse) -> Option<Dialect> {
    match stack {
        StackUse::Database(database) => Some(match database.engine {
            Engine::Mariadb => Dialect::Mariadb,
            Engine::Postgresql => Dialect::Postgresql,
        }),
        StackUse::Sqlite => Some(Dialect::Sqlite),
        StackUse::Embedded { .. }
        | StackUse::Lamp(_)
        | StackUse::Bundled
        | StackUse::External(_)
        | StackUse::Image(_)
        | StackUse::Simulated(_) => None,
    }
}

/// The pace as the study file has it.
pub(super) fn pace(wanted: &OrderentryUse) -> Pace {
    match wanted.pacing {
        Pacing::None | Pacing::Rate(_) => Pace::None,
        Pacing::Spec => Pace::Spec,
        Pacing::Scaled(_) => Pace::Scaled,
    }
}

/// The limits of a profile, where a study gives none; profiles without a paper behind them have
/// none.
fn profile_limits(profile: Profile) -> Vec<PercentileLimit> {
    if matches!(profile, Profile::Nothink | Profile::Mini) {
        return Vec::new();
    }
    let limits = profile.settings().qos_p90_ms;
    TRANSACTIONS
        .into_iter()
        .zip(limits.0)
        .map(|(operation, limit_ms)| PercentileLimit {
            operation: Some(operation.to_owned()),
            percentile: 90.0,
            limit_us: 1000 * limit_ms,
        })
        .collect()
}

impl WorkloadUse for OrderentryUse {
    fn check(&self, sections: &OtherSections<'_>, context: &mut Context) {
        check::check(self, sections, context);
    }

    fn fill_in(&mut self, sections: &mut OtherSections<'_>, context: &mut Context) {
        check::fill_in(self, sections, context);
    }

    fn data(&self, request: &DataRequest<'_>, context: &mut Context) -> Option<PointData> {
        plan::data(self, request, context).map(PointData::Orderentry)
    }

    fn size_key(&self) -> &'static str {
        match self.size {
            DatabaseSize::Warehouses(_) => "workload.warehouses",
            DatabaseSize::Mib(_) => "workload.db_size",
        }
    }

    fn pace(&self) -> String {
        render::pace(self)
    }

    fn describe(&self) -> String {
        render::describe(self, |_| false)
    }

    fn describe_in_plan(&self, is_factor: &dyn Fn(&str) -> bool) -> Option<String> {
        Some(render::describe(self, is_factor))
    }

    fn pauses(&self) -> String {
        format!(
            "{:?}{}",
            self.pacing,
            scatter(self.think_distribution, THINK)
        )
    }

    /// What decides the work of a transaction and its round trips. Isolation levels may be what a
    /// comparison is about.
    fn unit_of_work(&self) -> String {
        format!(
            "order entry, {:?} statements, {:?} mix, warehouses {:?}, deliveries {:?}",
            self.statements, self.mix, self.binding, self.delivery
        )
    }

    fn copy_s(&self, megabytes: f64) -> f64 {
        let checks = if self.verify {
            megabytes / VERIFY_MIB_PER_S
        } else {
            0.0
        };
        megabytes / super::COPY_MIB_PER_S + checks
    }

    fn calibrations(&self) -> u32 {
        self.hit_target.map_or(0, |_| CALIBRATION_ROUNDS)
    }

    fn mix(&self) -> Vec<MixShare> {
        self.mix.shares()
    }
}
