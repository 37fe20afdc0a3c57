//! The server of the netstream workload: answers of any size from one piece of memory, behind HTTP.
//!
//! It counts what it sent, and writes the counts into a file when it is asked to end, so that they
//! can be compared with what connections received.

mod counts;
mod server;

pub use counts::{Counts, read_counts};
pub use server::{ServeConfig, Server};

/// Port of the service within a guest.
pub(crate) const PORT: u16 = 8080;

/// Name of the file of counts in a guest's data directory.
pub const COUNTS_FILE: &str = "counts.txt";

/// The arguments with which a guest runs the server. `{data}` and `{listen}` are left for the guest
/// to replace with its data directory and its address.
///
/// ```
/// assert_eq!(
///     rookery_stack::netstream::guest_args(2).join(" "),
///     "app netstream --counts {data}/counts.txt --listen {listen} --workers 2"
/// );
/// ```
#[must_use]
pub fn guest_args(workers: usize) -> Vec<String> {
    [
        "app",
        "netstream",
        "--counts",
        &format!("{{data}}/{COUNTS_FILE}"),
        "--listen",
        "{listen}",
        "--workers",
        &workers.to_string(),
    ]
    .map(str::to_owned)
    .to_vec()
}
