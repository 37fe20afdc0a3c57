//! Orders, their lines, and those that wait for delivery.

use rookery_cast::{count_u32, low_u16};

use super::{Population, RowSink};
use crate::{
    orderentry::{
        decimal::{Decimal, Timestamp},
        random::{Purpose, Stream},
        scale::DISTRICTS,
    },
    random::RandomSource as _,
};

/// A row of `orders`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Order {
    /// The warehouse.
    pub warehouse: u32,
    /// The district, `1..=10`.
    pub district: u32,
    /// `1..=3000`.
    pub id: u32,
    /// Who ordered.
    pub customer: u32,
    /// The time of the load.
    pub entered: Timestamp,
    /// Who delivered it, `1..=10`, nobody yet for the last orders.
    pub carrier: Option<u32>,
    /// Number of lines, `5..=15`.
    pub lines: u32,
}

impl Order {
    #[inline]
    pub(super) fn write(&self, sink: &mut impl RowSink) {
        sink.int(self.warehouse.into());
        sink.int(self.district.into());
        sink.int(self.id.into());
        sink.int(self.customer.into());
        sink.time(self.entered);
        match self.carrier {
            Some(carrier) => sink.int(carrier.into()),
            None => sink.null(),
        }
        sink.int(self.lines.into());
        sink.int(1);
    }
}

/// The orders of one warehouse, district by district.
#[derive(Clone, Debug)]
pub struct Orders {
    stream: Stream,
    warehouse: u32,
    district: u32,
    next: usize,
    customers: Vec<u16>,
    delivered: u32,
    entered: Timestamp,
}

impl Orders {
    pub(super) fn new(population: &Population, warehouse: u32) -> Self {
        let customers: Vec<u16> = (1..=low_u16(population.scale.customers().into())).collect();
        Self {
            stream: population.stream(Purpose::Orders, warehouse),
            warehouse,
            district: 0,
            next: customers.len(),
            customers,
            delivered: population.scale.delivered(),
            entered: population.loaded_at,
        }
    }
}

impl Iterator for Orders {
    type Item = Order;

    #[inline]
    fn next(&mut self) -> Option<Order> {
        if self.next == self.customers.len() {
            if self.district == DISTRICTS {
                return None;
            }
            self.district += 1;
            self.next = 0;
            self.stream.shuffle(&mut self.customers);
        }
        let customer = u32::from(self.customers[self.next]);
        self.next += 1;
        let id = count_u32(self.next);
        let delivered = id <= self.delivered;
        Some(Order {
            warehouse: self.warehouse,
            district: self.district,
            id,
            customer,
            entered: self.entered,
            carrier: delivered.then(|| self.stream.between(1, 10)),
            lines: self.stream.between(5, 15),
        })
    }
}

/// A row of `new_orders`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewOrder {
    /// The warehouse.
    pub warehouse: u32,
    /// The district.
    pub district: u32,
    /// The order.
    pub order: u32,
}

impl NewOrder {
    #[inline]
    pub(super) fn write(&self, sink: &mut impl RowSink) {
        sink.int(self.warehouse.into());
        sink.int(self.district.into());
        sink.int(self.order.into());
    }
}

/// The waiting orders of one warehouse: the last 900 of each district.
#[derive(Clone, Debug)]
pub struct NewOrders {
    warehouse: u32,
    district: u32,
    next: u32,
    first: u32,
    last: u32,
}

impl NewOrders {
    pub(super) fn new(population: &Population, warehouse: u32) -> Self {
        let first = population.scale.delivered() + 1;
        Self {
            warehouse,
            district: 1,
            next: first,
            first,
            last: population.scale.customers(),
        }
    }
}

impl Iterator for NewOrders {
    type Item = NewOrder;

    #[inline]
    fn next(&mut self) -> Option<NewOrder> {
        if self.next > self.last {
            self.next = self.first;
            self.district += 1;
        }
        if self.district > DISTRICTS {
            return None;
        }
        let order = self.next;
        self.next += 1;
        Some(NewOrder {
            warehouse: self.warehouse,
            district: self.district,
            order,
        })
    }
}

/// A row of `order_line`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrderLine {
    /// The warehouse, of the order and of the supply.
    pub warehouse: u32,
    /// The district.
    pub district: u32,
    /// The order.
    pub order: u32,
    /// `1..=15`.
    pub number: u32,
    /// What was ordered.
    pub item: u32,
    /// When it was delivered: as soon as ordered, or not yet.
    pub delivered: Option<Timestamp>,
    /// What it costs in cents: nothing when it was delivered, else 0.01 to 9 999.99.
    pub amount_cents: i64,
    /// 24 characters.
    pub district_text: [u8; 24],
}

impl OrderLine {
    /// How many of the item were ordered.
    pub const QUANTITY: u32 = 5;

    #[inline]
    pub(super) fn write(&self, sink: &mut impl RowSink) {
        sink.int(self.warehouse.into());
        sink.int(self.district.into());
        sink.int(self.order.into());
        sink.int(self.number.into());
        sink.int(self.item.into());
        sink.int(self.warehouse.into());
        match self.delivered {
            Some(at) => sink.time(at),
            None => sink.null(),
        }
        sink.int(Self::QUANTITY.into());
        sink.decimal(Decimal::cents(self.amount_cents));
        sink.text(&self.district_text);
    }
}

/// The order lines of one warehouse, order by order. It replays the orders beside its own stream.
#[derive(Clone, Debug)]
pub struct OrderLines {
    stream: Stream,
    orders: Orders,
    order: Option<Order>,
    number: u32,
    items: u32,
}

impl OrderLines {
    pub(super) fn new(population: &Population, warehouse: u32) -> Self {
        Self {
            stream: population.stream(Purpose::OrderLine, warehouse),
            orders: population.orders(warehouse),
            order: None,
            number: 0,
            items: population.scale.items(),
        }
    }
}

impl Iterator for OrderLines {
    type Item = OrderLine;

    #[inline]
    fn next(&mut self) -> Option<OrderLine> {
        if self.order.is_none_or(|order| self.number == order.lines) {
            self.order = self.orders.next();
            self.number = 0;
        }
        let order = self.order?;
        self.number += 1;
        let delivered = order.carrier.map(|_| order.entered);
        Some(OrderLine {
            warehouse: order.warehouse,
            district: order.district,
            order: order.id,
            number: self.number,
            item: self.stream.between(1, self.items),
            delivered,
            amount_cents: if delivered.is_some() {
                0
            } else {
                self.stream.between(1, 999_999).into()
            },
            district_text: self.stream.fixed(),
        })
    }
}
