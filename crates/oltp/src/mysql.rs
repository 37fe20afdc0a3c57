//! MariaDB and MySQL: the connection for everything else, and a terminal's session of prepared
//! statements over a client of our own, which costs less per statement and sends several at once.

mod client;
mod control;
mod handshake;
mod packet;
mod value;

use std::io;

use rookery_diagnosis::outside_text;
use rookery_workload::orderentry::{
    Dialect,
    sql::{Statement, Style},
    transaction::{Answers, Flight},
};
use tokio::time::timeout;

use crate::{ClientError, OltpError, SessionOptions, Target, error::shortened};
pub(crate) use client::MysqlClient;
pub(crate) use handshake::Purpose;

/// Connects for everything but transactions, and says the server's version.
pub(crate) async fn connect(target: &Target) -> Result<(MysqlClient, String), OltpError> {
    let mut client = MysqlClient::connect(target, Purpose::Control)
        .await
        .map_err(|why| refusal(target, why))?;
    let patience = target.patience.answer;
    let asked = timeout(patience, client.rows("SELECT VERSION()")).await;
    let rows = asked
        .unwrap_or(Err(ClientError::Timeout(patience)))
        .map_err(|why| OltpError::Connect {
            target: target.to_string(),
            why,
        })?;
    let version = rows.into_iter().flatten().next().flatten();
    Ok((client, outside_text(&version.unwrap_or_default())))
}

fn refusal(target: &Target, why: ClientError) -> OltpError {
    let place = target.to_string();
    let code = why.code().map(|(_, code)| code);
    // What is no word of this protocol was sent by something else.
    let is_io =
        matches!(&why, ClientError::Io(error) if error.kind() != io::ErrorKind::InvalidData);
    let words = match &why {
        ClientError::Server { message, .. } => message.clone(),
        other => other.to_string(),
    };
    match code {
        Some(1049) => OltpError::NoDatabase {
            target: place,
            database: target.database.clone(),
            why: words,
        },
        Some(1044 | 1045 | 1698) => OltpError::Account {
            target: place,
            why: words,
        },
        None if is_io => OltpError::NoServer {
            target: place,
            why: words,
        },
        _ => OltpError::Connect { target: place, why },
    }
}

/// Connects the client that terminals use.
pub(crate) async fn connect_client(target: &Target) -> Result<MysqlClient, OltpError> {
    MysqlClient::connect(target, Purpose::Terminal)
        .await
        .map_err(|why| refusal(target, why))
}

/// A terminal's session.
#[derive(Debug)]
pub(crate) struct MysqlSession {
    client: MysqlClient,
    /// Whether all calls of a flight go out at once.
    pipelined: bool,
    /// By [`Statement::index`].
    prepared: Vec<Option<usize>>,
    /// Texts of the statements that are not prepared: begin, commit, roll back.
    control: Vec<String>,
}

impl MysqlSession {
    pub(crate) async fn open(target: &Target, options: SessionOptions) -> Result<Self, OltpError> {
        let mut client = connect_client(target).await?;
        let dialect = client.dialect();
        let refused = |statement: &str, why: ClientError| OltpError::Statement {
            statement: shortened(statement),
            why,
        };
        options.style.on(dialect)?;
        let pipelined = options.style == Style::Pipelined;
        // After a deadlock the server goes on with what is behind it in the pipe: it must not be
        // committed by itself. It stays open until the transaction is rolled back, which follows
        // each error.
        let no_autocommit = pipelined.then(|| "SET autocommit = 0".into());
        for statement in no_autocommit
            .into_iter()
            .chain(dialect.set_isolation(options.isolation))
        {
            client.text(&statement);
            client
                .fly(&mut Answers::default())
                .await
                .map_err(|why| refused(&statement, why))?;
        }
        let mut prepared: Vec<Option<usize>> = vec![None; Statement::COUNT];
        let mut control = vec![String::new(); Statement::COUNT];
        for statement in Statement::used(options.style, dialect) {
            let text = statement.sql(dialect);
            if statement.is_control() {
                // MySQL prepares no BEGIN.
                control[statement.index()] = text;
            } else {
                prepared[statement.index()] = Some(
                    client
                        .prepare(&text)
                        .await
                        .map_err(|why| refused(&text, why))?,
                );
            }
        }
        Ok(Self {
            client,
            pipelined,
            prepared,
            control,
        })
    }

    pub(crate) fn dialect(&self) -> Dialect {
        self.client.dialect()
    }

    pub(crate) async fn fly(
        &mut self,
        flight: &Flight,
        answers: &mut Answers,
    ) -> Result<(), ClientError> {
        for (statement, arguments) in flight.calls() {
            if statement.is_control() {
                self.client.text(&self.control[statement.index()]);
            } else if let Some(Some(prepared)) = self.prepared.get(statement.index()) {
                self.client.call(*prepared, arguments)?;
            } else {
                self.client.forget();
                return Err(ClientError::Session(format!(
                    "{statement:?} was not prepared"
                )));
            }
            if !self.pipelined {
                self.client.fly(answers).await?;
            }
        }
        if self.pipelined {
            self.client.fly(answers).await?;
        }
        Ok(())
    }
}
