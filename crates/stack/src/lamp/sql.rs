//! The database of a guest, from the host: synchronous, over its socket, with bounded waits.
//!
//! MariaDB has no network in a LAMP guest; its socket is a file of the guest's data, and who shares
//! the kernel reaches it. [`Database`] hides the asynchronous client behind a private runtime of
//! one thread, since everybody who audits, loads or reads settings has nothing else to do
//! meanwhile.

use rookery_diagnosis::Diagnosis;
use std::{
    collections::BTreeMap,
    fs::File,
    future::Future,
    io,
    os::fd::AsRawFd as _,
    path::{Path, PathBuf},
    time::Duration,
};

use bytes::Bytes;
use mysql_async::{Conn, OptsBuilder, Row, prelude::Queryable as _};
use rookery_oltp::fence::{Panicked, fenced};
use tokio::{runtime::Runtime, time::timeout};

pub use mysql_async::prelude::FromRow;

mod infile;

/// Longest wait for a connection: a server that is ready answers in milliseconds, also a starved
/// one in seconds.
const CONNECT_PATIENCE: Duration = Duration::from_secs(20);

/// Longest wait for one statement unless [`Database::set_patience`] says otherwise.
const PATIENCE: Duration = Duration::from_secs(120);

/// The database that the shop lives in.
pub const DATABASE: &str = "DS2";

/// Who connects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Account {
    /// The administrator, without a password: the socket is only within reach of those who own the
    /// guest.
    Root,
    /// The account of the pages, in the database [`DATABASE`].
    Web,
}

impl Account {
    /// User name, password and database of the account.
    #[must_use]
    pub fn credentials(self) -> (&'static str, Option<&'static str>, Option<&'static str>) {
        match self {
            Self::Root => ("root", None, None),
            Self::Web => ("web", Some("web"), Some(DATABASE)),
        }
    }
}

/// What went wrong with a guest's database.
#[derive(Debug, thiserror::Error)]
pub enum SqlError {
    /// There is no way to the server.
    #[error("cannot connect to MariaDB at {socket} as {user}: {source}", socket = socket.display())]
    Connect {
        /// The socket.
        socket: PathBuf,
        /// The database user.
        user: &'static str,
        /// The client's or the server's own words.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The server refused a statement, or a row has not the expected columns.
    #[error("MariaDB at {socket} refused `{statement}`: {source}", socket = socket.display())]
    Statement {
        /// The socket.
        socket: PathBuf,
        /// The statement, cut to a readable length.
        statement: String,
        /// The server's own words.
        source: mysql_async::Error,
    },
    /// The rows have other columns than the caller expects.
    #[error("MariaDB at {socket} answered `{statement}` with other columns than expected", socket = socket.display())]
    Columns {
        /// The socket.
        socket: PathBuf,
        /// The statement, cut to a readable length.
        statement: String,
    },
    /// The server took too long. The connection is of no use any more.
    #[error("MariaDB at {socket} did not answer `{statement}` within {seconds} s", socket = socket.display())]
    Timeout {
        /// The socket.
        socket: PathBuf,
        /// The statement, cut to a readable length.
        statement: String,
        /// How long it was waited for.
        seconds: u64,
    },
}

impl Diagnosis for SqlError {
    fn code(&self) -> &'static str {
        match self {
            Self::Connect { .. } => "lamp::connect",
            Self::Statement { .. } => "lamp::statement",
            Self::Columns { .. } => "lamp::columns",
            Self::Timeout { .. } => "lamp::timeout",
        }
    }

    fn help(&self) -> Option<String> {
        let help = match self {
            Self::Connect { .. } => "see in the guest's log whether MariaDB runs".to_owned(),
            Self::Columns { .. } => "report this as a defect".to_owned(),
            Self::Timeout { .. } => "give the guest more CPU, or look whether another transaction \
                                     holds its locks"
                .to_owned(),
            _ => return None,
        };
        Some(help)
    }
}

impl SqlError {
    /// The server's error number, such as 1045 for a wrong password; `None` when the server said
    /// nothing.
    #[must_use]
    pub fn code(&self) -> Option<u16> {
        match self {
            Self::Statement {
                source: mysql_async::Error::Server(error),
                ..
            } => Some(error.code),
            _ => None,
        }
    }
}

/// A connection to the database of one guest.
///
/// A statement that takes too long ends the connection: what the server does with it is then
/// unknown.
#[derive(Debug)]
pub struct Database {
    runtime: Runtime,
    /// `None` after a timeout.
    connection: Option<Conn>,
    socket: PathBuf,
    account: Account,
    patience: Duration,
}

