//! The schema of DVD Store 2.1 on MariaDB: `stacks/lamp/schema/*.sql`, and in which order its parts
//! are made.
//!
//! Names, columns and indexes are the original's. What differs, and why:
//!
//! * `PRODUCTS` is InnoDB, as all tables: its full-text search is in InnoDB since 2013. The
//!   shortest word is three letters and there are no stop words, as the kit's configuration asks of
//!   MyISAM; InnoDB has no rule that ignores words which half of all rows hold.
//! * The text is `utf8mb4`, so that every name that a customer types can be stored, and the
//!   collation `utf8mb4_general_ci` ignores case as the defaults of the original did. The loaded
//!   rows are ASCII and take one byte a letter.
//! * Secondary indexes, full text and foreign keys come after the rows. `ORDERLINES` alone has its
//!   unique index from the start, since without a primary key that index is the order in which
//!   InnoDB keeps the rows.

/// Server settings that belong to the schema rather than to a tuning: they decide which words a
/// search finds.
///
/// They must be in force when the full-text indexes are made and whenever the pages search. Both
/// are fixed at the server's start or by its configuration: write them into the file of every
/// guest.
pub const SETTINGS: [(&str, &str); 2] = [
    ("innodb_ft_min_token_size", "3"),
    ("innodb_ft_enable_stopword", "OFF"),
];

/// Database and tables; nothing may be there yet.
pub const TABLES: &str = include_str!("../../../../stacks/lamp/schema/tables.sql");

/// Foreign keys, after everything else.
pub const KEYS: &str = include_str!("../../../../stacks/lamp/schema/keys.sql");

/// The procedure `NEW_CUSTOMER`: one statement with semicolons in it.
pub(super) const NEW_CUSTOMER: &str =
    include_str!("../../../../stacks/lamp/schema/new_customer.sql");

/// The account of the pages.
pub(super) const ACCOUNTS: &str = include_str!("../../../../stacks/lamp/schema/accounts.sql");

/// A table that is loaded from generated rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Table {
    /// `CUSTOMERS`.
    Customers,
    /// `CUST_HIST`.
    CustHist,
    /// `ORDERS`.
    Orders,
    /// `ORDERLINES`.
    OrderLines,
    /// `PRODUCTS`.
    Products,
    /// `INVENTORY`.
    Inventory,
}

impl Table {
    /// Every table, those first that take longest: streams that take the next one then end at about
    /// the same time.
    pub const ALL: [Self; 6] = [
        Self::OrderLines,
        Self::Customers,
        Self::CustHist,
        Self::Products,
        Self::Orders,
        Self::Inventory,
    ];

    /// Its name in the database.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Customers => "CUSTOMERS",
            Self::CustHist => "CUST_HIST",
            Self::Orders => "ORDERS",
            Self::OrderLines => "ORDERLINES",
            Self::Products => "PRODUCTS",
            Self::Inventory => "INVENTORY",
        }
    }

    /// The indexes that are made after the rows, one statement each: InnoDB makes one full-text
    /// index at a time.
    #[must_use]
    pub fn indexes(self) -> &'static [&'static str] {
        match self {
            Self::Customers => {
                &["ALTER TABLE DS2.CUSTOMERS ADD UNIQUE INDEX IX_CUST_USERNAME (USERNAME)"]
            }
            Self::CustHist => {
                &["ALTER TABLE DS2.CUST_HIST ADD INDEX IX_CUST_HIST_CUSTOMERID (CUSTOMERID)"]
            }
            Self::Orders => &["ALTER TABLE DS2.ORDERS ADD INDEX IX_ORDER_CUSTID (CUSTOMERID)"],
            Self::Products => &[
                // Full text first: it writes the table again, with a hidden number for each row.
                "ALTER TABLE DS2.PRODUCTS ADD FULLTEXT INDEX IX_PROD_TITLE (TITLE)",
                "ALTER TABLE DS2.PRODUCTS ADD FULLTEXT INDEX IX_PROD_ACTOR (ACTOR)",
                "ALTER TABLE DS2.PRODUCTS ADD INDEX IX_PROD_CATEGORY (CATEGORY), ADD INDEX \
                 IX_PROD_SPECIAL (SPECIAL)",
            ],
            Self::OrderLines | Self::Inventory => &[],
        }
    }

    /// The key whose values are given by the server, if there is one.
    pub(super) fn counts(self) -> bool {
        matches!(self, Self::Customers | Self::Orders | Self::Products)
    }
}
