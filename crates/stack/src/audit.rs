//! What a trial has left in a database of the shop, whatever the database is.

use rookery_workload::dvdstore::{
    Rows,
    data::{Inventory, count_month},
};
use serde::Serialize;

use crate::embedded::Pages;

/// Counts of what is in the database beyond the loaded rows, and of what does not fit together
/// there.
///
/// The loaded rows are those with the ids of the size; every order of a trial has a greater id.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct OrderAudit {
    /// Rows of `ORDERS` that were loaded.
    pub loaded_orders: u64,
    /// Rows of `ORDERS` beyond those: what the driver must have counted as ordered.
    pub orders: u64,
    /// Rows of `ORDERLINES` beyond the loaded orders.
    pub order_lines: u64,
    /// Rows of `CUST_HIST` beyond the loaded ones.
    pub history_rows: u64,
    /// Rows of `CUSTOMERS` beyond the loaded ones.
    pub customers: u64,
    /// New orders that have no line.
    pub orders_without_lines: u64,
    /// New lines whose order does not exist.
    pub lines_without_order: u64,
    /// New history rows whose order does not exist; the original leaves them behind when it rolls
    /// an order back.
    pub orphan_history: u64,
    /// New orders whose number of history rows is not their number of lines.
    pub orders_with_other_history: u64,
    /// Products whose stock is not the loaded stock minus what the new lines took.
    pub products_with_other_stock: u64,
    /// Units by which the stock of those products is off, without sign: lost updates.
    pub units_off: u64,
    /// Products whose counted sales are not the loaded ones plus what the new lines took.
    pub products_with_other_sales: u64,
    /// Products of which there are fewer than none.
    pub products_below_zero: u64,
    /// New orders whose net amount is not the sum of their lines, whose tax is not 8.25 % of it, or
    /// whose total is not the sum of both.
    pub orders_with_other_amounts: u64,
}

impl OrderAudit {
    /// What does not hold of pages of this behaviour, one sentence each; empty when all is well.
    /// The known defects of
    /// [`Pages::Faithful`] are no faults of it.
    #[must_use]
    pub fn faults(&self, behaviour: Pages) -> Vec<String> {
        let corrected = behaviour == Pages::Corrected;
        [
            (true, self.orders_without_lines, "orders have no line"),
            (
                true,
                self.lines_without_order,
                "order lines belong to no order",
            ),
            (
                true,
                self.orders_with_other_history,
                "orders have more or fewer history rows than lines",
            ),
            (
                true,
                self.orders_with_other_amounts,
                "orders have other amounts than their lines",
            ),
            (
                true,
                self.products_below_zero,
                "products have a stock below zero",
            ),
            (
                corrected,
                self.orphan_history,
                "history rows belong to no order",
            ),
            (
                corrected,
                self.products_with_other_stock,
                "products have another stock than the orders left",
            ),
            (
                corrected,
                self.products_with_other_sales,
                "products have other sales than the orders made",
            ),
        ]
        .into_iter()
        .filter(|&(applies, count, _)| applies && count > 0)
        .map(|(_, count, what)| format!("{count} {what}"))
        .collect()
    }

    /// Whether there are no [`faults`](Self::faults).
    #[must_use]
    pub fn consistent(&self, behaviour: Pages) -> bool {
        self.faults(behaviour).is_empty()
    }
}

/// Compares the inventory with the loaded one and what new orders took from it.
///
/// The loaded inventory is not stored beside the living one: the generator draws it again.
#[derive(Clone, Debug)]
pub(crate) struct StockCheck {
    /// Stock and sales that are expected of each product, in the order of ids.
    expected: Vec<(i64, i64)>,
    other_stock: u64,
    units_off: u64,
    other_sales: u64,
    below_zero: u64,
}

impl StockCheck {
    /// The inventory as it was loaded in a database of `rows`.
    pub(crate) fn new(rows: Rows) -> Self {
        let mut sold = vec![
            0;
            usize::try_from(rows.products)
                .expect("a catalogue has at most 10 230 000 products")
        ];
        for month in 1..=12 {
            count_month(rows, month, &mut sold);
        }
        let loaded = Inventory::new(&sold);
        Self {
            expected: loaded
                .map(|stock| (i64::from(stock.in_stock), i64::from(stock.sold)))
                .collect(),
            other_stock: 0,
            units_off: 0,
            other_sales: 0,
            below_zero: 0,
        }
    }

    /// New orders took `quantity` units of `product`.
    pub(crate) fn take(&mut self, product: i64, quantity: i64) {
        if let Some((in_stock, sales)) = at(product).and_then(|at| self.expected.get_mut(at)) {
            *in_stock -= quantity;
            *sales += quantity;
        }
    }

    /// The database holds `product` with this stock and these sales.
    pub(crate) fn compare(&mut self, product: i64, in_stock: i64, sales: i64) {
        if let Some((expected_stock, expected_sales)) =
            at(product).and_then(|at| self.expected.get(at))
        {
            let off = in_stock.abs_diff(*expected_stock);
            self.other_stock += u64::from(off > 0);
            self.units_off += off;
            self.other_sales += u64::from(sales != *expected_sales);
        }
        self.below_zero += u64::from(in_stock < 0);
    }

    /// Write what was found into `audit`.
    pub(crate) fn note(&self, audit: &mut OrderAudit) {
        audit.products_with_other_stock = self.other_stock;
        audit.units_off = self.units_off;
        audit.products_with_other_sales = self.other_sales;
        audit.products_below_zero = self.below_zero;
    }
}

/// Place of a product in a list of all, whose ids begin with 1.
fn at(product: i64) -> Option<usize> {
    usize::try_from(product.checked_sub(1)?).ok()
}

#[cfg(test)]
mod tests {
    use rookery_workload::dvdstore::Size;

    use super::*;

    #[test]
    fn what_orders_took_is_expected_and_nothing_else() {
        let mut check = StockCheck::new(Size::Mb(1).rows());
        let loaded = check.expected.clone();
        check.take(1, 3);
        check.take(0, 1);
        check.take(i64::MIN, 1);
        check.take(1_001, 1);
        for (id, (in_stock, sales)) in (1..).zip(loaded) {
            match id {
                1 => check.compare(id, in_stock - 3, sales + 3),
                2 => check.compare(id, in_stock - 5, sales),
                3 => check.compare(id, -1, sales + 1),
                _ => check.compare(id, in_stock, sales),
            }
        }
        let mut audit = OrderAudit::default();
        check.note(&mut audit);
        assert_eq!(
            (
                audit.products_with_other_stock,
                audit.products_with_other_sales,
                audit.products_below_zero
            ),
            (2, 1, 1)
        );
        let faults = audit.faults(Pages::Corrected);
        assert_eq!(
            faults,
            [
                "1 products have a stock below zero",
                "2 products have another stock than the orders left",
                "1 products have other sales than the orders made"
            ]
        );
        assert_eq!(
            audit.faults(Pages::Faithful).len(),
            1,
            "lost updates are a known defect, a stock below zero is not"
        );
    }
}
