//! The client's side: a connection, a terminal's session, a load.

use std::{io, time::Duration};

use rookery_diagnosis::outside_text;
use rookery_workload::orderentry::{
    Dialect, Table,
    sql::Style,
    transaction::{Answers, Flight, Value},
};
use tokio::{
    io::{
        AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _,
        BufReader,
    },
    net::{TcpStream, UnixStream},
    time::timeout,
};

use super::{
    counters::CacheCounters,
    message::{
        ErrorKind, Hello, LoadRequest, Reply, write_call, write_counters_request, write_flight,
        write_hello, write_load, write_prepare, write_text,
    },
    wire::{LENGTH, MAX_REPLY, frame_length},
};
use crate::{
    ClientError, LoadOptions, OltpError, Progress, SessionOptions, Target, error::ServerError,
    options::TextRow, short_path::short_socket, target::Route,
};

/// Longest wait for the answers to a flight: many times what the server waits for locks.
const FLIGHT_PATIENCE: Duration = Duration::from_secs(120);

/// A line of either kind.
trait Duplex: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Duplex for T {}

/// A connection to the server.
pub(crate) struct Connection {
    line: BufReader<Box<dyn Duplex>>,
    version: String,
    input: Vec<u8>,
    output: Vec<u8>,
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connection")
            .field("version", &self.version)
            .finish_non_exhaustive()
    }
}

impl Connection {
    /// Connects and greets. With a style, its statements are prepared when this returns.
    pub(crate) async fn open(target: &Target, style: Option<Style>) -> Result<Self, OltpError> {
        let connecting = async {
            let line = reach(target).await.map_err(|error| OltpError::NoServer {
                target: target.to_string(),
                why: error.to_string(),
            })?;
            let mut connection = Self {
                line: BufReader::with_capacity(16 * 1024, line),
                version: String::new(),
                input: Vec::new(),
                output: Vec::new(),
            };
            write_hello(&mut connection.output, Hello::new(style));
            let welcomed = connection.exchange().await.and_then(|reply| match reply {
                Reply::Welcome(version) => Ok(format!("SQLite {}", outside_text(version))),
                other => Err(unexpected(&other)),
            });
            connection.version = welcomed.map_err(|why| refused(target, why))?;
            Ok(connection)
        };
        let patience = target.patience.answer;
        match timeout(patience, connecting).await {
            Ok(connected) => connected,
            Err(_) => Err(OltpError::Connect {
                target: target.to_string(),
                why: ClientError::Timeout(patience),
            }),
        }
    }

    pub(crate) fn version(&self) -> &str {
        &self.version
    }

    /// Sends what `output` holds.
    async fn send(&mut self) -> Result<(), ClientError> {
        Ok(self.line.get_mut().write_all(&self.output).await?)
    }

    /// The next reply.
    async fn receive(&mut self) -> Result<Reply<'_>, ClientError> {
        let mut head = [0; LENGTH];
        self.line.read_exact(&mut head).await?;
        let length = frame_length(head, MAX_REPLY)?;
        self.input.resize(length, 0);
        self.line.read_exact(&mut self.input).await?;
        match Reply::read(&self.input)? {
            Reply::Error { kind, code, text } => Err(ClientError::Sqlite(ServerError {
                code: (kind == ErrorKind::Engine).then_some(code),
                exists: kind == ErrorKind::Exists,
                text: outside_text(text),
            })),
            reply => Ok(reply),
        }
    }

    async fn exchange(&mut self) -> Result<Reply<'_>, ClientError> {
        self.send().await?;
        self.receive().await
    }

    /// Executes text, and gives its rows. Whoever asks limits the wait.
    pub(crate) async fn rows(&mut self, text: &str) -> Result<Vec<TextRow>, ClientError> {
        write_text(&mut self.output, text);
        match self.exchange().await? {
            Reply::Answers(answers) => Ok(answers.into_text()?),
            reply => Err(unexpected(&reply)),
        }
    }

    /// Prepares a statement of the client's own; the first has the number 0.
    pub(crate) async fn prepare(&mut self, text: &str) -> Result<(), ClientError> {
        write_prepare(&mut self.output, text);
        match self.exchange().await? {
            Reply::Answers(_) => Ok(()),
            reply => Err(unexpected(&reply)),
        }
    }

    /// Executes such a statement. Whoever asks limits the wait.
    pub(crate) async fn call<'v>(
        &mut self,
        number: usize,
        values: impl ExactSizeIterator<Item = Value<'v>>,
        answers: &mut Answers,
    ) -> Result<(), ClientError> {
        write_call(&mut self.output, number, values);
        match self.exchange().await? {
            Reply::Answers(reader) => Ok(reader.into_answers(answers)?),
            reply => Err(unexpected(&reply)),
        }
    }

    /// The cache counters of the server.
    pub(super) async fn counters(&mut self) -> Result<CacheCounters, ClientError> {
        write_counters_request(&mut self.output);
        match timeout(FLIGHT_PATIENCE, self.exchange()).await {
            Ok(Ok(Reply::Counters(counters))) => Ok(counters),
            Ok(reply) => Err(unexpected(&reply?)),
            Err(_) => Err(ClientError::Timeout(FLIGHT_PATIENCE)),
        }
    }
}

