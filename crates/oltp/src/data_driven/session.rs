//! A connection with the prepared statements of a workload. Values are bound as text; the database
//! gives them the types of their places.

use rookery_workload::{
    orderentry::{
        Dialect,
        transaction::{Answer, Answers, ErrorClass, Value},
    },
    sql::{Marks, StatementText},
};

use crate::{
    ClientError, OltpError, Target,
    error::shortened,
    mysql::{self, MysqlClient},
    postgres::{self, PostgresClient},
    sqlite,
    target::Protocol,
};

/// Texts are UTF-8 in both directions.
pub(super) const UTF_8: &str = "SET NAMES utf8mb4";

/// How transactions begin and end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Control {
    /// One that only reads.
    BeginRead,
    /// One that writes.
    BeginWrite,
    Commit,
    RollBack,
}

/// A connection.
#[derive(Debug)]
pub(crate) struct StatementSession {
    client: Client,
    dialect: Dialect,
    answers: Answers,
    in_transaction: bool,
}

#[derive(Debug)]
enum Client {
    Mysql(Box<MysqlClient>, Vec<usize>),
    Postgres(Box<PostgresClient>, Vec<usize>),
    Sqlite(Box<sqlite::Connection>),
}

impl StatementSession {
    /// Connects and prepares.
    ///
    /// # Errors
    /// When there is no way to the database, or it refuses a statement.
    pub(super) async fn open(target: &Target, texts: &[StatementText]) -> Result<Self, OltpError> {
        let refused = |text: String, why: ClientError| OltpError::Statement {
            statement: shortened(&text),
            why,
        };
        let mut numbers = Vec::new();
        let (client, dialect) = match target.protocol {
            Protocol::Mysql => {
                let mut client = mysql::connect_client(target).await?;
                client.text(UTF_8);
                let named = client.fly(&mut Answers::default()).await;
                named.map_err(|why| refused(UTF_8.to_owned(), why))?;
                for text in texts {
                    let text = text.with_marks(Marks::Question);
                    let prepared = client.prepare_any(&text).await;
                    numbers.push(prepared.map_err(|why| refused(text, why))?);
                }
                let dialect = client.dialect();
                (Client::Mysql(Box::new(client), numbers), dialect)
            }
            Protocol::Postgresql => {
                let mut client = postgres::connect_client(target).await?;
                for text in texts {
                    let text = text.with_marks(Marks::Numbered);
                    let prepared = client.prepare_as_text(&text).await;
                    numbers.push(prepared.map_err(|why| refused(text, why))?);
                }
                let client = Client::Postgres(Box::new(client), numbers);
                (client, Dialect::Postgresql)
            }
            Protocol::Sqlite => {
                let mut connection = sqlite::Connection::open(target, None).await?;
                for text in texts {
                    let text = text.with_marks(Marks::Question);
                    let prepared = connection.prepare(&text).await;
                    prepared.map_err(|why| refused(text, why))?;
                }
                (Client::Sqlite(Box::new(connection)), Dialect::Sqlite)
            }
            #[cfg(feature = "odbc")]
            Protocol::Odbc(_) => {
                return Err(OltpError::setting(
                    "an SQL workload has no way over ODBC; name the database by mysql://, \
                     postgresql:// or sqlite+oe://",
                ));
            }
        };
        Ok(Self {
            client,
            dialect,
            answers: Answers::default(),
            in_transaction: false,
        })
    }

    /// Executes a statement, by its number, with the values of its parameters.
    pub(super) async fn call(
        &mut self,
        number: usize,
        values: &[&[u8]],
    ) -> Result<Answer<'_>, ClientError> {
        self.answers.clear();
        let answers = &mut self.answers;
        let arguments = values.iter().map(|value| Value::Text(value));
        let missing = || ClientError::Session(format!("statement {number} was not prepared"));
        match &mut self.client {
            Client::Mysql(client, numbers) => {
                client.call(*numbers.get(number).ok_or_else(missing)?, arguments)?;
                client.fly(answers).await?;
            }
            Client::Postgres(client, numbers) => {
                client.call(*numbers.get(number).ok_or_else(missing)?, arguments)?;
                client.fly(answers).await?;
            }
            Client::Sqlite(connection) => connection.call(number, arguments, answers).await?,
        }
        let none = || ClientError::Session("a statement has no answer".to_owned());
        self.answers.get(0).ok_or_else(none)
    }

    /// Begins or ends a transaction.
    pub(super) async fn control(&mut self, control: Control) -> Result<(), ClientError> {
        let text = match (control, self.dialect) {
            // One that reads first and writes then could not wait for its turn.
            (Control::BeginWrite, Dialect::Sqlite) => "BEGIN IMMEDIATE",
            (Control::BeginRead | Control::BeginWrite, _) => "BEGIN",
            (Control::Commit, _) => "COMMIT",
            (Control::RollBack, _) => "ROLLBACK",
        };
        // Also after an error: there is something to roll back, perhaps.
        self.in_transaction = control != Control::RollBack;
        let answered = match &mut self.client {
            Client::Mysql(client, _) => {
                client.text(text);
                self.answers.clear();
                client.fly(&mut self.answers).await
            }
            Client::Postgres(client, _) => client.text(text).await,
            Client::Sqlite(connection) => connection.rows(text).await.map(drop),
        };
        if control == Control::Commit && answered.is_ok() {
            self.in_transaction = false;
        }
        answered
    }

    /// Whether a transaction was begun and has not ended.
    pub(super) fn in_transaction(&self) -> bool {
        self.in_transaction
    }

    /// What an error means for a transaction.
    pub(super) fn classify(&self, error: &ClientError) -> ErrorClass {
        error.class(self.dialect)
    }
}
