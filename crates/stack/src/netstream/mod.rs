//! The server of the netstream workload: answers of any size from one piece of memory, behind HTTP.
//!
//! Each connection has a thread of its own, which waits in the kernel for its client: an exchange
//! costs what its calls of the kernel cost (docs/adr/0031-netstream-without-a-runtime.md).
//!
//! It counts what it sent, and writes the counts into a file when it is asked to end, so that they
//! can be compared with what connections received.

mod answer;
mod connection;
mod counts;
mod fetch;
mod iperf3;
mod listening;
mod request;
mod server;
mod site;

use rookery_workload::netstream::ConnectionUse;

pub use counts::{Counts, read_counts};
pub use fetch::Partner;
pub use request::{MOST_HEAD, Refused, Request, Wanted, read_request};
pub use server::{ServeConfig, Server};

/// Port of the service within a guest.
pub(crate) const PORT: u16 = 8080;

/// Name of the file of counts in a guest's data directory.
pub const COUNTS_FILE: &str = "counts.txt";

/// Name of the directory of iperf3 in a guest's data directory, where it is to serve as well.
pub(crate) const IPERF3_DIRECTORY: &str = "iperf3";

/// The arguments with which a guest runs the server, alone or as the client of a partner. `{data}`
/// and `{listen}` are left for the guest to replace with its data directory and its address.
///
/// ```
/// assert_eq!(
///     rookery_stack::netstream::guest_args(None).join(" "),
///     "app netstream --counts {data}/counts.txt --listen {listen}"
/// );
/// ```
#[must_use]
pub fn guest_args(partner: Option<&Partner>) -> Vec<String> {
    let mut args: Vec<String> = [
        "app",
        "netstream",
        "--counts",
        &format!("{{data}}/{COUNTS_FILE}"),
        "--listen",
        "{listen}",
    ]
    .map(str::to_owned)
    .to_vec();
    if let Some(partner) = partner {
        for (name, value) in [
            ("--partner", partner.address.to_string()),
            ("--answer-bytes", partner.size.answer_bytes.to_string()),
            ("--request-bytes", partner.size.pad_bytes.to_string()),
        ] {
            args.extend([name.to_owned(), value]);
        }
        if partner.connection == ConnectionUse::New {
            args.push("--new-connections".to_owned());
        }
    }
    args
}
