//! PostgreSQL: the connection, and a terminal's session of prepared statements, whose flights travel as one.

mod wire;

use std::pin::pin;

use futures_util::{StreamExt as _, future::join_all};
use rookery_workload::orderentry::{
    Dialect,
    sql::Statement,
    transaction::{Answers, Arguments, Flight},
};
use tokio::time::timeout;
use tokio_postgres::{Client, Config, NoTls, Row, RowStream, Statement as Prepared};

use crate::{ClientError, OltpError, SessionOptions, Target, error::shortened, mysql::CONNECT_PATIENCE, target::Place};
use wire::{Column, Parameter};

/// Connects. The connection is a task of the current runtime, and ends with the client.
pub(crate) async fn connect(target: &Target) -> Result<Client, OltpError> {
    let mut config = Config::new();
    config
        .user(&target.user)
        .dbname(&target.database)
        .application_name("rookery")
        .connect_timeout(CONNECT_PATIENCE);
    if let Some(password) = &target.password {
        config.password(password);
    }
    match &target.place {
        Place::Tcp(address) => config.host(address.ip().to_string()).port(address.port()),
        Place::SocketDirectory(path, port) => config.host_path(path).port(*port),
        Place::Socket(path) => config.host_path(path),
    };
    let (client, connection) = match timeout(CONNECT_PATIENCE, config.connect(NoTls)).await {
        Ok(Ok(connected)) => connected,
        Ok(Err(error)) => return Err(refusal(target, error)),
        Err(_) => {
            return Err(OltpError::Connect {
                target: target.to_string(),
                why: ClientError::Timeout(CONNECT_PATIENCE.as_secs()),
            });
        }
    };
    // An error of the connection comes to light in whatever the client does next.
    tokio::spawn(async move {
        let _ = connection.await;
    });
    Ok(client)
}

fn refusal(target: &Target, error: tokio_postgres::Error) -> OltpError {
    let place = target.to_string();
    let why = ClientError::from(error);
    let (no_account, no_database) = match why.code() {
        Some((state, _)) => (state.starts_with("28"), state == "3D000"),
        // A password that is asked for and not given is the client's own error.
        None => (why.to_string().contains("password"), false),
    };
    let is_io = matches!(&why, ClientError::Postgres(error)
        if std::error::Error::source(error).is_some_and(|source| source.is::<std::io::Error>()));
    if no_account {
        OltpError::Account {
            target: place,
            why: why.to_string(),
        }
    } else if no_database {
        OltpError::NoDatabase {
            target: place,
            database: target.database.clone(),
            why: why.to_string(),
        }
    } else if is_io && why.code().is_none() {
        OltpError::NoServer {
            target: place,
            why: why.to_string(),
        }
    } else {
        OltpError::Connect { target: place, why }
    }
}

/// A terminal's session.
pub(crate) struct PostgresSession {
    client: Client,
    /// By [`Statement::index`].
    prepared: Vec<Option<Prepared>>,
}

impl std::fmt::Debug for PostgresSession {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PostgresSession")
            .field("closed", &self.client.is_closed())
            .finish_non_exhaustive()
    }
}

impl PostgresSession {
    pub(crate) async fn open(target: &Target, options: SessionOptions) -> Result<Self, OltpError> {
        let client = connect(target).await?;
        let refused = |statement: &str, why: tokio_postgres::Error| OltpError::Statement {
            statement: shortened(statement),
            why: why.into(),
        };
        options.style.on(Dialect::Postgresql)?;
        if let Some(statement) = Dialect::Postgresql.set_isolation(options.isolation) {
            client.batch_execute(&statement).await.map_err(|why| refused(&statement, why))?;
        }
        let mut prepared: Vec<Option<Prepared>> = vec![None; Statement::COUNT];
        for statement in Statement::used(options.style, Dialect::Postgresql) {
            let text = statement.sql(Dialect::Postgresql);
            prepared[statement.index()] = Some(client.prepare(&text).await.map_err(|why| refused(&text, why))?);
        }
        Ok(Self { client, prepared })
    }

    pub(crate) async fn fly(&mut self, flight: &Flight, answers: &mut Answers) -> Result<(), ClientError> {
        if flight.len() == 1 {
            for (statement, arguments) in flight.calls() {
                let mut stream = pin!(self.send(statement, arguments).await?);
                while let Some(row) = stream.next().await {
                    push_row(&row?, answers)?;
                }
                answers.end_answer(stream.rows_affected().unwrap_or(0));
            }
            return Ok(());
        }
        // Each call is sent when it is first polled, in order, before any answer is awaited. All of them read on until the last has its
        // answer: one that waited with unread rows would hold up those behind it.
        let calls = flight.calls().map(|(statement, arguments)| self.call(statement, arguments));
        // The server stops at the first error: what follows it is only told so.
        for answer in join_all(calls).await {
            let (rows, affected) = answer?;
            for row in &rows {
                push_row(row, answers)?;
            }
            answers.end_answer(affected);
        }
        Ok(())
    }

    async fn send(&self, statement: Statement, arguments: Arguments<'_>) -> Result<RowStream, ClientError> {
        let Some(Some(prepared)) = self.prepared.get(statement.index()) else {
            return Err(ClientError::Session(format!("{statement:?} was not prepared")));
        };
        Ok(self.client.query_raw(prepared, arguments.map(Parameter)).await?)
    }

    async fn call(&self, statement: Statement, arguments: Arguments<'_>) -> Result<(Vec<Row>, u64), ClientError> {
        let mut stream = pin!(self.send(statement, arguments).await?);
        let mut rows = Vec::new();
        while let Some(row) = stream.next().await {
            rows.push(row?);
        }
        Ok((rows, stream.rows_affected().unwrap_or(0)))
    }
}

fn push_row(row: &Row, answers: &mut Answers) -> Result<(), ClientError> {
    for index in 0..row.len() {
        match row.try_get::<_, Column<'_>>(index)? {
            Column::Null => answers.push_null(),
            Column::Int(number) => answers.push_int(number),
            Column::Decimal(decimal) => answers.push_decimal(decimal),
            Column::Text(text) => answers.push_text(text),
        }
    }
    answers.end_row();
    Ok(())
}
