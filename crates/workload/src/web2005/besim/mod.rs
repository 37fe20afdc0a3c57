//! The back-end simulator: its state as pure functions, its wire format, its commands, its ledger.
//!
//! A [`State`] is a seed and the arguments of a reset; every value follows from it ([`banking`],
//! [`ecommerce`], [`support`]), so that a simulator needs no tables and users can compute what they
//! must be shown. [`answer`] maps a [`Query`] to a [`Reply`]; what it writes goes to the
//! [`ledger`]. Nothing here panics on any input, and everything is bounded.

pub mod banking;
mod changes;
mod command;
pub mod ecommerce;
pub mod ledger;
mod mark;
mod money;
mod person;
mod state;
pub mod support;
mod wire;
mod words;

pub use changes::UserChanges;
pub use command::{Answer, Effect, answer, identity};
pub use mark::{Mark, MarkFault, encode_field};
pub use money::Cents;
pub use person::Person;
pub use state::{
    BankingReset, EcommerceReset, RESET_TIME_S, State, SupportReset, confirmation, md5_hex,
};
pub use wire::{
    BESIM_PATH, MAX_ARGUMENT_BYTES, MAX_ARGUMENTS, Query, QueryFault, Reply, ReplyFault, Row, Rows,
    percent_decode,
};
