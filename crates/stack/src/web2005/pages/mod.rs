//! The pages and files of the three workloads.

mod arguments;
mod banking;
mod ecommerce;
mod files;
mod head;
mod html;
mod server;
mod site;
mod support;
mod visit;

#[cfg(test)]
mod hostile;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

pub use server::{BackendAt, PageServer, PageServerConfig};
