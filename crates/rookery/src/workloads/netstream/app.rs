//! `rookery app netstream`: answers of any size, as they are served in guests and by itself.

use std::{net::SocketAddr, path::PathBuf};

use clap::{Args, value_parser};
use rookery_stack::{
    ServerError, StopSignal,
    netstream::{Partner, ServeConfig, Server},
};
use rookery_workload::netstream::{ConnectionUse, ExchangeSize};

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
    /// Address and port of another such server, whose answers are fetched at /fetch
    #[arg(long, value_name = "ADDRESS")]
    partner: Option<SocketAddr>,
    /// Directory of an installed iperf3, which then serves at the same address as well
    #[arg(
        long,
        value_name = "DIRECTORY",
        hide = true,
        conflicts_with = "partner"
    )]
    iperf3: Option<PathBuf>,
    /// Bytes of content of what is fetched
    #[arg(long, value_name = "N", default_value_t = 1 << 20, requires = "partner",
          value_parser = value_parser!(u32).range(1..=i64::from(ExchangeSize::MOST_ANSWER)))]
    answer_bytes: u32,
    /// Bytes by which the requests of what is fetched are longer than they must be
    #[arg(long, value_name = "N", default_value_t = 0, requires = "partner",
          value_parser = value_parser!(u32).range(..=i64::from(ExchangeSize::MOST_PAD)))]
    request_bytes: u32,
    /// Open a connection for each of them
    #[arg(long, requires = "partner")]
    new_connections: bool,
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
        partner: args.partner.map(|address| Partner {
            address,
            size: ExchangeSize {
                pad_bytes: args.request_bytes,
                answer_bytes: args.answer_bytes,
            },
            connection: if args.new_connections {
                ConnectionUse::New
            } else {
                ConnectionUse::Kept
            },
        }),
        iperf3: args.iperf3.clone(),
    })
    .map_err(failure)?;
    output::remark(format!(
        "serving http://{}/ until interrupted",
        server.local_addr()
    ));
    server.run(&stop).map_err(failure)?;
    Ok(Code::Done)
}
