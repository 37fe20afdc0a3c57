//! Inventory: stock of each product, and the units that the loaded orders sold.

use rookery_cast::count_u32;

use super::Orders;
use crate::dvdstore::{
    Rows,
    random::{CRand, GnuRand},
};

/// One row of INVENTORY.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stock {
    /// `1..=products`.
    pub product: u64,
    /// Units in stock, 0 to 500; ten times as many for every 10 000th product.
    pub in_stock: u32,
    /// Units sold by the loaded orders.
    pub sold: u32,
}

/// The inventory in order of product ids.
///
/// The units sold are the quantities of all order lines of the year: count them with
/// [`count_month`], month by month or in parallel, or while the orders are loaded.
#[derive(Clone, Debug)]
pub struct Inventory<'s> {
    rand: GnuRand,
    sold: &'s [u32],
    next: usize,
}

impl<'s> Inventory<'s> {
    /// The inventory of as many products as `sold` has entries; `sold[p - 1]` belongs to product
    /// `p`.
    ///
    /// The stream is seeded by the number of products.
    #[must_use]
    pub fn new(sold: &'s [u32]) -> Self {
        Self {
            rand: GnuRand::new(count_u32(sold.len())),
            sold,
            next: 0,
        }
    }
}

impl Iterator for Inventory<'_> {
    type Item = Stock;

    #[inline]
    fn next(&mut self) -> Option<Stock> {
        let sold = *self.sold.get(self.next)?;
        self.next += 1;
        let product = self.next as u64;
        let stock = self.rand.pick_as::<u32>(0, 500);
        Some(Stock {
            product,
            in_stock: if product.is_multiple_of(10_000) {
                10 * stock
            } else {
                stock
            },
            sold,
        })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.sold.len() - self.next;
        (left, Some(left))
    }
}

/// Replays the orders of `month` and adds their quantities to `sold`; `sold[p - 1]` belongs to
/// product `p`.
///
/// # Panics
/// When `sold` has fewer entries than `rows` has products, or `month` is not in `1..=12`.
pub fn count_month(rows: Rows, month: u8, sold: &mut [u32]) {
    for order in Orders::new(rows, month) {
        for line in order.lines() {
            sold[line.product as usize - 1] += u32::from(line.quantity);
        }
    }
}
