//! The settings of an emulated shopper, under the meaning of the original driver.

use serde::{Deserialize, Serialize};

use super::Size;

/// What one shopper does; every default is the original driver's.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ShopperParams {
    /// Size of the loaded database; sets the ranges of customer and product ids.
    pub size: Size,
    /// Share of orders that start with a new customer, 0 to 1.
    pub new_customers: f64,
    /// Mean searches per order, at least 1; drawn from `1..=2n-1`.
    pub searches: u32,
    /// Mean rows asked for per search, at least 1; drawn from `1..=2n-1`.
    pub search_batch: u32,
    /// Mean items per order, at least 1; drawn from `1..=2n-1`.
    pub line_items: u32,
}

impl ShopperParams {
    /// The defaults of the original driver for a database of `size`.
    #[must_use]
    pub fn new(size: Size) -> Self {
        Self {
            size,
            new_customers: 0.2,
            searches: 3,
            search_batch: 5,
            line_items: 5,
        }
    }
}
