//! What a user changed since the reset, for back-ends that keep it.

use super::{
    banking::{Account, Payment, accounts, payments},
    money::Cents,
    person::Person,
    state::State,
};

/// Payments that are kept of each user; older ones are forgotten.
const MOST_PAYMENTS: usize = 20;

/// Changes of one user of banking.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserChanges {
    /// What came to each account, in cents; negative for what went.
    balances: [i64; 3],
    person: Option<Person>,
    payments: Vec<Payment>,
}

impl UserChanges {
    /// The accounts of the user as they are now.
    pub(super) fn accounts(&self, state: &State, user: u32) -> Vec<Account> {
        accounts(state, user)
            .zip(self.balances)
            .map(|(account, change)| Account {
                balance: Cents(account.balance.0.saturating_add_signed(change)),
                ..account
            })
            .collect()
    }

    /// The user as known now.
    pub(super) fn person(&self, state: &State, user: u32) -> Person {
        self.person
            .clone()
            .unwrap_or_else(|| Person::new(state, user))
    }

    /// The payments of the user, older ones first.
    pub(super) fn payments(&self, state: &State, user: u32) -> Vec<Payment> {
        payments(state, user)
            .chain(self.payments.iter().cloned())
            .collect()
    }

    /// Moves an amount between two places of accounts.
    pub(super) fn transfer(&mut self, from: u32, to: u32, amount: Cents) {
        let amount = i64::try_from(amount.0).unwrap_or(i64::MAX);
        self.add(from, amount.saturating_neg());
        self.add(to, amount);
    }

    /// Pays from the first account.
    pub(super) fn pay(&mut self, payment: Payment) {
        let amount = i64::try_from(payment.amount.0).unwrap_or(i64::MAX);
        self.add(0, amount.saturating_neg());
        if self.payments.len() == MOST_PAYMENTS {
            self.payments.remove(0);
        }
        self.payments.push(payment);
    }

    /// Keeps another address.
    pub(super) fn set_person(&mut self, person: Person) {
        self.person = Some(person);
    }

    fn add(&mut self, account: u32, cents: i64) {
        if let Some(balance) = self.balances.get_mut(account as usize) {
            *balance = balance.saturating_add(cents);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_seen_and_bounded() {
        let state = State::tiny(7);
        let mut changes = UserChanges::default();
        let before = changes.accounts(&state, 5);
        changes.transfer(0, 1, Cents(250));
        for number in 0..30 {
            changes.pay(Payment {
                payee: format!("p{number}"),
                amount: Cents(100),
                date: state.day(),
            });
        }
        let after = changes.accounts(&state, 5);
        assert_eq!(after[0].balance.0, before[0].balance.0 - 250 - 30 * 100);
        assert_eq!(after[1].balance.0, before[1].balance.0 + 250);
        let payments = changes.payments(&state, 5);
        assert_eq!(
            payments.len(),
            super::payments(&state, 5).count() + MOST_PAYMENTS
        );
        assert_eq!(
            payments.last().map(|payment| payment.payee.as_str()),
            Some("p29")
        );
    }
}
