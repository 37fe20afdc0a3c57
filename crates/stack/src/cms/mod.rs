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
pub use dump::{Written, write_dump};
pub(crate) use dump::{account_lines, node_lines};
pub use error::CmsError;
pub use load::{CmsLoadProgress, load};
pub use server::{CmsServeConfig, Server};
pub use service::{DATABASE_FILE, PORT, guest_args};
pub(crate) use service::{FRONT_PATH, HEALTH_PATH};
