//! Customers, and the one payment that each has made.

use super::{Address, Population, RowSink};
use crate::orderentry::{
    constants::A_LAST_NAME,
    decimal::{Decimal, Timestamp},
    random::{Purpose, Sample, Stream, Text, last_name},
    scale::DISTRICTS,
};

/// The payment of every loaded customer in cents.
const FIRST_PAYMENT_CENTS: i64 = 1000;

/// A row of `customer`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Customer {
    /// The warehouse.
    pub warehouse: u32,
    /// The district, `1..=10`.
    pub district: u32,
    /// `1..=3000`.
    pub id: u32,
    /// 8 to 16 characters.
    pub first: Text<16>,
    /// Three syllables.
    pub last: Text<16>,
    /// Where to find him.
    pub address: Address,
    /// 16 digits.
    pub phone: [u8; 16],
    /// The time of the load.
    pub since: Timestamp,
    /// Whether his credit is bad (`BC`), as that of a tenth is; else it is good (`GC`).
    pub bad_credit: bool,
    /// Discount in ten-thousandths, 0 to 0.5000.
    pub discount: i32,
    /// 300 to 500 characters.
    pub data: Text<500>,
}

impl Customer {
    /// The middle name of all.
    pub const MIDDLE: &'static str = "OE";
    /// The credit limit of all in cents.
    pub const CREDIT_LIMIT_CENTS: i64 = 5_000_000;
    /// What all have to pay in cents.
    pub const BALANCE_CENTS: i64 = -FIRST_PAYMENT_CENTS;
    /// What all have paid so far in cents.
    pub const YTD_PAYMENT_CENTS: i64 = FIRST_PAYMENT_CENTS;

    #[inline]
    pub(super) fn write(&self, sink: &mut impl RowSink) {
        sink.int(self.warehouse.into());
        sink.int(self.district.into());
        sink.int(self.id.into());
        sink.text(self.first.as_bytes());
        sink.text(Self::MIDDLE.as_bytes());
        sink.text(self.last.as_bytes());
        self.address.write(sink);
        sink.text(&self.phone);
        sink.time(self.since);
        sink.text(if self.bad_credit { b"BC" } else { b"GC" });
        sink.decimal(Decimal::cents(Self::CREDIT_LIMIT_CENTS));
        sink.decimal(Decimal::rate(self.discount));
        sink.decimal(Decimal::cents(Self::BALANCE_CENTS));
        sink.decimal(Decimal::cents(Self::YTD_PAYMENT_CENTS));
        sink.int(1);
        sink.int(0);
        sink.text(self.data.as_bytes());
    }
}

/// The customers of one warehouse, district by district.
#[derive(Clone, Debug)]
pub struct Customers {
    stream: Stream,
    bad_credit: Sample,
    keys: Keys,
    load_constant: u32,
    since: Timestamp,
}

impl Customers {
    pub(super) fn new(population: &Population, warehouse: u32) -> Self {
        let keys = Keys::new(population, warehouse);
        Self {
            stream: population.stream(Purpose::Customer, warehouse),
            bad_credit: Sample::tenth_of(u64::from(DISTRICTS) * u64::from(keys.last)),
            keys,
            load_constant: population.load_constant(),
            since: population.loaded_at,
        }
    }
}

impl Iterator for Customers {
    type Item = Customer;

    #[inline]
    fn next(&mut self) -> Option<Customer> {
        let (warehouse, district, id) = self.keys.next()?;
        let stream = &mut self.stream;
        let name = if id <= 1000 {
            id - 1
        } else {
            stream.non_uniform(A_LAST_NAME, 0, 999, self.load_constant)
        };
        Some(Customer {
            warehouse,
            district,
            id,
            first: stream.text(8),
            last: last_name(name),
            address: Address::draw(stream),
            phone: stream.digits(),
            since: self.since,
            bad_credit: self.bad_credit.take(stream),
            discount: stream.between(0, 5000).cast_signed(),
            data: stream.text(300),
        })
    }
}

/// The keys of the customers of a warehouse in their order.
#[derive(Clone, Debug)]
struct Keys {
    warehouse: u32,
    district: u32,
    next: u32,
    last: u32,
}

impl Keys {
    fn new(population: &Population, warehouse: u32) -> Self {
        Self {
            warehouse,
            district: 1,
            next: 1,
            last: population.scale.customers(),
        }
    }

    #[inline]
    fn next(&mut self) -> Option<(u32, u32, u32)> {
        if self.next > self.last {
            self.next = 1;
            self.district += 1;
        }
        if self.district > DISTRICTS {
            return None;
        }
        let key = (self.warehouse, self.district, self.next);
        self.next += 1;
        Some(key)
    }
}

/// A row of `history`: a payment of 10.00 in the customer's own district.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct History {
    /// The warehouse, of the customer and of the payment.
    pub warehouse: u32,
    /// The district, of the customer and of the payment.
    pub district: u32,
    /// The customer.
    pub customer: u32,
    /// The time of the load.
    pub date: Timestamp,
    /// 12 to 24 characters.
    pub data: Text<24>,
}

impl History {
    /// What was paid, in cents.
    pub const AMOUNT_CENTS: i64 = FIRST_PAYMENT_CENTS;

    #[inline]
    pub(super) fn write(&self, sink: &mut impl RowSink) {
        sink.int(self.customer.into());
        for _ in ["the customer's", "the payment's"] {
            sink.int(self.district.into());
            sink.int(self.warehouse.into());
        }
        sink.time(self.date);
        sink.decimal(Decimal::cents(Self::AMOUNT_CENTS));
        sink.text(self.data.as_bytes());
    }
}

/// The payments of one warehouse in the order of customers.
#[derive(Clone, Debug)]
pub struct Histories {
    stream: Stream,
    keys: Keys,
    date: Timestamp,
}

impl Histories {
    pub(super) fn new(population: &Population, warehouse: u32) -> Self {
        Self {
            stream: population.stream(Purpose::History, warehouse),
            keys: Keys::new(population, warehouse),
            date: population.loaded_at,
        }
    }
}

impl Iterator for Histories {
    type Item = History;

    #[inline]
    fn next(&mut self) -> Option<History> {
        let (warehouse, district, customer) = self.keys.next()?;
        Some(History {
            warehouse,
            district,
            customer,
            date: self.date,
            data: self.stream.text(12),
        })
    }
}
