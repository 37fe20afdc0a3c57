//! Pages and files as a server.

use std::{net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};

use rookery_workload::{
    RandomDelay,
    web2005::{
        Profile,
        besim::State,
        files::{Shape, modified_s},
    },
};

use super::{
    planted::{Faults, PlantedFault, Taking},
    site::Site,
};
use crate::{
    http_server::{HttpServer, ServerCertificate, Sessions, StopSignal},
    web2005::{
        ExtraTime, LedgerSync, StateKeeping, Web2005Error,
        backend::{Backend, Connections},
        besim::Simulator,
        fileset::has_fileset,
    },
};

/// Where the back-end of pages is.
#[derive(Clone, Debug)]
pub enum BackendAt {
    /// In the same process.
    Here {
        /// Whether it keeps what users change.
        keeping: StateKeeping,
        /// File of its ledger; none is kept without one.
        ledger: Option<PathBuf>,
        /// What an answered write survives.
        sync: LedgerSync,
    },
    /// A server of its own.
    There(SocketAddr),
}

/// What to serve and where.
#[derive(Clone, Debug)]
pub struct PageServerConfig {
    /// The file set; its workload is the one that is served.
    pub shape: Shape,
    /// Root of the file set, which must be whole.
    pub files: PathBuf,
    /// Where the back-end is.
    pub backend: BackendAt,
    /// How browsers are served: those of today get compressed pages, and files that stay fresh.
    pub profile: Profile,
    /// How long after its last request a session is forgotten.
    pub session_expiry: Duration,
    /// Time that every page takes on purpose, to plant a slow-down of known size.
    pub extra: ExtraTime,
    /// Faults that users must find.
    pub faults: Vec<PlantedFault>,
    /// Address and port; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Where it listens for encrypted connections too, and with which certificate.
    pub encrypted: Option<(SocketAddr, ServerCertificate)>,
    /// Worker threads, at least 1.
    pub workers: usize,
}

/// A server that listens already: clients may connect, and are answered once it runs.
pub struct PageServer {
    http: HttpServer,
    site: Arc<Site>,
}

impl PageServer {
    /// Looks for the file set, opens the ledger, starts the threads, and listens.
    ///
    /// # Errors
    /// When the set is not whole, the ledger cannot be opened, or the address is taken.
    pub fn bind(config: &PageServerConfig) -> Result<Self, Web2005Error> {
        let site = Arc::new(Site::open(config)?);
        let mut http = HttpServer::bind(config.listen, config.workers, "page-worker")?;
        if let Some((address, certificate)) = &config.encrypted {
            let acceptor = certificate
                .acceptor(address.ip())
                .map_err(Web2005Error::Tls)?;
            http = http.encrypted_at(*address, acceptor)?;
        }
        Ok(Self { http, site })
    }

    /// Where it listens, with the port that was taken.
    #[must_use]
    pub fn local_addr(&self) -> SocketAddr {
        self.http.local_addr()
    }

    /// Where it listens for encrypted connections.
    #[must_use]
    pub fn encrypted_addr(&self) -> Option<SocketAddr> {
        self.http.encrypted_addr()
    }

    /// Serves until `stop` is raised, and lets requests in flight finish (at most 5 s).
    pub fn run(self, stop: &StopSignal) {
        self.http.run(self.site, stop);
    }
}

impl Site {
    /// Pages and files of a configuration.
    pub(super) fn open(config: &PageServerConfig) -> Result<Self, Web2005Error> {
        let model = config.shape.model();
        let whole = has_fileset(&config.files, &config.shape);
        if !whole.unwrap_or(false) {
            return Err(Web2005Error::NoFileset {
                path: config.files.clone(),
                model: model.name(),
            });
        }
        let state = State::new(config.shape.seed(), &config.shape);
        let today = state.day();
        let backend = match &config.backend {
            BackendAt::There(address) => Backend::There(Connections::new(*address)),
            BackendAt::Here {
                keeping,
                ledger,
                sync,
            } => Backend::Here(Arc::new(Simulator::open(
                state,
                *keeping,
                RandomDelay::default(),
                ledger.as_deref().map(|path| (path, *sync)),
            )?)),
        };
        Ok(Self {
            model,
            root: config.files.clone(),
            modified_s: modified_s(config.shape.seed()),
            profile: config.profile,
            backend,
            bank_users: Sessions::new(config.session_expiry),
            customers: Sessions::new(config.session_expiry),
            today,
            taking: Arc::new(Taking::new(config.extra)),
            faults: Faults::new(config.faults.clone()),
        })
    }
}
