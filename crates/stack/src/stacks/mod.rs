//! The stacks: how each is built, prepared, asked and audited.

mod database;
mod embedded;
mod lamp;
mod sample;
mod sqlite;

pub(crate) use database::DatabaseStack;
pub(crate) use embedded::EmbeddedStack;
pub(crate) use lamp::LampStack;
pub(crate) use sample::open_sample;
pub(crate) use sqlite::SqliteStack;
