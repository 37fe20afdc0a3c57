//! Commands of banking.

use super::{Arguments, Effect, Outcome, confirmed};
use crate::web2005::{
    Day, Model,
    besim::{
        banking::{Account, Payment, account_number, check_paths, is_user, turnover},
        changes::UserChanges,
        money::Cents,
        state::{BankingReset, State},
        wire::Rows,
    },
    files::LARGEST_IDENTITY,
};

/// Most checks of an order.
const MOST_CHECKS: u32 = 1_000;

pub(super) fn run(
    state: &State,
    command: u8,
    arguments: &Arguments<'_>,
    changes: &mut UserChanges,
    keeps: bool,
) -> Outcome {
    if command == 0 {
        return reset(state, arguments);
    }
    let user = arguments.number(0).filter(|user| is_user(state, *user))?;
    let call = Call {
        state,
        arguments,
        user,
    };
    match command {
        1 => call.password(),
        2 => call.balances(changes),
        3 => call.summary(changes),
        4 => call.check(),
        5 => call.payments(changes),
        6 => call.add_payee(),
        7 => call.pay(changes, keeps),
        8 => call.payments_between(changes),
        9 => call.profile(changes),
        10 => call.change_profile(changes),
        11 => call.order_checks(changes),
        12 => call.transfer(changes, keeps),
        _ => None,
    }
}

fn reset(state: &State, arguments: &Arguments<'_>) -> Outcome {
    arguments.count(6)?;
    let banking = BankingReset {
        time_s: arguments.time(0)?,
        min_user: arguments.number(1)?,
        max_user: arguments.within(2, LARGEST_IDENTITY)?,
        load: arguments.number(3)?,
        image_base: arguments.path(4)?.trim_end_matches('/').to_owned(),
        sub_directories: arguments.number(5).filter(|count| *count <= 99_999)?,
    };
    let state = State {
        banking,
        ..state.clone()
    };
    Some((arguments.echo(), Effect::Reset(Box::new(state))))
}

/// A command of a user that the back-end knows.
struct Call<'a> {
    state: &'a State,
    arguments: &'a Arguments<'a>,
    user: u32,
}

