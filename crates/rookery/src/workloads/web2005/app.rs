//! `rookery app web2005`: the pages of a workload, as they are served in guests and by themselves.

use std::{net::SocketAddr, path::PathBuf, time::Duration};

use clap::Args;
use rookery_stack::{
    ServerCertificate,
    web2005::{BackendAt, ExtraTime, PageServer, PageServerConfig, PlantedFault, Web2005Error},
};
use rookery_study::parse_duration;

use super::{
    args::{ProfileName, ShapeArgs, stop_signal},
    besim::{KeepingArgs, KeepingChoice},
};
use crate::{
    exit::{Code, Failure},
    output,
};

/// What can be typed.
#[derive(Debug, Args)]
pub(crate) struct AppWeb2005Args {
    #[command(flatten)]
    shape: ShapeArgs,
    /// Directory of the file set, which `rookery data web2005` makes
    #[arg(long, value_name = "DIR")]
    files: PathBuf,
    /// Address and port of the back-end [default: one in this process]
    #[arg(long, value_name = "ADDRESS", conflicts_with_all = ["ledger", "ledger_sync", "state"])]
    besim: Option<SocketAddr>,
    #[command(flatten)]
    keeping: KeepingArgs,
    /// For which browsers: those of today get compressed pages, and files that stay fresh
    #[arg(long, value_enum, default_value_t = ProfileName::Classic2005)]
    profile: ProfileName,
    /// How long after its last request a session is forgotten
    #[arg(long, value_name = "TIME", default_value = "600s", value_parser = parse_duration)]
    session_expiry: Duration,
    /// CPU time that every page burns on purpose, such as 200us: a slow-down of known size, to test
    /// measurements
    #[arg(long, value_name = "TIME", default_value = "0", value_parser = parse_duration)]
    extra_cpu: Duration,
    /// Time for which every page waits without using the CPU
    #[arg(long, value_name = "TIME", default_value = "0", value_parser = parse_duration)]
    extra_wait: Duration,
    /// Share of both, 0 to 1, in which a page has the server for itself: a serial section of known
    /// size
    #[arg(long, value_name = "SHARE", default_value_t = 0.0, value_parser = share)]
    serial_share: f64,
    /// Pages that take these times at once
    #[arg(long, value_name = "COUNT", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..))]
    processors: u16,
    /// A fault that users must find: slow=PAGE:TIME in ms, wrong=PAGE (a byte), missing=/PATH (a
    /// file), session=PAGE (it is forgotten); may be repeated
    #[arg(long, value_name = "FAULT")]
    plant: Vec<PlantedFault>,
    /// Address and port
    #[arg(long, default_value = "127.0.0.1:8080")]
    listen: SocketAddr,
    /// Address and port at which the same pages are served over TLS too
    #[arg(long, value_name = "ADDRESS")]
    tls_listen: Option<SocketAddr>,
    /// The certificate there, as a PEM file [default: one that is made for the address, which
    /// nobody signed]
    #[arg(long, value_name = "FILE", requires_all = ["tls_key", "tls_listen"])]
    tls_cert: Option<PathBuf>,
    /// Its private key, as a PEM file
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// Worker threads
    #[arg(long, default_value_t = 1)]
    workers: usize,
}

impl AppWeb2005Args {
    /// Where the pages are encrypted, and with which certificate.
    fn encrypted(&self) -> Option<(SocketAddr, ServerCertificate)> {
        let certificate = match (&self.tls_cert, &self.tls_key) {
            (Some(certificate), Some(key)) => ServerCertificate::Files {
                certificate: certificate.clone(),
                key: key.clone(),
            },
            _ => ServerCertificate::Own,
        };
        Some((self.tls_listen?, certificate))
    }
}

/// From 0 to 1.
fn share(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|share| (0.0..=1.0).contains(share))
        .ok_or_else(|| "a share is a number from 0 to 1".to_owned())
}

pub(crate) fn run(args: &AppWeb2005Args) -> Result<Code, Failure> {
    let failure = |error: Web2005Error| Failure::from_error(Code::Guest, &error);
    let KeepingChoice {
        keeping,
        ledger,
        sync,
    } = args.keeping.choice();
    let config = PageServerConfig {
        shape: args.shape.shape()?,
        files: args.files.clone(),
        backend: match args.besim {
            Some(address) => BackendAt::There(address),
            None => BackendAt::Here {
                keeping,
                ledger,
                sync,
            },
        },
        profile: args.profile.into(),
        session_expiry: args.session_expiry,
        extra: ExtraTime {
            cpu: args.extra_cpu,
            wait: args.extra_wait,
            serial_share: args.serial_share,
            processors: args.processors.into(),
        },
        faults: args.plant.clone(),
        listen: args.listen,
        encrypted: args.encrypted(),
        workers: args.workers,
    };
    let stop = stop_signal()?;
    let server = PageServer::bind(&config).map_err(failure)?;
    output::remark(format!(
        "serving http://{}/{}/ until interrupted",
        server.local_addr(),
        config.shape.model().directory()
    ));
    server.run(&stop);
    Ok(Code::Done)
}
