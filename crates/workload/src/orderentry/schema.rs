//! The tables as data: columns, types, keys, indexes, references.

/// A table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Table {
    /// What is sold.
    Item,
    /// Warehouses.
    Warehouse,
    /// Ten districts per warehouse.
    District,
    /// Customers of a district.
    Customer,
    /// Payments.
    History,
    /// Orders.
    Orders,
    /// Orders that wait for their delivery.
    NewOrders,
    /// Lines of orders.
    OrderLine,
    /// Items in a warehouse.
    Stock,
    /// What was loaded, and how.
    Meta,
}

/// The type of a column; the dialect has its own name for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnType {
    /// 16 bits.
    Small,
    /// 32 bits.
    Int,
    /// 64 bits, given by the database.
    Serial,
    /// Exactly so many digits, and so many of them behind the point.
    Decimal(u8, u8),
    /// Exactly so many characters.
    Char(u16),
    /// At most so many characters.
    Varchar(u16),
    /// Date and time to the second.
    Time,
}

/// A column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// Name.
    pub name: &'static str,
    /// Type.
    pub kind: ColumnType,
    /// Whether it may be null.
    pub nullable: bool,
}

/// A reference from columns of a table to the primary key of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reference {
    /// The table that refers.
    pub table: Table,
    /// Its columns.
    pub columns: &'static [&'static str],
    /// The table that is referred to, by its primary key.
    pub to: Table,
}

use ColumnType::{Char, Decimal, Int, Serial, Small, Time, Varchar};

const fn column(name: &'static str, kind: ColumnType) -> Column {
    Column {
        name,
        kind,
        nullable: false,
    }
}

const fn nullable(name: &'static str, kind: ColumnType) -> Column {
    Column {
        name,
        kind,
        nullable: true,
    }
}

const ITEM: &[Column] = &[
    column("i_id", Int),
    column("i_im_id", Int),
    column("i_name", Varchar(24)),
    column("i_price", Decimal(5, 2)),
    column("i_data", Varchar(50)),
];

const WAREHOUSE: &[Column] = &[
    column("w_id", Int),
    column("w_name", Varchar(10)),
    column("w_street_1", Varchar(20)),
    column("w_street_2", Varchar(20)),
    column("w_city", Varchar(20)),
    column("w_state", Char(2)),
    column("w_zip", Char(9)),
    column("w_tax", Decimal(4, 4)),
    column("w_ytd", Decimal(14, 2)),
];

const DISTRICT: &[Column] = &[
    column("d_w_id", Int),
    column("d_id", Small),
    column("d_name", Varchar(10)),
    column("d_street_1", Varchar(20)),
    column("d_street_2", Varchar(20)),
    column("d_city", Varchar(20)),
    column("d_state", Char(2)),
    column("d_zip", Char(9)),
    column("d_tax", Decimal(4, 4)),
    column("d_ytd", Decimal(14, 2)),
    column("d_next_o_id", Int),
];

const CUSTOMER: &[Column] = &[
    column("c_w_id", Int),
    column("c_d_id", Small),
    column("c_id", Int),
    column("c_first", Varchar(16)),
    column("c_middle", Char(2)),
    column("c_last", Varchar(16)),
    column("c_street_1", Varchar(20)),
    column("c_street_2", Varchar(20)),
    column("c_city", Varchar(20)),
    column("c_state", Char(2)),
    column("c_zip", Char(9)),
    column("c_phone", Char(16)),
    column("c_since", Time),
    column("c_credit", Char(2)),
    column("c_credit_lim", Decimal(12, 2)),
    column("c_discount", Decimal(4, 4)),
    column("c_balance", Decimal(14, 2)),
    column("c_ytd_payment", Decimal(14, 2)),
    column("c_payment_cnt", Int),
    column("c_delivery_cnt", Int),
    column("c_data", Varchar(500)),
];

/// The key of payments comes last, so that the columns before it are those of a load file.
const HISTORY: &[Column] = &[
    column("h_c_id", Int),
    column("h_c_d_id", Small),
    column("h_c_w_id", Int),
    column("h_d_id", Small),
    column("h_w_id", Int),
    column("h_date", Time),
    column("h_amount", Decimal(6, 2)),
    column("h_data", Varchar(24)),
    column("h_id", Serial),
];

const ORDERS: &[Column] = &[
    column("o_w_id", Int),
    column("o_d_id", Small),
    column("o_id", Int),
    column("o_c_id", Int),
    column("o_entry_d", Time),
    nullable("o_carrier_id", Small),
    column("o_ol_cnt", Small),
    column("o_all_local", Small),
];

const NEW_ORDERS: &[Column] = &[
    column("no_w_id", Int),
    column("no_d_id", Small),
    column("no_o_id", Int),
];

const ORDER_LINE: &[Column] = &[
    column("ol_w_id", Int),
    column("ol_d_id", Small),
    column("ol_o_id", Int),
    column("ol_number", Small),
    column("ol_i_id", Int),
    column("ol_supply_w_id", Int),
    nullable("ol_delivery_d", Time),
    column("ol_quantity", Small),
    column("ol_amount", Decimal(6, 2)),
    column("ol_dist_info", Char(24)),
];

const STOCK: &[Column] = &[
    column("s_w_id", Int),
    column("s_i_id", Int),
    column("s_quantity", Small),
    column("s_dist_01", Char(24)),
    column("s_dist_02", Char(24)),
    column("s_dist_03", Char(24)),
    column("s_dist_04", Char(24)),
    column("s_dist_05", Char(24)),
    column("s_dist_06", Char(24)),
    column("s_dist_07", Char(24)),
    column("s_dist_08", Char(24)),
    column("s_dist_09", Char(24)),
    column("s_dist_10", Char(24)),
    column("s_ytd", Int),
    column("s_order_cnt", Int),
    column("s_remote_cnt", Int),
    column("s_data", Varchar(50)),
];