impl Database {
    /// Connect over `socket`, whose path may be of any length.
    ///
    /// # Errors
    /// When nobody listens there, the account is refused, or the server is silent for twenty
    /// seconds.
    pub fn connect(socket: &Path, account: Account) -> Result<Self, SqlError> {
        let (user, password, database) = account.credentials();
        let failed = |source| SqlError::Connect {
            socket: socket.to_owned(),
            user,
            source,
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| failed(error.into()))?;
        // An address of a socket has room for 107 bytes; that of an open directory is short,
        // however deep the directory lies.
        let directory = File::open(socket.parent().unwrap_or(Path::new(".")))
            .map_err(|error| failed(error.into()))?;
        let name = socket.file_name().unwrap_or_default().to_string_lossy();
        let options = OptsBuilder::default()
            .socket(Some(format!(
                "/proc/self/fd/{}/{name}",
                directory.as_raw_fd()
            )))
            .user(Some(user))
            .pass(password)
            .db_name(database)
            .stmt_cache_size(0);
        let connection = runtime.block_on(fenced(async {
            bounded(CONNECT_PATIENCE, Conn::new(options)).await
        }));
        let connection = match connection.unwrap_or_else(|panicked| Some(Err(gave_up(panicked)))) {
            Some(Ok(connection)) => connection,
            Some(Err(error)) => return Err(failed(error.into())),
            None => {
                return Err(failed(
                    format!("no answer within {} s", CONNECT_PATIENCE.as_secs()).into(),
                ));
            }
        };
        Ok(Self {
            runtime,
            connection: Some(connection),
            socket: socket.to_owned(),
            account,
            patience: PATIENCE,
        })
    }

    /// One more connection of the same account to the same server.
    ///
    /// # Errors
    /// As [`Database::connect`].
    pub fn another(&self) -> Result<Self, SqlError> {
        let mut other = Self::connect(&self.socket, self.account)?;
        other.patience = self.patience;
        Ok(other)
    }

    /// Wait at most `patience` for each following statement; two minutes unless said.
    pub fn set_patience(&mut self, patience: Duration) {
        self.patience = patience;
    }

    /// The socket that this is connected to.
    #[must_use]
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// Run one statement. Returns the number of rows that it changed.
    ///
    /// # Errors
    /// The server's refusal, or a timeout.
    pub fn execute(&mut self, statement: &str) -> Result<u64, SqlError> {
        self.run(statement, async |connection| {
            connection.query_drop(statement).await?;
            Ok(connection.affected_rows())
        })
    }

    /// Run the statements of a script, which are separated by a semicolon at the end of a line;
    /// lines that begin with `--` are comments.
    ///
    /// # Errors
    /// The server's refusal of the first statement that it refuses, or a timeout.
    pub fn execute_script(&mut self, script: &str) -> Result<(), SqlError> {
        for statement in statements(script) {
            self.execute(&statement)?;
        }
        Ok(())
    }

    /// All rows of one query, such as `query::<(String, i64)>("SELECT ..")`.
    ///
    /// # Errors
    /// The server's refusal, other columns than `R` has, or a timeout.
    pub fn query<R: FromRow>(&mut self, statement: &str) -> Result<Vec<R>, SqlError> {
        let rows: Vec<Row> = self.run(statement, async |connection| {
            connection.query(statement).await
        })?;
        let typed: Result<_, _> = rows.into_iter().map(R::from_row_opt).collect();
        typed.map_err(|_| SqlError::Columns {
            socket: self.socket.clone(),
            statement: shorten(statement),
        })
    }

    /// The one number that a query answers; 0 when it answers no row or NULL.
    ///
    /// # Errors
    /// As [`Database::query`].
    pub fn number(&mut self, statement: &str) -> Result<i64, SqlError> {
        let rows = self.query::<(Option<i64>,)>(statement)?;
        Ok(rows.first().and_then(|row| row.0).unwrap_or(0))
    }

    /// The settings that are in force now, by name.
    ///
    /// # Errors
    /// As [`Database::query`].
    pub fn variables(&mut self) -> Result<BTreeMap<String, String>, SqlError> {
        Ok(self
            .query::<(String, String)>("SHOW GLOBAL VARIABLES")?
            .into_iter()
            .collect())
    }

    /// The counters of the server since its start, by name.
    ///
    /// # Errors
    /// As [`Database::query`].
    pub fn status(&mut self) -> Result<BTreeMap<String, String>, SqlError> {
        Ok(self
            .query::<(String, String)>("SHOW GLOBAL STATUS")?
            .into_iter()
            .collect())
    }

