//! A connection for everything but transactions: schema, checks, settings. Statements and answers
//! are text.

use std::{pin::pin, time::Duration};

use futures_util::StreamExt as _;
use rookery_diagnosis::outside_text;
use rookery_workload::orderentry::Dialect;
use tokio::time::timeout;
use tokio_postgres::{Client, SimpleQueryMessage};

use crate::{
    ClientError, OltpError, Patience, Target,
    error::shortened,
    fence::fenced,
    limits::{LARGEST_ANSWER, MessageRefusal},
    mysql::{self, MysqlClient},
    options::TextRow,
    postgres, sqlite,
    target::Protocol,
};

/// A connection that sends plain text.
pub struct Database {
    pub(crate) client: AnyClient,
    dialect: Dialect,
    version: String,
    patience: Patience,
    /// An answer was given up: what comes next would belong to an earlier question.
    is_over: bool,
}

pub(crate) enum AnyClient {
    Mysql(Box<MysqlClient>),
    Postgres(Client),
    Sqlite(Box<sqlite::Connection>),
    #[cfg(feature = "odbc")]
    Odbc(crate::odbc::Connection),
}

impl std::fmt::Debug for Database {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Database")
            .field("dialect", &self.dialect)
            .field("version", &self.version)
            .finish_non_exhaustive()
    }
}

impl Database {
    /// Connects. Within a tokio runtime, in which the connection stays.
    ///
    /// # Errors
    /// When there is no way to the database.
    pub async fn connect(target: &Target) -> Result<Self, OltpError> {
        let (client, dialect, version) = match target.protocol {
            Protocol::Mysql => {
                let (client, version) = mysql::connect(target).await?;
                let dialect = client.dialect();
                (AnyClient::Mysql(Box::new(client)), dialect, version)
            }
            Protocol::Postgresql => {
                let client = postgres::connect(target).await?;
                // It says its version when it is asked.
                let version = String::new();
                (AnyClient::Postgres(client), Dialect::Postgresql, version)
            }
            Protocol::Sqlite => {
                let connection = sqlite::Connection::open(target, None).await?;
                let version = connection.version().to_owned();
                (
                    AnyClient::Sqlite(Box::new(connection)),
                    Dialect::Sqlite,
                    version,
                )
            }
            #[cfg(feature = "odbc")]
            Protocol::Odbc(dialect) => {
                let connection = crate::odbc::Connection::open(target, dialect).await?;
                let version = outside_text(connection.version());
                (AnyClient::Odbc(connection), dialect, version)
            }
        };
        let mut database = Self {
            client,
            dialect,
            version,
            patience: target.patience,
            is_over: false,
        };
        if target.protocol == Protocol::Postgresql {
            let number = database.word("SHOW server_version").await?;
            database.version = format!("PostgreSQL {}", number.unwrap_or_default());
        }
        Ok(database)
    }

    /// Whose SQL it speaks.
    #[must_use]
    pub fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// The server's version, in its own words.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Executes one statement, within the target's patience for statements.
    ///
    /// # Errors
    /// [`OltpError::Statement`] with the server's words.
    pub async fn execute(&mut self, statement: &str) -> Result<(), OltpError> {
        self.rows(statement).await.map(drop)
    }

    /// The rows of one query, as text, within the target's patience for statements.
    ///
    /// # Errors
    /// [`OltpError::Statement`] with the server's words.
    pub async fn rows(&mut self, query: &str) -> Result<Vec<Vec<Option<String>>>, OltpError> {
        self.ask(query, self.patience.statement).await
    }

    /// The rows of a question that needs no look at the data, within the target's patience for an
    /// answer.
    pub(crate) async fn short_rows(&mut self, query: &str) -> Result<Vec<TextRow>, OltpError> {
        self.ask(query, self.patience.answer).await
    }

    /// The first column of the first row of such a question, fit for a terminal.
    pub(crate) async fn word(&mut self, query: &str) -> Result<Option<String>, OltpError> {
        let rows = self.short_rows(query).await?;
        let word = rows.into_iter().flatten().next().flatten();
        Ok(word.map(|word| outside_text(&word)))
    }

    async fn ask(&mut self, query: &str, patience: Duration) -> Result<Vec<TextRow>, OltpError> {
        let refused = |why| OltpError::Statement {
            statement: shortened(query),
            why,
        };
        // Until an answer has come whole: whoever drops this future leaves one behind.
        if std::mem::replace(&mut self.is_over, true) {
            return Err(refused(ClientError::Io(std::io::Error::new(
                std::io::ErrorKind::ConnectionAborted,
                "an earlier call on this connection was given up",
            ))));
        }
        let answer = async {
            match &mut self.client {
                AnyClient::Mysql(client) => client.rows(query).await,
                AnyClient::Postgres(client) => fenced(postgres_rows(client, query)).await?,
                AnyClient::Sqlite(connection) => connection.rows(query).await,
                #[cfg(feature = "odbc")]
                AnyClient::Odbc(connection) => connection.rows(query).await,
            }
        };
        let answer = timeout(patience, answer)
            .await
            .unwrap_or(Err(ClientError::Timeout(patience)));
        self.is_over = matches!(
            answer,
            Err(ClientError::Timeout(_)
                | ClientError::Panicked(_)
                | ClientError::MessageRefusal(_))
        );
        answer.map_err(refused)
    }
}

async fn postgres_rows(client: &Client, query: &str) -> Result<Vec<TextRow>, ClientError> {
    let mut messages = pin!(client.simple_query_raw(query).await?);
    let mut rows = Vec::new();
    let mut bytes = 0;
    while let Some(message) = messages.next().await {
        let SimpleQueryMessage::Row(row) = message? else {
            continue;
        };
        let row = (0..row.len())
            .map(|index| Ok(row.try_get(index)?.map(str::to_owned)))
            .collect::<Result<TextRow, ClientError>>()?;
        bytes += row
            .iter()
            .map(|value| size_of::<Option<String>>() + value.as_ref().map_or(0, String::len))
            .sum::<usize>();
        if bytes > LARGEST_ANSWER {
            return Err(MessageRefusal::LargeAnswer.into());
        }
        rows.push(row);
    }
    Ok(rows)
}
