//! The scripts: who does what, in which order, and what the outcome is called.

use std::{future::Future, pin::pin, time::Duration};

use tokio::time::timeout;

use super::{
    Lab, Seen,
    session::{AcidSession, Waiting},
};
use crate::OltpError;

/// The customer whose orders are looked at, and the one who orders beside.
const CUSTOMER: i64 = 1;
const OTHER: i64 = 2;

/// A payment, in cents.
const PAID: i64 = 1_234;

/// How a transaction ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Commit,
    Rollback,
}

impl End {
    async fn apply(self, session: &mut AcidSession) -> Result<(), OltpError> {
        match self {
            Self::Commit => session.commit().await,
            Self::Rollback => session.rollback().await,
        }
    }
}

/// Runs test `number`, `1..=11`.
pub(super) async fn run(lab: &mut Lab, number: u8) -> Result<Seen, OltpError> {
    let watch = lab.level.watch(number);
    let (one, two) = (&mut lab.one, &mut lab.two);
    match number {
        1 => status_beside_order(one, two, watch, End::Commit).await,
        2 => status_beside_order(one, two, watch, End::Rollback).await,
        3 => order_beside_order(one, two, watch, End::Commit).await,
        4 => order_beside_order(one, two, watch, End::Rollback).await,
        5 => payment_beside_delivery(one, two, watch, End::Commit).await,
        6 => payment_beside_delivery(one, two, watch, End::Rollback).await,
        7 => price_twice(one, two, watch).await,
        8 => empty_district_twice(one, two, watch).await,
        9 => last_order_twice(one, two, watch).await,
        10 => payment_whole(one, End::Commit).await,
        _ => payment_whole(one, End::Rollback).await,
    }
}

/// What becomes of `step` while another transaction is open: its outcome if it does not wait; else
/// the other's end is awaited, then the outcome.
///
/// A transaction's begin belongs to its step: on SQLite it is the begin that waits.
async fn beside<T>(
    step: impl Future<Output = Result<T, OltpError>>,
    watch: Duration,
    end: impl Future<Output = Result<(), OltpError>>,
) -> Result<(bool, Result<T, OltpError>), OltpError> {
    let mut step = pin!(step);
    let early = timeout(watch, &mut step).await;
    end.await?;
    Ok(match early {
        Ok(outcome) => (false, outcome),
        Err(_) => (true, step.await),
    })
}

async fn status_beside_order(
    one: &mut AcidSession,
    two: &mut AcidSession,
    watch: Duration,
    end: End,
) -> Result<Seen, OltpError> {
    let before = two.last_order(CUSTOMER).await?;
    one.begin_to_write().await?;
    let order = one.take_number().await?;
    one.write_order(order, CUSTOMER).await?;
    let look = async {
        two.begin_to_read().await?;
        two.last_order(CUSTOMER).await
    };
    let (waited, status) = beside(look, watch, end.apply(one)).await?;
    let status = status?;
    two.commit().await?;
    let after = if end == End::Commit {
        Some(order.to_string())
    } else {
        before.clone()
    };
    if two.last_order(CUSTOMER).await? != after {
        return Ok(Seen::Wrong);
    }
    Ok(match (waited, status) {
        (true, status) if status == after => Seen::Waited,
        (false, status) if status == before => Seen::Old,
        _ => Seen::Uncommitted,
    })
}

async fn order_beside_order(
    one: &mut AcidSession,
    two: &mut AcidSession,
    watch: Duration,
    end: End,
) -> Result<Seen, OltpError> {
    one.begin_to_write().await?;
    let first = one.take_number().await?;
    one.write_order(first, CUSTOMER).await?;
    let take = async {
        two.begin_to_write().await?;
        two.take_number().await
    };
    let (waited, second) = beside(take, watch, end.apply(one)).await?;
    let expected = if end == End::Commit { first + 1 } else { first };
    let (second, seen) = match second {
        Ok(second) => {
            two.write_order(second, OTHER).await?;
            two.commit().await?;
            (second, Seen::Waited)
        }
        Err(error) if two.again(&error) => {
            two.rollback().await?;
            (two.new_order(OTHER).await?, Seen::Retried)
        }
        Err(error) => return Err(error),
    };
    Ok(if waited && second == expected {
        seen
    } else {
        Seen::Wrong
    })
}

