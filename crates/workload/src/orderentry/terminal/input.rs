//! The input of each transaction.

use rookery_cast::count_u32;

use super::Kind;
use crate::orderentry::{
    constants::{A_CUSTOMER, A_ITEM, A_LAST_NAME, RunConstants},
    decimal::Timestamp,
    random::{Stream, Text, last_name},
    scale::{DISTRICTS, Scale},
};

/// Most lines of an order.
pub const MAX_LINES: usize = 15;

/// The input of one transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(
    clippy::large_enum_variant,
    reason = "an input is made and used in place: nothing is allocated per transaction"
)]
pub enum Input {
    /// Of a new order.
    NewOrder(NewOrderInput),
    /// Of a payment.
    Payment(PaymentInput),
    /// Of an order status.
    OrderStatus(OrderStatusInput),
    /// Of a delivery.
    Delivery(DeliveryInput),
    /// Of a stock level.
    StockLevel(StockLevelInput),
}

impl Input {
    /// Whose input it is.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match self {
            Self::NewOrder(_) => Kind::NewOrder,
            Self::Payment(_) => Kind::Payment,
            Self::OrderStatus(_) => Kind::OrderStatus,
            Self::Delivery(_) => Kind::Delivery,
            Self::StockLevel(_) => Kind::StockLevel,
        }
    }
}

/// A line of a new order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NewOrderLine {
    /// Its number in the order, `1..=15`.
    pub number: u32,
    /// What is ordered.
    pub item: u32,
    /// The warehouse that supplies it.
    pub supply: u32,
    /// How many, `1..=10`.
    pub quantity: u32,
}

/// The input of a new order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewOrderInput {
    /// The home warehouse.
    pub warehouse: u32,
    /// The district.
    pub district: u32,
    /// The customer.
    pub customer: u32,
    lines: [NewOrderLine; MAX_LINES],
    count: usize,
    /// Whether the last line asks for the unused item, so that the order must be rolled back.
    pub unused_item: bool,
}

impl NewOrderInput {
    /// An order of these lines, 1 to 15; they are put into the order of locking: by supplying
    /// warehouse and item, the unused item last.
    ///
    /// # Panics
    /// When there are more than 15 lines, or none.
    #[must_use]
    pub fn new(
        warehouse: u32,
        district: u32,
        customer: u32,
        given: &[NewOrderLine],
        unused_item: bool,
    ) -> Self {
        assert!(
            (1..=MAX_LINES).contains(&given.len()),
            "an order has 1 to 15 lines"
        );
        let mut lines = [NewOrderLine::default(); MAX_LINES];
        lines[..given.len()].copy_from_slice(given);
        let valid = given.len() - usize::from(unused_item);
        lines[..valid].sort_unstable_by_key(|line| (line.supply, line.item, line.number));
        Self {
            warehouse,
            district,
            customer,
            lines,
            count: given.len(),
            unused_item,
        }
    }

    /// All lines in the order of locking.
    #[must_use]
    pub fn lines(&self) -> &[NewOrderLine] {
        &self.lines[..self.count]
    }

    /// The lines whose items exist.
    #[must_use]
    pub fn valid_lines(&self) -> &[NewOrderLine] {
        &self.lines[..self.count - usize::from(self.unused_item)]
    }

    /// The line that asks for the unused item.
    #[must_use]
    pub fn unused_line(&self) -> Option<&NewOrderLine> {
        self.lines().last().filter(|_| self.unused_item)
    }

    /// Whether no line comes from another warehouse.
    #[must_use]
    pub fn all_local(&self) -> bool {
        self.lines()
            .iter()
            .all(|line| line.supply == self.warehouse)
    }
}

/// How a customer is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CustomerChoice {
    /// By number.
    Id(u32),
    /// By last name: the middle one of all who have it, by first name.
    Name(Text<16>),
}

/// The input of a payment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PaymentInput {
    /// The warehouse that is paid.
    pub warehouse: u32,
    /// The district that is paid.
    pub district: u32,
    /// The customer's warehouse.
    pub customer_warehouse: u32,
    /// The customer's district.
    pub customer_district: u32,
    /// The customer.
    pub customer: CustomerChoice,
    /// The amount in cents, 1.00 to 5 000.00.
    pub amount_cents: i64,
}

/// The input of an order status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrderStatusInput {
    /// The warehouse.
    pub warehouse: u32,
    /// The district.
    pub district: u32,
    /// The customer.
    pub customer: CustomerChoice,
}