impl Call<'_> {
    fn password(&self) -> Outcome {
        self.arguments.count(1)?;
        let mut rows = Rows::default();
        rows.push(&[&self.state.password_md5(self.user)]);
        Some((rows, Effect::None))
    }

    fn balances(&self, changes: &UserChanges) -> Outcome {
        self.arguments.count(1)?;
        let mut rows = Rows::default();
        for account in changes.accounts(self.state, self.user) {
            let number = ten_digits(account.number);
            rows.push(&[&number, &account.kind(), &account.balance]);
        }
        Some((rows, Effect::None))
    }

    fn summary(&self, changes: &UserChanges) -> Outcome {
        self.arguments.count(1)?;
        let mut rows = Rows::default();
        for account in changes.accounts(self.state, self.user) {
            let turnover = turnover(self.state, self.user, account.index);
            rows.push(&[
                &ten_digits(account.number),
                &account.kind(),
                &account.balance,
                &turnover.deposits,
                &turnover.average_deposit,
                &turnover.withdrawals,
                &turnover.average_withdrawal,
            ]);
        }
        Some((rows, Effect::None))
    }

    fn check(&self) -> Outcome {
        self.arguments.count(2)?;
        let check = self.arguments.number(1)?;
        let (front, back) = check_paths(self.state, self.user, check)?;
        let account = account_number(self.state, self.user, 0);
        let mut rows = Rows::default();
        rows.push(&[&ten_digits(account), &front, &back]);
        Some((rows, Effect::None))
    }

    fn payments(&self, changes: &UserChanges) -> Outcome {
        self.arguments.count(1)?;
        let mut rows = Rows::default();
        for payment in changes.payments(self.state, self.user) {
            rows.push(&[&payment.payee, &payment.amount, &payment.date]);
        }
        Some((rows, Effect::None))
    }

    fn payments_between(&self, changes: &UserChanges) -> Outcome {
        self.arguments.count(3)?;
        let start = Day::parse(self.arguments.text(1)?)?;
        let end = Day::parse(self.arguments.text(2)?)?;
        let mut rows = Rows::default();
        let payments = changes.payments(self.state, self.user).into_iter();
        for payment in payments.filter(|payment| (start..=end).contains(&payment.date)) {
            rows.push(&[&payment.payee, &payment.date, &payment.amount]);
        }
        Some((rows, Effect::None))
    }

    fn add_payee(&self) -> Outcome {
        self.arguments.count(8)?;
        payee(self.arguments.text(1)?)?;
        Some(confirmed(self.entry(6, Cents(0))))
    }

    fn pay(&self, changes: &mut UserChanges, keeps: bool) -> Outcome {
        self.arguments.count(4)?;
        let payment = Payment {
            payee: payee(self.arguments.text(1)?)?.to_owned(),
            date: Day::parse(self.arguments.text(2)?)?,
            amount: Cents::parse_typed(self.arguments.text(3)?)?,
        };
        let accounts = changes.accounts(self.state, self.user);
        // A back-end that changes nothing would refuse the same payment for ever.
        if keeps && accounts.first()?.balance < payment.amount {
            return None;
        }
        let entry = self.entry(7, payment.amount);
        changes.pay(payment);
        Some(confirmed(entry))
    }

    fn profile(&self, changes: &UserChanges) -> Outcome {
        self.arguments.count(1)?;
        let person = changes.person(self.state, self.user);
        let mut rows = Rows::default();
        rows.push(&[
            &person.street,
            &person.city,
            &person.state,
            &person.zip,
            &person.phone,
            &person.email,
        ]);
        Some((rows, Effect::None))
    }

    fn change_profile(&self, changes: &mut UserChanges) -> Outcome {
        self.arguments.count(7)?;
        let text = |place| {
            let text = self.arguments.text(place)?;
            // A separator of rows cannot stand in a field of one.
            let plain = (1..=64).contains(&text.len()) && !text.contains(['&', '<']);
            plain.then(|| text.to_owned())
        };
        let mut person = changes.person(self.state, self.user);
        person.street = text(1)?;
        person.city = text(2)?;
        person.state = text(3)?;
        person.zip = text(4)?;
        person.email = text(5)?;
        person.phone = text(6)?;
        changes.set_person(person);
        Some(confirmed(self.entry(10, Cents(0))))
    }

    fn order_checks(&self, changes: &UserChanges) -> Outcome {
        self.arguments.count(4)?;
        self.account(changes, 1)?;
        Day::parse(self.arguments.text(2)?)?;
        self.arguments.within(3, MOST_CHECKS)?;
        Some(confirmed(self.entry(11, Cents(0))))
    }

    fn transfer(&self, changes: &mut UserChanges, keeps: bool) -> Outcome {
        self.arguments.count(5)?;
        let from = self.account(changes, 1)?;
        let to = self.account(changes, 2)?;
        let amount = Cents::parse_typed(self.arguments.text(3)?)?;
        Day::parse(self.arguments.text(4)?)?;
        if from.number == to.number || from.balance < amount {
            return None;
        }
        let entry = self.entry(12, amount);
        if keeps {
            changes.transfer(from.index, to.index, amount);
        }
        let mut rows = Rows::default();
        let left = Cents(from.balance.0 - amount.0);
        rows.push(&[&ten_digits(from.number), &left]);
        rows.push(&[&ten_digits(to.number), &Cents(to.balance.0 + amount.0)]);
        Some((rows, Effect::Write(entry)))
    }

    /// The account of the user whose number stands at a place.
    fn account(&self, changes: &UserChanges, place: usize) -> Option<Account> {
        let wanted = self.arguments.text(place)?;
        let accounts = changes.accounts(self.state, self.user);
        accounts
            .into_iter()
            .find(|account| ten_digits(account.number) == wanted)
    }

    fn entry(&self, command: u8, amount: Cents) -> crate::web2005::besim::ledger::LedgerEntry {
        self.arguments
            .entry(self.state, Model::Banking, command, self.user, amount)
    }
}

fn ten_digits(number: u64) -> String {
    format!("{number:010}")
}

/// A payee's name: letters and digits.
fn payee(text: &str) -> Option<&str> {
    let right = (1..=20).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_alphanumeric());
    right.then_some(text)
}
