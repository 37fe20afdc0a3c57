//! What can go wrong with a database, and how each database's client says it.

mod sqlite;
mod target;

use std::{error::Error as _, io, net::IpAddr, time::Duration};

use rookery_diagnosis::{Diagnosis, outside_text};
use rookery_workload::orderentry::{
    Dialect,
    population::MetaError,
    sql::StyleError,
    terminal::PacingError,
    transaction::{Bug, ErrorClass, classify},
};
use thiserror::Error;

use crate::{fence::Panicked, limits::MessageRefusal, tls::TlsError};
pub use sqlite::{ServerError, WireError};
pub use target::TargetProblem;

/// What went wrong.
#[derive(Debug, Error)]
pub enum OltpError {
    /// A URL that says no database.
    #[error("the target is not valid: {why}")]
    BadTarget {
        /// What is wrong with it. The URL itself stays out, it may hold a password.
        #[source]
        why: TargetProblem,
    },
    /// An address that is not this machine.
    #[error("refusing to load a remote host: {target} is not this machine")]
    Foreign {
        /// The target.
        target: String,
        /// Its address.
        address: IpAddr,
    },
    /// Nothing answers there.
    #[error("no database server answers at {target}: {why}")]
    NoServer {
        /// The target.
        target: String,
        /// The system's words.
        why: String,
    },
    /// A wrong name or password.
    #[error("{target} refuses the user: {why}")]
    Account {
        /// The target.
        target: String,
        /// The server's words.
        why: String,
    },
    /// A database that does not exist.
    #[error("{target} has no such database: {why}")]
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
        #[source]
        why: ClientError,
    },
    /// The server refused a statement.
    #[error("the database refused `{statement}`: {why}")]
    Statement {
        /// The statement, cut to a readable length.
        statement: String,
        /// The server's words.
        #[source]
        why: ClientError,
    },
    /// A database without the workload's tables.
    #[error("{target} holds no order-entry data")]
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
        #[source]
        why: MetaError,
    },
    /// Tables that would be overwritten.
    #[error("{target} already holds a table `{table}`")]
    Exists {
        /// The target.
        target: String,
        /// The first table that was found.
        table: &'static str,
    },
    /// The server does not take rows from a client.
    #[error("{target} does not take rows in bulk from clients: {why}")]
    NoInfile {
        /// The target.
        target: String,
        /// The server's words.
        #[source]
        why: ClientError,
    },
    /// Not every row was stored as it was sent.
    #[error(
        "{table} of warehouse {warehouse}: {sent} rows were sent, {stored} stored, with {warnings} \
         warnings"
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
    #[error("a {transaction} met something that no loaded database has: {why}")]
    Bug {
        /// The transaction.
        transaction: &'static str,
        /// What it met.
        #[source]
        why: Bug,
    },
    /// The server refused a statement of a transaction.
    #[error("the database refused a {transaction}: {why}")]
    Refused {
        /// The transaction.
        transaction: &'static str,
        /// The server's words.
        #[source]
        why: ClientError,
    },
    /// A setting that makes no sense.
    #[error("{what}")]
    Setting {
        /// What is wrong.
        what: String,
        /// What to do about it, where that is not said by the same words.
        help: Option<&'static str>,
    },
    /// A pacing that makes no sense.
    #[error(transparent)]
    Pacing(#[from] PacingError),
    /// The database did not answer a question in time.
    #[error("the database did not answer within {} s", limit.as_secs_f64())]
    Slow {
        /// So long it had.
        limit: Duration,
    },
    /// Stopped on request.
    #[error("stopped on request")]
    Stopped,
    /// The driver could not run.
    #[error(transparent)]
    Driver(#[from] rookery_driver::DriverError),
    /// The system gave no runtime or no thread.
    #[error("cannot start threads: {0}")]
    Runtime(#[source] io::Error),
}

impl OltpError {
    /// A setting that makes no sense.
    pub(crate) fn setting(what: impl Into<String>) -> Self {
        Self::Setting {
            what: what.into(),
            help: None,
        }
    }
}

impl Diagnosis for OltpError {
    fn code(&self) -> &'static str {
        match self {
            Self::BadTarget { .. } => "oltp::target",
            Self::Foreign { .. } => "oltp::foreign-target",
            Self::NoServer { .. } => "oltp::no-server",
            Self::Account { .. } => "oltp::account",
            Self::NoDatabase { .. } => "oltp::no-database",
            Self::Connect { .. } => "oltp::connect",
            Self::Statement { .. } => "oltp::statement",
            Self::NotLoaded { .. } => "oltp::not-loaded",
            Self::Meta { .. } => "oltp::other-data",
            Self::Exists { .. } => "oltp::exists",
            Self::NoInfile { .. } => "oltp::no-infile",
            Self::Incomplete { .. } => "oltp::incomplete",
            Self::Answer { .. } => "oltp::answer",
            Self::Style(_) => "oltp::style",
            Self::Bug { .. } => "oltp::bug",
            Self::Refused { .. } => "oltp::refused",
            Self::Setting { .. } | Self::Pacing(_) => "oltp::setting",
            Self::Slow { .. } => "oltp::slow",
            Self::Stopped => "oltp::stopped",
            Self::Driver(error) => error.code(),
            Self::Runtime(_) => "oltp::start",
        }
    }

    fn help(&self) -> Option<String> {
        let help = match self {
            Self::BadTarget { .. } => {
                "write \
         mysql://USER:PASSWORD@127.0.0.1:3306/DATABASE, mysql://USER@/DATABASE?socket=/PATH, \
         postgresql://USER:PASSWORD@127.0.0.1:5432/DATABASE, \
         postgresql://USER@/DATABASE?host=/SOCKET-DIRECTORY, sqlite+oe://127.0.0.1:5655/, \
         sqlite+oe:///?socket=/DIRECTORY/orderentry.sock or, with the feature odbc, \
         odbc://?dialect=NAME&connection=STRING"
            }
            Self::Foreign { address, .. } => {
                return Some(format!(
                    "if that system is yours to load, add --confirm-target {address}"
                ));
            }
            Self::NoServer { .. } => "start the server, or correct the address",
            Self::Account { .. } => {
                "correct user and password in the target, or grant the user access to the database"
            }
            Self::NoDatabase { database, .. } => {
                return Some(format!(
                    "create it (CREATE DATABASE {database}), then load it"
                ));
            }
            Self::Connect { why, .. } => return why.help().map(str::to_owned),
            Self::NotLoaded { .. } => {
                "load it: rookery load orderentry --target URL --warehouses N"
            }
            Self::Exists { .. } => {
                "name an empty database, or let --overwrite drop the ten tables of the workload"
            }
            Self::NoInfile { .. } => {
                "SET GLOBAL local_infile = ON, or start the server with --local-infile=1"
            }
            Self::Incomplete { .. } => {
                "look into the server's log and at its disk, then load again with --overwrite"
            }
            Self::Bug { .. } => {
                "rookery verify orderentry says what is broken; load the database again"
            }
            Self::Refused { .. } => "rookery verify orderentry says whether the database is sound",
            Self::Setting { help, .. } => return help.map(str::to_owned),
            Self::Slow { .. } => {
                "look into its log; is its disk stuck, or does a lock wait for ever?"
            }
            Self::Driver(error) => return error.help(),
            Self::Statement { why, .. } => return why.help().map(str::to_owned),
            Self::Meta { .. }
            | Self::Answer { .. }
            | Self::Style(_)
            | Self::Pacing(_)
            | Self::Stopped
            | Self::Runtime(_) => return None,
        };
        Some(help.to_owned())
    }
}

/// The error of a client.
#[derive(Debug, Error)]
pub enum ClientError {
    /// PostgreSQL. Its causes are in its words, cut and escaped: they are the server's own.
    #[error("{}", in_words_postgres(.0))]
    Postgres(tokio_postgres::Error),
    /// A message that is not taken.
    #[error(transparent)]
    MessageRefusal(#[from] MessageRefusal),
    /// The client library gave up on what came.
    #[error(transparent)]
    Panicked(#[from] Panicked),
    /// There is no encrypted connection.
    #[error(transparent)]
    Tls(#[from] TlsError),
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
    Sqlite(ServerError),
    /// What came over the line is not understood.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// The server did not answer in time.
    #[error("no answer within {} s", .0.as_secs_f64())]
    Timeout(Duration),
    /// The session was asked for a statement that it has not prepared, or the server answered in a
    /// type that is not known.
    #[error("{0}")]
    Session(String),
    /// The server or the account asks for what this client does not have.
    #[error("{what}")]
    Unsupported {
        /// What that is.
        what: String,
        /// What to change there.
        help: &'static str,
    },
}

fn numbers(state: &str, code: i64) -> String {
    match code {
        0 => format!("SQLSTATE {state}"),
        code => format!("error {code}, SQLSTATE {state}"),
    }
}

/// What the guard below the client refuses comes back through the client.
impl From<tokio_postgres::Error> for ClientError {
    fn from(error: tokio_postgres::Error) -> Self {
        let refusal = error
            .source()
            .and_then(|source| source.downcast_ref::<io::Error>()?.get_ref())
            .and_then(|inner| inner.downcast_ref::<MessageRefusal>());
        match refusal {
            Some(refusal) => Self::MessageRefusal(refusal.clone()),
            None => Self::Postgres(error),
        }
    }
}

fn in_words_postgres(error: &tokio_postgres::Error) -> String {
    let words = match (error.as_db_error(), error.source()) {
        (Some(server), _) => {
            let (message, state) = (server.message(), server.code().code());
            return format!(
                "{} (SQLSTATE {})",
                outside_text(message),
                outside_text(state)
            );
        }
        (None, Some(source)) => format!("{error}: {source}"),
        (None, None) => error.to_string(),
    };
    outside_text(&words)
}

impl ClientError {
    /// What the user can do.
    pub(crate) fn help(&self) -> Option<&'static str> {
        match self {
            Self::Unsupported { help, .. } => Some(help),
            Self::MessageRefusal(refusal) => refusal.help(),
            Self::Tls(error) => Some(error.help()),
            _ => None,
        }
    }

    /// SQLSTATE and the server's own number; 0 where it has none, nothing when the server said
    /// nothing.
    pub(crate) fn code(&self) -> Option<(&str, i64)> {
        match self {
            Self::Postgres(error) => error.code().map(|code| (code.code(), 0)),
            Self::Sqlite(error) => error.code.map(|code| ("", code)),
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
            Self::Postgres(error) => {
                error.is_closed()
                    || error
                        .source()
                        .is_some_and(|source| source.is::<io::Error>())
            }
            Self::Io(_) | Self::Timeout(_) => true,
            Self::Server { .. } | Self::Session(_) | Self::Unsupported { .. } => false,
            Self::MessageRefusal(_) | Self::Panicked(_) | Self::Tls(_) => false,
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
