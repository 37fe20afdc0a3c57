//! The back-end simulator as a server.

mod ledger_file;
mod server;
mod simulator;
mod site;

pub use ledger_file::{LedgerSync, read_ledger};
pub use server::{BesimConfig, BesimServer};
pub(super) use simulator::Simulator;
pub use simulator::StateKeeping;
