//! How a guest's service is seen to be healthy: one short conversation in its own protocol.

use std::{
    io::{self, Read, Write},
    net::{SocketAddr, TcpStream},
    time::Duration,
};

use rookery_host::{HttpGetError, http_get};
use serde::{Deserialize, Serialize};

/// The question that a healthy service answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Health {
    /// `GET` of this path is answered 200.
    Http(String),
    /// `GET` of this path is answered with this status.
    Page {
        /// The path.
        path: String,
        /// The status.
        status: u16,
    },
    /// MariaDB or MySQL greets whoever connects. It listens only when it is ready.
    Mysql,
    /// PostgreSQL takes this user into this database, or asks for a password. It answers from its
    /// start, also while it recovers, but then with a refusal.
    Postgresql {
        /// A user that exists.
        user: String,
        /// A database that exists.
        database: String,
    },
}

/// The version of PostgreSQL's protocol: 3.0.
const POSTGRESQL_PROTOCOL: u32 = 3 << 16;
/// What PostgreSQL says when it goes on to authenticate.
const AUTHENTICATION: u8 = b'R';
/// What MariaDB's greeting begins with, behind length and number of the packet: version 10 of its
/// protocol.
const GREETING: u8 = 10;
/// Longest refusal that is quoted, bytes.
const LONGEST_REFUSAL: u64 = 512;

impl Health {
    /// What is wrong with the question itself.
    pub(crate) fn problem(&self) -> Option<String> {
        let plain = |text: &str| !text.is_empty() && !text.contains('\0');
        match self {
            Self::Http(path) | Self::Page { path, .. }
                if !path.starts_with('/') || path.contains(char::is_whitespace) =>
            {
                Some(format!("`{path}` is no path of a health page"))
            }
            Self::Postgresql { user, database } if !plain(user) || !plain(database) => {
                Some("a health check of PostgreSQL names a user and a database".to_owned())
            }
            _ => None,
        }
    }

    /// Ask once: a page within `timeout`, a database within `timeout` for each of connecting,
    /// sending and the answer.
    ///
    /// # Errors
    /// When it is not healthy.
    pub(crate) fn ask(&self, address: SocketAddr, timeout: Duration) -> Result<(), HealthError> {
        let refusal = self.refusal(address, timeout);
        let asked = match self {
            Self::Http(path) | Self::Page { path, .. } => format!("{address}{path}"),
            Self::Mysql | Self::Postgresql { .. } => address.to_string(),
        };
        match refusal {
            Ok(None) => Ok(()),
            Ok(Some(refusal)) => Err(HealthError::Refused { asked, refusal }),
            Err(source) => Err(HealthError::Io { asked, source }),
        }
    }

    /// What is said instead of the healthy answer.
    fn refusal(&self, address: SocketAddr, timeout: Duration) -> io::Result<Option<String>> {
        let connect = || {
            let stream = TcpStream::connect_timeout(&address, timeout)?;
            stream.set_read_timeout(Some(timeout))?;
            stream.set_write_timeout(Some(timeout))?;
            Ok::<_, io::Error>(stream)
        };
        match self {
            Self::Http(path) => http(address, path, 200, timeout),
            Self::Page { path, status } => http(address, path, *status, timeout),
            Self::Mysql => mysql(&mut connect()?),
            Self::Postgresql { user, database } => postgresql(&mut connect()?, user, database),
        }
    }
}

/// Why a service is not healthy.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HealthError {
    /// It says something else than a healthy one.
    #[error("{asked} answers `{refusal}`")]
    Refused { asked: String, refusal: String },
    /// It does not answer.
    #[error("{asked}: {source}")]
    Io { asked: String, source: io::Error },
}

/// Gives what is answered instead of this status, which is all that matters.
fn http(
    address: SocketAddr,
    path: &str,
    status: u16,
    timeout: Duration,
) -> io::Result<Option<String>> {
    match http_get(address, path.as_bytes(), timeout) {
        Ok(answer) if answer.status() == status => Ok(None),
        Ok(answer) => Ok(Some(format!("status {}", answer.status()))),
        Err(HttpGetError::NotHttp { beginning }) => Ok(Some(beginning)),
        Err(HttpGetError::Io(error)) => Err(error),
        Err(error) => Err(io::Error::other(error)),
    }
}

/// Gives what MariaDB says instead of its greeting, such as that it has too many connections.
fn mysql(stream: &mut TcpStream) -> io::Result<Option<String>> {
    let mut head = [0; 5];
    stream.read_exact(&mut head)?;
    if head[4] == GREETING {
        return Ok(None);
    }
    Ok(Some(in_words(&rest(stream))))
}

