//! Where a NATS server is, and how it is spoken to.

use std::{fmt, fs, net::SocketAddr, path::Path};

use ring::rand::{SecureRandom as _, SystemRandom};
use serde::{Deserialize, Serialize};

use super::error::NatsError;

/// The port of NATS servers for clients.
pub(crate) const NATS_PORT: u16 = 4222;
/// Most bytes of a host name.
const MOST_HOST: usize = 253;

/// The address of a NATS server: `nats://HOST:PORT`, or `tls://HOST:PORT`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NatsAddress {
    /// Whether the connection is encrypted.
    pub tls: bool,
    /// Its IP address or host name.
    pub host: String,
    /// Its port.
    pub port: u16,
}

impl NatsAddress {
    /// Read `nats://HOST`, `tls://HOST:PORT`, `nats://[::1]:4222`; nothing where the text is no
    /// such address.
    ///
    /// ```
    /// use rookery_fleet::NatsAddress;
    ///
    /// let address = NatsAddress::parse("tls://bus.example.org").unwrap();
    /// assert_eq!((address.tls, address.port), (true, 4222));
    /// assert_eq!(NatsAddress::parse("nats://user:secret@192.0.2.1"), None);
    /// ```
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (scheme, rest) = text.split_once("://")?;
        let tls = match scheme {
            "nats" => false,
            "tls" => true,
            _ => return None,
        };
        let (host, port) = match rest.strip_prefix('[') {
            Some(rest) => {
                let (host, behind) = rest.split_once(']')?;
                (
                    host,
                    behind.strip_prefix(':').or(behind.is_empty().then_some("")),
                )
            }
            None => match rest.split_once(':') {
                Some((host, port)) => (host, Some(port)),
                None => (rest, Some("")),
            },
        };
        let port = match port? {
            "" if !rest.ends_with(':') => NATS_PORT,
            port => port.parse().ok().filter(|port| *port > 0)?,
        };
        let allowed = |c: char| c.is_ascii_alphanumeric() || ".:-_%".contains(c);
        let is_host = (1..=MOST_HOST).contains(&host.len()) && host.chars().all(allowed);
        let host = host.to_owned();
        is_host.then_some(Self { tls, host, port })
    }

    /// Host and port, as messages name them.
    #[must_use]
    pub fn place(&self) -> String {
        match self.host.contains(':') {
            true => format!("[{}]:{}", self.host, self.port),
            false => format!("{}:{}", self.host, self.port),
        }
    }
}

/// A NATS server, or the servers of a cluster, and who we are there. It has a secret: it is never
/// logged and never stored.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct NatsServer {
    /// At least one; they are tried in this order.
    pub(super) addresses: Vec<NatsAddress>,
    /// The seed or the credentials, as their file has them.
    pub(super) credentials: Option<String>,
    /// The certificates that sign the server's, as PEM.
    pub(super) ca: Option<String>,
}

impl NatsServer {
    /// An own server at this address, for the user with this seed.
    pub(crate) fn encrypted(address: SocketAddr, seed: String, ca: String) -> Self {
        Self {
            addresses: vec![NatsAddress {
                tls: true,
                host: address.ip().to_string(),
                port: address.port(),
            }],
            credentials: Some(seed),
            ca: Some(ca),
        }
    }

    /// Read the files that belong to these addresses.
    ///
    /// # Errors
    /// When one cannot be read.
    pub(crate) fn read(
        addresses: &[NatsAddress],
        credentials: Option<&Path>,
        ca: Option<&Path>,
    ) -> Result<Self, NatsError> {
        let text = |path: &Path| {
            fs::read_to_string(path).map_err(|source| NatsError::File {
                path: path.display().to_string(),
                source,
            })
        };
        Ok(Self {
            addresses: addresses.to_vec(),
            credentials: credentials.map(text).transpose()?,
            ca: ca.map(text).transpose()?,
        })
    }

    /// Host and port of all, as messages name them.
    pub(crate) fn place(&self) -> String {
        let places = self.addresses.iter().map(NatsAddress::place);
        places.collect::<Vec<_>>().join(", ")
    }
}

impl fmt::Debug for NatsServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NatsServer({})", self.place())
    }
}

/// A connection between a controller and one agent over a server: its name, which no one guesses,
/// and the key that both ends have. It has secrets: it is never logged and never stored.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Session {
    pub(super) server: NatsServer,
    pub(super) name: String,
    pub(super) key: [u8; 32],
}

impl Session {
    /// A new one.
    ///
    /// # Errors
    /// When the system gives no random numbers.
    pub(crate) fn new(server: &NatsServer) -> Result<Self, NatsError> {
        let random = SystemRandom::new();
        let (mut name, mut key) = ([0; 16], [0; 32]);
        random
            .fill(&mut name)
            .and_then(|()| random.fill(&mut key))
            .map_err(|_| NatsError::System(std::io::Error::other("no random numbers")))?;
        Ok(Self {
            server: server.clone(),
            name: name.iter().map(|byte| format!("{byte:02x}")).collect(),
            key,
        })
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Session({})", self.server.place())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read() {
        let read = |text| {
            let address = NatsAddress::parse(text)?;
            Some((address.tls, address.place()))
        };
        assert_eq!(read("nats://a"), Some((false, "a:4222".to_owned())));
        assert_eq!(read("tls://a.b:1"), Some((true, "a.b:1".to_owned())));
        assert_eq!(read("nats://[::1]"), Some((false, "[::1]:4222".to_owned())));
        assert_eq!(read("nats://[::1]:7"), Some((false, "[::1]:7".to_owned())));
        for wrong in [
            "a:4222",
            "http://a",
            "nats://",
            "nats://a:0",
            "nats://a:",
            "nats://a:b",
            "nats://u:p@a:1",
            "nats://[::1]x",
            "nats://a/b",
        ] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn secrets_are_not_shown() {
        let server = NatsServer {
            addresses: NatsAddress::parse("nats://a").into_iter().collect(),
            credentials: Some("SUSECRET".to_owned()),
            ca: None,
        };
        let session = Session::new(&server).expect("random numbers");
        let shown = format!("{server:?} {session:?}");
        assert!(
            !shown.contains("SUSECRET") && !shown.contains(&session.name),
            "{shown}"
        );
    }
}
