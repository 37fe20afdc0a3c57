//! Sessions of `banking`.

use super::Draw;
use crate::web2005::{
    Arrival, Day, Expected, Model, PageRequest,
    besim::{Cents, Person, banking, confirmation},
    ledger,
    pages::banking::BACK_OF_CHECK,
    request::{Shown, path},
};

/// Who a user is, and the check that it looks at.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct BankingSession {
    user: u32,
    check: u32,
}

const MODEL: Model = Model::Banking;
/// Commands of the back-end whose confirmations pages show.
const POST_PAYEE: u8 = 6;
const QUICK_PAY: u8 = 7;
const CHANGE_PROFILE: u8 = 10;
const ORDER_CHECKS: u8 = 11;
/// Most payees of one quick payment.
const MOST_PAYEES: u32 = 3;
/// Largest amount of a payment or a transfer, cents. No balance is smaller.
const MOST_CENTS: u32 = 10_000;
/// Largest number of checks in an order.
const MOST_CHECKS: u32 = 1_000;

impl BankingSession {
    pub(super) fn request(&mut self, draw: &mut Draw<'_>, arrival: Arrival) -> PageRequest {
        match arrival.page {
            0 => self.login(draw),
            1 => self.account_summary(draw),
            2 => self.check_detail(draw),
            3 => self.bill_pay(draw),
            4 => self.plain("add_payee", Shown::new().row(["form"])),
            5 => self.payee_info(draw),
            6 => self.quick_pay(draw),
            7 => self.billpay_status(draw),
            8 => self.profile(draw),
            9 => self.post_profile(draw),
            10 => self.plain("req_checks", self.accounts(draw)),
            11 => self.order_checks(draw),
            12 => self.get("req_xfer_form", "", self.accounts(draw)),
            13 => self.transfer(draw),
            14 => self.plain("logout", Shown::new().row(["bye"])),
            _ => self.check_image(draw, arrival.state == BACK_OF_CHECK),
        }
    }

    fn page(&self, name: &str, shown: Shown) -> Expected {
        shown.page(MODEL, name, Some(self.user))
    }

    fn get(&self, name: &str, query: &str, shown: Shown) -> PageRequest {
        let target = format!("{}{query}", path(MODEL, name));
        PageRequest::get(target, self.page(name, shown))
    }

    /// A page that is asked for with nothing but the user.
    fn plain(&self, name: &str, shown: Shown) -> PageRequest {
        self.get(name, &format!("?userid={}", self.user), shown)
    }

    fn post(&self, name: &str, fields: &[(&str, &str)], shown: Shown) -> PageRequest {
        PageRequest::post(path(MODEL, name), fields, self.page(name, shown))
    }

    /// The rows of all accounts, with their balances.
    fn accounts(&self, draw: &Draw<'_>) -> Shown {
        self.account_rows(draw, Shown::new())
    }

    fn account_rows(&self, draw: &Draw<'_>, shown: Shown) -> Shown {
        let accounts = banking::accounts(&draw.data.state, self.user);
        shown.rows(accounts.map(|account| {
            [
                ten_digits(account.number),
                account.kind(),
                account.balance.to_string(),
            ]
        }))
    }

    fn login(&mut self, draw: &mut Draw<'_>) -> PageRequest {
        self.user = draw.identity(draw.data.shape.users_per_slot());
        let shown = self.account_rows(draw, Shown::new().row(["ok"]));
        let (user, password) = (self.user.to_string(), draw.data.state.password(self.user));
        self.post(
            "login",
            &[("userid", &user), ("password", &password)],
            shown,
        )
    }

    fn account_summary(&self, draw: &Draw<'_>) -> PageRequest {
        let state = &draw.data.state;
        let rows = banking::accounts(state, self.user).map(|account| {
            let turnover = banking::turnover(state, self.user, account.index);
            [
                ten_digits(account.number),
                account.kind(),
                account.balance.to_string(),
                turnover.deposits.to_string(),
                turnover.average_deposit.to_string(),
                turnover.withdrawals.to_string(),
                turnover.average_withdrawal.to_string(),
            ]
        });
        self.get("account_summary", "", Shown::new().rows(rows))
    }