/// Gives what PostgreSQL says instead of going on to authenticate, such as that it is starting up.
fn postgresql(stream: &mut TcpStream, user: &str, database: &str) -> io::Result<Option<String>> {
    let parameters = format!("user\0{user}\0database\0{database}\0\0");
    let length = u32::try_from(parameters.len() + 8).map_err(io::Error::other)?;
    let mut message = Vec::from(length.to_be_bytes());
    message.extend(POSTGRESQL_PROTOCOL.to_be_bytes());
    message.extend(parameters.into_bytes());
    stream.write_all(&message)?;
    let mut kind = [0];
    stream.read_exact(&mut kind)?;
    if kind[0] == AUTHENTICATION {
        return Ok(None);
    }
    Ok(Some(in_words(&rest(stream))))
}

/// What is still said, as far as it has come.
fn rest(stream: &mut TcpStream) -> Vec<u8> {
    let mut words = Vec::new();
    // A refusal that is cut short is quoted as far as it goes.
    let _ = stream.take(LONGEST_REFUSAL).read_to_end(&mut words);
    words
}

/// Readable characters, others as single spaces.
fn in_words(bytes: &[u8]) -> String {
    let text =
        String::from_utf8_lossy(bytes).replace(|c: char| c.is_control() || c == '\u{fffd}', " ");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use std::{
        net::{Shutdown, TcpListener},
        thread,
    };

    use super::*;

    /// What `health` makes of a server that first waits for `asked` bytes and then says `answer`.
    fn answer(
        health: &Health,
        asked: usize,
        answer: &'static [u8],
    ) -> (Result<(), String>, Vec<u8>) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("bind");
        let address = listener.local_addr().expect("address");
        let server = thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("accept");
            let mut question = vec![0; asked];
            stream.read_exact(&mut question).expect("a question");
            let _ = stream.write_all(answer);
            let _ = stream.shutdown(Shutdown::Write);
            // A connection that is closed on an unread question may lose the answer.
            let _ = stream.read_to_end(&mut Vec::new());
            question
        });
        let result = health
            .ask(address, Duration::from_secs(5))
            .map_err(|error| error.to_string());
        (result, server.join().expect("server"))
    }

    #[test]
    fn only_200_is_healthy() {
        let page = Health::Http("/health".to_owned());
        let http = |text: &'static [u8]| answer(&page, 20, text).0;
        assert_eq!(http(b"HTTP/1.1 200 OK\r\n\r\n"), Ok(()));
        assert!(
            http(b"HTTP/1.1 503 Busy\r\n\r\n")
                .expect_err("not healthy")
                .contains("503")
        );
        assert!(http(b"SSH-2.0-hello there").is_err());
        assert!(http(b"HTTP").is_err());
        assert!(http(b"").is_err());
    }

    #[test]
    fn mariadb_is_healthy_when_it_greets() {
        let mysql = |bytes: &'static [u8]| answer(&Health::Mysql, 0, bytes).0;
        assert_eq!(mysql(b"\x4a\0\0\0\x0a5.5.5-10.11.6-MariaDB\0"), Ok(()));
        let refusal =
            mysql(b"\x17\0\0\0\xff\x10\x04Too many connections").expect_err("not healthy");
        assert!(
            refusal.ends_with("answers `Too many connections`"),
            "{refusal}"
        );
        assert!(mysql(b"\x4a\0").is_err());
    }

    #[test]
    fn postgresql_is_healthy_when_it_lets_one_in() {
        let health = Health::Postgresql {
            user: "oe".to_owned(),
            database: "shop".to_owned(),
        };
        let (healthy, question) = answer(&health, 31, b"R\0\0\0\x08\0\0\0\0");
        assert_eq!(healthy, Ok(()));
        assert_eq!(
            question,
            b"\0\0\0\x1f\0\x03\0\0user\0oe\0database\0shop\0\0"
        );
        let starting = b"E\0\0\0\x30SFATAL\0C57P03\0Mthe database system is starting up\0\0";
        let refusal = answer(&health, 31, starting).0.expect_err("not healthy");
        assert!(refusal.contains("starting up"), "{refusal}");
    }

    #[test]
    fn a_question_that_is_none_is_told() {
        assert_eq!(Health::Mysql.problem(), None);
        assert!(Health::Http("health".to_owned()).problem().is_some());
        assert!(Health::Http("/a b".to_owned()).problem().is_some());
        let nobody = Health::Postgresql {
            user: String::new(),
            database: "d".to_owned(),
        };
        assert!(nobody.problem().is_some());
    }
}
