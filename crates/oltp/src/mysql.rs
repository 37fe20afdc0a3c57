//! MariaDB and MySQL: the connection, and a terminal's session of prepared statements in the binary protocol.

use std::time::Duration;

use mysql_async::{Conn, OptsBuilder, Params, Statement as Prepared, prelude::Queryable as _};
use rookery_workload::orderentry::{
    Dialect,
    sql::Statement,
    transaction::{Answers, Arguments, Flight, Value},
};
use tokio::time::timeout;

use crate::{ClientError, OltpError, SessionOptions, Target, error::shortened, target::Place};

/// Longest wait for a connection.
pub(crate) const CONNECT_PATIENCE: Duration = Duration::from_secs(20);

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
    let builder = match &target.place {
        Place::Tcp(address) => builder.ip_or_hostname(address.ip().to_string()).tcp_port(address.port()),
        Place::Socket(path) | Place::SocketDirectory(path, _) => builder.socket(Some(path.display().to_string())),
    };
    let connected = timeout(CONNECT_PATIENCE, Conn::new(builder)).await;
    let mut conn = match connected {
        Ok(Ok(conn)) => conn,
        Ok(Err(error)) => return Err(refusal(target, error)),
        Err(_) => {
            return Err(OltpError::Connect {
                target: target.to_string(),
                why: ClientError::Timeout(CONNECT_PATIENCE.as_secs()),
            });
        }
    };
    let version: Option<String> = conn.query_first("SELECT VERSION()").await.map_err(|why| OltpError::Connect {
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

fn refusal(target: &Target, error: mysql_async::Error) -> OltpError {
    let place = target.to_string();
    match &error {
        mysql_async::Error::Server(server) => match server.code {
            1049 => OltpError::NoDatabase {
                target: place,
                database: target.database.clone(),
                why: server.message.clone(),
            },
            1044 | 1045 | 1698 => OltpError::Account {
                target: place,
                why: server.message.clone(),
            },
            _ => OltpError::Connect {
                target: place,
                why: error.into(),
            },
        },
        mysql_async::Error::Io(io) => OltpError::NoServer {
            target: place,
            why: io.to_string(),
        },
        _ => OltpError::Connect {
            target: place,
            why: error.into(),
        },
    }
}

/// A terminal's session.
#[derive(Debug)]
pub(crate) struct MysqlSession {
    conn: Conn,
    pub(crate) dialect: Dialect,
    /// By [`Statement::index`].
    prepared: Vec<Option<Prepared>>,
}

impl MysqlSession {
    pub(crate) async fn open(target: &Target, options: SessionOptions) -> Result<Self, OltpError> {
        let (mut conn, dialect, _) = connect(target).await?;
        let refused = |statement: &str, why: mysql_async::Error| OltpError::Statement {
            statement: shortened(statement),
            why: why.into(),
        };
        options.style.on(dialect)?;
        if let Some(statement) = dialect.set_isolation(options.isolation) {
            conn.query_drop(statement.as_ref()).await.map_err(|why| refused(&statement, why))?;
        }
        let mut prepared: Vec<Option<Prepared>> = vec![None; Statement::COUNT];
        for statement in Statement::used(options.style, dialect) {
            // MySQL prepares no BEGIN.
            if !statement.is_control() {
                let text = statement.sql(dialect);
                prepared[statement.index()] = Some(conn.prep(text.as_str()).await.map_err(|why| refused(&text, why))?);
            }
        }
        Ok(Self { conn, dialect, prepared })
    }

    pub(crate) async fn fly(&mut self, flight: &Flight, answers: &mut Answers) -> Result<(), ClientError> {
        for (statement, arguments) in flight.calls() {
            if statement.is_control() {
                self.conn.query_drop(statement.sql(self.dialect)).await?;
                answers.end_answer(0);
                continue;
            }
            let Some(Some(prepared)) = self.prepared.get(statement.index()) else {
                return Err(ClientError::Session(format!("{statement:?} was not prepared")));
            };
            let mut result = self.conn.exec_iter(prepared, parameters(arguments)).await?;
            let affected = result.affected_rows();
            // A procedure answers with an empty result behind its rows: the first result is the answer.
            while let Some(row) = result.next().await? {
                for index in 0..row.len() {
                    push(row.as_ref(index), answers)?;
                }
                answers.end_row();
            }
            result.drop_result().await?;
            answers.end_answer(affected);
        }
        Ok(())
    }
}

fn parameters(arguments: Arguments<'_>) -> Params {
    if arguments.len() == 0 {
        return Params::Empty;
    }
    let values = arguments.map(|value| match value {
        Value::Null => mysql_async::Value::NULL,
        Value::Int(number) => mysql_async::Value::Int(number),
        Value::Decimal(decimal) => {
            let mut text = Vec::with_capacity(16);
            decimal.write(&mut text);
            mysql_async::Value::Bytes(text)
        }
        Value::Time(time) => mysql_async::Value::Bytes(time.to_string().into_bytes()),
        Value::Text(text) => mysql_async::Value::Bytes(text.to_vec()),
    });
    Params::Positional(values.collect())
}

/// Decimals come as text. Of dates the transactions only ask whether they are there.
fn push(value: Option<&mysql_async::Value>, answers: &mut Answers) -> Result<(), ClientError> {
    use mysql_async::Value;
    match value {
        None | Some(Value::NULL) => answers.push_null(),
        Some(Value::Bytes(text)) => answers.push_text(text),
        Some(Value::Int(number)) => answers.push_int(*number),
        Some(Value::UInt(number)) => answers.push_int(i64::try_from(*number).unwrap_or(i64::MAX)),
        Some(date @ (Value::Date(..) | Value::Time(..))) => answers.push_text(date.as_sql(true).as_bytes()),
        Some(float @ (Value::Float(_) | Value::Double(_))) => {
            return Err(ClientError::Session(format!("a column is the float {}", float.as_sql(true))));
        }
    }
    Ok(())
}
