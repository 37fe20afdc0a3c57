//! The stacks: how each is built, prepared, asked and audited.

mod cms;
mod database;
mod embedded;
mod lamp;
mod netstream;
mod sample;
mod sqlite;
mod web2005;

pub(crate) use cms::{CmsLampStack, CmsStack};
pub(crate) use database::DatabaseStack;
pub(crate) use embedded::EmbeddedStack;
pub(crate) use lamp::LampStack;
pub(crate) use netstream::open_netstream;
pub(crate) use sample::open_sample;
pub(crate) use sqlite::SqliteStack;
pub(crate) use web2005::{WebLampStack, WebStack};
