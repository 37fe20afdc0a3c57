//! A connection to a NATS server, as one of its clients.

use std::{io, sync::Arc, time::Duration};

use rookery_diagnosis::outside_text;
use serde::Serialize;
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    net::TcpStream,
    time::timeout,
};
use tokio_rustls::{
    TlsConnector,
    rustls::{ClientConfig, crypto::ring, pki_types::ServerName},
};

use super::{
    access::{NatsAddress, NatsServer},
    error::NatsError,
    identity::Identity,
    line::{self, Said, ServerInfo},
};

/// How long a connection may take to be made.
const CONNECT: Duration = Duration::from_secs(5);
/// How long it may take where there are others to try: a lease is to outlast several.
const CONNECT_ONE: Duration = Duration::from_secs(2);
/// How long a server may take to accept what is sent.
const WRITE: Duration = Duration::from_secs(5);
/// The oldest version: that of Debian 12.
const OLDEST: (u32, u32) = (2, 9);
/// Bytes that are read at a time.
const READ: usize = 64 << 10;
/// The smallest message that a server must take.
const LEAST_MESSAGE: usize = 4 << 10;

/// Bytes in both directions, encrypted or not.
trait Wire: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Wire for T {}

/// A connection that has one subscription.
pub(super) struct Connection {
    wire: Box<dyn Wire>,
    buffer: Vec<u8>,
    /// Host and port of the server.
    place: String,
    /// Most bytes of a message that the server takes.
    pub(super) most_message: usize,
}

/// One of several servers, with what belongs to all.
#[derive(Clone, Copy)]
struct Endpoint<'a> {
    server: &'a NatsServer,
    address: &'a NatsAddress,
}

/// What a client says of itself.
#[derive(Serialize)]
struct Connect<'a> {
    verbose: bool,
    pedantic: bool,
    tls_required: bool,
    name: &'a str,
    lang: &'a str,
    version: &'a str,
    protocol: u8,
    headers: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    jwt: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    nkey: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sig: Option<String>,
}

impl Connection {
    /// Connect to the first server that can be used, log in and subscribe.
    ///
    /// # Errors
    /// Why none of the servers can be used.
    pub(super) async fn open(server: &NatsServer, subject: &str) -> Result<Self, NatsError> {
        let limit = match server.addresses.len() {
            1 => CONNECT,
            _ => CONNECT_ONE,
        };
        let mut fault: Option<NatsError> = None;
        for address in &server.addresses {
            let at = Endpoint { server, address };
            let late = || unreachable(&address.place(), io::ErrorKind::TimedOut.into());
            let opened = timeout(limit, Self::open_slowly(at, subject)).await;
            match opened.unwrap_or_else(|_| Err(late())) {
                Ok(connection) => return Ok(connection),
                // They are the same for all.
                Err(error @ NatsError::Credentials) => return Err(error),
                Err(error) => {
                    fault = Some(match fault {
                        Some(before) => before.and(error),
                        None => error,
                    });
                }
            }
        }
        let none = || NatsError::System(io::Error::other("no address of a server"));
        Err(fault.unwrap_or_else(none))
    }

    async fn open_slowly(at: Endpoint<'_>, subject: &str) -> Result<Self, NatsError> {
        let Endpoint { server, address } = at;
        let place = address.place();
        let stream = TcpStream::connect((address.host.as_str(), address.port)).await;
        let stream = stream
            .and_then(|stream| stream.set_nodelay(true).map(|()| stream))
            .map_err(|error| unreachable(&place, error))?;
        let mut connection = Self {
            wire: Box::new(stream),
            buffer: Vec::new(),
            place,
            most_message: 0,
        };
        let info = match connection.next().await {
            Ok(Said::Info(info)) => info,
            Ok(_) => return Err(foreign(&connection.place, "it does not say what it is")),
            Err(error) => return Err(foreign(&connection.place, &error.to_string())),
        };
        check_version(&connection.place, &info)?;
        if address.tls || info.tls_required {
            connection = connection.encrypted(at, &info).await?;
        }
        connection.most_message = info.max_payload.min(line::MOST_MESSAGE);
        if connection.most_message < LEAST_MESSAGE {
            let words = format!("messages of {} bytes at most", info.max_payload);
            let server = connection.place;
            return Err(NatsError::Forbidden { server, words });
        }
        connection
            .log_in(server, address.tls, &info, subject)
            .await?;
        Ok(connection)
    }

