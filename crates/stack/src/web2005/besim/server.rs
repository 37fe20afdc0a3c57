//! The back-end as a server of its own.

use std::{net::SocketAddr, path::PathBuf, sync::Arc};

use rookery_workload::{RandomDelay, web2005::besim::State};

use super::{
    super::error::Web2005Error,
    ledger_file::LedgerSync,
    simulator::{Simulator, StateKeeping},
    site::BesimSite,
};
use crate::http_server::{HttpServer, StopSignal};

/// What to serve and where.
#[derive(Clone, Debug)]
pub struct BesimConfig {
    /// State that the back-end begins with.
    pub state: State,
    /// Whether it keeps what users change.
    pub keeping: StateKeeping,
    /// How long it takes for an answer; nothing on average for as long as it needs.
    pub delay: RandomDelay,
    /// File of the ledger; none is kept without one.
    pub ledger: Option<PathBuf>,
    /// What an answered write survives.
    pub sync: LedgerSync,
    /// Address and port; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Worker threads, at least 1.
    pub workers: usize,
}

/// A back-end that listens already: clients may connect, and are answered once it runs.
pub struct BesimServer {
    http: HttpServer,
    site: Arc<BesimSite>,
}

impl BesimServer {
    /// Opens the ledger, starts the threads, and listens.
    ///
    /// # Errors
    /// When the ledger cannot be opened, or the address is taken.
    pub fn bind(config: &BesimConfig) -> Result<Self, Web2005Error> {
        let ledger = config.ledger.as_deref().map(|path| (path, config.sync));
        let simulator =
            Simulator::open(config.state.clone(), config.keeping, config.delay, ledger)?;
        Ok(Self {
            http: HttpServer::bind(config.listen, config.workers, "besim-worker")?,
            site: Arc::new(BesimSite {
                simulator: Arc::new(simulator),
            }),
        })
    }

    /// Where it listens, with the port that was taken.
    #[must_use]
    pub fn local_addr(&self) -> SocketAddr {
        self.http.local_addr()
    }

    /// Serves until `stop` is raised, and lets requests in flight finish (at most 5 s).
    pub fn run(self, stop: &StopSignal) {
        self.http.run(self.site, stop);
    }
}
