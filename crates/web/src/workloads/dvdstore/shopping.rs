//! One shopper of the DVD Store: log in or register, search, buy.
//!
//! The original ends a user at its first failed call, so that the population shrinks unseen. Here
//! the failure is counted in its class and the user goes on with its next order.

use std::{rc::Rc, time::Duration};

use rookery_driver::{Fault, Nanos, OperationId};
use rookery_stats::ErrorClass;
use rookery_workload::{
    RandomDelay,
    dvdstore::{
        NewCustomerAnswer, Opening, PageFault, PurchaseAnswer, Shopper,
        pages::{read_browse, read_login, read_new_customer, read_purchase},
    },
};

use super::{
    Shop,
    operations::{BROWSE, INDEX, LOGIN, NEW_CUSTOMER, ORDER, PURCHASE},
    record::OrderTimes,
};
use crate::{
    client::{Ask, Client, Failed},
    http::decode::Keep,
    user::UserScript,
};

/// Names a new customer tries before it gives up.
const MOST_NAMES: u32 = 100;
/// The password of every customer.
const PASSWORD: &str = "password";
/// "Insufficient stock" although nothing was short: a deadlock that the pages took for a shortage.
/// A failure, but an answered one.
const CONFLICT: Fault = Fault::new(ErrorClass::Semantic, "conflict");

/// One shopper.
pub(crate) struct Shopping {
    shop: Rc<Shop>,
    seed: u64,
    guest: u32,
    shopper: Shopper,
    order: OrderTimes,
}

impl UserScript for Shopping {
    const ACT: Option<OperationId> = Some(ORDER);

    fn renew(&mut self, number: u32) {
        self.shopper = Shopper::new(self.seed, self.guest, number);
    }

    fn initial_delay(&mut self, longest: Duration) -> Nanos {
        self.shopper.initial_delay_us(longest) * 1_000
    }

    fn think_time(&mut self, delay: RandomDelay) -> Nanos {
        self.shopper.think_us(delay) * 1_000
    }

    /// A new user looks at the index page.
    async fn arrive(&mut self, client: &mut Client) -> Result<(), Failed> {
        let pages = self.shop.pages();
        let ask = Ask {
            target: |out: &mut Vec<u8>| pages.index(out),
            repeatable: true,
            keep: Keep::Length,
        };
        client.request(INDEX, ask, |_| Ok(())).await.map(|_| ())
    }

    /// One whole order.
    async fn act(&mut self, client: &mut Client) -> Result<(), Failed> {
        let shop = Rc::clone(&self.shop);
        let params = &shop.script.shopper;
        self.order = OrderTimes::default();
        let customer = match self.shopper.opening(params) {
            Opening::Login { customer } => self.log_in(client, customer).await?,
            // Boxed: it is rare, and a user's future should be small.
            Opening::NewCustomer => Box::pin(self.register(client)).await?,
        };
        for _ in 0..self.shopper.search_count(params) {
            self.search(client, customer).await?;
        }
        self.purchase(client, customer).await
    }
}

impl Shopping {
    pub(crate) fn new(shop: Rc<Shop>, seed: u64, guest: u32, number: u32) -> Self {
        Self {
            shop,
            seed,
            guest,
            shopper: Shopper::new(seed, guest, number),
            order: OrderTimes::default(),
        }
    }

    async fn log_in(&mut self, client: &mut Client, customer: u64) -> Result<u64, Failed> {
        let pages = self.shop.pages();
        let username = format!("user{customer}");
        let ask = Ask {
            target: |out: &mut Vec<u8>| pages.login(out, &username, PASSWORD),
            repeatable: true,
            keep: Keep::Body,
        };
        let (customer, time) = client
            .request(LOGIN, ask, |body| read_login(body).map_err(fault))
            .await?;
        self.order.login = Some(time);
        Ok(customer)
    }

    async fn register(&mut self, client: &mut Client) -> Result<u64, Failed> {
        let shop = Rc::clone(&self.shop);
        let pages = shop.pages();
        let person = self.shopper.person();
        let mut attempt = 0;
        loop {
            attempt += 1;
            let username = format!(
                "newuser{}",
                self.shopper.new_name_number(&shop.script.shopper)
            );
            let ask = Ask {
                target: |out: &mut Vec<u8>| pages.new_customer(out, &person, &username),
                repeatable: false,
                keep: Keep::Body,
            };
            let judge = |body: &[u8]| match read_new_customer(body) {
                Ok(NewCustomerAnswer::Added(customer)) => Ok(Some(customer)),
                Ok(NewCustomerAnswer::NameTaken) if attempt < MOST_NAMES => Ok(None),
                Ok(NewCustomerAnswer::NameTaken) => {
                    Err(Fault::new(ErrorClass::Semantic, "no free name"))
                }
                Err(page) => Err(fault(page)),
            };
            let (answer, time) = client.request(NEW_CUSTOMER, ask, judge).await?;
            if let Some(customer) = answer {
                self.order.new_customer = Some(time);
                return Ok(customer);
            }
        }
    }

    async fn search(&mut self, client: &mut Client, customer: u64) -> Result<(), Failed> {
        let shop = Rc::clone(&self.shop);
        let pages = shop.pages();
        let (search, limit) = self
            .shopper
            .search(&shop.script.shopper, shop.script.words.lists());
        let ask = Ask {
            target: |out: &mut Vec<u8>| pages.browse(out, &search, limit, customer),
            repeatable: true,
            keep: Keep::Body,
        };
        let (_, time) = client
            .request(BROWSE, ask, |body| read_browse(body).map_err(fault))
            .await?;
        self.order.searches += 1;
        self.order.searching += time;
        Ok(())
    }

    async fn purchase(&mut self, client: &mut Client, customer: u64) -> Result<(), Failed> {
        let shop = Rc::clone(&self.shop);
        let pages = shop.pages();
        let mut basket = Vec::new();
        self.shopper.basket(&shop.script.shopper, &mut basket);
        let ask = Ask {
            target: |out: &mut Vec<u8>| pages.purchase(out, customer, &basket),
            // Sent once only: a second one would be a second order.
            repeatable: false,
            keep: Keep::Body,
        };
        let judge = |body: &[u8]| match read_purchase(body) {
            Ok(PurchaseAnswer::Ordered(_)) => Ok(false),
            Ok(PurchaseAnswer::Shortage) => Ok(true),
            Ok(PurchaseAnswer::Conflict) => Err(CONFLICT),
            Err(page) => Err(fault(page)),
        };
        let answer = client.request(PURCHASE, ask, judge).await;
        let mut record = shop.record.borrow_mut();
        match answer {
            Ok((rolled_back, time)) => {
                (self.order.purchase, self.order.rolled_back) = (time, rolled_back);
                record.purchased(rolled_back);
                record.count_order(client.window(), &self.order, client.ended_at());
                Ok(())
            }
            Err(failed) => {
                match failed.fault {
                    // The pages say that nothing was ordered, and the original counts it so.
                    CONFLICT => record.purchased(true),
                    _ if failed.written => record.unanswered(),
                    _ => {}
                }
                Err(failed)
            }
        }
    }
}

fn fault(page: PageFault) -> Fault {
    match page {
        PageFault::Rejected(what) => Fault::new(ErrorClass::Semantic, what),
        PageFault::Missing(what) => Fault::new(ErrorClass::Parse, what),
    }
}
