//! The pages as a server.

use std::{net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};

use super::{CmsError, limits::LoginLimits, schema, site::Site, store::Store};
use crate::{
    embedded::open_reader,
    http_server::{HttpServer, Sessions, StopSignal},
};

/// How long after its last request a session is forgotten.
const SESSION_EXPIRY: Duration = Duration::from_secs(3600);

/// What to serve and where.
#[derive(Clone, Debug)]
pub struct CmsServeConfig {
    /// The database that [`load()`](super::load()) made.
    pub database: PathBuf,
    /// CPU time that every page burns on purpose, to plant a slow-down of known size; zero for
    /// none.
    pub extra_cpu: Duration,
    /// Logins are refused where too many have failed, as in Drupal 7.
    pub login_limits: bool,
    /// Address and port; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Worker threads, at least 1.
    pub workers: usize,
}

/// A server that listens already: clients may connect, and are answered once it runs.
pub struct Server {
    http: HttpServer,
    site: Arc<Site>,
}

impl Server {
    /// Opens the database, starts the threads, and listens.
    ///
    /// # Errors
    /// When the database is missing or another, or the address is taken.
    pub fn bind(config: &CmsServeConfig) -> Result<Self, CmsError> {
        Ok(Self {
            site: Arc::new(Site::open(config)?),
            http: HttpServer::bind(config.listen, config.workers, "cms-worker")?,
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

impl Site {
    /// The site of a configuration.
    pub(super) fn open(config: &CmsServeConfig) -> Result<Self, CmsError> {
        let database = &config.database;
        if !database.exists() {
            return Err(CmsError::Missing(database.clone()));
        }
        let opened = CmsError::database(database, "opening the database");
        let connection = open_reader(database).map_err(opened)?;
        schema::described(&connection, database)?;
        let opened = CmsError::database(database, "opening the database");
        Ok(Self {
            store: Store::open(database, config.workers.max(1)).map_err(opened)?,
            sessions: Sessions::new(SESSION_EXPIRY),
            limits: LoginLimits::new(config.login_limits),
            extra_cpu: config.extra_cpu,
        })
    }
}