    fn check_detail(&mut self, draw: &mut Draw<'_>) -> PageRequest {
        self.check = draw.one_of(banking::CHECKS);
        let account = banking::account_number(&draw.data.state, self.user, 0);
        let shown = Shown::new().row([ten_digits(account), format!("{:06}", self.check)]);
        self.get(
            "check_detail_html",
            &format!("?check_no={}", self.check),
            shown,
        )
    }

    fn check_image(&self, draw: &Draw<'_>, is_back: bool) -> PageRequest {
        let side = if is_back { "back" } else { "front" };
        let paths = banking::check_paths(&draw.data.state, self.user, self.check);
        let file = paths.and_then(|(front, back)| {
            let path = if is_back { back } else { front };
            draw.data.shape.locate(path.trim_start_matches('/'))
        });
        let target = format!(
            "{}?side={side}&check_no={}",
            path(MODEL, "check_image"),
            self.check
        );
        let bytes = file.map_or(0, |file| file.size);
        PageRequest::get(target, Expected::File { bytes })
    }

    fn bill_pay(&self, draw: &Draw<'_>) -> PageRequest {
        let payments = banking::payments(&draw.data.state, self.user);
        let rows = payments.map(|payment| {
            [
                payment.payee,
                payment.amount.to_string(),
                payment.date.to_string(),
            ]
        });
        self.plain("bill_pay", Shown::new().rows(rows))
    }

    fn payee_info(&self, draw: &mut Draw<'_>) -> PageRequest {
        let (payee, address) = (format!("N{}", draw.digits(8)), draw.address());
        let arguments = [
            &*payee,
            &address.name,
            &address.street,
            &address.city,
            &address.state,
            &address.zip,
            &address.phone,
        ];
        let names = [
            "payee_id", "name", "street", "city", "state", "zip", "phone",
        ];
        let shown = self.confirmed(draw, POST_PAYEE, &arguments);
        self.post("payee_info", &pairs(names, arguments), shown)
            .writing(vec![(ledger::PAYEES, 1)])
    }

    /// What a page shows of the confirmation of a command with these arguments.
    fn confirmed(&self, draw: &Draw<'_>, command: u8, arguments: &[&str]) -> Shown {
        Shown::new().row([self.confirmation(draw, command, arguments)])
    }

    fn confirmation(&self, draw: &Draw<'_>, command: u8, arguments: &[&str]) -> String {
        let state = &draw.data.state;
        ten_digits(confirmation(state, MODEL, command, self.user, arguments))
    }

    fn quick_pay(&self, draw: &mut Draw<'_>) -> PageRequest {
        let payees: Vec<String> = banking::payees(&draw.data.state, self.user).collect();
        let count = draw.one_of(MOST_PAYEES);
        let (mut shown, mut fields, mut sum) = (Shown::new(), Vec::new(), 0);
        for index in 0..count {
            let place = draw.below(rookery_cast::count_u32(payees.len()));
            let payee = payees.get(place as usize).cloned().unwrap_or_default();
            let date = draw.data.state.day().plus(draw.one_of(30)).to_string();
            let cents = amount(draw);
            let text = cents.to_string();
            let confirmed = self.confirmation(draw, QUICK_PAY, &[&payee, &date, &text]);
            shown = shown.row([&payee, &text, &date, &confirmed]);
            sum += cents.0;
            fields.push((format!("payee[{index}]"), payee));
            fields.push((format!("date[{index}]"), date));
            fields.push((format!("amount[{index}]"), text));
        }
        let fields: Vec<(&str, &str)> = fields.iter().map(|(a, b)| (&**a, &**b)).collect();
        self.post("quick_pay", &fields, shown).writing(vec![
            (ledger::PAYMENTS, u64::from(count)),
            (ledger::PAYMENT_CENTS, sum),
        ])
    }

