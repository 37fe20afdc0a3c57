//! The servers of banking, e-commerce and support: file sets on disk, the back-end simulator, and
//! the pages.
//!
//! [`write_fileset`] makes a file set, [`BesimServer`] is the back-end, and [`PageServer`] serves
//! pages and files in front of one, in the same process or over persistent connections. The pure
//! part (state, wire format, names and bytes of files) is
//! [`web2005`](rookery_workload::web2005) of the workloads.

mod backend;
mod besim;
mod error;
mod extra_time;
mod fileset;
mod pages;
mod service;

pub use besim::{BesimConfig, BesimServer, LedgerSync, StateKeeping, read_ledger};
pub use error::Web2005Error;
pub use extra_time::ExtraTime;
pub use fileset::{
    FilesetError, FilesetOptions, FilesetProgress, Manifest, WrittenFileset, has_fileset,
    manifest_name, write_fileset,
};
pub use pages::{BackendAt, NoFault, PageServer, PageServerConfig, PlantedFault};
pub use service::{
    BESIM_PORT, FILES_DIRECTORY, LEDGER_FILE, PORT, TLS_PORT, besim_args, page_args,
};
pub(crate) use service::{HEALTH_PATH, INIT_PATH};
