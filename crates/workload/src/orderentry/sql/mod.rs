//! The statements of the transactions: which there are, and their text in each dialect.
//!
//! A session prepares what [`Statement::used`] lists, keeps it under [`Statement::index`], and
//! executes calls by that number: no text is built or compared while transactions run.
//! [`Statement::sql`] says in its text how many parameters there are and of which columns; a
//! decimal goes in and comes out as the dialect stores it.

mod batched;
mod plain;
mod procedures;
mod style;

pub(super) use procedures::{LINE_FIELDS, LINE_WIDTH};
pub use procedures::{create_procedures, drop_procedures};
pub use style::{Style, StyleError};

use rookery_cast::count_u8;

use super::{dialect::Dialect, terminal::MAX_LINES};

/// What is executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
#[allow(
    missing_docs,
    reason = "the SQL text says what each does; names follow the steps of the transactions"
)]
pub(crate) enum Verb {
    BeginWrite,
    BeginRead,
    Commit,
    Rollback,
    WarehouseTax,
    DistrictForUpdate,
    DistrictAdvance,
    DistrictTake,
    CustomerDiscount,
    InsertOrder,
    InsertNewOrder,
    ItemRead,
    /// One for each district: each has a column of its own.
    StockForUpdate,
    StockUpdate,
    InsertLine,
    ItemsRead,
    StocksForUpdate,
    StocksUpdate,
    InsertLines,
    WarehousePay,
    WarehouseRead,
    WarehousePayRead,
    DistrictPay,
    DistrictRead,
    DistrictPayRead,
    CustomersByName,
    CustomerForUpdate,
    CustomerPay,
    CustomerData,
    CustomerPayData,
    CustomerPayPrepend,
    InsertHistory,
    StatusById,
    StatusByName,
    LastOrder,
    OrderLines,
    OldestNewOrder,
    DeleteNewOrder,
    OrderForUpdate,
    OrderDeliver,
    LinesDeliver,
    LinesSum,
    OrderTotal,
    CustomerDeliver,
    DeleteNewOrders,
    OrdersDeliver,
    OrdersLinesDeliver,
    OrdersTotal,
    CustomersDeliver,
    NextOrder,
    LowStock,
    CallNewOrder,
    CallPayment,
    CallOrderStatus,
    CallDelivery,
    CallStockLevel,
}

/// A statement: a verb, and which variant of it, such as the number of rows that it writes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Statement {
    verb: Verb,
    /// 1 where there is but one.
    variant: u8,
}

const VARIANTS: usize = MAX_LINES + 1;

impl Statement {
    /// Begins a transaction that will write.
    pub const BEGIN_WRITE: Self = Self::one(Verb::BeginWrite);
    /// Begins a transaction that only reads.
    pub const BEGIN_READ: Self = Self::one(Verb::BeginRead);
    /// Commits.
    pub const COMMIT: Self = Self::one(Verb::Commit);
    /// Rolls back. A session that has no open transaction must take it for done.
    pub const ROLLBACK: Self = Self::one(Verb::Rollback);

    /// [`Self::index`] is below this.
    pub const COUNT: usize = (Verb::CallStockLevel as usize + 1) * VARIANTS;

    pub(crate) const fn one(verb: Verb) -> Self {
        Self { verb, variant: 1 }
    }

    /// The variant of `verb` for district or number of rows `variant`, `1..=15`.
    pub(crate) fn with_variant(verb: Verb, variant: usize) -> Self {
        debug_assert!((1..VARIANTS).contains(&variant), "{verb:?} {variant}");
        Self {
            verb,
            variant: count_u8(variant),
        }
    }

    /// A small number of its own.
    #[must_use]
    pub fn index(self) -> usize {
        self.verb as usize * VARIANTS + usize::from(self.variant)
    }

    /// Whether it begins, commits or rolls back; a session may do that by other means than the
    /// text.
    #[must_use]
    pub fn is_control(self) -> bool {
        self.verb <= Verb::Rollback
    }

    /// Whether it answers with rows.
    #[must_use]
    pub fn returns_rows(self, dialect: Dialect) -> bool {
        let text = self.sql(dialect);
        text.starts_with("SELECT") || text.starts_with("CALL") || text.contains(" RETURNING ")
    }

    /// Its text, with `?` or `$1` for parameters as the dialect has it.
    #[must_use]
    pub fn sql(self, dialect: Dialect) -> String {
        dialect.placeholders(self.sql_with_marks(dialect))
    }

    /// Its text with `?` for parameters in every dialect, as ODBC wants it.
    #[must_use]
    pub fn sql_with_marks(self, dialect: Dialect) -> String {
        match self.verb {
            Verb::ItemsRead
            | Verb::StocksForUpdate
            | Verb::StocksUpdate
            | Verb::InsertLines
            | Verb::DeleteNewOrders
            | Verb::OrdersDeliver
            | Verb::OrdersLinesDeliver
            | Verb::OrdersTotal
            | Verb::CustomersDeliver => {
                batched::text(self.verb, usize::from(self.variant), dialect)
            }
            Verb::CallNewOrder
            | Verb::CallPayment
            | Verb::CallOrderStatus
            | Verb::CallDelivery
            | Verb::CallStockLevel => procedures::call(self.verb, dialect),
            _ => plain::text(self.verb, self.variant, dialect),
        }
    }

    /// Everything that transactions of `style` execute in `dialect`.
    #[must_use]
    pub fn used(style: Style, dialect: Dialect) -> Vec<Self> {
        style::used(style, dialect)
    }
}

impl std::fmt::Debug for Statement {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.variant {
            1 => write!(f, "{:?}", self.verb),
            variant => write!(f, "{:?}({variant})", self.verb),
        }
    }
}

#[cfg(test)]
mod db2_tests;
#[cfg(test)]
mod tests;
