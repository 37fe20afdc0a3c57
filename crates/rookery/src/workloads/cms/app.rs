//! `rookery app cms`: the pages from one SQLite file, as they are served in guests and by
//! themselves.

use std::{net::SocketAddr, ops::ControlFlow, path::PathBuf, time::Duration};

use clap::Args;
use rookery_stack::{
    StopSignal,
    cms::{CmsError, CmsServeConfig, Server, load},
};
use rookery_study::parse_duration;

use super::args::DataArgs;
use crate::{
    exit::{Code, Failure},
    output,
};

/// What can be typed.
#[derive(Debug, Args)]
pub(crate) struct AppCmsArgs {
    /// File of the database
    #[arg(long, value_name = "FILE")]
    database: PathBuf,
    /// Make the database first if the file does not exist
    #[arg(long)]
    make: bool,
    #[command(flatten)]
    data: DataArgs,
    /// CPU time that every page burns on purpose, such as 200us: a slow-down of known size, to test
    /// measurements
    #[arg(long, value_name = "TIME", default_value = "0", value_parser = parse_duration)]
    extra_cpu: Duration,
    /// Refuse logins when five of an account have failed within six hours, or fifty of all within
    /// an hour, as Drupal 7 does
    #[arg(long)]
    login_limits: bool,
    /// Address and port
    #[arg(long, default_value = "127.0.0.1:8080")]
    listen: SocketAddr,
    /// Worker threads
    #[arg(long, default_value_t = 1)]
    workers: usize,
}

pub(crate) fn run(args: &AppCmsArgs) -> Result<Code, Failure> {
    let failure = |error: CmsError| Failure::from_error(Code::Guest, &error);
    if args.make && !args.database.exists() {
        load(&args.database, &args.data.data(), &|_| {
            ControlFlow::Continue(())
        })
        .map_err(failure)?;
    }
    let stop = StopSignal::on_termination().map_err(|error| {
        Failure::new(
            Code::Internal,
            format!("cannot listen for signals: {error}"),
        )
    })?;
    let server = Server::bind(&CmsServeConfig {
        database: args.database.clone(),
        extra_cpu: args.extra_cpu,
        login_limits: args.login_limits,
        listen: args.listen,
        workers: args.workers,
    })
    .map_err(failure)?;
    output::remark(format!(
        "serving http://{}/cms/index.php until interrupted",
        server.local_addr()
    ));
    server.run(&stop);
    Ok(Code::Done)
}
