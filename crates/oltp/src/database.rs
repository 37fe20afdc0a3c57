//! A connection for everything but transactions: schema, checks, settings. Statements and answers
//! are text.

use mysql_async::{Conn, prelude::Queryable as _};
use rookery_workload::orderentry::Dialect;
use tokio_postgres::{Client, SimpleQueryMessage};

use crate::{
    ClientError, OltpError, Target, error::shortened, mysql, options::TextRow, postgres, sqlite,
    target::Protocol,
};

/// A connection that sends plain text.
pub struct Database {
    pub(crate) client: AnyClient,
    dialect: Dialect,
    version: String,
}

pub(crate) enum AnyClient {
    Mysql(Box<Conn>),
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
        match target.protocol {
            Protocol::Mysql => {
                let (conn, dialect, version) = mysql::connect(target).await?;
                Ok(Self {
                    client: AnyClient::Mysql(Box::new(conn)),
                    dialect,
                    version,
                })
            }
            Protocol::Postgresql => {
                let mut database = Self {
                    client: AnyClient::Postgres(postgres::connect(target).await?),
                    dialect: Dialect::Postgresql,
                    version: String::new(),
                };
                let rows = database.rows("SHOW server_version").await?;
                let version = rows
                    .into_iter()
                    .flatten()
                    .next()
                    .flatten()
                    .unwrap_or_default();
                database.version = format!("PostgreSQL {version}");
                Ok(database)
            }
            Protocol::Sqlite => {
                let connection = sqlite::Connection::open(target, None).await?;
                Ok(Self {
                    version: connection.version().to_owned(),
                    client: AnyClient::Sqlite(Box::new(connection)),
                    dialect: Dialect::Sqlite,
                })
            }
            #[cfg(feature = "odbc")]
            Protocol::Odbc(dialect) => {
                let connection = crate::odbc::Connection::open(target, dialect).await?;
                Ok(Self {
                    version: connection.version().to_owned(),
                    client: AnyClient::Odbc(connection),
                    dialect,
                })
            }
        }
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

    /// Executes one statement.
    ///
    /// # Errors
    /// [`OltpError::Statement`] with the server's words.
    pub async fn execute(&mut self, statement: &str) -> Result<(), OltpError> {
        let done = match &mut self.client {
            AnyClient::Mysql(conn) => conn.query_drop(statement).await.map_err(ClientError::from),
            AnyClient::Postgres(client) => client
                .batch_execute(statement)
                .await
                .map_err(ClientError::from),
            AnyClient::Sqlite(connection) => connection.rows(statement).await.map(drop),
            #[cfg(feature = "odbc")]
            AnyClient::Odbc(connection) => connection.rows(statement).await.map(drop),
        };
        done.map_err(|why| refused(statement, why))
    }

    /// The rows of one query, as text.
    ///
    /// # Errors
    /// [`OltpError::Statement`] with the server's words.
    pub async fn rows(&mut self, query: &str) -> Result<Vec<Vec<Option<String>>>, OltpError> {
        let rows = match &mut self.client {
            AnyClient::Mysql(conn) => mysql_rows(conn, query).await,
            AnyClient::Postgres(client) => postgres_rows(client, query).await,
            AnyClient::Sqlite(connection) => connection.rows(query).await,
            #[cfg(feature = "odbc")]
            AnyClient::Odbc(connection) => connection.rows(query).await,
        };
        rows.map_err(|why| refused(query, why))
    }
}

fn refused(statement: &str, why: ClientError) -> OltpError {
    OltpError::Statement {
        statement: shortened(statement),
        why,
    }
}

async fn mysql_rows(conn: &mut Conn, query: &str) -> Result<Vec<TextRow>, ClientError> {
    let rows: Vec<mysql_async::Row> = conn.query(query).await?;
    let text = |value: mysql_async::Value| match value {
        mysql_async::Value::NULL => None,
        mysql_async::Value::Bytes(bytes) => Some(String::from_utf8_lossy(&bytes).into_owned()),
        other => Some(other.as_sql(true)),
    };
    Ok(rows
        .into_iter()
        .map(|row| row.unwrap().into_iter().map(text).collect())
        .collect())
}

async fn postgres_rows(client: &Client, query: &str) -> Result<Vec<TextRow>, ClientError> {
    let messages = client.simple_query(query).await?;
    let rows = messages.into_iter().filter_map(|message| match message {
        SimpleQueryMessage::Row(row) => Some(
            (0..row.len())
                .map(|index| row.get(index).map(str::to_owned))
                .collect(),
        ),
        _ => None,
    });
    Ok(rows.collect())
}