const META: &[Column] = &[column("k", Varchar(40)), column("v", Varchar(200))];

impl Table {
    /// Every table.
    pub const ALL: [Self; 10] = [
        Self::Item,
        Self::Warehouse,
        Self::District,
        Self::Customer,
        Self::History,
        Self::Orders,
        Self::NewOrders,
        Self::OrderLine,
        Self::Stock,
        Self::Meta,
    ];

    /// The tables of the population, in the order in which they are loaded: what is referred to
    /// comes first.
    pub const LOADED: [Self; 9] = [
        Self::Item,
        Self::Warehouse,
        Self::Stock,
        Self::District,
        Self::Customer,
        Self::History,
        Self::Orders,
        Self::NewOrders,
        Self::OrderLine,
    ];

    /// Its name: lower case, never quoted.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Item => "item",
            Self::Warehouse => "warehouse",
            Self::District => "district",
            Self::Customer => "customer",
            Self::History => "history",
            Self::Orders => "orders",
            Self::NewOrders => "new_orders",
            Self::OrderLine => "order_line",
            Self::Stock => "stock",
            Self::Meta => "oe_meta",
        }
    }

    /// Its columns. The key of `history`, which the database gives, is the last.
    #[must_use]
    pub fn columns(self) -> &'static [Column] {
        match self {
            Self::Item => ITEM,
            Self::Warehouse => WAREHOUSE,
            Self::District => DISTRICT,
            Self::Customer => CUSTOMER,
            Self::History => HISTORY,
            Self::Orders => ORDERS,
            Self::NewOrders => NEW_ORDERS,
            Self::OrderLine => ORDER_LINE,
            Self::Stock => STOCK,
            Self::Meta => META,
        }
    }

    /// The columns that a loader fills, in the order of the rows' fields.
    #[must_use]
    pub fn loaded_columns(self) -> &'static [Column] {
        let columns = self.columns();
        match columns {
            [loaded @ .., last] if last.kind == Serial => loaded,
            _ => columns,
        }
    }

    /// Its primary key; that of `history` exists with `history_pk` alone.
    #[must_use]
    pub fn primary_key(self) -> &'static [&'static str] {
        match self {
            Self::Item => &["i_id"],
            Self::Warehouse => &["w_id"],
            Self::District => &["d_w_id", "d_id"],
            Self::Customer => &["c_w_id", "c_d_id", "c_id"],
            Self::History => &["h_id"],
            Self::Orders => &["o_w_id", "o_d_id", "o_id"],
            Self::NewOrders => &["no_w_id", "no_d_id", "no_o_id"],
            Self::OrderLine => &["ol_w_id", "ol_d_id", "ol_o_id", "ol_number"],
            Self::Stock => &["s_w_id", "s_i_id"],
            Self::Meta => &["k"],
        }
    }

    /// The typical length of a row in bytes, without what the database adds; 0 for `oe_meta`.
    #[must_use]
    pub fn typical_row_bytes(self) -> u64 {
        match self {
            Self::Item => 82,
            Self::Warehouse => 89,
            Self::District => 95,
            Self::Customer => 655,
            Self::History => 46,
            Self::Orders => 24,
            Self::NewOrders => 8,
            Self::OrderLine => 54,
            Self::Stock => 306,
            Self::Meta => 0,
        }
    }
}

/// The ten references of `foreign_keys = true`.
pub const REFERENCES: [Reference; 10] = {
    const fn reference(table: Table, columns: &'static [&'static str], to: Table) -> Reference {
        Reference { table, columns, to }
    }
    [
        reference(Table::District, &["d_w_id"], Table::Warehouse),
        reference(Table::Customer, &["c_w_id", "c_d_id"], Table::District),
        reference(
            Table::History,
            &["h_c_w_id", "h_c_d_id", "h_c_id"],
            Table::Customer,
        ),
        reference(Table::History, &["h_w_id", "h_d_id"], Table::District),
        reference(
            Table::Orders,
            &["o_w_id", "o_d_id", "o_c_id"],
            Table::Customer,
        ),
        reference(
            Table::NewOrders,
            &["no_w_id", "no_d_id", "no_o_id"],
            Table::Orders,
        ),
        reference(
            Table::OrderLine,
            &["ol_w_id", "ol_d_id", "ol_o_id"],
            Table::Orders,
        ),
        reference(
            Table::OrderLine,
            &["ol_supply_w_id", "ol_i_id"],
            Table::Stock,
        ),
        reference(Table::Stock, &["s_w_id"], Table::Warehouse),
        reference(Table::Stock, &["s_i_id"], Table::Item),
    ]
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_references_name_columns_that_exist() {
        let has =
            |table: Table, name: &str| table.columns().iter().any(|column| column.name == name);
        for table in Table::ALL {
            assert!(
                table.primary_key().iter().all(|name| has(table, name)),
                "{}",
                table.name()
            );
        }
        for reference in REFERENCES {
            assert!(
                reference
                    .columns
                    .iter()
                    .all(|name| has(reference.table, name))
            );
            assert_eq!(reference.columns.len(), reference.to.primary_key().len());
        }
    }

    #[test]
    fn the_history_key_is_not_loaded() {
        assert_eq!(Table::History.loaded_columns().len(), 8);
        assert_eq!(Table::Customer.loaded_columns().len(), 21);
    }
}
