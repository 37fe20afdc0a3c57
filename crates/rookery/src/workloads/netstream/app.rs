//! `rookery app netstream`: answers of any size, as they are served in guests and by itself.

use std::{net::SocketAddr, path::PathBuf};

use clap::Args;
use rookery_stack::{
    ServerError, StopSignal,
    netstream::{ServeConfig, Server},
};

use crate::{
    exit::{Code, Failure},
    output,
};

/// What can be typed.
#[derive(Debug, Args)]
pub(crate) struct AppNetstreamArgs {
    /// File that gets the counts of what was sent, at the end
    #[arg(long, value_name = "FILE")]
    counts: PathBuf,
    /// Address and port
    #[arg(long, default_value = "127.0.0.1:8080")]
    listen: SocketAddr,
    /// Worker threads
    #[arg(long, default_value_t = 1)]
    workers: usize,
}

pub(crate) fn run(args: &AppNetstreamArgs) -> Result<Code, Failure> {
    let failure = |error: ServerError| Failure::from_error(Code::Guest, &error);
    let stop = StopSignal::on_termination().map_err(|error| {
        Failure::new(
            Code::Internal,
            format!("cannot listen for signals: {error}"),
        )
    })?;
    let server = Server::bind(&ServeConfig {
        counts: args.counts.clone(),
        listen: args.listen,
        workers: args.workers,
    })
    .map_err(failure)?;
    output::remark(format!(
        "serving http://{}/ until interrupted",
        server.local_addr()
    ));
    server.run(&stop).map_err(failure)?;
    Ok(Code::Done)
}
