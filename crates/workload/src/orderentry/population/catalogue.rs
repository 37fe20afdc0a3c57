//! Items, warehouses, districts and stock.

use rookery_cast::{count_u32, low_u8};

use super::{Population, RowSink};
use crate::{
    orderentry::{
        decimal::Decimal,
        random::{ORIGINAL, Purpose, Sample, Stream, Text},
        scale::DISTRICTS,
    },
    random::RandomSource as _,
};

/// A row of `item`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// `1..=items`.
    pub id: u32,
    /// Image, `1..=10 000`.
    pub image: u32,
    /// 14 to 24 characters.
    pub name: Text<24>,
    /// Price in cents, 1.00 to 100.00.
    pub price_cents: i64,
    /// 26 to 50 characters; a tenth holds `ORIGINAL`.
    pub data: Text<50>,
}

impl Item {
    pub(super) fn write(&self, sink: &mut impl RowSink) {
        sink.int(self.id.into());
        sink.int(self.image.into());
        sink.text(self.name.as_bytes());
        sink.decimal(Decimal::cents(self.price_cents));
        sink.text(self.data.as_bytes());
    }
}

/// The items in the order of their ids.
#[derive(Clone, Debug)]
pub struct Items {
    stream: Stream,
    original: Sample,
    next: u32,
    last: u32,
}

impl Items {
    pub(super) fn new(population: &Population) -> Self {
        let last = population.scale.items();
        Self {
            stream: population.stream(Purpose::Item, 0),
            original: Sample::tenth_of(last.into()),
            next: 1,
            last,
        }
    }
}

impl Iterator for Items {
    type Item = Item;

    #[inline]
    fn next(&mut self) -> Option<Item> {
        if self.next > self.last {
            return None;
        }
        let id = self.next;
        self.next += 1;
        Some(Item {
            id,
            image: self.stream.between(1, 10_000),
            name: self.stream.text(14),
            price_cents: self.stream.between(100, 10_000).into(),
            data: marked_data(&mut self.stream, &mut self.original),
        })
    }
}

/// The data of an item or of stock, with `ORIGINAL` somewhere in a tenth of them.
#[inline]
fn marked_data(stream: &mut Stream, original: &mut Sample) -> Text<50> {
    let mut data: Text<50> = stream.text(26);
    if original.take(stream) {
        let offset = stream.between(0, count_u32(data.as_bytes().len() - ORIGINAL.len()));
        data.mark_original(offset as usize);
    }
    data
}

/// Name-free address of a warehouse, a district or a customer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// First line, 10 to 20 characters.
    pub street_1: Text<20>,
    /// Second line, 10 to 20 characters.
    pub street_2: Text<20>,
    /// 10 to 20 characters.
    pub city: Text<20>,
    /// Two capital letters.
    pub state: [u8; 2],
    /// Four digits and `11111`.
    pub zip: [u8; 9],
}

impl Address {
    #[inline]
    pub(super) fn draw(stream: &mut Stream) -> Self {
        let (street_1, street_2, city) = (stream.text(10), stream.text(10), stream.text(10));
        let state = [(); 2].map(|()| b'A' + low_u8(stream.below(26)));
        let mut zip = *b"000011111";
        zip[..4].copy_from_slice(&stream.digits::<4>());
        Self {
            street_1,
            street_2,
            city,
            state,
            zip,
        }
    }

    #[inline]
    pub(super) fn write(&self, sink: &mut impl RowSink) {
        sink.text(self.street_1.as_bytes());
        sink.text(self.street_2.as_bytes());
        sink.text(self.city.as_bytes());
        sink.text(&self.state);
        sink.text(&self.zip);
    }
}

/// A row of `warehouse`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warehouse {
    /// `1..=warehouses`.
    pub id: u32,
    /// 6 to 10 characters.
    pub name: Text<10>,
    /// Where it is.
    pub address: Address,
    /// Tax in ten-thousandths, 0 to 0.2000.
    pub tax: i32,
    /// Payments so far in cents, 300 000.00.
    pub ytd_cents: i64,
}

impl Warehouse {
    pub(super) fn draw(population: &Population, id: u32) -> Self {
        let mut stream = population.stream(Purpose::Warehouse, id);
        Self {
            id,
            name: stream.text(6),
            address: Address::draw(&mut stream),
            tax: stream.between(0, 2000).cast_signed(),
            // The sum of the history, in a test database too.
            ytd_cents: i64::from(DISTRICTS) * district_ytd_cents(population),
        }
    }