async fn payment_beside_delivery(
    one: &mut AcidSession,
    two: &mut AcidSession,
    watch: Duration,
    end: End,
) -> Result<Seen, OltpError> {
    one.begin_to_write().await?;
    let Waiting {
        customer,
        cents,
        order,
    } = one.deliver().await?;
    debug_assert!(order > 0, "a loaded district has orders that wait");
    let before = two.balance(customer).await?;
    let pay = async {
        two.begin_to_write().await?;
        two.pay(customer, PAID).await
    };
    let (waited, paid) = beside(pay, watch, end.apply(one)).await?;
    let seen = match paid {
        Ok(()) => Seen::Waited,
        Err(error) if two.again(&error) => {
            two.rollback().await?;
            two.begin_to_write().await?;
            two.pay(customer, PAID).await?;
            Seen::Retried
        }
        Err(error) => return Err(error),
    };
    two.commit().await?;
    let delivered = if end == End::Commit { cents } else { 0 };
    let right = two.balance(customer).await? == before + delivered - PAID;
    Ok(if waited && right { seen } else { Seen::Wrong })
}

async fn price_twice(
    one: &mut AcidSession,
    two: &mut AcidSession,
    watch: Duration,
) -> Result<Seen, OltpError> {
    const PRICE: &str = "SELECT i_price FROM item WHERE i_id = 1";
    let before = one.cents(PRICE).await?;
    one.begin_to_write().await?;
    one.take_number().await?;
    let first = one.cents(PRICE).await?;
    let mut again = 0;
    let reread = async {
        again = one.cents(PRICE).await?;
        one.rollback().await
    };
    let cent = two.money(1);
    let raise = format!("UPDATE item SET i_price = i_price + {cent} WHERE i_id = 1");
    let (held_up, changed) = beside(two.run(&raise), watch, reread).await?;
    changed?;
    two.run(&format!(
        "UPDATE item SET i_price = i_price - {cent} WHERE i_id = 1"
    ))
    .await?;
    let restored = two.cents(PRICE).await? == before;
    Ok(match again - first {
        0 if restored && first == before => old(held_up),
        1 if restored && !held_up => Seen::New,
        _ => Seen::Wrong,
    })
}

/// Nothing has changed, with or without holding up the other.
fn old(held_up: bool) -> Seen {
    if held_up { Seen::HeldUp } else { Seen::Old }
}

async fn empty_district_twice(
    one: &mut AcidSession,
    two: &mut AcidSession,
    watch: Duration,
) -> Result<Seen, OltpError> {
    one.begin_to_write().await?;
    // The district is empty to the delivery alone, which is never committed.
    one.oldest().await?;
    one.run("DELETE FROM new_orders WHERE no_w_id = 1 AND no_d_id = 1")
        .await?;
    let first = one.oldest().await?;
    let mut again = None;
    let reread = async {
        again = one.oldest().await?;
        one.rollback().await
    };
    let (held_up, order) = beside(two.new_order(CUSTOMER), watch, reread).await?;
    let order = order?.to_string();
    Ok(match (first, again) {
        (None, None) => old(held_up),
        (None, Some(found)) if found == order && !held_up => Seen::New,
        _ => Seen::Wrong,
    })
}

async fn last_order_twice(
    one: &mut AcidSession,
    two: &mut AcidSession,
    watch: Duration,
) -> Result<Seen, OltpError> {
    one.begin_to_read().await?;
    let first = one.last_order(CUSTOMER).await?;
    let mut again = None;
    let reread = async {
        again = one.last_order(CUSTOMER).await?;
        one.commit().await
    };
    let (held_up, order) = beside(two.new_order(CUSTOMER), watch, reread).await?;
    let order = order?.to_string();
    Ok(if again == first {
        old(held_up)
    } else if again == Some(order) && !held_up {
        Seen::New
    } else {
        Seen::Wrong
    })
}

async fn payment_whole(one: &mut AcidSession, end: End) -> Result<Seen, OltpError> {
    const SUMS: [&str; 4] = [
        "SELECT w_ytd FROM warehouse WHERE w_id = 1",
        "SELECT d_ytd FROM district WHERE d_w_id = 1 AND d_id = 1",
        "SELECT c_ytd_payment FROM customer WHERE c_w_id = 1 AND c_d_id = 1 AND c_id = 1",
        "SELECT COALESCE(SUM(h_amount), 0) FROM history WHERE h_c_w_id = 1 AND h_c_d_id = 1 AND \
         h_c_id = 1",
    ];
    let mut sums = [[0; 4]; 2];
    for (sum, query) in sums[0].iter_mut().zip(SUMS) {
        *sum = one.cents(query).await?;
    }
    one.begin_to_write().await?;
    one.pay(CUSTOMER, PAID).await?;
    end.apply(one).await?;
    for (sum, query) in sums[1].iter_mut().zip(SUMS) {
        *sum = one.cents(query).await?;
    }
    let [before, after] = sums;
    Ok(if after == before {
        Seen::Nothing
    } else if after == before.map(|sum| sum + PAID) {
        Seen::Whole
    } else {
        Seen::Wrong
    })
}