    async fn encrypted(self, at: Endpoint<'_>, info: &ServerInfo) -> Result<Self, NatsError> {
        let fault = |words: String| NatsError::Tls {
            server: at.address.place(),
            words: outside_text(&words),
        };
        if !(info.tls_required || info.tls_available) {
            return Err(fault("the server has none".to_owned()));
        }
        let Some(ca) = &at.server.ca else {
            return Err(fault(
                "`ca` names no certificate that signs the server's".to_owned(),
            ));
        };
        if !self.buffer.is_empty() {
            return Err(fault(
                "bytes came before it that are not encrypted".to_owned(),
            ));
        }
        let provider = Arc::new(ring::default_provider());
        let verifier = rookery_driver::signed_by(&provider, ca.as_bytes());
        let verifier = verifier.map_err(|error| fault(format!("`ca`: {error}")))?;
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| fault(error.to_string()))?
            .with_webpki_verifier(verifier)
            .with_no_client_auth();
        let name = ServerName::try_from(at.address.host.clone())
            .map_err(|error| fault(error.to_string()))?;
        let connector = TlsConnector::from(Arc::new(config));
        let wire = connector.connect(name, self.wire).await;
        let wire = wire.map_err(|error| fault(error.to_string()))?;
        Ok(Self {
            wire: Box::new(wire),
            ..self
        })
    }

    async fn log_in(
        &mut self,
        server: &NatsServer,
        tls_required: bool,
        info: &ServerInfo,
        subject: &str,
    ) -> Result<(), NatsError> {
        let identity = server
            .credentials
            .as_deref()
            .map(Identity::parse)
            .transpose()?;
        let identity = identity.as_ref();
        let jwt = identity.and_then(Identity::jwt);
        let connect = Connect {
            verbose: false,
            pedantic: false,
            tls_required,
            name: "rookery",
            lang: "rust",
            version: env!("CARGO_PKG_VERSION"),
            protocol: 1,
            headers: false,
            jwt,
            // A JWT says whose it is.
            nkey: identity.filter(|_| jwt.is_none()).map(Identity::public_key),
            sig: identity.map(|identity| identity.signature(&info.nonce)),
        };
        let connect = serde_json::to_string(&connect)
            .map_err(|error| NatsError::System(io::Error::other(error)))?;
        let words = format!("CONNECT {connect}\r\nSUB {subject} 1\r\nPING\r\n");
        let written = self.write(words.as_bytes()).await;
        written.map_err(|error| unreachable(&self.place, error))?;
        self.await_pong().await
    }

    /// Wait until the server has done what it was asked for.
    async fn await_pong(&mut self) -> Result<(), NatsError> {
        loop {
            match self.next_answered().await {
                Ok(Said::Pong) => return Ok(()),
                Ok(Said::Error(words)) => return Err(refusal(&self.place, &words)),
                Ok(_) => {}
                Err(error) => return Err(unreachable(&self.place, error)),
            }
        }
    }

    /// See that what is published to our own subject comes.
    ///
    /// # Errors
    /// Why it does not.
    pub(super) async fn check(mut self, subject: &str) -> Result<(), NatsError> {
        let place = self.place.clone();
        let heard = async {
            let published = self.publish(subject, b"").await;
            published.map_err(|error| unreachable(&place, error))?;
            loop {
                match self.next_answered().await {
                    Ok(Said::Message(_)) => return Ok(()),
                    Ok(Said::Error(words)) => return Err(refusal(&place, &words)),
                    Ok(_) => {}
                    Err(error) => return Err(unreachable(&place, error)),
                }
            }
        };
        let late = || unreachable(&place, io::ErrorKind::TimedOut.into());
        timeout(CONNECT, heard)
            .await
            .unwrap_or_else(|_| Err(late()))
    }

    /// What the server says next. What was read stays where this is cancelled.
    ///
    /// # Errors
    /// When the connection ends, or something comes that no server says.
    pub(super) async fn next(&mut self) -> io::Result<Said> {
        loop {
            let said = line::next(&mut self.buffer);
            let said = said.map_err(|words| io::Error::new(io::ErrorKind::InvalidData, words))?;
            if let Some(said) = said {
                return Ok(said);
            }
            self.buffer.reserve(READ);
            if self.wire.read_buf(&mut self.buffer).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }

    /// What the server says next but its pings, which are answered.
    async fn next_answered(&mut self) -> io::Result<Said> {
        loop {
            match self.next().await? {
                Said::Ping => self.pong().await?,
                said => return Ok(said),
            }
        }
    }

    /// Publish a message.
    ///
    /// # Errors
    /// When the connection ends, or the server takes nothing.
    pub(super) async fn publish(&mut self, subject: &str, message: &[u8]) -> io::Result<()> {
        let mut bytes = format!("PUB {subject} {}\r\n", message.len()).into_bytes();
        bytes.extend_from_slice(message);
        bytes.extend_from_slice(b"\r\n");
        self.write(&bytes).await
    }

    /// Answer the server that wants a sign of life.
    ///
    /// # Errors
    /// When the connection ends, or the server takes nothing.
    pub(super) async fn pong(&mut self) -> io::Result<()> {
        self.write(b"PONG\r\n").await
    }

    /// Ask the server for a sign of life.
    ///
    /// # Errors
    /// When the connection ends, or the server takes nothing.
    pub(super) async fn ping(&mut self) -> io::Result<()> {
        self.write(b"PING\r\n").await
    }

    async fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let written = async {
            self.wire.write_all(bytes).await?;
            self.wire.flush().await
        };
        let written = timeout(WRITE, written).await;
        written.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
    }
}

/// Refuse a server that is too old.
fn check_version(place: &str, info: &ServerInfo) -> Result<(), NatsError> {
    match is_recent(&info.version) {
        None => Err(foreign(place, "it has no version")),
        Some(true) => Ok(()),
        Some(false) => Err(NatsError::Old {
            server: place.to_owned(),
            found: outside_text(&info.version),
        }),
    }
}

/// Whether a server of this version can be used; nothing where it is no version.
pub(crate) fn is_recent(version: &str) -> Option<bool> {
    let mut numbers = version.split('.').map(|part| part.parse().ok());
    let version = (numbers.next().flatten()?, numbers.next().flatten()?);
    Some(version >= OLDEST)
}

/// What the words of a refusal mean.
fn refusal(place: &str, words: &str) -> NatsError {
    let (server, words) = (place.to_owned(), outside_text(words));
    let lower = words.to_lowercase();
    if lower.starts_with("permissions violation") || lower.contains("maximum") {
        NatsError::Forbidden { server, words }
    } else {
        NatsError::Denied { server, words }
    }
}

fn unreachable(place: &str, source: io::Error) -> NatsError {
    let server = place.to_owned();
    NatsError::Unreachable { server, source }
}

fn foreign(place: &str, words: &str) -> NatsError {
    NatsError::Foreign {
        server: place.to_owned(),
        words: outside_text(words),
    }
}
