//! The arguments with which guests run the servers.

use std::net::SocketAddr;

use rookery_workload::web2005::{Profile, files::Shape};

use super::ExtraTime;

/// Answers with 200 while a server of pages runs.
pub(crate) const HEALTH_PATH: &str = "/health.php";

/// Says what a server of pages serves, and what its clock shows.
pub(crate) const INIT_PATH: &str = "/init.php";

/// Port of the pages within a guest.
pub const PORT: u16 = 8080;

/// Port of the pages that are encrypted within a guest.
pub const TLS_PORT: u16 = 8443;

/// Port of the back-end within a guest of its own.
pub const BESIM_PORT: u16 = 8081;

/// Directory of the file set in a template's data, which all of its guests read.
pub const FILES_DIRECTORY: &str = rookery_guest::SHARED;

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
/// has one in the same process. With `encrypted` it also listens at [`TLS_PORT`].
#[must_use]
pub fn page_args(
    shape: &Shape,
    scale: f64,
    workers: usize,
    backend: Option<SocketAddr>,
    encrypted: bool,
    profile: Profile,
    extra: ExtraTime,
) -> Vec<String> {
    let mut args = vec!["app".to_owned(), "web2005".to_owned()];
    args.extend(shape_args(shape, scale));
    args.extend(
        [
            "--files",
            "{shared}",
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
    if encrypted {
        args.extend(["--tls-listen".to_owned(), format!("{{address}}:{TLS_PORT}")]);
    }
    if profile.modern().is_some() {
        args.extend(["--profile", profile.name()].map(str::to_owned));
    }
    for (name, time) in [("--extra-cpu", extra.cpu), ("--extra-wait", extra.wait)] {
        if !time.is_zero() {
            args.extend([name.to_owned(), format!("{}us", time.as_micros())]);
        }
    }
    if extra.processors > 1 {
        args.extend(["--processors".to_owned(), extra.processors.to_string()]);
    }
    if extra.serial_share > 0.0 {
        args.extend(["--serial-share".to_owned(), extra.serial_share.to_string()]);
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
    use std::time::Duration;

    use rookery_workload::web2005::{Model, ModernBrowser};

    use super::*;

    #[test]
    fn guests_are_given_what_they_serve() {
        let shape = Shape::new(Model::Banking, 10, 0.1, 7).expect("a shape");
        let modern = Profile::Modern(ModernBrowser::default());
        let extra = ExtraTime {
            cpu: Duration::from_micros(200),
            wait: Duration::from_millis(20),
            serial_share: 0.25,
            processors: 4,
        };
        assert_eq!(
            page_args(&shape, 0.1, 2, None, true, modern, extra).join(" "),
            "app web2005 --model banking --sessions 10 --scale 0.1 --seed 7 \
             --files {shared} --listen {listen} --workers 2 --ledger {data}/ledger.txt \
             --tls-listen {address}:8443 --profile modern --extra-cpu 200us --extra-wait 20000us --processors 4 \
             --serial-share 0.25"
        );
        let backend = SocketAddr::from(([10, 77, 0, 2], BESIM_PORT));
        let args = page_args(
            &shape,
            0.1,
            1,
            Some(backend),
            false,
            Profile::default(),
            ExtraTime::default(),
        )
        .join(" ");
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
