//! MariaDB and PostgreSQL as guests for order entry: the distribution's server alone, with a data
//! directory of its own.
//!
//! [`Software`] finds the programs, [`builder`] and [`guest`] say what a guest runs, [`Server`]
//! talks to a living one over its socket. The server listens on TCP at the guest's address for the
//! terminals, which come as [`USER`] into [`DATABASE`] without a password: in a lab nobody else is
//! within reach, and in bare guests only who is logged in on this host.

mod config;
mod counters;
mod effective;
mod engine;
mod error;
mod roles;
mod server;
mod settle;
mod software;
mod warm;

pub use config::{builder, guest, loading};
pub use counters::{BufferCounters, PoolChange, counters, pool_line, set_pool};
pub use effective::{Readings, compare, read_back, relaxed_settings};
pub use engine::EngineFacts;
pub use error::DatabaseError;
pub use roles::{moved, role_settings};
pub use rookery_study::Engine;
pub use server::{Account, Server};
pub use settle::{prepare, settle};
pub use software::Software;
pub use warm::{cool, take, warm};

/// The account of terminals and of the load. It owns [`DATABASE`] and nothing else.
pub const USER: &str = "oe";
/// The database of the workload.
pub const DATABASE: &str = "orderentry";

/// PostgreSQL's administrator, over the socket alone.
const SUPERUSER: &str = "rookery";
