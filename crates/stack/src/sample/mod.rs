//! The server of the sample workload: records in one file, behind HTTP.
//!
//! A write is answered once its line is in the file and synced, so that an acknowledged record
//! survives the death of its guest. [`load()`] makes the file, [`Server`] answers from it, and
//! [`count`] looks at what a load left.

mod records;
mod server;
mod working_set;

use std::path::Path;

use rookery_workload::sample::SampleData;

use crate::http_server::ServerError;

pub use records::{Counted, count, load};
pub use server::{ServeConfig, Server};

/// Port of the service within a guest.
pub(crate) const PORT: u16 = 8080;

/// Name of the file in a guest's data directory.
pub const RECORDS_FILE: &str = "records.txt";

/// The arguments with which a guest runs the server. `{data}` and `{listen}` are left for the guest
/// to replace with its data directory and its address.
///
/// ```
/// assert_eq!(
///     rookery_stack::sample::guest_args(2, 0).join(" "),
///     "app sample --records {data}/records.txt --listen {listen} --workers 2"
/// );
/// assert!(
///     rookery_stack::sample::guest_args(2, 64).join(" ").ends_with("--working-set-mib 64")
/// );
/// ```
#[must_use]
pub fn guest_args(workers: usize, working_set_mib: u64) -> Vec<String> {
    let mut args = [
        "app",
        "sample",
        "--records",
        &format!("{{data}}/{RECORDS_FILE}"),
        "--listen",
        "{listen}",
        "--workers",
        &workers.to_string(),
    ]
    .map(str::to_owned)
    .to_vec();
    if working_set_mib > 0 {
        args.push("--working-set-mib".to_owned());
        args.push(working_set_mib.to_string());
    }
    args
}

/// What a guest's data directory holds beyond the loaded records.
///
/// # Errors
/// When the file cannot be read.
pub(crate) fn count_in(directory: &Path, data: SampleData) -> Result<Counted, ServerError> {
    count(&directory.join(RECORDS_FILE), data)
}
