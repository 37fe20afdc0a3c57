//! What can go wrong with a database, and how each database's client says it.

use std::{error::Error as _, io, net::IpAddr};

use rookery_workload::orderentry::{
    Dialect,
    population::MetaError,
    sql::StyleError,
    transaction::{Bug, ErrorClass, classify},
};
use thiserror::Error;

/// What went wrong.
#[derive(Debug, Error)]
pub enum OltpError {
    /// A URL that says no database.
    #[error(
        "the target is not valid: {why}\n  mend: write mysql://USER:PASSWORD@127.0.0.1:3306/DATABASE, mysql://USER@/DATABASE?socket=/PATH, postgresql://USER:PASSWORD@127.0.0.1:5432/DATABASE, postgresql://USER@/DATABASE?host=/SOCKET-DIRECTORY, sqlite+oe://127.0.0.1:5655/, sqlite+oe:///?socket=/DIRECTORY/orderentry.sock or, with the feature odbc, odbc://?dialect=NAME&connection=STRING"
    )]
    BadTarget {
        /// What is wrong with it. The URL itself stays out, it may hold a password.
        why: String,
    },
    /// An address that is not this machine.
    #[error(
        "{target} is not this machine: load goes to foreign hosts only on your word\n  mend: if that system is yours to load, add --confirm-target {address}"
    )]
    Foreign {
        /// The target.
        target: String,
        /// Its address.
        address: IpAddr,
    },
    /// Nothing answers there.
    #[error(
        "no database server answers at {target}: {why}\n  mend: start the server, or correct the address"
    )]
    NoServer {
        /// The target.
        target: String,
        /// The system's words.
        why: String,
    },
    /// A wrong name or password.
    #[error(
        "{target} refuses the user: {why}\n  mend: correct user and password in the target, or grant the user access to the database"
    )]
    Account {
        /// The target.
        target: String,
        /// The server's words.
        why: String,
    },
    /// A database that does not exist.
    #[error(
        "{target} has no such database: {why}\n  mend: create it (CREATE DATABASE {database}), then load it"
    )]
    NoDatabase {
        /// The target.
        target: String,
        /// Its name.
        database: String,
        /// The server's words.
        why: String,
    },
    /// The server cannot take the connection for another reason.
    #[error("cannot connect to {target}: {why}")]
    Connect {
        /// The target.
        target: String,
        /// The client's or the server's words.
        why: ClientError,
    },
    /// The server refused a statement.
    #[error("the database refused `{statement}`: {why}")]
    Statement {
        /// The statement, cut to a readable length.
        statement: String,
        /// The server's words.
        why: ClientError,
    },
    /// A database without the workload's tables.
    #[error(
        "{target} holds no order-entry data\n  mend: load it: rookery load orderentry --target URL --warehouses N"
    )]
    NotLoaded {
        /// The target.
        target: String,
    },
    /// What was loaded is not what is asked for.
    #[error("{target}: {why}")]
    Meta {
        /// The target.
        target: String,
        /// What differs.
        why: MetaError,
    },
    /// Tables that would be overwritten.
    #[error(
        "{target} already holds a table `{table}`\n  mend: name an empty database, or let --overwrite drop the ten tables of the workload"
    )]
    Exists {
        /// The target.
        target: String,
        /// The first table that was found.
        table: &'static str,
    },
    /// The server does not take rows from a client.
    #[error(
        "{target} does not take rows in bulk from clients: {why}\n  mend: SET GLOBAL local_infile = ON, or start the server with --local-infile=1"
    )]
    NoInfile {
        /// The target.
        target: String,
        /// The server's words.
        why: ClientError,
    },
    /// Not every row was stored as it was sent.
    #[error(
        "{table} of warehouse {warehouse}: {sent} rows were sent, {stored} stored, with {warnings} warnings\n  mend: look into the server's log and at its disk, then load again with --overwrite"
    )]
    Incomplete {
        /// The table.
        table: &'static str,
        /// The warehouse, 0 for items.
        warehouse: u32,
        /// Rows that were sent.
        sent: u64,
        /// Rows that the server says it stored.
        stored: u64,
        /// Warnings of the server.
        warnings: u64,
    },
    /// An answer that was not understood.
    #[error("`{statement}` has an answer that is not understood: {answer}")]
    Answer {
        /// The statement, cut to a readable length.
        statement: String,
        /// What came.
        answer: String,
    },
    /// A style that the database has not.
    #[error(transparent)]
    Style(#[from] StyleError),
    /// A transaction met something that it must not meet.
    #[error(
        "a {transaction} met something that no loaded database has: {why}\n  mend: rookery verify orderentry says what is broken; load the database again"
    )]
    Bug {
        /// The transaction.
        transaction: &'static str,
        /// What it met.
        why: Bug,
    },
    /// The server refused a statement of a transaction.
    #[error(
        "the database refused a {transaction}: {why}\n  mend: rookery verify orderentry says whether the database is sound"
    )]
    Refused {
        /// The transaction.
        transaction: &'static str,
        /// The server's words.
        why: ClientError,
    },
    /// A setting that makes no sense.
    #[error("{0}")]
    Setting(String),
    /// Stopped on request.
    #[error("stopped on request")]
    Stopped,
    /// The driver could not run.
    #[error(transparent)]
    Driver(#[from] rookery_driver::DriverError),
    /// The system gave no runtime or no thread.
    #[error("cannot start threads: {0}")]
    Runtime(io::Error),
}

