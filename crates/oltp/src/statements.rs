//! Statements of one's own over the clients that terminals use: for measuring them, and for scripts
//! of several connections.

use rookery_workload::orderentry::transaction::{Answers, Value};

use crate::{ClientError, OltpError, Target, error::shortened, mysql, postgres, target::Protocol};

/// A connection with statements of one's own. What [`DbSession`](crate::DbSession) is made of.
#[derive(Debug)]
pub struct Statements(Inner);

#[derive(Debug)]
enum Inner {
    Mysql {
        client: mysql::MysqlClient,
        statements: Vec<MysqlStatement>,
    },
    Postgres(postgres::PostgresClient),
}

#[derive(Debug)]
enum MysqlStatement {
    Prepared(usize),
    /// MySQL does not prepare what begins and ends a transaction.
    Text(String),
}

impl Statements {
    /// Connects. Within a tokio runtime, in which the connection stays.
    ///
    /// # Errors
    /// When there is no way to the database, or it is not reached by the protocols of MariaDB,
    /// MySQL or PostgreSQL.
    pub async fn open(target: &Target) -> Result<Self, OltpError> {
        Ok(Self(match target.protocol {
            Protocol::Mysql => Inner::Mysql {
                client: mysql::connect_client(target).await?,
                statements: Vec::new(),
            },
            Protocol::Postgresql => Inner::Postgres(postgres::connect_client(target).await?),
            _ => {
                return Err(OltpError::setting(format!(
                    "{target} takes the statements of the workload alone"
                )));
            }
        }))
    }

    /// Prepares a statement and gives its number. Parameters are `?` or `$1` as the database has
    /// it.
    ///
    /// # Errors
    /// [`OltpError::Statement`] with the server's words.
    pub async fn prepare(&mut self, text: &str) -> Result<usize, OltpError> {
        let prepared = match &mut self.0 {
            Inner::Mysql { client, statements } => {
                let statement = if ["BEGIN", "COMMIT", "ROLLBACK"].contains(&text) {
                    Ok(MysqlStatement::Text(text.to_owned()))
                } else {
                    client.prepare(text).await.map(MysqlStatement::Prepared)
                };
                statement.map(|statement| {
                    statements.push(statement);
                    statements.len() - 1
                })
            }
            Inner::Postgres(client) => client.prepare(text).await,
        };
        prepared.map_err(|why| OltpError::Statement {
            statement: shortened(text),
            why,
        })
    }

    /// Adds a call to the next flight.
    ///
    /// # Errors
    /// When there is no such statement, or PostgreSQL cannot take a value where it is given.
    pub fn call(&mut self, statement: usize, values: &[Value<'_>]) -> Result<(), ClientError> {
        match &mut self.0 {
            Inner::Mysql { client, statements } => match statements.get(statement) {
                Some(MysqlStatement::Prepared(number)) => {
                    client.call(*number, values.iter().copied())
                }
                Some(MysqlStatement::Text(text)) => {
                    client.text(text);
                    Ok(())
                }
                None => Err(ClientError::Session(format!(
                    "statement {statement} was not prepared"
                ))),
            },
            Inner::Postgres(client) => client.call(statement, values.iter().copied()),
        }
    }

    /// Sends the flight and appends one answer per call.
    ///
    /// # Errors
    /// The first error of the server. PostgreSQL has then executed nothing behind it; MariaDB and
    /// MySQL have.
    pub async fn fly(&mut self, answers: &mut Answers) -> Result<(), ClientError> {
        match &mut self.0 {
            Inner::Mysql { client, .. } => client.fly(answers).await,
            Inner::Postgres(client) => client.fly(answers).await,
        }
    }
}
