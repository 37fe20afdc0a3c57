//! PostgreSQL: the connection for everything else, and a terminal's session of prepared statements
//! over a client of our own, whose flights travel as one.

mod client;
mod guard;
mod lent;
mod wire;

use std::io;

use rookery_workload::orderentry::{
    Dialect,
    sql::Statement,
    transaction::{Answers, Flight},
};
use tokio::time::timeout;
use tokio_postgres::{Client, Config, NoTls, config::SslMode};

use crate::{
    ClientError, OltpError, SessionOptions, Target, error::shortened, fence::fenced, socket::Socket,
};
pub(crate) use client::PostgresClient;
use guard::Guarded;

/// Connects for everything but transactions. The connection is a task of the current runtime, and
/// ends with the client.
pub(crate) async fn connect(target: &Target) -> Result<Client, OltpError> {
    let patience = target.patience.answer;
    let config = config(target);
    let connecting = async {
        let socket = Socket::connect(target).await?;
        let guarded = Guarded::new(socket, target.clear_text);
        Ok(fenced(config.connect_raw(guarded, NoTls)).await??)
    };
    let (client, connection) = match timeout(patience, connecting).await {
        Ok(connected) => connected.map_err(|why| refusal(target, why))?,
        Err(_) => return Err(refusal(target, ClientError::Timeout(patience))),
    };
    // An error of the connection comes to light in whatever the client does next.
    tokio::spawn(async move {
        let _ = fenced(connection).await;
    });
    Ok(client)
}

/// Connects the client that terminals use.
pub(crate) async fn connect_client(target: &Target) -> Result<PostgresClient, OltpError> {
    PostgresClient::connect(&config(target), target)
        .await
        .map_err(|why| refusal(target, why))
}

fn config(target: &Target) -> Config {
    let mut config = Config::new();
    config
        .user(&target.user)
        .dbname(&target.database)
        .application_name("rookery")
        // What lies below the client is encrypted already, where it shall be.
        .ssl_mode(SslMode::Disable);
    if let Some(password) = &target.password {
        config.password(password);
    }
    config
}

fn refusal(target: &Target, why: ClientError) -> OltpError {
    let place = target.to_string();
    let (no_account, no_database) = match why.code() {
        Some((state, _)) => (state.starts_with("28"), state == "3D000"),
        // A password that is asked for and not given is the client's own error.
        None => {
            let is_own = matches!(why, ClientError::Postgres(_));
            (is_own && why.to_string().contains("password"), false)
        }
    };
    let is_io = match &why {
        ClientError::Postgres(error) if error.is_closed() => true,
        ClientError::Postgres(error) => {
            let source = std::error::Error::source(error);
            source
                .and_then(|source| source.downcast_ref())
                .is_some_and(is_of_the_line)
        }
        ClientError::Io(error) => is_of_the_line(error),
        _ => false,
    };
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

/// What is no word of this protocol was sent by something else.
fn is_of_the_line(error: &io::Error) -> bool {
    !matches!(
        error.kind(),
        io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput
    )
}

/// A terminal's session.
#[derive(Debug)]
pub(crate) struct PostgresSession {
    client: PostgresClient,
    /// By [`Statement::index`].
    prepared: Vec<Option<usize>>,
}

impl PostgresSession {
    pub(crate) async fn open(target: &Target, options: SessionOptions) -> Result<Self, OltpError> {
        let mut client = connect_client(target).await?;
        let refused = |statement: &str, why: ClientError| OltpError::Statement {
            statement: shortened(statement),
            why,
        };
        options.style.on(Dialect::Postgresql)?;
        if let Some(statement) = Dialect::Postgresql.set_isolation(options.isolation) {
            client
                .text(&statement)
                .await
                .map_err(|why| refused(&statement, why))?;
        }
        let mut prepared: Vec<Option<usize>> = vec![None; Statement::COUNT];
        for statement in Statement::used(options.style, Dialect::Postgresql) {
            let text = statement.sql(Dialect::Postgresql);
            prepared[statement.index()] = Some(
                client
                    .prepare(&text)
                    .await
                    .map_err(|why| refused(&text, why))?,
            );
        }
        Ok(Self { client, prepared })
    }

    pub(crate) async fn fly(
        &mut self,
        flight: &Flight,
        answers: &mut Answers,
    ) -> Result<(), ClientError> {
        for (statement, arguments) in flight.calls() {
            let Some(Some(prepared)) = self.prepared.get(statement.index()) else {
                self.client.forget();
                self.client.forget();
                return Err(ClientError::Session(format!(
                    "{statement:?} was not prepared"
                )));
            };
            self.client.call(*prepared, arguments)?;
        }
        self.client.fly(answers).await
    }
}
