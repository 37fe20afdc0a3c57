//! How large a database is: warehouses, the divisor of test databases, row counts and bytes.

use rookery_cast::{truncate_u32, truncate_u64};
use rookery_diagnosis::Diagnosis;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::{dialect::Dialect, schema::Table};

/// Districts per warehouse.
pub const DISTRICTS: u32 = 10;

/// Most warehouses: keys hold twice as many in 32 bits, and files and plans stay countable.
pub const MAX_WAREHOUSES: u32 = 1_000_000;

/// The divisor of the `mini` profile.
pub const MINI_DIVISOR: u32 = 100;

const MIB: f64 = 1024.0 * 1024.0;

/// The size of a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "Unchecked")]
pub struct Scale {
    warehouses: u32,
    divisor: u32,
}

#[derive(Deserialize)]
struct Unchecked {
    warehouses: u32,
    divisor: u32,
}

impl TryFrom<Unchecked> for Scale {
    type Error = ScaleError;

    fn try_from(scale: Unchecked) -> Result<Self, ScaleError> {
        Self::new(scale.warehouses, scale.divisor)
    }
}

/// A size that no database can have.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ScaleError {
    /// No warehouse, or too many.
    #[error("{0} warehouses are not possible")]
    Warehouses(u32),
    /// Rows that cannot be divided evenly.
    #[error("divisor {0} is not possible")]
    Divisor(u32),
}

impl Diagnosis for ScaleError {
    fn code(&self) -> &'static str {
        match self {
            Self::Warehouses(_) => "workload::warehouses",
            Self::Divisor(_) => "workload::divisor",
        }
    }

    fn help(&self) -> Option<String> {
        Some(match self {
            Self::Warehouses(_) => format!("ask for 1 to {MAX_WAREHOUSES}"),
            Self::Divisor(_) => "use 1 for a whole database, or 2, 4, 5, 10, 20, 25, 50 or 100 \
                                 for a test database"
                .to_owned(),
        })
    }
}

impl Scale {
    /// `warehouses` in `1..=1 000 000` with one `divisor`-th of the rows of each; the divisor
    /// divides 100, and 1 means a whole database.
    ///
    /// # Errors
    /// When a number is out of its range.
    pub fn new(warehouses: u32, divisor: u32) -> Result<Self, ScaleError> {
        if !(1..=MAX_WAREHOUSES).contains(&warehouses) {
            return Err(ScaleError::Warehouses(warehouses));
        }
        if divisor == 0 || 100 % divisor != 0 {
            return Err(ScaleError::Divisor(divisor));
        }
        Ok(Self {
            warehouses,
            divisor,
        })
    }

    /// A whole database whose size comes closest to `bytes` on `dialect`, by the measured bytes per
    /// warehouse.
    ///
    /// ```
    /// use rookery_workload::orderentry::{Dialect, Scale};
    /// let bytes = 6_500 * 1024 * 1024 * 1024 / 1000;
    /// assert_eq!(Scale::for_bytes(bytes, Dialect::Mariadb).warehouses(), 83);
    /// assert_eq!(Scale::for_bytes(bytes, Dialect::Postgresql).warehouses(), 68);
    /// ```
    #[must_use]
    pub fn for_bytes(bytes: u64, dialect: Dialect) -> Self {
        let (per_warehouse, once) = mib_per_warehouse(dialect);
        let warehouses = ((bytes as f64 / MIB - once) / per_warehouse).round();
        Self {
            warehouses: truncate_u32(warehouses.clamp(1.0, f64::from(MAX_WAREHOUSES))),
            divisor: 1,
        }
    }

    /// Number of warehouses, their ids are `1..=warehouses`.
    #[must_use]
    pub fn warehouses(self) -> u32 {
        self.warehouses
    }

    /// The divisor, 1 for a whole database.
    #[must_use]
    pub fn divisor(self) -> u32 {
        self.divisor
    }

    /// Whether this is a test database, whose figures mean nothing.
    #[must_use]
    pub fn is_mini(self) -> bool {
        self.divisor > 1
    }

    /// Items, ids `1..=items`; the unused item of orders that are rolled back is the next id.
    #[must_use]
    pub fn items(self) -> u32 {
        100_000 / self.divisor
    }

    /// Customers per district, and as many loaded orders.
    #[must_use]
    pub fn customers(self) -> u32 {
        3000 / self.divisor
    }

    /// Loaded orders per district that were delivered, the first ones.
    #[must_use]
    pub fn delivered(self) -> u32 {
        2100 / self.divisor
    }

    /// Loaded orders per district that wait for their delivery.
    #[must_use]
    pub fn undelivered(self) -> u32 {
        900 / self.divisor
    }

