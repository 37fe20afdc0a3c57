//! Order entry: the database load of one wholesale company, W warehouses and five transactions.

mod constants;
mod ddl;
mod decimal;
mod dialect;
pub mod population;
mod random;
mod scale;
mod schema;

pub use constants::{RunConstants, constants_fit, load_constant};
pub use ddl::{SchemaOptions, after_load, create_tables, drop_tables};
pub use decimal::{Decimal, ParseDecimalError, ParseTimestampError, Timestamp};
pub use dialect::{Dialect, Isolation, ParseNameError};
pub use population::Population;
pub use random::{Text, last_name};
pub use scale::{DISTRICTS, MAX_WAREHOUSES, MINI_DIVISOR, Scale, ScaleError};
pub use schema::{Column, ColumnType, REFERENCES, Reference, Table};