    /// Payments of a part of the last thirty days.
    fn billpay_status(&self, draw: &mut Draw<'_>) -> PageRequest {
        let (start, end) = period(draw);
        let payments = banking::payments(&draw.data.state, self.user)
            .filter(|payment| (start..=end).contains(&payment.date));
        let rows = payments.map(|payment| {
            [
                payment.payee,
                payment.date.to_string(),
                payment.amount.to_string(),
            ]
        });
        let query = format!("?userid={}&start={start}&end={end}", self.user);
        self.get("billpay_status", &query, Shown::new().rows(rows))
    }

    fn profile(&self, draw: &Draw<'_>) -> PageRequest {
        let person = Person::new(&draw.data.state, self.user);
        let shown = Shown::new().row([
            person.street,
            person.city,
            person.state,
            person.zip,
            person.phone,
            person.email,
        ]);
        self.plain("chg_profile", shown)
    }

    fn post_profile(&self, draw: &mut Draw<'_>) -> PageRequest {
        let address = draw.address();
        let email = format!("{}@example.com", draw.word(10));
        let arguments = [
            &*address.street,
            &address.city,
            &address.state,
            &address.zip,
            &email,
            &address.phone,
        ];
        let names = ["street", "city", "state", "zip", "email", "phone"];
        let shown = self.confirmed(draw, CHANGE_PROFILE, &arguments);
        self.post("post_profile", &pairs(names, arguments), shown)
            .writing(vec![(ledger::PROFILES, 1)])
    }

    fn order_checks(&self, draw: &mut Draw<'_>) -> PageRequest {
        let account = ten_digits(banking::account_number(&draw.data.state, self.user, 0));
        let design = draw.one_of(5).to_string();
        let number = draw.one_of(MOST_CHECKS).to_string();
        let date = draw.data.state.day().to_string();
        let shown = self.confirmed(draw, ORDER_CHECKS, &[&account, &date, &number]);
        let fields = [
            ("account_no", &*account),
            ("design", &*design),
            ("number", &*number),
        ];
        self.post("post_chk_order", &fields, shown)
            .writing(vec![(ledger::CHECK_ORDERS, 1)])
    }

    /// From the first account to the second, never more than there is.
    fn transfer(&self, draw: &mut Draw<'_>) -> PageRequest {
        let cents = amount(draw);
        let accounts: Vec<_> = banking::accounts(&draw.data.state, self.user)
            .take(2)
            .collect();
        let balance = |place: usize| accounts.get(place).map_or(0, |account| account.balance.0);
        let number = |place: usize| {
            let account = accounts.get(place);
            ten_digits(account.map_or(0, |account| account.number))
        };
        let (from, to, text) = (number(0), number(1), cents.to_string());
        let left = Cents(balance(0).saturating_sub(cents.0));
        let grown = Cents(balance(1) + cents.0);
        let shown = Shown::new()
            .row([&from, &left.to_string()])
            .row([&to, &grown.to_string()]);
        let fields = [("from", &*from), ("to", &*to), ("amount", &*text)];
        self.post("post_fund_xfer", &fields, shown).writing(vec![
            (ledger::TRANSFERS, 1),
            (ledger::TRANSFER_CENTS, cents.0),
        ])
    }
}

/// An amount from one cent on.
fn amount(draw: &mut Draw<'_>) -> Cents {
    Cents(u64::from(draw.one_of(MOST_CENTS)))
}

/// First and last day of a part of the thirty days before the reset.
fn period(draw: &mut Draw<'_>) -> (Day, Day) {
    let today = draw.data.state.day();
    let (one, other) = (draw.below(31), draw.below(31));
    (today.minus(one.max(other)), today.minus(one.min(other)))
}

/// A number of an account or a confirmation.
fn ten_digits(number: u64) -> String {
    format!("{number:010}")
}

/// Names with their values.
fn pairs<'p, const N: usize>(names: [&'p str; N], values: [&'p str; N]) -> [(&'p str, &'p str); N] {
    let mut values = values.into_iter();
    names.map(|name| (name, values.next().unwrap_or_default()))
}
