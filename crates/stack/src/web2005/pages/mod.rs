//! The pages and files of the three workloads.

mod arguments;
mod banking;
mod compressed;
mod ecommerce;
mod files;
mod head;
mod html;
mod planted;
mod server;
mod site;
mod support;
mod visit;

#[cfg(test)]
mod hostile;
#[cfg(test)]
mod hostile_words;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

pub use planted::{NoFault, PlantedFault};
pub use server::{BackendAt, PageServer, PageServerConfig};
