//! Accounts, payees, payments and checks of the users of banking.

use super::{
    money::Cents,
    state::{State, Tag},
};
use crate::web2005::Day;

/// Checks of each user, numbered from 1.
pub const CHECKS: u32 = 10;

/// Days before the reset within which payments lie.
const PAYMENT_DAYS: u64 = 30;

/// An account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Account {
    /// Its number, written with ten digits.
    pub number: u64,
    /// Its place among the user's accounts, from 0: checking, savings, others.
    pub index: u32,
    /// What is on it.
    pub balance: Cents,
}

impl Account {
    /// Its type as the back-end writes it: `01` checking, `02` savings, others `03` and on.
    #[must_use]
    pub fn kind(&self) -> String {
        format!("{:02}", self.index + 1)
    }
}

/// What went through an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turnover {
    /// Deposits in all.
    pub deposits: Cents,
    /// Mean deposit.
    pub average_deposit: Cents,
    /// Withdrawals in all.
    pub withdrawals: Cents,
    /// Mean withdrawal.
    pub average_withdrawal: Cents,
}

/// A payment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Payment {
    /// To whom.
    pub payee: String,
    /// How much.
    pub amount: Cents,
    /// When.
    pub date: Day,
}

/// Whether the back-end knows a user.
#[must_use]
pub fn is_user(state: &State, user: u32) -> bool {
    (state.banking.min_user..=state.banking.max_user).contains(&user)
}

/// Number of the user's account of a place.
#[must_use]
pub fn account_number(state: &State, user: u32, index: u32) -> u64 {
    u64::from(state.banking.max_user) * (u64::from(index) + 1) + u64::from(user)
}

/// The accounts of a user: two, and up to one more.
pub fn accounts(state: &State, user: u32) -> impl Iterator<Item = Account> + '_ {
    let more = u32::from(
        !state
            .value(Tag::AccountCount, u64::from(user), 0)
            .is_multiple_of(2),
    );
    (0..2 + more).map(move |index| Account {
        number: account_number(state, user, index),
        index,
        balance: Cents(
            10_000 + state.value(Tag::Balance, u64::from(user), u64::from(index)) % 1_000_000,
        ),
    })
}

/// What went through the user's account of a place.
#[must_use]
pub fn turnover(state: &State, user: u32, index: u32) -> Turnover {
    let value = |field: u64| {
        let place = (field << 32) | u64::from(index);
        state.value(Tag::Balance, u64::from(user), place)
    };
    let (deposits, withdrawals) = (value(1) % 500_000, value(2) % 500_000);
    Turnover {
        deposits: Cents(deposits),
        average_deposit: Cents(deposits / (1 + value(3) % 20)),
        withdrawals: Cents(withdrawals),
        average_withdrawal: Cents(withdrawals / (1 + value(4) % 20)),
    }
}

/// Paths of the front and the back of a check; nothing where there is no such check.
#[must_use]
pub fn check_paths(state: &State, user: u32, check: u32) -> Option<(String, String)> {
    if !(1..=CHECKS).contains(&check) {
        return None;
    }
    let base = &state.banking.image_base;
    let directory = match state.banking.sub_directories {
        0 => format!("{base}/user{user:010}"),
        count => format!("{base}/subdir{:05}/user{user:010}", user % count),
    };
    Some((
        format!("{directory}/CIF{check:06}"),
        format!("{directory}/CIB{check:06}"),
    ))
}

/// The payees of a user: five to ten.
pub fn payees(state: &State, user: u32) -> impl Iterator<Item = String> + '_ {
    let count = 5 + state.value(Tag::Payees, u64::from(user), 0) % 6;
    (1..=count).map(move |index| payee(state, user, index))
}

/// Payee `index` of a user, from 1.
fn payee(state: &State, user: u32, index: u64) -> String {
    let value = state.value(Tag::Payees, u64::from(user), index);
    format!("P{:08}", value % 100_000_000)
}

/// The payments of a user: five to ten, within thirty days before the reset.
pub fn payments(state: &State, user: u32) -> impl Iterator<Item = Payment> + '_ {
    let payees = 5 + state.value(Tag::Payees, u64::from(user), 0) % 6;
    let count = 5 + state.value(Tag::Payments, u64::from(user), 0) % 6;
    (1..=count).map(move |index| {
        let value = state.value(Tag::Payments, u64::from(user), index);
        let days = rookery_cast::count_u8(rookery_cast::index((value >> 32) % PAYMENT_DAYS));
        Payment {
            payee: payee(state, user, 1 + (value >> 48) % payees),
            amount: Cents(100 + value % 50_000),
            date: state.day().minus(1 + u32::from(days)),
        }
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_sample_of_the_published_design_is_met() {
        let state = State::tiny(7);
        assert_eq!(
            format!("{:010}", account_number(&state, 58, 0)),
            "0000002058"
        );
        let (front, back) = check_paths(&state, 58, 3).expect("a check");
        assert!(front.ends_with("/user0000000058/CIF000003"), "{front}");
        assert!(back.ends_with("/user0000000058/CIB000003"), "{back}");
        assert_eq!(check_paths(&state, 58, 0), None);
        assert_eq!(check_paths(&state, 58, 11), None);
    }

    #[test]
    fn users_have_what_the_specification_gives_them() {
        let state = State::tiny(7);
        let mut numbers = BTreeSet::new();
        let (mut counts, mut payee_counts, mut payment_counts) =
            (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        for user in 1..=2_000 {
            let accounts: Vec<Account> = accounts(&state, user).collect();
            counts.insert(accounts.len());
            for (index, account) in accounts.iter().enumerate() {
                assert!(numbers.insert(account.number), "{account:?}");
                assert!((10_000..1_010_000).contains(&account.balance.0));
                assert_eq!(account.kind(), ["01", "02", "03"][index]);
                let turnover = turnover(&state, user, account.index);
                assert!(turnover.average_deposit <= turnover.deposits);
                assert!(turnover.average_withdrawal <= turnover.withdrawals);
            }
            let payees: Vec<String> = payees(&state, user).collect();
            payee_counts.insert(payees.len());
            let payments: Vec<Payment> = payments(&state, user).collect();
            payment_counts.insert(payments.len());
            for payment in payments {
                assert!(payees.contains(&payment.payee));
                assert!(payment.date < state.day() && payment.date >= state.day().minus(30));
            }
        }
        assert_eq!(counts, BTreeSet::from([2, 3]));
        assert_eq!(payee_counts, (5..=10).collect());
        assert_eq!(payment_counts, (5..=10).collect());
    }
}
