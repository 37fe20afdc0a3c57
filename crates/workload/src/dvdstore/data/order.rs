//! Orders with their lines: the rows of ORDERS, ORDERLINES and CUST_HIST of one month.

use rookery_cast::{index, low_u32};

use super::Cents;
use crate::dvdstore::{
    Rows,
    random::{CRand, GnuRand},
};

/// The months as the load files name them.
pub const MONTHS: [&str; 12] = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
];

/// Days of `month` (`1..=12`) in the year of the orders; February has 28.
///
/// # Panics
/// When `month` is not in `1..=12`.
#[must_use]
pub fn days_of_month(month: u8) -> u8 {
    [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][usize::from(month) - 1]
}

/// One line of an order, and one row of the customer's history.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OrderLine {
    /// `1..=products`.
    pub product: u32,
    /// `1..=3`.
    pub quantity: u8,
}

/// One order; the amounts have nothing to do with product prices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order {
    /// `1..=orders`; month `m` holds the ids `(m-1)*M+1..=m*M`.
    pub id: u64,
    /// `1..=12`, of the year [`super::ORDER_YEAR`].
    pub month: u8,
    /// Day of the month.
    pub day: u8,
    /// `1..=customers`.
    pub customer: u64,
    /// Sum before tax, 0.01 to 400.00.
    pub net: Cents,
    /// 8.25 % of the sum.
    pub tax: Cents,
    /// Sum and tax, added before rounding.
    pub total: Cents,
    lines: [OrderLine; 9],
    line_count: u8,
}

impl Order {
    /// One to nine lines; line ids count from 1 in this order.
    #[inline]
    #[must_use]
    pub fn lines(&self) -> &[OrderLine] {
        &self.lines[..usize::from(self.line_count)]
    }

    /// The date as `YYYY/MM/DD`, as the load files print it.
    #[must_use]
    pub fn date(&self) -> String {
        format!("{}/{:02}/{:02}", super::ORDER_YEAR, self.month, self.day)
    }
}

/// The orders of one month, in order of their ids.
#[derive(Clone, Debug)]
pub struct Orders {
    rand: GnuRand,
    rows: Rows,
    month: u8,
    next: u64,
    last: u64,
}

impl Orders {
    /// The orders of `month` (`1..=12`) in a database of `rows`; the stream is seeded by the first
    /// id.
    ///
    /// # Panics
    /// When `month` is not in `1..=12`.
    #[must_use]
    pub fn new(rows: Rows, month: u8) -> Self {
        assert!((1..=12).contains(&month), "a month is 1 to 12, not {month}");
        let next = u64::from(month - 1) * rows.orders_per_month + 1;
        Self {
            rand: GnuRand::new(low_u32(next)),
            rows,
            month,
            next,
            last: u64::from(month) * rows.orders_per_month,
        }
    }
}

impl Iterator for Orders {
    type Item = Order;

    #[inline]
    fn next(&mut self) -> Option<Order> {
        if self.next > self.last {
            return None;
        }
        let id = self.next;
        self.next += 1;
        let rand = &mut self.rand;
        let day = rand.pick_as(1, days_of_month(self.month));
        let customer = rand.pick(1, self.rows.customers);
        let net = 0.01 * rand.pick(1, 40_000) as f64;
        let tax = 0.0825 * net;
        let line_count = rand.pick_as::<u8>(1, 9);
        let mut lines = [OrderLine::default(); 9];
        for line in &mut lines[..usize::from(line_count)] {
            line.product = low_u32(rand.pick(1, self.rows.products));
            line.quantity = rand.pick_as::<u8>(1, 3);
        }
        Some(Order {
            id,
            month: self.month,
            day,
            customer,
            net: Cents::from_f64(net),
            tax: Cents::from_f64(tax),
            total: Cents::from_f64(net + tax),
            lines,
            line_count,
        })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = index(self.last + 1 - self.next);
        (left, Some(left))
    }
}
