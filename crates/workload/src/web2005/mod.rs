//! Banking, e-commerce and support: three web workloads with a file set and a simulated back-end.
//!
//! A re-creation from public facts of the workload definitions of SPECweb2005, which is retired. No
//! code of its kit is used, and no result is a SPECweb result.
//!
//! A user is a [`WebWalk`] over the pages of its [`Model`], and a [`WebUser`] that draws the
//! arguments of each [`PageRequest`]. What it counts is [`Web2005Counters`]. [`besim`] is the state
//! of the back-end as functions, its wire format and its ledger; [`files`] is the arithmetic of the
//! file sets. Users, page servers and the back-end share both.

mod answer;
mod bands;
pub mod besim;
mod calendar;
mod catalogue;
mod chain;
mod counters;
mod criteria;
mod dataset;
pub mod files;
mod hash;
mod info;
mod model;
mod page_count;
mod page_type;
mod pages;
mod popularity;
mod profile;
mod request;
mod rules;
mod table;
mod user;
mod walk;

pub use answer::{FileCheck, WebFault, check_page};
pub use bands::{Band, Bands, FIRST_BYTE_US, RATE_BYTES_PER_S};
pub use besim::ledger;
pub use calendar::{Day, http_date, parse_http_date};
pub use catalogue::web_index;
pub use chain::Chain;
pub use counters::Web2005Counters;
pub use criteria::Criterion;
pub use dataset::{WebData, WebDataset};
pub use info::{BANKING, ECOMMERCE, PAGE, SUPPORT};
pub use model::Model;
pub use page_count::{Delivered, PageCount, PageOutcome};
pub use page_type::{ChainState, PageKind, PageType, ProductImages};
pub use popularity::Popularity;
pub use profile::{ModernBrowser, Profile};
pub use request::{Expected, PageRequest};
pub use rules::{Rules, Scope};
pub use table::{PageRow, PageTable};
pub use user::WebUser;
pub use walk::{Arrival, Onward, WebThink, WebWalk};
