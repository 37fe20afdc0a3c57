//! What goes into guests: the embedded application server on SQLite, LAMP from distribution packages, and the supervisor of their services.

mod audit;
pub mod database;
pub mod dvdstore_files;
pub mod embedded;
pub mod lamp;
pub mod root;
pub mod supervise;
pub mod tuning;

pub use audit::OrderAudit;
