//! What can be typed of the live page.

use std::{net::SocketAddr, path::PathBuf};

use clap::Args;
use rookery_live::TlsFiles;

#[derive(Debug, Args)]
pub(crate) struct LiveArgs {
    /// Where to listen; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:0")]
    pub(crate) listen: SocketAddr,
    /// The page may be served unencrypted at an address that other machines reach
    #[arg(long, conflicts_with = "tls_cert")]
    pub(crate) confirm_plain_http: bool,
    #[command(flatten)]
    pub(crate) tls: TlsArgs,
    /// The page may label and delete runs
    #[arg(long)]
    pub(crate) control: bool,
    /// Directory that holds runs; repeatable
    #[arg(
        long,
        value_name = "DIR",
        default_value = "rookery-runs",
        env = "ROOKERY_RUNS"
    )]
    pub(crate) runs: Vec<PathBuf>,
}

/// The page that shows a run while it runs.
#[derive(Debug, Args)]
pub(crate) struct LiveRunArgs {
    /// Serve a page that shows the run while it runs, at this address or at a free port of
    /// 127.0.0.1
    #[arg(
        long,
        value_name = "ADDRESS:PORT",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "127.0.0.1:0"
    )]
    pub(crate) live: Option<SocketAddr>,
    /// The page may stop the run and change its plan, and label and delete runs
    #[arg(long, requires = "live")]
    pub(crate) control: bool,
    /// The page may be served unencrypted at an address that other machines reach
    #[arg(long, requires = "live", conflicts_with = "tls_cert")]
    pub(crate) confirm_plain_http: bool,
    #[command(flatten)]
    pub(crate) tls: TlsArgs,
}

/// What a page is served encrypted with.
#[derive(Debug, Args)]
pub(crate) struct TlsArgs {
    /// Serve the page encrypted, with this certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// The key of that certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// The host name that the certificate is for: the page answers under it, too
    #[arg(long, value_name = "NAME", requires = "tls_cert")]
    tls_name: Option<String>,
}

impl TlsArgs {
    /// The files, where they were named.
    pub(crate) fn files(&self) -> Option<TlsFiles> {
        Some(TlsFiles {
            certificate: self.tls_cert.clone()?,
            key: self.tls_key.clone()?,
            name: self.tls_name.clone(),
        })
    }
}
