//! The bytes of the load files: comma separated, no header, no quotes.

use super::{Customer, ORDER_YEAR, Order, Product, Stock};
use crate::digits::{digits, write_digits};

/// How a line of a load file ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LineEnd {
    /// LF.
    #[default]
    Unix,
    /// CR LF, the Windows mode of the kit.
    Windows,
}

impl LineEnd {
    fn bytes(self) -> &'static [u8] {
        match self {
            Self::Unix => b"\n",
            Self::Windows => b"\r\n",
        }
    }
}

/// Appends whole rows to `out` until it holds `target` bytes or more, or the rows end. Says whether
/// more rows follow.
pub fn fill<T>(
    rows: &mut impl Iterator<Item = T>,
    target: usize,
    out: &mut Vec<u8>,
    mut write: impl FnMut(&T, &mut Vec<u8>),
) -> bool {
    while out.len() < target {
        match rows.next() {
            Some(row) => write(&row, out),
            None => return false,
        }
    }
    true
}

/// Appends a row of `us_cust.csv` or `row_cust.csv`.
#[inline]
pub fn write_customer(customer: &Customer, end: LineEnd, out: &mut Vec<u8>) {
    let mut line = Line::new();
    line.number(customer.id);
    line.text(b",");
    line.text(&customer.first_name);
    line.text(b",");
    line.text(&customer.last_name);
    line.text(b",");
    line.padded::<10>(customer.phone);
    line.text(b" Dell Way,,");
    line.text(&customer.city);
    line.text(b",");
    line.text(customer.state.as_bytes());
    line.text(b",");
    line.padded::<5>(u64::from(customer.zip));
    line.text(b",");
    line.text(customer.country.as_bytes());
    line.text(if customer.region == 1 { b",1," } else { b",2," });
    line.text(&customer.last_name);
    line.text(b"@dell.com,");
    line.padded::<10>(customer.phone);
    line.text(b",");
    line.padded::<1>(u64::from(customer.card_type));
    line.text(b",");
    line.padded::<16>(customer.card);
    line.text(b",");
    line.padded::<4>(u64::from(customer.expiration_year));
    line.text(b"/");
    line.padded::<2>(u64::from(customer.expiration_month));
    line.text(b",user");
    line.number(customer.id);
    line.text(b",password,");
    line.padded::<2>(u64::from(customer.age));
    line.text(b",");
    line.number(u64::from(customer.income));
    line.text(b",");
    line.text(customer.gender.as_bytes());
    line.end(end, out);
}

/// Appends a row of `<month>_orders.csv`.
#[inline]
pub fn write_order(order: &Order, end: LineEnd, out: &mut Vec<u8>) {
    let mut line = Line::new();
    line.number(order.id);
    line.text(b",");
    line.date(order);
    line.text(b",");
    line.number(order.customer);
    for amount in [order.net, order.tax, order.total] {
        line.text(b",");
        line.number(amount.0 / 100);
        line.text(b".");
        line.padded::<2>(amount.0 % 100);
    }
    line.end(end, out);
}

/// Appends the rows of `<month>_orderlines.csv` that belong to one order. What they share is
/// formatted once.
#[inline]
pub fn write_order_lines(order: &Order, end: LineEnd, out: &mut Vec<u8>) {
    let mut date = Line::new();
    date.text(b",");
    date.date(order);
    date.text(end.bytes());
    let mut line = Line::new();
    line.text(b"0,");
    line.number(order.id);
    line.text(b",");
    let shared = line.len;
    for ordered in order.lines() {
        line.bytes[0] += 1;
        line.len = shared;
        line.number(u64::from(ordered.product));
        line.text(b",");
        line.padded::<1>(u64::from(ordered.quantity));
        line.text(date.written());
        out.extend_from_slice(line.written());
    }
}

/// Appends the rows of `<month>_cust_hist.csv` that belong to one order. What they share is
/// formatted once.
#[inline]
pub fn write_history(order: &Order, end: LineEnd, out: &mut Vec<u8>) {
    let mut line = Line::new();
    line.number(order.customer);
    line.text(b",");
    line.number(order.id);
    line.text(b",");
    let shared = line.len;
    for ordered in order.lines() {
        line.len = shared;
        line.number(u64::from(ordered.product));
        line.text(end.bytes());
        out.extend_from_slice(line.written());
    }
}

/// Appends a row of `prod.csv`; the price is padded to five characters.
#[inline]
pub fn write_product(product: &Product<'_>, end: LineEnd, out: &mut Vec<u8>) {
    let mut line = Line::new();
    line.number(product.id);
    line.text(b",");
    line.number(u64::from(product.category));
    line.text(b",");
    line.text(product.title_words[0].as_bytes());
    line.text(b" ");
    line.text(product.title_words[1].as_bytes());
    line.text(b",");
    line.text(product.actor_names[0].as_bytes());
    line.text(b" ");
    line.text(product.actor_names[1].as_bytes());
    line.text(if product.price.0 < 1000 { b", " } else { b"," });
    line.number(product.price.0 / 100);
    line.text(b".");
    line.padded::<2>(product.price.0 % 100);
    line.text(if product.special { b",1," } else { b",0," });
    line.number(product.common_product);
    line.end(end, out);
}

/// Appends a row of `inv.csv`.
#[inline]
pub fn write_stock(stock: &Stock, end: LineEnd, out: &mut Vec<u8>) {
    let mut line = Line::new();
    line.number(stock.product);
    line.text(b",");
    line.number(u64::from(stock.in_stock));
    line.text(b",");
    line.number(u64::from(stock.sold));
    line.end(end, out);
}

/// One row under construction, on the stack: the rows' buffer then grows once per row.
///
/// The longest row is a product with two 24-letter title words and two 24-letter names, under 160
/// bytes; a customer is under 180.
struct Line {
    bytes: [u8; 256],
    len: usize,
}

impl Line {
    #[inline]
    fn new() -> Self {
        Self {
            bytes: [0; 256],
            len: 0,
        }
    }

    #[inline]
    fn text(&mut self, text: &[u8]) {
        self.bytes[self.len..self.len + text.len()].copy_from_slice(text);
        self.len += text.len();
    }

    /// A number in decimal, without padding.
    #[inline]
    fn number(&mut self, number: u64) {
        // In place: digits that are written elsewhere and copied stall the processor.
        let len = digits(number);
        write_digits(number, &mut self.bytes[self.len..self.len + len]);
        self.len += len;
    }

    /// The last `N` digits of a number, padded with zeros.
    #[inline]
    fn padded<const N: usize>(&mut self, number: u64) {
        write_digits(number, &mut self.bytes[self.len..self.len + N]);
        self.len += N;
    }

    #[inline]
    fn date(&mut self, order: &Order) {
        self.padded::<4>(u64::from(ORDER_YEAR));
        self.text(b"/");
        self.padded::<2>(u64::from(order.month));
        self.text(b"/");
        self.padded::<2>(u64::from(order.day));
    }

    #[inline]
    fn written(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    #[inline]
    fn end(mut self, end: LineEnd, out: &mut Vec<u8>) {
        self.text(end.bytes());
        out.extend_from_slice(self.written());
    }
}
