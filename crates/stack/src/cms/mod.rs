//! A small content-management site as one server on one SQLite file.
//!
//! [`load()`] makes the database, [`Server`] answers from it the pages that
//! [`cms`](rookery_workload::cms) expects of the sites that come with Rookery, and [`count`] looks
//! at what a load left. A node is answered for once it is on the disk, so that what was
//! acknowledged survives the death of its guest.

mod count;
mod dump;
mod error;
mod html;
mod limits;
mod load;
mod rows;
mod schema;
mod server;
mod service;
mod site;
mod store;

#[cfg(test)]
mod tests;

pub use count::{Counted, count};
pub(crate) use count::{SiteNodes, counted};
pub use dump::{Written, write_dump};
pub use error::CmsError;
pub use load::{CmsLoadProgress, load};
pub(crate) use rows::{
    AccountRow, Insert, LoadedAccount, LoadedNode, NodeRow, SiteTable, SiteTables, Value,
    each_node, inserts, lines, small_tables,
};
pub use server::{CmsServeConfig, Server};
pub(crate) use service::HEALTH_PATH;
pub use service::{DATABASE_FILE, PORT, guest_args};
