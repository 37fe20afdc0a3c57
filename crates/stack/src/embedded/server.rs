//! The server of the embedded stack: its database, its writer, its pages.

use std::{net::SocketAddr, path::PathBuf, sync::Arc, thread::JoinHandle, time::Duration};

use super::{
    Pages,
    connection::open_reader,
    error::{DatabaseContext as _, EmbeddedError},
    meta::Meta,
    site::Site,
    writer::Writer,
};
use crate::http_server::{HttpServer, StopSignal};

/// What to serve and where.
#[derive(Clone, Debug)]
pub struct ServeConfig {
    /// The database that [`load()`](super::load()) made.
    pub database: PathBuf,
    /// Address and port; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Worker threads, at least 1: as many as the guest has CPUs. The writer has a thread of its
    /// own that mostly waits for the disk.
    pub workers: usize,
    /// With or without the original's defects.
    pub behaviour: Pages,
    /// CPU time that every page burns on purpose, to plant a slow-down of known size; zero for
    /// none.
    pub extra_cpu: Duration,
    /// First part of the pages' path, without slashes; `ds2` for the original driver.
    pub directory: String,
}

/// A server that listens already: clients may connect, and are answered once it runs.
pub struct Server {
    database: PathBuf,
    http: HttpServer,
    site: Arc<Site>,
    writer: JoinHandle<Result<(), EmbeddedError>>,
}

impl Server {
    /// Open the database, check it, start the threads, and listen.
    ///
    /// # Errors
    /// When the database is missing, foreign or not whole, or the address is taken.
    pub fn bind(config: &ServeConfig) -> Result<Self, EmbeddedError> {
        let database = &config.database;
        if !database.exists() {
            return Err(EmbeddedError::Missing(database.clone()));
        }
        let workers = config.workers.max(1);
        let connection = open_reader(database).at(database, "opening the database")?;
        let meta = Meta::read(&connection, database)?;
        meta.check_tables(&connection, database)?;
        let http = HttpServer::bind(config.listen, workers, "shop-worker")?;
        let (writer, writer_thread) =
            Writer::start(database, config.behaviour, meta.rows().orders())?;
        let site = Site::open(
            database,
            workers,
            config.behaviour,
            &config.directory,
            meta,
            writer,
        )?
        .burning(config.extra_cpu);
        Ok(Self {
            database: database.clone(),
            http,
            site: Arc::new(site),
            writer: writer_thread,
        })
    }

    /// Where it listens, with the port that was taken.
    #[must_use]
    pub fn local_addr(&self) -> SocketAddr {
        self.http.local_addr()
    }

    /// Serve until `stop` is raised. Then accept no more, let requests in flight finish (at most 5
    /// s), finish the queued writes, fold the write-ahead log into the database, and return.
    ///
    /// # Errors
    /// When the log cannot be folded in; committed orders are safe in the log even then.
    pub fn run(self, stop: &StopSignal) -> Result<(), EmbeddedError> {
        let Self {
            database,
            http,
            site,
            writer,
        } = self;
        // The last hand on the writer's queue goes with the site: the writer finishes what is
        // queued and ends.
        http.run(site, stop);
        writer
            .join()
            .unwrap_or(Err(EmbeddedError::WriterLost(database)))
    }
}

/// Serve until `stop` is raised: [`Server::bind`] and [`Server::run`].
///
/// # Errors
/// Those of both.
pub fn serve(config: &ServeConfig, stop: &StopSignal) -> Result<(), EmbeddedError> {
    Server::bind(config)?.run(stop)
}
