//! The rows of a fresh database, typed and streamed.
//!
//! [`Population`] says which database; its iterators give the rows of one table and one warehouse
//! in the order of the primary key, each from a random stream of its own, so that any number of
//! loaders gives the same rows. [`Part`] is one table of one warehouse, the unit of a loader's
//! work; [`PartRows`] hands its rows to any
//! [`RowSink`]: text for a bulk loader ([`TextSink`]), or a client's own format.

mod catalogue;
mod customers;
mod meta;
mod orders;
mod part;
mod sink;

#[cfg(test)]
mod tests;

pub use catalogue::{Address, District, Districts, Item, Items, Stock, Stocks, Warehouse};
pub use customers::{Customer, Customers, Histories, History};
pub use meta::{MetaError, SCHEMA_VERSION, check_meta, meta_rows};
pub use orders::{NewOrder, NewOrders, Order, OrderLine, OrderLines, Orders};
pub use part::{Part, PartRows};
pub use sink::{RowSink, TextFormat, TextSink};

use serde::{Deserialize, Serialize};

use super::{
    constants::load_constant,
    decimal::Timestamp,
    random::{Purpose, Stream},
    scale::Scale,
};

/// A fresh database, as numbers: the same population gives the same rows, always.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Population {
    /// How large.
    pub scale: Scale,
    /// Seed of every random stream.
    pub seed: u64,
    /// The time of the load, in every column that holds it.
    pub loaded_at: Timestamp,
}

impl Population {
    /// The population of `scale` and `seed`, loaded at [`Timestamp::DEFAULT_LOAD`].
    #[must_use]
    pub fn new(scale: Scale, seed: u64) -> Self {
        Self {
            scale,
            seed,
            loaded_at: Timestamp::DEFAULT_LOAD,
        }
    }

    /// The constant of last names, which the runner must know.
    #[must_use]
    pub fn load_constant(&self) -> u32 {
        load_constant(self.seed)
    }

    /// All items.
    #[must_use]
    pub fn items(&self) -> Items {
        Items::new(self)
    }

    /// One warehouse, `1..=warehouses`.
    #[must_use]
    pub fn warehouse(&self, warehouse: u32) -> Warehouse {
        Warehouse::draw(self, warehouse)
    }

    /// The districts of a warehouse.
    #[must_use]
    pub fn districts(&self, warehouse: u32) -> Districts {
        Districts::new(self, warehouse)
    }

    /// The customers of a warehouse.
    #[must_use]
    pub fn customers(&self, warehouse: u32) -> Customers {
        Customers::new(self, warehouse)
    }

    /// The payments of a warehouse.
    #[must_use]
    pub fn histories(&self, warehouse: u32) -> Histories {
        Histories::new(self, warehouse)
    }

    /// The orders of a warehouse.
    #[must_use]
    pub fn orders(&self, warehouse: u32) -> Orders {
        Orders::new(self, warehouse)
    }

    /// The waiting orders of a warehouse.
    #[must_use]
    pub fn new_orders(&self, warehouse: u32) -> NewOrders {
        NewOrders::new(self, warehouse)
    }

    /// The order lines of a warehouse.
    #[must_use]
    pub fn order_lines(&self, warehouse: u32) -> OrderLines {
        OrderLines::new(self, warehouse)
    }

    /// The stock of a warehouse.
    #[must_use]
    pub fn stocks(&self, warehouse: u32) -> Stocks {
        Stocks::new(self, warehouse)
    }

    fn stream(&self, purpose: Purpose, warehouse: u32) -> Stream {
        Stream::new(self.seed, purpose, u64::from(warehouse))
    }
}
