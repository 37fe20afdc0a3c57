//! `rookery app orderentry`: SQLite behind a small server, as it runs in guests and by itself.

use std::{net::SocketAddr, path::PathBuf};

use clap::Args;
use rookery_oltp::sqlite::{DEFAULT_CACHE_KIB, Durability, ServeConfig, ServeError, Server};

use crate::{
    exit::{Code, Failure},
    output, signals,
};

/// What can be typed.
#[derive(Debug, Args)]
pub(crate) struct AppOrderentryArgs {
    /// Directory that holds the database, or will hold it after `rookery load orderentry`
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// Address and port
    #[arg(long, default_value = "127.0.0.1:5655")]
    listen: SocketAddr,
    /// Page cache of each session in KiB
    #[arg(long, value_name = "KIB", default_value_t = DEFAULT_CACHE_KIB, value_parser = clap::value_parser!(u32).range(64..=1 << 30))]
    cache: u32,
    /// `full` syncs every commit; `relaxed` syncs at checkpoints, so that a power cut may undo the
    /// last commits
    #[arg(long, value_name = "LEVEL", default_value = "full")]
    durability: Durability,
    /// Sessions at most
    #[arg(long, value_name = "COUNT", default_value_t = 1024, value_parser = clap::value_parser!(u16).range(1..))]
    sessions: u16,
}

pub(crate) fn run(args: &AppOrderentryArgs) -> Result<Code, Failure> {
    let config = ServeConfig {
        directory: args.data.clone(),
        listen: Some(args.listen),
        cache_kib: args.cache,
        durability: args.durability,
        max_sessions: args.sessions.into(),
    };
    let failure = |error: ServeError| Failure::from_error(Code::Guest, &error);
    let stop = signals::stop_flag()?;
    let server = Server::bind(&config).map_err(failure)?;
    let address = server.local_addr().unwrap_or(args.listen);
    output::remark(format!(
        "serving sqlite+oe://{address}/ and {} until interrupted",
        server.socket().display()
    ));
    server.run(&stop).map_err(failure)?;
    Ok(Code::Done)
}
