//! The ledger: one line for every write, and what an audit counts in it.

use super::{
    money::Cents,
    wire::{Query, percent_decode},
};
use crate::{FoundRow, web2005::Model};

/// Payments of `quick_pay`, one per payee.
pub const PAYMENTS: &str = "payments";
/// Their sum in cents.
pub const PAYMENT_CENTS: &str = "payment_cents";
/// Transfers between accounts.
pub const TRANSFERS: &str = "transfers";
/// Their sum in cents.
pub const TRANSFER_CENTS: &str = "transfer_cents";
/// Payees added.
pub const PAYEES: &str = "payees";
/// Profiles changed.
pub const PROFILES: &str = "profiles";
/// Orders of checks.
pub const CHECK_ORDERS: &str = "check_orders";
/// Orders of e-commerce.
pub const ORDERS: &str = "orders";
/// Their sum in cents.
pub const ORDER_CENTS: &str = "order_cents";

/// The rows that an audit of a workload has, in the order of [`LedgerTotals::found`].
#[must_use]
pub fn rows(model: Model) -> &'static [&'static str] {
    match model {
        Model::Banking => &[
            PAYMENTS,
            PAYMENT_CENTS,
            TRANSFERS,
            TRANSFER_CENTS,
            PAYEES,
            PROFILES,
            CHECK_ORDERS,
        ],
        Model::Ecommerce => &[ORDERS, ORDER_CENTS],
        Model::Support => &[],
    }
}

/// A write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LedgerEntry {
    /// Workload.
    pub model: Model,
    /// Command.
    pub command: u8,
    /// Who wrote: a user or customer.
    pub identity: u32,
    /// Money that moved; nothing for writes that move none.
    pub amount: Cents,
    /// What it was confirmed with, below 10^10.
    pub confirmation: u64,
    /// Its arguments after the identity.
    pub arguments: Vec<String>,
}

/// A line that is no entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the line is no entry of a ledger")]
pub struct LineFault;

impl LedgerEntry {
    /// Appends the entry as a line: workload, command, identity, cents, confirmation and
    /// arguments, separated by spaces; the arguments as in a query.
    pub fn print(&self, out: &mut Vec<u8>) {
        let texts: Vec<&str> = self.arguments.iter().map(String::as_str).collect();
        let mut query = String::new();
        Query::print(&mut query, self.model, self.command, &texts);
        // `/besim?1&7&ARG...`
        let arguments = query.splitn(3, '&').nth(2).unwrap_or("");
        let line = format!(
            "{} {} {} {} {:010} {arguments}\n",
            self.model.number(),
            self.command,
            self.identity,
            self.amount.0,
            self.confirmation,
        );
        out.extend_from_slice(line.as_bytes());
    }

    /// The entry of a line without its end.
    ///
    /// # Errors
    /// When it is none.
    pub fn parse(line: &str) -> Result<Self, LineFault> {
        Self::read(line).ok_or(LineFault)
    }

    fn read(line: &str) -> Option<Self> {
        let fields: Vec<&str> = line.splitn(6, ' ').collect();
        let [model, command, identity, amount, confirmation, arguments] = fields[..] else {
            return None;
        };
        let arguments = match arguments {
            "" => Vec::new(),
            arguments => arguments
                .split('&')
                .map(|text| Some(percent_decode(text, usize::MAX / 4)?.into_owned()))
                .collect::<Option<_>>()?,
        };
        Some(Self {
            model: Model::of_number(model.parse().ok()?)?,
            command: command.parse().ok()?,
            identity: identity.parse().ok()?,
            amount: Cents(amount.parse().ok()?),
            confirmation: confirmation.parse().ok()?,
            arguments,
        })
    }
}

/// What is in a ledger: counts and sums.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LedgerTotals {
    /// Payments and their cents.
    pub payments: (u64, u64),
    /// Transfers and their cents.
    pub transfers: (u64, u64),
    /// Orders of e-commerce and their cents.
    pub orders: (u64, u64),
    /// Payees added.
    pub payees: u64,
    /// Profiles changed.
    pub profiles: u64,
    /// Orders of checks.
    pub check_orders: u64,
    /// Lines that are no entries.
    pub faults: u64,
}

impl LedgerTotals {
    /// What a whole ledger holds. A last line without an end was never answered, and is not
    /// counted.
    #[must_use]
    pub fn of_text(text: &[u8]) -> Self {
        let mut totals = Self::default();
        for line in text.split_inclusive(|byte| *byte == b'\n') {
            if let Some(line) = line.strip_suffix(b"\n") {
                totals.add_line(line);
            }
        }
        totals
    }