/// The error of a client.
#[derive(Debug, Error)]
pub enum ClientError {
    /// MariaDB or MySQL.
    #[error("{}", in_words_mysql(.0))]
    Mysql(#[from] mysql_async::Error),
    /// PostgreSQL.
    #[error("{}", in_words_postgres(.0))]
    Postgres(#[from] tokio_postgres::Error),
    /// A server refused a statement of a terminal's session.
    #[error("{message} ({})", numbers(state, *code))]
    Server {
        /// The server's words.
        message: String,
        /// SQLSTATE.
        state: String,
        /// The server's own number, 0 where it has none.
        code: i64,
    },
    /// The way to the server is lost.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// Rookery's own server of SQLite.
    #[error("{0}")]
    Sqlite(crate::sqlite::ServerError),
    /// What came over the line is not understood.
    #[error(transparent)]
    Wire(#[from] crate::sqlite::WireError),
    /// The server did not answer in time.
    #[error("no answer within {0} s")]
    Timeout(u64),
    /// The session was asked for a statement that it has not prepared, or the server answered in a type that is not known.
    #[error("{0}")]
    Session(String),
}

fn numbers(state: &str, code: i64) -> String {
    match code {
        0 => format!("SQLSTATE {state}"),
        code => format!("error {code}, SQLSTATE {state}"),
    }
}

fn in_words_mysql(error: &mysql_async::Error) -> String {
    match error {
        mysql_async::Error::Server(server) => format!(
            "{} (error {}, SQLSTATE {})",
            server.message, server.code, server.state
        ),
        other => other.to_string(),
    }
}

fn in_words_postgres(error: &tokio_postgres::Error) -> String {
    match (error.as_db_error(), error.source()) {
        (Some(server), _) => format!("{} (SQLSTATE {})", server.message(), server.code().code()),
        (None, Some(source)) => format!("{error}: {source}"),
        (None, None) => error.to_string(),
    }
}

impl ClientError {
    /// SQLSTATE and the server's own number; 0 where it has none, nothing when the server said nothing.
    pub(crate) fn code(&self) -> Option<(&str, i64)> {
        match self {
            Self::Mysql(mysql_async::Error::Server(server)) => {
                Some((&server.state, i64::from(server.code)))
            }
            Self::Postgres(error) => error.code().map(|code| (code.code(), 0)),
            Self::Sqlite(error) => error.code().map(|code| ("", code)),
            Self::Server { state, code, .. } => Some((state, *code)),
            _ => None,
        }
    }

    /// Whether a statement names a table that is not there.
    pub(crate) fn has_no_table(&self) -> bool {
        match self {
            Self::Sqlite(error) => error.has_no_table(),
            // SQLite's driver has no code of its own for it.
            Self::Server { message, .. } if message.contains("no such table") => true,
            _ => matches!(
                self.code(),
                Some((_, 1146) | ("42P01" | "42S02" | "42704", _))
            ),
        }
    }

    /// What the error means for a transaction.
    pub(crate) fn class(&self, dialect: Dialect) -> ErrorClass {
        if let Some((state, native)) = self.code() {
            return classify(dialect, state, native);
        }
        let lost = match self {
            Self::Mysql(error) => match error {
                mysql_async::Error::Io(_) => true,
                mysql_async::Error::Driver(driver) => matches!(
                    driver,
                    mysql_async::DriverError::ConnectionClosed
                        | mysql_async::DriverError::PoolDisconnected
                ),
                _ => false,
            },
            Self::Postgres(error) => {
                error.is_closed()
                    || error
                        .source()
                        .is_some_and(|source| source.is::<io::Error>())
            }
            Self::Io(_) | Self::Timeout(_) => true,
            Self::Server { .. } | Self::Session(_) => false,
            Self::Sqlite(_) | Self::Wire(_) => false,
        };
        if lost {
            ErrorClass::ConnectionLost
        } else {
            ErrorClass::Bug
        }
    }
}

/// A statement, short enough for a message.
pub(crate) fn shortened(statement: &str) -> String {
    const MOST: usize = 120;
    let line = statement.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(MOST) {
        Some((cut, _)) => format!("{}...", &line[..cut]),
        None => line,
    }
}
