//! The DVD Store as one small application server on one SQLite file.
//!
//! [`load()`] makes the database, [`Server`] (or [`serve`]) answers the page contract of DVD Store
//! 2.1 over HTTP/1.1, [`audit`] counts what a trial has left in the database. Nothing has to be
//! installed for it.
//!
//! # The road of a request
//!
//! A worker thread parses the request, runs the short read queries right there (`reader`), and
//! renders the page. A purchase or a new customer also goes to the one writer thread (`writer`),
//! which commits all that wait for it together and answers only after the commit: an acknowledged
//! order survives `kill -9` and, with SQLite's full synchronisation, a power cut.

mod audit;
mod burn;
mod calendar;
mod connection;
mod error;
mod fields;
mod load;
mod meta;
mod money;
mod order;
mod pages;
mod reader;
mod schema;
mod search;
mod server;
mod service;
mod site;
mod writer;

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

pub use crate::{audit::OrderAudit, http_server::StopSignal};
pub use audit::audit;
pub(crate) use burn::burn;
pub(crate) use connection::{is_busy, open_reader, open_writer, settle};
pub use error::EmbeddedError;
pub(crate) use fields::Fields;
pub use load::{LoadProgress, LoadSummary, load};
pub use rookery_study::Pages;
pub use server::{ServeConfig, Server, serve};
pub use service::{DATABASE_FILE, DIRECTORY, HEALTH_PATH, PORT, guest_args, sqlite_version};