    /// Run a `LOAD DATA LOCAL INFILE` whose file is what comes out of `chunks`. Returns rows stored
    /// and warnings.
    ///
    /// # Errors
    /// The server's refusal, or a timeout.
    pub(crate) fn load_infile(
        &mut self,
        statement: &str,
        chunks: tokio::sync::mpsc::Receiver<io::Result<Bytes>>,
    ) -> Result<(u64, u16), SqlError> {
        self.run(statement, async |connection| {
            connection.set_infile_handler(async { Ok(infile::stream(chunks)) });
            connection.query_drop(statement).await?;
            Ok((connection.affected_rows(), connection.get_warnings()))
        })
    }

    fn run<T>(
        &mut self,
        statement: &str,
        work: impl AsyncFnOnce(&mut Conn) -> Result<T, mysql_async::Error>,
    ) -> Result<T, SqlError> {
        let Some(connection) = &mut self.connection else {
            return Err(SqlError::Connect {
                socket: self.socket.clone(),
                user: self.account.credentials().0,
                source: "an earlier statement took too long, and this connection was given up"
                    .into(),
            });
        };
        let patience = self.patience;
        let result = self
            .runtime
            .block_on(fenced(bounded(patience, work(connection))));
        match result.unwrap_or_else(|panicked| Some(Err(gave_up(panicked)))) {
            // What the library holds is of no use now.
            Some(Err(source @ mysql_async::Error::Other(_))) => {
                self.give_up();
                Err(SqlError::Statement {
                    socket: self.socket.clone(),
                    statement: shorten(statement),
                    source,
                })
            }
            Some(result) => result.map_err(|source| SqlError::Statement {
                socket: self.socket.clone(),
                statement: shorten(statement),
                source,
            }),
            None => {
                self.give_up();
                Err(SqlError::Timeout {
                    socket: self.socket.clone(),
                    statement: shorten(statement),
                    seconds: patience.as_secs(),
                })
            }
        }
    }

    /// Let go of the connection without a word to the server, which may not listen.
    fn give_up(&mut self) {
        if let Some(connection) = self.connection.take() {
            let _inside = self.runtime.enter();
            drop(connection);
        }
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        if let Some(connection) = self.connection.take() {
            // The server notices the end of a connection that cannot say so.
            let _ = self
                .runtime
                .block_on(async { timeout(Duration::from_secs(1), connection.disconnect()).await });
        }
    }
}

/// The client library has panicked over what the server sent.
fn gave_up(panicked: Panicked) -> mysql_async::Error {
    mysql_async::Error::Other(Box::new(panicked))
}

async fn bounded<T>(patience: Duration, work: impl Future<Output = T>) -> Option<T> {
    timeout(patience, work).await.ok()
}

/// The statement on one line, of a length that fits into a message.
fn shorten(statement: &str) -> String {
    const MOST: usize = 160;
    let line = statement.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= MOST {
        return line;
    }
    line.chars().take(MOST).chain("..".chars()).collect()
}

/// The statements of a script.
fn statements(script: &str) -> Vec<String> {
    let lines: Vec<&str> = script
        .lines()
        .filter(|line| !line.trim_start().starts_with("--"))
        .collect();
    let text = lines.join("\n");
    let parts = text
        .split(";\n")
        .map(|part| part.trim().trim_end_matches(';').to_owned());
    parts.filter(|part| !part.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_falls_into_its_statements() {
        let script =
            "-- first; not a statement\nSELECT 1;\n\nSELECT\n  ';' AS x;\n  -- more\nSELECT 2";
        assert_eq!(
            statements(script),
            ["SELECT 1", "SELECT\n  ';' AS x", "SELECT 2"]
        );
        assert_eq!(statements("-- nothing\n;\n"), Vec::<String>::new());
    }

    #[test]
    fn messages_quote_the_beginning_of_a_statement() {
        assert_eq!(shorten("SELECT\n   1"), "SELECT 1");
        let long = shorten(&"\u{e9} ".repeat(500));
        assert_eq!((long.chars().count(), long.ends_with("..")), (162, true));
    }

    #[test]
    fn a_missing_server_is_told_with_its_socket() {
        let dir = tempfile::TempDir::new().expect("a temporary directory");
        for socket in [
            dir.path().join("mysql.sock"),
            dir.path().join("nowhere/mysql.sock"),
        ] {
            let error = Database::connect(&socket, Account::Root)
                .map(drop)
                .expect_err("nobody listens");
            let text = rookery_diagnosis::ErrorFields::new(&error).to_string();
            assert!(
                text.contains(&socket.display().to_string()) && text.contains("help:"),
                "{text}"
            );
            assert_eq!(error.code(), None);
        }
    }
}
