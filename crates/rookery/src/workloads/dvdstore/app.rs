//! `rookery app dvdstore`: the embedded stack, as it runs in guests and by itself.

use std::{net::SocketAddr, ops::ControlFlow, path::PathBuf, time::Duration};

use clap::Args;
use rookery_stack::embedded::{self, EmbeddedError, Pages, ServeConfig, Server, StopSignal};
use rookery_study::Named;
use rookery_workload::dvdstore::{ParseSizeError, Size};

use super::words::{self, WordArgs};
use crate::{
    exit::{Code, Failure},
    one_of::one_of,
    output,
};

#[derive(Debug, Args)]
pub(crate) struct AppDvdstoreArgs {
    /// Database file
    #[arg(long, value_name = "FILE")]
    database: PathBuf,
    /// Load a database of this size first if the file does not exist
    #[arg(long, value_name = "SIZE")]
    size: Option<String>,
    /// Address and port
    #[arg(long, default_value = "127.0.0.1:8080")]
    listen: SocketAddr,
    /// Worker threads
    #[arg(long, default_value_t = 1)]
    workers: usize,
    /// Corrected or faithful pages
    #[arg(long, value_parser = one_of(Pages::NAMES), default_value = "corrected")]
    pages: Pages,
    /// CPU time that every page burns on purpose, such as 200us: a slow-down of known size, to test
    /// measurements
    #[arg(long, value_name = "TIME", default_value = "0", value_parser = rookery_study::parse_duration)]
    extra_cpu: Duration,
    /// Directory of the pages in URLs
    #[arg(long, default_value = "ds2")]
    directory: String,
    #[command(flatten)]
    words: WordArgs,
}

pub(crate) fn run(args: &AppDvdstoreArgs) -> Result<Code, Failure> {
    if let Some(size) = &args.size
        && !args.database.exists()
    {
        let size: Size = size
            .parse()
            .map_err(|error: ParseSizeError| Failure::from_error(Code::Usage, &error))?;
        output::remark(format!(
            "loading a {size} database into {}",
            args.database.display()
        ));
        let words = words::lists(&args.words)?;
        embedded::load(&args.database, size, &words, &|_| ControlFlow::Continue(()))
            .map_err(|error| Failure::from_error(Code::Guest, &error))?;
    }
    let config = ServeConfig {
        database: args.database.clone(),
        listen: args.listen,
        workers: args.workers,
        behaviour: args.pages,
        extra_cpu: args.extra_cpu,
        directory: args.directory.clone(),
    };
    let failure = |error: EmbeddedError| Failure::from_error(Code::Guest, &error);
    let stop = StopSignal::on_termination().map_err(|error| {
        Failure::new(
            Code::Internal,
            format!("cannot listen for signals: {error}"),
        )
    })?;
    let server = Server::bind(&config).map_err(failure)?;
    output::remark(format!(
        "serving http://{}/{}/index.html until interrupted",
        server.local_addr(),
        args.directory
    ));
    server.run(&stop).map_err(failure)?;
    Ok(Code::Done)
}