    pub(super) fn write(&self, sink: &mut impl RowSink) {
        sink.int(self.id.into());
        sink.text(self.name.as_bytes());
        self.address.write(sink);
        sink.decimal(Decimal::rate(self.tax));
        sink.decimal(Decimal::cents(self.ytd_cents));
    }
}

/// 30 000.00 in a whole database: one payment of 10.00 per customer.
fn district_ytd_cents(population: &Population) -> i64 {
    i64::from(population.scale.customers()) * 1000
}

/// A row of `district`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct District {
    /// Its warehouse.
    pub warehouse: u32,
    /// `1..=10`.
    pub id: u32,
    /// 6 to 10 characters.
    pub name: Text<10>,
    /// Where it is.
    pub address: Address,
    /// Tax in ten-thousandths, 0 to 0.2000.
    pub tax: i32,
    /// Payments so far in cents, 30 000.00.
    pub ytd_cents: i64,
    /// Number of the next order, 3001.
    pub next_order: u32,
}

impl District {
    pub(super) fn write(&self, sink: &mut impl RowSink) {
        sink.int(self.warehouse.into());
        sink.int(self.id.into());
        sink.text(self.name.as_bytes());
        self.address.write(sink);
        sink.decimal(Decimal::rate(self.tax));
        sink.decimal(Decimal::cents(self.ytd_cents));
        sink.int(self.next_order.into());
    }
}

/// The districts of one warehouse.
#[derive(Clone, Debug)]
pub struct Districts {
    stream: Stream,
    warehouse: u32,
    next: u32,
    ytd_cents: i64,
    next_order: u32,
}

impl Districts {
    pub(super) fn new(population: &Population, warehouse: u32) -> Self {
        Self {
            stream: population.stream(Purpose::District, warehouse),
            warehouse,
            next: 1,
            ytd_cents: district_ytd_cents(population),
            next_order: population.scale.customers() + 1,
        }
    }
}

impl Iterator for Districts {
    type Item = District;

    fn next(&mut self) -> Option<District> {
        if self.next > DISTRICTS {
            return None;
        }
        let id = self.next;
        self.next += 1;
        Some(District {
            warehouse: self.warehouse,
            id,
            name: self.stream.text(6),
            address: Address::draw(&mut self.stream),
            tax: self.stream.between(0, 2000).cast_signed(),
            ytd_cents: self.ytd_cents,
            next_order: self.next_order,
        })
    }
}

/// A row of `stock`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stock {
    /// Its warehouse.
    pub warehouse: u32,
    /// `1..=items`.
    pub item: u32,
    /// 10 to 100.
    pub quantity: u32,
    /// 24 characters for each district.
    pub districts: [[u8; 24]; 10],
    /// 26 to 50 characters; a tenth holds `ORIGINAL`.
    pub data: Text<50>,
}

impl Stock {
    #[inline]
    pub(super) fn write(&self, sink: &mut impl RowSink) {
        sink.int(self.warehouse.into());
        sink.int(self.item.into());
        sink.int(self.quantity.into());
        for text in &self.districts {
            sink.text(text);
        }
        for _ in ["s_ytd", "s_order_cnt", "s_remote_cnt"] {
            sink.int(0);
        }
        sink.text(self.data.as_bytes());
    }
}

/// The stock of one warehouse in the order of items.
#[derive(Clone, Debug)]
pub struct Stocks {
    stream: Stream,
    original: Sample,
    warehouse: u32,
    next: u32,
    last: u32,
}

impl Stocks {
    pub(super) fn new(population: &Population, warehouse: u32) -> Self {
        let last = population.scale.items();
        Self {
            stream: population.stream(Purpose::Stock, warehouse),
            original: Sample::tenth_of(last.into()),
            warehouse,
            next: 1,
            last,
        }
    }
}

impl Iterator for Stocks {
    type Item = Stock;

    #[inline]
    fn next(&mut self) -> Option<Stock> {
        if self.next > self.last {
            return None;
        }
        let item = self.next;
        self.next += 1;
        let quantity = self.stream.between(10, 100);
        let mut districts = [[0; 24]; 10];
        self.stream.fill(districts.as_flattened_mut());
        Some(Stock {
            warehouse: self.warehouse,
            item,
            quantity,
            districts,
            data: marked_data(&mut self.stream, &mut self.original),
        })
    }
}
