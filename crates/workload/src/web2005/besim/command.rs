//! The commands of the three workloads.

mod banking;
mod ecommerce;
mod support;

use std::borrow::Cow;

use super::{
    changes::UserChanges,
    ledger::LedgerEntry,
    money::Cents,
    state::{State, confirmation},
    wire::{Query, Reply, Rows},
};
use crate::web2005::Model;

/// What a query is answered with, and what it does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Goes back.
    pub reply: Reply,
    /// Must be done before.
    pub effect: Effect,
}

/// What a query does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Nothing.
    None,
    /// Adds an entry to the ledger.
    Write(LedgerEntry),
    /// Begins anew with this state.
    Reset(Box<State>),
}

/// Rows and effect of a command that was understood; nothing where it was not.
type Outcome = Option<(Rows, Effect)>;

/// Answers a query. `changes` are those of the query's [`identity`], where the back-end keeps any;
/// without them writes change nothing.
#[must_use]
pub fn answer(state: &State, query: &Query<'_>, changes: Option<&mut UserChanges>) -> Answer {
    let arguments = Arguments(&query.arguments);
    let mut none = UserChanges::default();
    let keeps = changes.is_some();
    let changes = changes.unwrap_or(&mut none);
    let outcome = match query.model {
        Model::Banking => banking::run(state, query.command, &arguments, changes, keeps),
        Model::Ecommerce => ecommerce::run(state, query.command, &arguments),
        Model::Support => support::run(state, query.command, &arguments),
    };
    match outcome {
        Some((rows, effect)) => Answer {
            reply: Reply::with(rows),
            effect,
        },
        None => Answer {
            reply: Reply::refused(),
            effect: Effect::None,
        },
    }
}

/// The user whose changes a query needs; nothing for queries that need none.
#[must_use]
pub fn identity(query: &Query<'_>) -> Option<u32> {
    let needs = query.model == Model::Banking && query.command > 0;
    needs.then(|| Arguments(&query.arguments).number(0))?
}

/// Arguments by their place.
struct Arguments<'a>(&'a [Cow<'a, str>]);

impl Arguments<'_> {
    fn text(&self, place: usize) -> Option<&str> {
        self.0.get(place).map(Cow::as_ref)
    }

    /// Up to nine digits.
    fn number(&self, place: usize) -> Option<u32> {
        let text = self.text(place)?;
        let right = (1..=9).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
        right.then(|| text.parse().ok())?
    }

    /// A number from 1 to `most`.
    fn within(&self, place: usize, most: u32) -> Option<u32> {
        self.number(place)
            .filter(|number| (1..=most).contains(number))
    }

    /// Seconds since 1970, before the year 2100.
    fn time(&self, place: usize) -> Option<u64> {
        let text = self.text(place)?;
        let right =
            (1..=10).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
        right.then(|| text.parse().ok())?
    }

    /// A path of letters, digits and a few signs that does not lead upwards.
    fn path(&self, place: usize) -> Option<&str> {
        self.text(place).filter(|text| {
            let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-".contains(&byte);
            text.len() <= 128 && text.bytes().all(plain) && !text.contains("..")
        })
    }

    /// Exactly so many.
    fn count(&self, count: usize) -> Option<()> {
        (self.0.len() == count).then_some(())
    }

    /// Those after the identity.
    fn rest(&self) -> Vec<&str> {
        self.0.iter().skip(1).map(Cow::as_ref).collect()
    }

    /// What a reset answers: its arguments.
    fn echo(&self) -> Rows {
        let texts: Vec<&str> = self.0.iter().map(Cow::as_ref).collect();
        let mut rows = Rows::default();
        rows.push_line(&texts.join("&"));
        rows
    }

    /// The entry of a write of `identity`, whose arguments these are.
    fn entry(
        &self,
        state: &State,
        model: Model,
        command: u8,
        identity: u32,
        amount: Cents,
    ) -> LedgerEntry {
        let rest = self.rest();
        LedgerEntry {
            model,
            command,
            identity,
            amount,
            confirmation: confirmation(state, model, command, identity, &rest),
            arguments: rest.into_iter().map(str::to_owned).collect(),
        }
    }
}

/// A confirmation alone as the rows of a write.
fn confirmed(entry: LedgerEntry) -> (Rows, Effect) {
    let mut rows = Rows::default();
    rows.push(&[&format_args!("{:010}", entry.confirmation)]);
    (rows, Effect::Write(entry))
}

#[cfg(test)]
mod tests;
