//! Any database over ODBC: a thread with a connection for each session, because drivers block.
//!
//! The session sends its flights to the thread and awaits the answers, so that it fits among the
//! others. Each text has one statement handle that is kept, with its row-set buffer. Autocommit is
//! switched off by the connection's attribute while transactions run; there is no BEGIN.
//!
//! A target is `odbc://?dialect=NAME&connection=STRING`, the connection string percent-encoded.

mod fill;
mod values;
mod worker;

use std::{
    sync::mpsc::{Sender, channel},
    thread,
    time::Duration,
};

use odbc_api::{ConnectionOptions, Error, environment};
use rookery_workload::orderentry::{
    Dialect, Population, Table,
    population::Part,
    sql::Style,
    transaction::{Answers, Flight},
};
use tokio::{sync::oneshot, time::timeout};

use crate::{ClientError, OltpError, Progress, SessionOptions, Target, options::TextRow};
use worker::{Command, serve};

/// Longest wait for the answers to a flight.
const FLIGHT_PATIENCE: Duration = Duration::from_secs(120);

/// Longest wait for a query over all rows, or for the rows of one table of one warehouse.
const QUERY_PATIENCE: Duration = Duration::from_secs(3600);

/// A connection and its thread, which ends when this is dropped and the driver has returned.
#[derive(Debug)]
pub(crate) struct Connection {
    commands: Sender<Command>,
    version: String,
    pub(crate) dialect: Dialect,
}

impl Connection {
    pub(crate) async fn open(target: &Target, dialect: Dialect) -> Result<Self, OltpError> {
        let (opened, wait) = oneshot::channel();
        let (commands, received) = channel();
        let string = target.password.clone().unwrap_or_default();
        let patience = target.patience.answer;
        let spawned = thread::Builder::new()
            .name("odbc-session".to_owned())
            .spawn(move || {
                let options = ConnectionOptions {
                    login_timeout_sec: u32::try_from(patience.as_secs().max(1)).ok(),
                    ..ConnectionOptions::default()
                };
                let connected = environment().and_then(|environment| {
                    environment.connect_with_connection_string(&string, options)
                });
                match connected {
                    Ok(connection) => {
                        let name = connection.database_management_system_name();
                        // Nobody waits any more: then nobody sends commands either.
                        let _ = opened.send(name.map(|name| format!("{name} over ODBC")));
                        serve(&connection, dialect, &received);
                    }
                    Err(error) => {
                        let _ = opened.send(Err(error));
                    }
                }
            });
        spawned.map_err(OltpError::Runtime)?;
        // The driver may take somewhat longer than it was told to.
        let version = match timeout(patience * 2, wait).await {
            Ok(Ok(Ok(version))) => version,
            Ok(Ok(Err(error))) => return Err(refusal(target, error)),
            Ok(Err(_)) => return Err(refusal(target, Error::FailedAllocatingEnvironment)),
            Err(_) => {
                return Err(OltpError::Connect {
                    target: target.to_string(),
                    why: ClientError::Timeout(patience * 2),
                });
            }
        };
        Ok(Self {
            commands,
            version,
            dialect,
        })
    }

    pub(crate) fn version(&self) -> &str {
        &self.version
    }

    async fn ask<T>(
        &mut self,
        patience: Duration,
        command: impl FnOnce(oneshot::Sender<Result<T, ClientError>>) -> Command,
    ) -> Result<T, ClientError> {
        let (reply, wait) = oneshot::channel();
        let gone = || ClientError::Session("the thread of the ODBC session has ended".to_owned());
        self.commands.send(command(reply)).map_err(|_| gone())?;
        match timeout(patience, wait).await {
            Ok(answered) => answered.map_err(|_| gone())?,
            Err(_) => Err(ClientError::Timeout(patience)),
        }
    }

    /// Executes text, and gives its rows.
    pub(crate) async fn rows(&mut self, text: &str) -> Result<Vec<TextRow>, ClientError> {
        self.ask(QUERY_PATIENCE, |reply| Command::Text {
            text: text.to_owned(),
            reply,
        })
        .await
    }

    /// Inserts the rows of one table of one warehouse with arrays of parameters, in one
    /// transaction.
    pub(crate) async fn insert(
        &mut self,
        population: &Population,
        part: Part,
    ) -> Result<Progress, ClientError> {
        let population = *population;
        self.ask(QUERY_PATIENCE, |reply| Command::Insert {
            population,
            part,
            reply,
        })
        .await
    }

    /// Whether there is such a table. Not every database has a catalogue that can be asked in the
    /// same words.
    pub(crate) async fn has_table(&mut self, table: Table) -> bool {
        self.rows(&format!(
            "SELECT COUNT(*) FROM {} WHERE 1 = 0",
            table.name()
        ))
        .await
        .is_ok()
    }
}

fn refusal(target: &Target, error: Error) -> OltpError {
    let why = values::in_words(error);
    let place = target.to_string();
    match why.code() {
        Some((state, _)) if state.starts_with("28") => OltpError::Account {
            target: place,
            why: why.to_string(),
        },
        // The driver says what is missing: a driver, a file, a server. More is not to be had from
        // all of them.
        Some((state, _)) if state.starts_with("08") => OltpError::NoServer {
            target: place,
            why: why.to_string(),
        },
        _ => OltpError::Connect { target: place, why },
    }
}

/// A terminal's session.
#[derive(Debug)]
pub(crate) struct OdbcSession {
    connection: Connection,
    spare: Option<(Flight, Answers)>,
}

impl OdbcSession {
    pub(crate) async fn open(
        target: &Target,
        dialect: Dialect,
        options: SessionOptions,
    ) -> Result<Self, OltpError> {
        if options.style != Style::Plain {
            return Err(OltpError::setting(format!(
                "statements = \"{}\" does not go over ODBC, whose drivers differ too much in what \
                 they prepare; use plain",
                options.style.name()
            )));
        }
        let mut connection = Connection::open(target, dialect).await?;
        if let Some(statement) = dialect.set_isolation(options.isolation) {
            connection
                .rows(&statement)
                .await
                .map_err(|why| OltpError::Statement {
                    statement: statement.into_owned(),
                    why,
                })?;
        }
        let prepared = connection
            .ask(FLIGHT_PATIENCE, |reply| Command::Prepare { reply })
            .await;
        prepared.map_err(|why| OltpError::Statement {
            statement: "the statements of the workload".to_owned(),
            why,
        })?;
        Ok(Self {
            connection,
            spare: Some(Default::default()),
        })
    }

    pub(crate) fn dialect(&self) -> Dialect {
        self.connection.dialect
    }

    pub(crate) async fn fly(
        &mut self,
        flight: &Flight,
        answers: &mut Answers,
    ) -> Result<(), ClientError> {
        // The buffers travel to the thread and come back; after an error new ones are made.
        let (mut own, mut filled) = self.spare.take().unwrap_or_default();
        own.clone_from(flight);
        filled.clear();
        let back = self
            .connection
            .ask(FLIGHT_PATIENCE, |reply| Command::Fly {
                flight: own,
                answers: filled,
                reply,
            })
            .await?;
        let (own, mut filled) = back;
        std::mem::swap(answers, &mut filled);
        self.spare = Some((own, filled));
        Ok(())
    }
}
