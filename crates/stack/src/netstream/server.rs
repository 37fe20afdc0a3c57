//! The server as a process runs it: begun, asked to stop, its counts written.

use std::{net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};

use super::{
    Partner, connection::converse, iperf3::Iperf3Server, listening::Listening, site::ExchangeSite,
};
use crate::http_server::{ServerError, StopSignal, raise_file_limit};

/// How long requests in flight may take after the server was asked to stop.
const STOP_PATIENCE: Duration = Duration::from_secs(5);
/// Most threads: some 50 KiB of memory each while they serve.
const MOST_THREADS: usize = 8_192;
/// Files of a connection: its own, and that to the partner.
const FILES_EACH: u32 = 2;
/// Files that are not connections.
const OTHER_FILES: u64 = 64;

/// What to serve and where.
#[derive(Clone, Debug)]
pub struct ServeConfig {
    /// Where the counts go at the end.
    pub counts: PathBuf,
    /// Address and port; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Another guest, whose answers it fetches when it is asked to.
    pub partner: Option<Partner>,
    /// Where iperf3 is installed, which then serves at the same address as well.
    pub iperf3: Option<PathBuf>,
}

/// A server that listens already: clients may connect, and are answered once it runs.
pub struct Server {
    listening: Arc<Listening>,
    address: SocketAddr,
    site: Arc<ExchangeSite>,
    counts: PathBuf,
    iperf3: Option<Iperf3Server>,
}

impl Server {
    /// Listen.
    ///
    /// # Errors
    /// When the address is taken, or iperf3 does not serve.
    pub fn bind(config: &ServeConfig) -> Result<Self, ServerError> {
        let connections = raise_file_limit(OTHER_FILES) / FILES_EACH;
        let most_threads = MOST_THREADS.min(connections as usize);
        let address = config.listen;
        // First: whoever is answered that this server is healthy finds the other one as well.
        let iperf3 = config.iperf3.as_deref().map(|directory| {
            Iperf3Server::start(directory, address.ip()).map_err(ServerError::of_iperf3)
        });
        let refused = |source| ServerError::Listen { address, source };
        let listening = Listening::bind(address, most_threads).map_err(refused)?;
        Ok(Self {
            address: listening.address().map_err(refused)?,
            listening: Arc::new(listening),
            site: Arc::new(ExchangeSite::new(config.partner.clone())),
            counts: config.counts.clone(),
            iperf3: iperf3.transpose()?,
        })
    }

    /// Where it listens, with the port that was taken.
    #[must_use]
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// Serve until `stop` is raised, let requests in flight finish (at most 5 s), and write the
    /// counts.
    ///
    /// # Errors
    /// When no thread can be started, iperf3 ends, or the counts cannot be written.
    pub fn run(self, stop: &StopSignal) -> Result<(), ServerError> {
        let site = Arc::clone(&self.site);
        self.listening
            .begin(move |stream, stopping| {
                // A broken connection is its client's matter.
                let _ = converse(stream, &site, stopping);
            })
            .map_err(ServerError::Workers)?;
        let by_iperf3 = match self.iperf3 {
            None => {
                stop.wait();
                0
            }
            Some(iperf3) => iperf3.run(stop).map_err(ServerError::of_iperf3)?,
        };
        self.listening.stop(STOP_PATIENCE);
        let mut counts = self.site.counts();
        counts.bytes += by_iperf3;
        counts.write(&self.counts)
    }
}

#[cfg(test)]
mod tests;
