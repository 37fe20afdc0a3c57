//! `rookery app sample`: records in a file, as they are served in guests and by itself.

use std::{net::SocketAddr, path::PathBuf};

use clap::Args;
use rookery_stack::{
    ServerError, StopSignal,
    sample::{ServeConfig, Server, load},
};
use rookery_workload::sample::SampleData;

use crate::{
    exit::{Code, Failure},
    output,
};

/// What can be typed.
#[derive(Debug, Args)]
pub(crate) struct AppSampleArgs {
    /// File of the records
    #[arg(long, value_name = "FILE")]
    records: PathBuf,
    /// Make so many records first if the file does not exist
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    count: Option<u32>,
    /// Length of each of them in bytes
    #[arg(long, value_name = "BYTES", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=1024))]
    record_bytes: u32,
    /// Address and port
    #[arg(long, default_value = "127.0.0.1:8080")]
    listen: SocketAddr,
    /// Worker threads
    #[arg(long, default_value_t = 1)]
    workers: usize,
    /// Memory that requests touch in turn, a 64th each, in MiB
    #[arg(long, value_name = "MIB", default_value_t = 0, value_parser = clap::value_parser!(u64).range(..=MOST_MEMORY_MIB))]
    working_set_mib: u64,
}

/// More memory is not asked for: 1 TiB.
const MOST_MEMORY_MIB: u64 = 1 << 20;

pub(crate) fn run(args: &AppSampleArgs) -> Result<Code, Failure> {
    let failure = |error: ServerError| Failure::from_error(Code::Guest, &error);
    if let Some(records) = args.count
        && !args.records.exists()
    {
        let data = SampleData {
            records,
            record_bytes: args.record_bytes,
        };
        load(&args.records, data).map_err(failure)?;
    }
    let stop = StopSignal::on_termination().map_err(|error| {
        Failure::new(
            Code::Internal,
            format!("cannot listen for signals: {error}"),
        )
    })?;
    let server = Server::bind(&ServeConfig {
        records: args.records.clone(),
        listen: args.listen,
        workers: args.workers,
        working_set_mib: args.working_set_mib,
    })
    .map_err(failure)?;
    output::remark(format!(
        "serving http://{}/ until interrupted",
        server.local_addr()
    ));
    server.run(&stop);
    Ok(Code::Done)
}
