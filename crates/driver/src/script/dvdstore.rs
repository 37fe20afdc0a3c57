//! One shopper of the DVD Store: log in or register, search, buy.
//!
//! The original ends a user at its first failed call, so that the population shrinks unseen. Here the failure is counted in its
//! class and the user goes on with its next order.

use std::rc::Rc;

use rookery_stats::ErrorClass;
use rookery_workload::dvdstore::{
    NewCustomerAnswer, Opening, PageFault, PageSite, PurchaseAnswer, ShopperParams,
    pages::{read_browse, read_login, read_new_customer, read_purchase},
};

use crate::{
    fault::Fault,
    http::{connection::Ask, decode::Keep},
    record::Operation,
    user::{Failed, User},
};

/// Names a new customer tries before it gives up.
const MOST_NAMES: u32 = 100;
/// The password of every customer.
const PASSWORD: &str = "password";
/// "Insufficient stock" although nothing was short: a deadlock that the pages took for a shortage. A failure, but an answered one.
pub(crate) const CONFLICT: Fault = Fault::new(ErrorClass::Semantic, "conflict");

/// A fresh user looks at the index page.
pub(super) async fn arrive(
    user: &mut User,
    directory: &str,
    page_type: &str,
) -> Result<(), Failed> {
    let pages = PageSite {
        directory,
        page_type,
    };
    let ask = Ask {
        target: |out: &mut Vec<u8>| pages.index(out),
        repeatable: true,
        keep: Keep::Length,
    };
    user.request(Operation::Index, ask, |_| Ok(()))
        .await
        .map(|_| ())
}

/// One whole order.
pub(super) async fn order(
    user: &mut User,
    directory: &str,
    page_type: &str,
    shopper: &ShopperParams,
) -> Result<(), Failed> {
    let pages = PageSite {
        directory,
        page_type,
    };
    let customer = match user.shopper.opening(shopper) {
        Opening::Login { customer } => log_in(user, &pages, customer).await?,
        // Boxed: it is rare, and a user's future should be small.
        Opening::NewCustomer => Box::pin(register(user, &pages, shopper)).await?,
    };
    for _ in 0..user.shopper.search_count(shopper) {
        search(user, &pages, shopper, customer).await?;
    }
    purchase(user, &pages, shopper, customer).await
}

async fn log_in(user: &mut User, pages: &PageSite<'_>, customer: u64) -> Result<u64, Failed> {
    let username = format!("user{customer}");
    let ask = Ask {
        target: |out: &mut Vec<u8>| pages.login(out, &username, PASSWORD),
        repeatable: true,
        keep: Keep::Body,
    };
    let (customer, time) = user
        .request(Operation::Login, ask, |body| {
            read_login(body).map_err(fault)
        })
        .await?;
    user.book.login = Some(time);
    Ok(customer)
}

async fn register(
    user: &mut User,
    pages: &PageSite<'_>,
    shopper: &ShopperParams,
) -> Result<u64, Failed> {
    let person = user.shopper.person();
    for attempt in 1..=MOST_NAMES {
        let username = format!("newuser{}", user.shopper.new_name_number(shopper));
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
        let (answer, time) = user.request(Operation::NewCustomer, ask, judge).await?;
        if let Some(customer) = answer {
            user.book.new_customer = Some(time);
            return Ok(customer);
        }
    }
    // The last attempt ends as a success or a fault.
    Err(Failed)
}

async fn search(
    user: &mut User,
    pages: &PageSite<'_>,
    shopper: &ShopperParams,
    customer: u64,
) -> Result<(), Failed> {
    let worker = Rc::clone(&user.worker);
    let (search, limit) = user.shopper.search(shopper, &worker.words);
    let ask = Ask {
        target: |out: &mut Vec<u8>| pages.browse(out, &search, limit, customer),
        repeatable: true,
        keep: Keep::Body,
    };
    let (_, time) = user
        .request(Operation::Browse, ask, |body| {
            read_browse(body).map_err(fault)
        })
        .await?;
    user.book.searches += 1;
    user.book.searching += time;
    Ok(())
}

async fn purchase(
    user: &mut User,
    pages: &PageSite<'_>,
    shopper: &ShopperParams,
    customer: u64,
) -> Result<(), Failed> {
    let mut basket = Vec::new();
    user.shopper.basket(shopper, &mut basket);
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
    let (rolled_back, time) = user.request(Operation::Purchase, ask, judge).await?;
    user.book.purchase = time;
    user.purchased(rolled_back);
    Ok(())
}

fn fault(page: PageFault) -> Fault {
    match page {
        PageFault::Rejected(what) => Fault::new(ErrorClass::Semantic, what),
        PageFault::Missing(what) => Fault::new(ErrorClass::Parse, what),
    }
}
