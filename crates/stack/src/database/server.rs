//! A connection to the server of a living guest, from the host: synchronous, over its socket, with
//! bounded waits.

use std::{
    future::Future,
    path::{Path, PathBuf},
    time::Duration,
};

use rookery_oltp::OltpError;
use tokio::{runtime::Runtime, time::timeout};

use super::{DATABASE, DatabaseError, Engine, EngineFacts as _, SUPERUSER, USER, config};
use crate::lamp::sql;

/// Longest wait for one statement unless [`Server::set_patience`] says otherwise.
const PATIENCE: Duration = Duration::from_secs(120);

/// Who connects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Account {
    /// The administrator, where only what every server has is there.
    Administrator,
    /// The administrator, in the database of the workload.
    Owner,
}

/// A connection. A statement that takes too long ends it: what the server does with it is then
/// unknown.
#[derive(Debug)]
pub struct Server {
    engine: Engine,
    data: PathBuf,
    link: Link,
}

#[derive(Debug)]
enum Link {
    Mariadb(Box<sql::Database>),
    Postgresql(Box<Postgresql>),
}

#[derive(Debug)]
struct Postgresql {
    runtime: Runtime,
    /// `None` after a timeout.
    connection: Option<rookery_oltp::Database>,
    patience: Duration,
}

impl Server {
    /// Connect over the socket in `data`, a guest's data directory.
    ///
    /// # Errors
    /// When nobody listens there, the account is refused, or the server is silent for twenty
    /// seconds.
    pub fn connect(engine: Engine, data: &Path, account: Account) -> Result<Self, DatabaseError> {
        let link = match engine {
            Engine::Mariadb => {
                let socket = data.join(config::MARIADB_SOCKET);
                Link::Mariadb(Box::new(sql::Database::connect(
                    &socket,
                    sql::Account::Root,
                )?))
            }
            Engine::Postgresql => {
                let database = match account {
                    Account::Administrator => "postgres",
                    Account::Owner => DATABASE,
                };
                Link::Postgresql(Box::new(Postgresql::connect(
                    &engine.socket_target(SUPERUSER, database, data),
                )?))
            }
        };
        Ok(Self {
            engine,
            data: data.to_owned(),
            link,
        })
    }

    /// Whose server it is.
    #[must_use]
    pub fn engine(&self) -> Engine {
        self.engine
    }

    /// The guest's data directory.
    #[must_use]
    pub fn data(&self) -> &Path {
        &self.data
    }

    /// Wait at most `patience` for each following statement; two minutes unless said.
    pub fn set_patience(&mut self, patience: Duration) {
        match &mut self.link {
            Link::Mariadb(database) => database.set_patience(patience),
            Link::Postgresql(server) => server.patience = patience,
        }
    }

    /// Run one statement.
    ///
    /// # Errors
    /// The server's refusal, or a timeout.
    pub fn execute(&mut self, statement: &str) -> Result<(), DatabaseError> {
        let timeout = self.timeout(statement);
        match &mut self.link {
            Link::Mariadb(database) => Ok(database.execute(statement).map(drop)?),
            Link::Postgresql(server) => server.run(timeout, async |connection| {
                connection.execute(statement).await
            }),
        }
    }

    /// Names and values of a query's two columns of text.
    ///
    /// # Errors
    /// The server's refusal, or a timeout.
    pub fn pairs(&mut self, query: &str) -> Result<Vec<(String, String)>, DatabaseError> {
        let timeout = self.timeout(query);
        match &mut self.link {
            Link::Mariadb(database) => Ok(database.query(query)?),
            Link::Postgresql(server) => {
                let rows = server.run(timeout, async |connection| connection.rows(query).await)?;
                let pairs =
                    rows.into_iter()
                        .filter_map(|row| match <[Option<String>; 2]>::try_from(row) {
                            Ok([name, value]) => Some((name?, value.unwrap_or_default())),
                            Err(_) => None,
                        });
                Ok(pairs.collect())
            }
        }
    }

    /// MariaDB's own connection; nothing where the server is another.
    pub(super) fn mariadb(&mut self) -> Option<&mut sql::Database> {
        match &mut self.link {
            Link::Mariadb(database) => Some(database),
            Link::Postgresql(_) => None,
        }
    }

    /// What is said of a number that is none.
    pub(super) fn answer(&self, statement: &str, answer: &str) -> DatabaseError {
        DatabaseError::Answer {
            engine: self.engine,
            data: self.data.clone(),
            statement: statement.to_owned(),
            answer: format!("`{answer}`"),
        }
    }

    fn timeout(&self, statement: &str) -> impl Fn(u64) -> DatabaseError + use<> {
        let (engine, data) = (self.engine, self.data.clone());
        let statement: String = statement.chars().take(160).collect();
        move |seconds| DatabaseError::Timeout {
            engine,
            data: data.clone(),
            statement: statement.clone(),
            seconds,
        }
    }
}

impl Postgresql {
    fn connect(target: &rookery_oltp::Target) -> Result<Self, DatabaseError> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(OltpError::Runtime)?;
        let connection = runtime.block_on(rookery_oltp::Database::connect(target))?;
        Ok(Self {
            runtime,
            connection: Some(connection),
            patience: PATIENCE,
        })
    }

    fn run<T>(
        &mut self,
        late: impl Fn(u64) -> DatabaseError,
        work: impl AsyncFnOnce(&mut rookery_oltp::Database) -> Result<T, OltpError>,
    ) -> Result<T, DatabaseError> {
        let seconds = self.patience.as_secs();
        let Some(connection) = &mut self.connection else {
            return Err(late(seconds));
        };
        let patience = self.patience;
        match self.runtime.block_on(bounded(patience, work(connection))) {
            Some(result) => Ok(result?),
            None => {
                self.connection = None;
                Err(late(seconds))
            }
        }
    }
}

async fn bounded<T>(patience: Duration, work: impl Future<Output = T>) -> Option<T> {
    timeout(patience, work).await.ok()
}

/// The name of the account of terminals, quoted as both servers take it.
pub(super) fn user_and_host(engine: Engine) -> String {
    match engine {
        Engine::Mariadb => format!("'{USER}'@'%'"),
        Engine::Postgresql => USER.to_owned(),
    }
}
