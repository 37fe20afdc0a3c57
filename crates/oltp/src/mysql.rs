//! MariaDB and MySQL: the connection for everything else, and a terminal's session of prepared
//! statements over a client of our own, which costs less per statement and sends several at once.

mod client;
mod handshake;
mod packet;
mod value;

use mysql_async::{Conn, OptsBuilder, prelude::Queryable as _};
use rookery_workload::orderentry::{
    Dialect,
    sql::{Statement, Style},
    transaction::{Answers, Flight},
};
use tokio::time::timeout;

use crate::{
    ClientError, OltpError, SessionOptions, Target, error::shortened, options::CONNECT_PATIENCE,
    short_path::short_socket, target::Route,
};
pub(crate) use client::MysqlClient;

/// Connects, and says which of the two databases it is, and its version.
pub(crate) async fn connect(target: &Target) -> Result<(Conn, Dialect, String), OltpError> {
    let builder = OptsBuilder::default()
        .user(Some(&target.user))
        .pass(target.password.as_deref())
        .db_name(Some(&target.database))
        // An UPDATE answers with the rows that it found, also when it writes what was there.
        .client_found_rows(true)
        // Statements are kept by the session itself.
        .stmt_cache_size(0)
        // Else a session over TCP would silently move to the socket.
        .prefer_socket(false)
        .tcp_nodelay(true);
    // Open until the connection is there.
    let mut _open = None;
    let builder = match &target.route {
        Route::Tcp(address) => builder
            .ip_or_hostname(address.ip().to_string())
            .tcp_port(address.port()),
        Route::Socket(path) | Route::SocketDirectory(path, _) => {
            let (open, short) =
                short_socket(path).map_err(|error| refusal(target, ClientError::Io(error)))?;
            _open = Some(open);
            builder.socket(Some(short.display().to_string()))
        }
    };
    let connected = timeout(CONNECT_PATIENCE, Conn::new(builder)).await;
    let mut conn = match connected {
        Ok(Ok(conn)) => conn,
        Ok(Err(error)) => return Err(refusal(target, error.into())),
        Err(_) => {
            return Err(OltpError::Connect {
                target: target.to_string(),
                why: ClientError::Timeout(CONNECT_PATIENCE.as_secs()),
            });
        }
    };
    let version: Option<String> =
        conn.query_first("SELECT VERSION()")
            .await
            .map_err(|why| OltpError::Connect {
                target: target.to_string(),
                why: why.into(),
            })?;
    let version = version.unwrap_or_default();
    let dialect = if version.contains("MariaDB") {
        Dialect::Mariadb
    } else {
        Dialect::Mysql
    };
    Ok((conn, dialect, version))
}

fn refusal(target: &Target, why: ClientError) -> OltpError {
    let place = target.to_string();
    let code = why.code().map(|(_, code)| code);
    let is_io = matches!(
        &why,
        ClientError::Mysql(mysql_async::Error::Io(_)) | ClientError::Io(_)
    );
    let words = match &why {
        ClientError::Mysql(mysql_async::Error::Server(server)) => server.message.clone(),
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
    MysqlClient::connect(target, CONNECT_PATIENCE)
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
