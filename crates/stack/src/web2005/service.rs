//! The arguments with which guests run the servers.

use std::{net::SocketAddr, time::Duration};

use rookery_workload::web2005::files::Shape;

/// Answers with 200 while a server of pages runs.
pub(crate) const HEALTH_PATH: &str = "/health.php";

/// Says what a server of pages serves, and what its clock shows.
pub(crate) const INIT_PATH: &str = "/init.php";

/// Port of the pages within a guest.
pub const PORT: u16 = 8080;

/// Port of the back-end within a guest of its own.
pub const BESIM_PORT: u16 = 8081;

/// Directory of the file set in a guest's data directory.
pub const FILES_DIRECTORY: &str = "files";

/// File of the ledger in a guest's data directory.
pub const LEDGER_FILE: &str = "ledger.txt";

/// The shape of a file set as arguments.
fn shape_args(shape: &Shape, scale: f64) -> Vec<String> {
    [
        "--model",
        shape.model().name(),
        "--sessions",
        &shape.sessions().to_string(),
        "--scale",
        &scale.to_string(),
        "--seed",
        &shape.seed().to_string(),
    ]
    .map(str::to_owned)
    .to_vec()
}

/// The arguments of a guest that serves pages. `{data}` and `{listen}` are left for the guest to
/// replace with its data directory and its address. Without the address of a back-end the guest
/// has one in the same process.
#[must_use]
pub fn page_args(
    shape: &Shape,
    scale: f64,
    workers: usize,
    backend: Option<SocketAddr>,
    extra_cpu: Duration,
    serial_share: f64,
) -> Vec<String> {
    let mut args = vec!["app".to_owned(), "web2005".to_owned()];
    args.extend(shape_args(shape, scale));
    args.extend(
        [
            "--files",
            &format!("{{data}}/{FILES_DIRECTORY}"),
            "--listen",
            "{listen}",
            "--workers",
            &workers.to_string(),
        ]
        .map(str::to_owned),
    );
    match backend {
        Some(address) => args.extend(["--besim".to_owned(), address.to_string()]),
        None => args.extend(["--ledger".to_owned(), format!("{{data}}/{LEDGER_FILE}")]),
    }
    if !extra_cpu.is_zero() {
        let extra_us = extra_cpu.as_micros();
        args.extend(["--extra-cpu".to_owned(), format!("{extra_us}us")]);
        args.extend(["--serial-share".to_owned(), serial_share.to_string()]);
    }
    args
}

/// The arguments of a back-end that listens on an address, `{listen}` where it has a guest of its
/// own.
#[must_use]
pub fn besim_args(shape: &Shape, scale: f64, listen: &str, workers: usize) -> Vec<String> {
    let mut args = vec!["app".to_owned(), "besim".to_owned()];
    args.extend(shape_args(shape, scale));
    args.extend(
        [
            "--ledger",
            &format!("{{data}}/{LEDGER_FILE}"),
            "--listen",
            listen,
            "--workers",
            &workers.to_string(),
        ]
        .map(str::to_owned),
    );
    args
}

#[cfg(test)]
mod tests {
    use rookery_workload::web2005::Model;

    use super::*;

    #[test]
    fn guests_are_given_what_they_serve() {
        let shape = Shape::new(Model::Banking, 10, 0.1, 7).expect("a shape");
        let burning = Duration::from_micros(200);
        assert_eq!(
            page_args(&shape, 0.1, 2, None, burning, 0.25).join(" "),
            "app web2005 --model banking --sessions 10 --scale 0.1 --seed 7 \
             --files {data}/files --listen {listen} --workers 2 --ledger {data}/ledger.txt \
             --extra-cpu 200us --serial-share 0.25"
        );
        let backend = SocketAddr::from(([10, 77, 0, 2], BESIM_PORT));
        let args = page_args(&shape, 0.1, 1, Some(backend), Duration::ZERO, 0.0).join(" ");
        assert!(
            args.ends_with("--workers 1 --besim 10.77.0.2:8081"),
            "{args}"
        );
        assert_eq!(
            besim_args(&shape, 0.1, "{listen}", 1).join(" "),
            "app besim --model banking --sessions 10 --scale 0.1 --seed 7 \
             --ledger {data}/ledger.txt --listen {listen} --workers 1"
        );
    }
}
