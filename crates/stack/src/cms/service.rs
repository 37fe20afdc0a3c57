//! The arguments with which guests run the server.

use std::time::Duration;

/// Answers with 200 while the server runs.
pub(crate) const HEALTH_PATH: &str = "/health";

/// The front page.
pub(crate) const FRONT_PATH: &str = "/cms/index.php";

/// Port of the pages within a guest.
pub const PORT: u16 = 8080;

/// Name of the database in a guest's data directory.
pub const DATABASE_FILE: &str = "cms.sqlite";

/// The arguments of a guest. `{data}` and `{listen}` are left for the guest to replace with its
/// data directory and its address.
///
/// ```
/// use std::time::Duration;
/// assert_eq!(
///     rookery_stack::cms::guest_args(2, Duration::ZERO).join(" "),
///     "app cms --database {data}/cms.sqlite --listen {listen} --workers 2"
/// );
/// ```
#[must_use]
pub fn guest_args(workers: usize, extra_cpu: Duration) -> Vec<String> {
    let mut args = [
        "app",
        "cms",
        "--database",
        &format!("{{data}}/{DATABASE_FILE}"),
        "--listen",
        "{listen}",
        "--workers",
        &workers.to_string(),
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