    /// The largest number of a last name that is drawn while running.
    #[must_use]
    pub fn last_names(self) -> u32 {
        999.min(self.customers() - 1)
    }

    /// Rows of `table` in one warehouse right after load, exact but for order lines, which are ten
    /// per order on average. Items belong to no warehouse and count as 0.
    #[must_use]
    pub fn rows_per_warehouse(self, table: Table) -> u64 {
        let per_district = match table {
            Table::Item | Table::Meta => return 0,
            Table::Warehouse => return 1,
            Table::Stock => return u64::from(self.items()),
            Table::District => 1,
            Table::Customer | Table::History | Table::Orders => self.customers(),
            Table::NewOrders => self.undelivered(),
            Table::OrderLine => 10 * self.customers(),
        };
        u64::from(DISTRICTS * per_district)
    }

    /// Rows of `table` right after load, exact but for order lines.
    #[must_use]
    pub fn rows(self, table: Table) -> u64 {
        match table {
            Table::Item => u64::from(self.items()),
            _ => self.rows_per_warehouse(table) * u64::from(self.warehouses),
        }
    }

    /// Rows of all tables right after load, exact but for order lines.
    #[must_use]
    pub fn all_rows(self) -> u64 {
        Table::ALL.into_iter().map(|table| self.rows(table)).sum()
    }

    /// Bytes of the rows alone, by the typical row lengths of the benchmark that the workload
    /// follows.
    #[must_use]
    pub fn payload_bytes(self) -> u64 {
        Table::LOADED
            .iter()
            .map(|&table| self.rows(table) * table.typical_row_bytes())
            .sum()
    }

    /// About how many bytes the database takes on `dialect` right after load, with its indexes.
    #[must_use]
    pub fn database_bytes(self, dialect: Dialect) -> u64 {
        let (per_warehouse, once) = mib_per_warehouse(dialect);
        let mib = (per_warehouse * f64::from(self.warehouses) + once) / f64::from(self.divisor);
        truncate_u64(mib * MIB)
    }
}

/// MiB per warehouse and MiB once (items). MariaDB 10.11 and PostgreSQL 15 were measured at four
/// warehouses without foreign keys; SQLite 3 by a test of this crate. DB2 and others are taken for
/// PostgreSQL.
fn mib_per_warehouse(dialect: Dialect) -> (f64, f64) {
    match dialect {
        Dialect::Mariadb | Dialect::Mysql => (80.0, 10.5),
        Dialect::Sqlite => (71.4, 8.6),
        Dialect::Postgresql | Dialect::Db2 | Dialect::Generic => (97.0, 13.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warehouse_has_the_rows_of_the_specification() {
        let scale = Scale::new(3, 1).expect("valid");
        let rows: u64 = Table::LOADED
            .iter()
            .map(|&table| scale.rows_per_warehouse(table))
            .sum();
        assert_eq!(rows, 499_011);
        assert_eq!(scale.rows(Table::Item), 100_000);
        assert_eq!(scale.rows(Table::Stock), 300_000);
        assert_eq!(scale.rows(Table::NewOrders), 27_000);
        let one = Scale::new(1, 1).expect("valid").payload_bytes();
        let two = Scale::new(2, 1).expect("valid").payload_bytes();
        assert!(
            (68_400_000..68_800_000).contains(&(two - one)),
            "{}",
            two - one
        );
        assert_eq!(2 * one - two, 8_200_000);
    }

    #[test]
    fn a_mini_database_is_divided_evenly() {
        for divisor in [1, 2, 4, 5, 10, 20, 25, 50, 100] {
            let scale = Scale::new(1, divisor).expect("valid");
            assert_eq!(scale.delivered() + scale.undelivered(), scale.customers());
            assert_eq!(scale.items() * divisor, 100_000);
        }
        assert_eq!(Scale::new(1, 100).expect("valid").last_names(), 29);
        assert_eq!(Scale::new(1, 1).expect("valid").last_names(), 999);
    }

    #[test]
    fn sizes_out_of_range_are_refused() {
        assert_eq!(Scale::new(0, 1), Err(ScaleError::Warehouses(0)));
        assert_eq!(
            Scale::new(1_000_001, 1),
            Err(ScaleError::Warehouses(1_000_001))
        );
        assert_eq!(Scale::new(1, 0), Err(ScaleError::Divisor(0)));
        assert_eq!(Scale::new(1, 30), Err(ScaleError::Divisor(30)));
        assert_eq!(Scale::for_bytes(0, Dialect::Sqlite).warehouses(), 1);
    }
}