async fn reach(target: &Target) -> io::Result<Box<dyn Duplex>> {
    match &target.route {
        Route::Tcp(address) => {
            let stream = TcpStream::connect(address).await?;
            stream.set_nodelay(true)?;
            Ok(Box::new(stream))
        }
        Route::Socket(path) | Route::SocketDirectory(path, _) => {
            let (_open, short) = short_socket(path)?;
            Ok(Box::new(UnixStream::connect(short).await?))
        }
    }
}

/// What the server refuses to a connection that is being made.
fn refused(target: &Target, why: ClientError) -> OltpError {
    match &why {
        ClientError::Sqlite(error) if error.has_no_table() => OltpError::NotLoaded {
            target: target.to_string(),
        },
        _ => OltpError::Connect {
            target: target.to_string(),
            why,
        },
    }
}

fn unexpected(reply: &Reply<'_>) -> ClientError {
    ClientError::Session(format!(
        "the server gave an answer to another question: {}",
        outside_text(&format!("{reply:?}"))
    ))
}

/// A terminal's session.
#[derive(Debug)]
pub(crate) struct SqliteSession(Connection);

impl SqliteSession {
    pub(crate) async fn open(target: &Target, options: SessionOptions) -> Result<Self, OltpError> {
        options.style.on(Dialect::Sqlite)?;
        Ok(Self(Connection::open(target, Some(options.style)).await?))
    }

    pub(crate) async fn fly(
        &mut self,
        flight: &Flight,
        answers: &mut Answers,
    ) -> Result<(), ClientError> {
        write_flight(&mut self.0.output, flight);
        match timeout(FLIGHT_PATIENCE, self.0.exchange()).await {
            Ok(Ok(Reply::Answers(reader))) => Ok(reader.into_answers(answers)?),
            Ok(reply) => Err(unexpected(&reply?)),
            Err(_) => Err(ClientError::Timeout(FLIGHT_PATIENCE)),
        }
    }
}

/// How long the server took for the rows, and for keys and statistics.
pub(crate) struct LoadTimes {
    pub(crate) streaming: Duration,
    pub(crate) indexing: Duration,
}

/// Lets the server load `options.population`, which it makes itself: no row travels. `progress` is
/// told of every step. The server ends the load when it finds nobody to tell: dropping this ends
/// it.
pub(crate) async fn load(
    target: &Target,
    options: &LoadOptions,
    progress: &(dyn Fn(Progress) + Sync),
) -> Result<LoadTimes, OltpError> {
    let mut connection = Connection::open(target, None).await?;
    let request = LoadRequest {
        population: options.population,
        schema: options.schema,
        overwrite: options.overwrite,
    };
    write_load(&mut connection.output, &request);
    let failed = |why: ClientError| refused_load(target, why);
    connection.send().await.map_err(failed)?;
    let patience = target.patience.statement;
    loop {
        let late = |_| failed(ClientError::Timeout(patience));
        timeout(patience, connection.line.fill_buf())
            .await
            .map_err(late)?
            .map_err(|error| failed(error.into()))?;
        match connection.receive().await.map_err(failed)? {
            Reply::Progress { rows, bytes } => progress(Progress { rows, bytes }),
            Reply::Loaded {
                streaming_us,
                indexing_us,
            } => {
                return Ok(LoadTimes {
                    streaming: Duration::from_micros(streaming_us),
                    indexing: Duration::from_micros(indexing_us),
                });
            }
            other => return Err(failed(unexpected(&other))),
        }
    }
}

fn refused_load(target: &Target, why: ClientError) -> OltpError {
    let table = match &why {
        ClientError::Sqlite(error) if error.exists => Table::ALL
            .into_iter()
            .find(|table| table.name() == error.text),
        _ => None,
    };
    match table {
        Some(table) => OltpError::Exists {
            target: target.to_string(),
            table: table.name(),
        },
        None => OltpError::Statement {
            statement: "load".to_owned(),
            why,
        },
    }
}
