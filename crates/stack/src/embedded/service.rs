//! How a guest runs this server: what the command line and the lab must agree on.

use std::time::Duration;

use super::Pages;

/// Port of the service within a guest.
pub const PORT: u16 = 8080;

/// Path that answers 200 while the service is healthy.
pub const HEALTH_PATH: &str = "/health";

/// Name of the database file in a guest's data directory.
pub const DATABASE_FILE: &str = "shop.sqlite";

/// Directory of the pages in the URL, as the original driver expects it.
pub const DIRECTORY: &str = "ds2";

/// Version of the database engine.
#[must_use]
pub fn sqlite_version() -> &'static str {
    rusqlite::version()
}

/// The arguments with which a guest runs the server.
///
/// With `extra_cpu` the server burns that much CPU time in every page, to the microsecond.
///
/// `{data}` and `{listen}` are left for the guest to replace with its data directory and its
/// address, see `GuestSpec::args`.
///
/// ```
/// use std::time::Duration;
/// use rookery_stack::embedded::{Pages, guest_args};
/// assert_eq!(
///     guest_args(2, Pages::Corrected, Duration::ZERO).join(" "),
///     "app dvdstore --database {data}/shop.sqlite --listen {listen} --workers 2 --pages corrected"
/// );
/// ```
#[must_use]
pub fn guest_args(workers: usize, behaviour: Pages, extra_cpu: Duration) -> Vec<String> {
    let mut args = [
        "app",
        "dvdstore",
        "--database",
        &format!("{{data}}/{DATABASE_FILE}"),
        "--listen",
        "{listen}",
        "--workers",
        &workers.to_string(),
        "--pages",
        &behaviour.to_string(),
    ]
    .map(str::to_owned)
    .to_vec();
    if !extra_cpu.is_zero() {
        args.extend([
            "--extra-cpu".to_owned(),
            format!("{}us", extra_cpu.as_micros()),
        ]);
    }
    args
}