/// The input of a delivery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeliveryInput {
    /// The warehouse.
    pub warehouse: u32,
    /// Who delivers, `1..=10`.
    pub carrier: u32,
    /// When.
    pub at: Timestamp,
}

/// The input of a stock level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StockLevelInput {
    /// The warehouse.
    pub warehouse: u32,
    /// The district.
    pub district: u32,
    /// Less than so many are few, `10..=20`.
    pub threshold: u32,
}

/// Draws the inputs of one terminal.
#[derive(Clone, Debug)]
pub struct InputSource {
    scale: Scale,
    constants: RunConstants,
    stream: Stream,
}

impl InputSource {
    pub(super) fn new(scale: Scale, constants: RunConstants, stream: Stream) -> Self {
        Self {
            scale,
            constants,
            stream,
        }
    }

    pub(super) fn between(&mut self, low: u32, high: u32) -> u32 {
        self.stream.between(low, high)
    }

    /// The input of a transaction of `kind` for `warehouse`; `fixed_district` is that of stock
    /// levels where a terminal keeps one.
    pub(super) fn draw(
        &mut self,
        kind: Kind,
        warehouse: u32,
        fixed_district: Option<u32>,
        now: Timestamp,
    ) -> Input {
        match kind {
            Kind::NewOrder => Input::NewOrder(self.new_order(warehouse)),
            Kind::Payment => Input::Payment(self.payment(warehouse)),
            Kind::OrderStatus => Input::OrderStatus(OrderStatusInput {
                warehouse,
                district: self.district(),
                customer: self.customer(),
            }),
            Kind::Delivery => Input::Delivery(DeliveryInput {
                warehouse,
                carrier: self.stream.between(1, 10),
                at: now,
            }),
            Kind::StockLevel => Input::StockLevel(StockLevelInput {
                warehouse,
                district: fixed_district.unwrap_or_else(|| self.district()),
                threshold: self.stream.between(10, 20),
            }),
        }
    }

    pub(super) fn new_order(&mut self, warehouse: u32) -> NewOrderInput {
        let district = self.district();
        let customer = self.customer_id();
        let count = self.stream.between(5, 15) as usize;
        let unused_item = self.stream.percent(1);
        let items = self.scale.items();
        let mut lines = [NewOrderLine::default(); MAX_LINES];
        for (index, line) in lines[..count].iter_mut().enumerate() {
            let item = self
                .stream
                .non_uniform(A_ITEM, 1, items, self.constants.item);
            let remote = self.stream.percent(1);
            *line = NewOrderLine {
                number: count_u32(index) + 1,
                item: if unused_item && index + 1 == count {
                    items + 1
                } else {
                    item
                },
                supply: if remote {
                    self.other_warehouse(warehouse)
                } else {
                    warehouse
                },
                quantity: self.stream.between(1, 10),
            };
        }
        NewOrderInput::new(warehouse, district, customer, &lines[..count], unused_item)
    }

    pub(super) fn payment(&mut self, warehouse: u32) -> PaymentInput {
        let district = self.district();
        let home = self.stream.percent(85);
        let (customer_warehouse, customer_district) = if home {
            (warehouse, district)
        } else {
            (self.other_warehouse(warehouse), self.district())
        };
        PaymentInput {
            warehouse,
            district,
            customer_warehouse,
            customer_district,
            customer: self.customer(),
            amount_cents: self.stream.between(100, 500_000).into(),
        }
    }

    fn district(&mut self) -> u32 {
        self.stream.between(1, DISTRICTS)
    }

    /// One of the other warehouses, or the only one.
    fn other_warehouse(&mut self, home: u32) -> u32 {
        let warehouses = self.scale.warehouses();
        if warehouses == 1 {
            return home;
        }
        let other = self.stream.between(1, warehouses - 1);
        if other < home { other } else { other + 1 }
    }

    fn customer_id(&mut self) -> u32 {
        self.stream.non_uniform(
            A_CUSTOMER,
            1,
            self.scale.customers(),
            self.constants.customer,
        )
    }

    fn customer(&mut self) -> CustomerChoice {
        if self.stream.percent(60) {
            let number = self.stream.non_uniform(
                A_LAST_NAME,
                0,
                self.scale.last_names(),
                self.constants.last_name,
            );
            CustomerChoice::Name(last_name(number))
        } else {
            CustomerChoice::Id(self.customer_id())
        }
    }
}
