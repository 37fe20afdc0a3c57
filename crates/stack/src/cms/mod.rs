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
mod schema;
mod server;
mod service;
mod site;
mod store;

#[cfg(test)]
mod tests;

pub(crate) use count::counted;
pub use count::{Counted, count};
pub(crate) use dump::{Insert, account_inserts, account_lines, node_inserts, node_lines};
pub use dump::{Written, write_dump};
pub use error::CmsError;
pub use load::{CmsLoadProgress, load};
pub use server::{CmsServeConfig, Server};
pub use service::{DATABASE_FILE, PORT, guest_args};
pub(crate) use service::{FRONT_PATH, HEALTH_PATH};
