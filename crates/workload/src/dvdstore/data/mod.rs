//! The data of DVD Store: typed rows, and the load files as a thin layer over them.
//!
//! [`Customers`], [`Orders`], [`Products`] and [`Inventory`] are iterators of rows. Each file of
//! the kit has its own random stream, so that files can be made in parallel without changing a
//! byte. A loader takes the rows; [`fill`] and the `write_*` functions of [`csv`] turn them into
//! the bytes of the load files.

pub mod csv;
mod customer;
mod inventory;
mod money;
mod order;
mod product;

#[cfg(test)]
mod digests;

pub use csv::{LineEnd, fill};
pub use customer::{Customer, CustomerHalf, CustomerRandom, Customers};
pub use inventory::{Inventory, Stock, count_month};
pub use money::Cents;
pub use order::{MONTHS, Order, OrderLine, Orders, days_of_month};
pub use product::{Product, Products};

/// The year of all orders in the load files.
pub const ORDER_YEAR: u16 = 2009;

/// Names of the sixteen product categories; category `c` is `CATEGORIES[c - 1]`.
pub const CATEGORIES: [&str; 16] = [
    "Action",
    "Animation",
    "Children",
    "Classics",
    "Comedy",
    "Documentary",
    "Drama",
    "Family",
    "Foreign",
    "Games",
    "Horror",
    "Music",
    "New",
    "Sci-Fi",
    "Sports",
    "Travel",
];

/// States of the United States and the District of Columbia, sorted by code.
pub(crate) const STATES: [&str; 51] = [
    "AK", "AL", "AR", "AZ", "CA", "CO", "CT", "DC", "DE", "FL", "GA", "HI", "IA", "ID", "IL", "IN",
    "KS", "KY", "LA", "MA", "MD", "ME", "MI", "MN", "MO", "MS", "MT", "NC", "ND", "NE", "NH", "NJ",
    "NM", "NV", "NY", "OH", "OK", "OR", "PA", "RI", "SC", "SD", "TN", "TX", "UT", "VA", "VT", "WA",
    "WI", "WV", "WY",
];

/// Countries of the customers outside the United States.
pub const COUNTRIES: [&str; 10] = [
    "Australia",
    "Canada",
    "Chile",
    "China",
    "France",
    "Germany",
    "Japan",
    "Russia",
    "South Africa",
    "UK",
];