    /// Counts a line without its end.
    pub fn add_line(&mut self, line: &[u8]) {
        let entry = std::str::from_utf8(line).map(LedgerEntry::parse);
        match entry {
            Ok(Ok(entry)) => self.add(&entry),
            _ => self.faults += 1,
        }
    }

    /// Counts an entry.
    pub fn add(&mut self, entry: &LedgerEntry) {
        let money = |(count, cents): &mut (u64, u64)| {
            *count += 1;
            *cents = cents.saturating_add(entry.amount.0);
        };
        match (entry.model, entry.command) {
            (Model::Banking, 6) => self.payees += 1,
            (Model::Banking, 7) => money(&mut self.payments),
            (Model::Banking, 10) => self.profiles += 1,
            (Model::Banking, 11) => self.check_orders += 1,
            (Model::Banking, 12) => money(&mut self.transfers),
            (Model::Ecommerce, 11) => money(&mut self.orders),
            _ => self.faults += 1,
        }
    }

    /// The rows of an audit of a workload.
    #[must_use]
    pub fn found(&self, model: Model) -> Vec<FoundRow> {
        match model {
            Model::Banking => vec![
                FoundRow::new(PAYMENTS, self.payments.0),
                FoundRow::new(PAYMENT_CENTS, self.payments.1),
                FoundRow::new(TRANSFERS, self.transfers.0),
                FoundRow::new(TRANSFER_CENTS, self.transfers.1),
                FoundRow::new(PAYEES, self.payees),
                FoundRow::new(PROFILES, self.profiles),
                FoundRow::new(CHECK_ORDERS, self.check_orders),
            ],
            Model::Ecommerce => vec![
                FoundRow::new(ORDERS, self.orders.0),
                FoundRow::new(ORDER_CENTS, self.orders.1),
            ],
            Model::Support => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(model: Model, command: u8, cents: u64) -> LedgerEntry {
        LedgerEntry {
            model,
            command,
            identity: 58,
            amount: Cents(cents),
            confirmation: 42,
            arguments: vec!["a b".to_owned(), "20041007".to_owned(), "&\n%".to_owned()],
        }
    }

    #[test]
    fn a_line_leads_back_to_its_entry() {
        let mut entry = entry(Model::Banking, 7, 1_200);
        entry.arguments.pop();
        let mut out = Vec::new();
        entry.print(&mut out);
        let line = String::from_utf8(out).expect("text");
        assert_eq!(line, "1 7 58 1200 0000000042 a%20b&20041007\n");
        assert_eq!(LedgerEntry::parse(line.trim_end()), Ok(entry.clone()));
        entry.arguments.clear();
        let mut out = Vec::new();
        entry.print(&mut out);
        let line = String::from_utf8(out).expect("text");
        assert_eq!(LedgerEntry::parse(line.trim_end_matches('\n')), Ok(entry));
        for line in [
            "",
            "1 7 58 1200 42",
            "4 7 58 1200 42 a",
            "1 7 58 -1 42 a",
            "x",
        ] {
            assert_eq!(LedgerEntry::parse(line), Err(LineFault), "{line}");
        }
    }

    #[test]
    fn totals_are_those_of_the_whole_lines() {
        let mut text = Vec::new();
        for (model, command, cents) in [
            (Model::Banking, 7, 1_200),
            (Model::Banking, 7, 34),
            (Model::Banking, 12, 100),
            (Model::Banking, 6, 0),
            (Model::Banking, 10, 0),
            (Model::Banking, 11, 0),
            (Model::Ecommerce, 11, 999),
        ] {
            let mut entry = entry(model, command, cents);
            entry.arguments.pop();
            entry.print(&mut text);
        }
        let mut totals = LedgerTotals {
            payments: (2, 1_234),
            transfers: (1, 100),
            orders: (1, 999),
            payees: 1,
            profiles: 1,
            check_orders: 1,
            faults: 0,
        };
        assert_eq!(LedgerTotals::of_text(&text), totals);
        text.extend_from_slice(b"1 7 58 5 0000000042 unfinished");
        assert_eq!(LedgerTotals::of_text(&text), totals);
        text.extend_from_slice(b"\nnonsense\n1 9 58 0 0000000042 \n");
        totals.payments = (3, 1_239);
        totals.faults = 2;
        assert_eq!(LedgerTotals::of_text(&text), totals);
        let rows = totals.found(Model::Banking);
        assert_eq!(rows[1], FoundRow::new(PAYMENT_CENTS, 1_239));
        assert_eq!(totals.found(Model::Ecommerce)[0].found, 1);
    }
}
