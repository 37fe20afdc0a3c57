//! Banking, e-commerce and support: three web workloads with a file set and a simulated back-end.
//!
//! A re-creation from public facts of the workload definitions of SPECweb2005, which is retired. No
//! code of its kit is used, and no result is a SPECweb result.
//!
//! [`besim`] is the state of the back-end as functions, its wire format and its ledger; [`files`]
//! is the arithmetic of the file sets. Users, page servers and the back-end share both.

pub mod besim;
mod calendar;
pub mod files;
mod hash;
mod model;

pub use calendar::{Day, http_date, parse_http_date};
pub use model::Model;
