//! Shoppers in virtual time: the same choices, without pages.

use std::time::Duration;

use rookery_cast::count_u32;
use rookery_driver::{Nanos, OperationId, Span, VirtualUser, VirtualUsers};
use rookery_workload::{
    RandomDelay,
    dvdstore::{Opening, Shopper, ShopperParams},
};

use super::{
    operations::{BROWSE, INDEX, LOGIN, NEW_CUSTOMER, PURCHASE},
    record::{OrderTimes, ShopRecord},
};

/// The shops of all guests.
#[derive(Debug)]
pub(crate) struct VirtualShops {
    params: Vec<ShopperParams>,
    records: Vec<ShopRecord>,
    seed: u64,
}

impl VirtualShops {
    /// One shop for each guest.
    pub(crate) fn new(params: Vec<ShopperParams>, seed: u64) -> Self {
        Self {
            records: vec![ShopRecord::default(); params.len()],
            params,
            seed,
        }
    }

    /// What was counted, by guest.
    pub(crate) fn into_records(self) -> impl Iterator<Item = ShopRecord> {
        self.records.into_iter()
    }
}

impl VirtualUsers for VirtualShops {
    type User = VirtualShopper;

    fn user(&self, guest: usize, number: u32) -> VirtualShopper {
        VirtualShopper {
            shopper: Shopper::new(self.seed, count_u32(guest), number),
            params: self.params[guest],
            searches_left: 0,
            order: OrderTimes::default(),
        }
    }

    fn completed(&mut self, guest: usize, user: &VirtualShopper, window: Span, at: Nanos) {
        let record = &mut self.records[guest];
        record.purchased(false);
        record.count_order(window, &user.order, at);
    }

    fn unanswered(&mut self, guest: usize, operation: OperationId) {
        if operation == PURCHASE {
            self.records[guest].unanswered();
        }
    }
}

/// One shopper; names of new customers are always free.
#[derive(Debug)]
pub(crate) struct VirtualShopper {
    shopper: Shopper,
    params: ShopperParams,
    searches_left: u32,
    order: OrderTimes,
}

impl VirtualUser for VirtualShopper {
    fn appear(&mut self) -> OperationId {
        INDEX
    }

    fn begin(&mut self) -> OperationId {
        self.order = OrderTimes::default();
        let opening = self.shopper.opening(&self.params);
        self.searches_left = self.shopper.search_count(&self.params);
        match opening {
            Opening::Login { .. } => LOGIN,
            Opening::NewCustomer => NEW_CUSTOMER,
        }
    }

    fn proceed(&mut self, ended: OperationId, service: Nanos) -> Option<OperationId> {
        match ended {
            LOGIN => self.order.login = Some(service),
            NEW_CUSTOMER => self.order.new_customer = Some(service),
            BROWSE => {
                self.order.searches += 1;
                self.order.searching += service;
            }
            _ => {
                self.order.purchase = service;
                return None;
            }
        }
        if self.searches_left == 0 {
            return Some(PURCHASE);
        }
        self.searches_left -= 1;
        Some(BROWSE)
    }

    fn initial_delay(&mut self, longest: Duration) -> Nanos {
        self.shopper.initial_delay_us(longest) * 1_000
    }

    fn think_time(&mut self, delay: RandomDelay) -> Nanos {
        self.shopper.think_us(delay) * 1_000
    }
}
