//! Order entry: the database load of one wholesale company, W warehouses and five transactions.
//!
//! [`Profile`] and [`Settings`] say what is asked for, [`Scale`] how large the database is.
//! [`create_tables`] and [`after_load`] give the schema as text, [`Population`] its rows,
//! [`Condition`] what must hold of them at any time. A [`terminal::Terminal`] draws what comes
//! next; [`transaction::perform`] executes it over any client that is a [`transaction::Session`],
//! with the statements of [`sql`]. [`Counts`] gives the figures, `nopm` and `tpm`.

mod conditions;
mod constants;
pub mod counters;
mod ddl;
mod decimal;
pub mod dial;
mod dialect;
mod figures;
mod info;
pub mod population;
mod profile;
mod random;
mod scale;
mod schema;
pub mod sql;
pub mod terminal;
pub mod transaction;

pub use conditions::{Condition, Ledger, MOST_OFFENDERS, Moment, ledger_query};
pub use constants::{RunConstants, constants_fit, load_constant};
pub use counters::{
    DatabaseReadings, DeferredDeliveries, LedgerCounts, OrderEntryCounters, RetryTally,
    TransactionCounters,
};
pub use ddl::{SchemaOptions, after_load, create_tables, drop_tables, insert_row};
pub use decimal::{Decimal, ParseDecimalError, ParseTimestampError, Timestamp};
pub use dialect::{Dialect, Isolation, ParseNameError};
pub use figures::{
    Counts, DEFERRED_DELIVERY_LIMIT_MS, LEAST_PER_WAREHOUSE, MAX_FAILED_SHARE, MINIMUM_SHARES,
    Remark, ResponseLimits, SEED_LIMITS_MS, SPEC_LIMITS_MS, ceiling_per_warehouse,
    new_orders_agree, over_limit,
};
pub use info::{INFO, NEW_ORDER, TRANSACTIONS};
pub use population::Population;
pub use profile::{
    Clients, DataSize, DeliveryMode, HitTarget, ParseClientsError, ParseHitTargetError, Profile,
    Settings,
};
pub use random::{Text, last_name};
pub use scale::{DISTRICTS, MAX_WAREHOUSES, MINI_DIVISOR, Scale, ScaleError};
pub use schema::{Column, ColumnType, REFERENCES, Reference, Table};
pub use terminal::{Kind, PerKind};
