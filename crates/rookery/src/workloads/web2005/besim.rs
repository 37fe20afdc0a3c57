//! `rookery app besim`: the back-end simulator.

use std::{net::SocketAddr, path::PathBuf, time::Duration};

use clap::{Args, ValueEnum};
use rookery_stack::web2005::{BesimConfig, BesimServer, LedgerSync, StateKeeping, Web2005Error};
use rookery_study::parse_duration;
use rookery_workload::{DelayDistribution, RandomDelay, web2005::besim::State};

use super::args::{ShapeArgs, stop_signal};
use crate::{
    exit::{Code, Failure},
    output,
};

/// What an answered write survives, as it is typed.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum SyncName {
    /// The end of the process
    Process,
    /// The end of the machine
    Disk,
}

/// What becomes of writes, as it is typed.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum StateName {
    /// They are confirmed and change nothing
    Pure,
    /// They change balances, payments and profiles
    Overlay,
}

/// What a back-end keeps.
#[derive(Debug, Args)]
pub(super) struct KeepingArgs {
    /// File of the ledger of writes; it goes on with one that exists
    #[arg(long, value_name = "FILE")]
    ledger: Option<PathBuf>,
    /// What an answered write survives
    #[arg(long, value_enum, default_value_t = SyncName::Process)]
    ledger_sync: SyncName,
    /// What becomes of writes
    #[arg(long, value_enum, default_value_t = StateName::Pure)]
    state: StateName,
}

/// What a back-end keeps, as its server takes it.
pub(super) struct KeepingChoice {
    pub(super) keeping: StateKeeping,
    pub(super) ledger: Option<PathBuf>,
    pub(super) sync: LedgerSync,
}

impl KeepingArgs {
    pub(super) fn choice(&self) -> KeepingChoice {
        KeepingChoice {
            keeping: match self.state {
                StateName::Pure => StateKeeping::Pure,
                StateName::Overlay => StateKeeping::Overlay,
            },
            ledger: self.ledger.clone(),
            sync: match self.ledger_sync {
                SyncName::Process => LedgerSync::Process,
                SyncName::Disk => LedgerSync::Disk,
            },
        }
    }
}

/// What can be typed.
#[derive(Debug, Args)]
pub(crate) struct AppBesimArgs {
    #[command(flatten)]
    shape: ShapeArgs,
    #[command(flatten)]
    keeping: KeepingArgs,
    /// Mean time that an answer takes beyond what it needs, exponentially distributed
    #[arg(long, value_name = "TIME", default_value = "0", value_parser = parse_duration)]
    delay: Duration,
    /// Address and port
    #[arg(long, default_value = "127.0.0.1:8081")]
    listen: SocketAddr,
    /// Worker threads
    #[arg(long, default_value_t = 1)]
    workers: usize,
}

pub(crate) fn run(args: &AppBesimArgs) -> Result<Code, Failure> {
    let failure = |error: Web2005Error| Failure::from_error(Code::Guest, &error);
    let shape = args.shape.shape()?;
    let KeepingChoice {
        keeping,
        ledger,
        sync,
    } = args.keeping.choice();
    let config = BesimConfig {
        state: State::new(shape.seed(), &shape),
        keeping,
        delay: RandomDelay {
            mean: args.delay,
            distribution: DelayDistribution::Exponential,
        },
        ledger,
        sync,
        listen: args.listen,
        workers: args.workers,
    };
    let stop = stop_signal()?;
    let server = BesimServer::bind(&config).map_err(failure)?;
    output::remark(format!(
        "serving http://{}/besim until interrupted",
        server.local_addr()
    ));
    server.run(&stop);
    Ok(Code::Done)
}
