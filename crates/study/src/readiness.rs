//! How a service is seen to be ready.

use std::{fmt, net::SocketAddr, path::PathBuf, str::FromStr};

use serde::{Deserialize, Serialize};

/// How a service is seen to be ready.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Readiness {
    /// `file:PATH`: it exists.
    File(PathBuf),
    /// `socket:PATH`: a Unix stream socket accepts.
    Socket(PathBuf),
    /// `tcp:ADDRESS:PORT`: a TCP port accepts.
    Tcp(SocketAddr),
    /// `log:TEXT`: a line of its output contains the text.
    Log(String),
}

/// A text that does not say how a service is seen to be ready.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseReadinessError {
    /// What follows `tcp:` is no address.
    #[error("`{text}` is no address with a port, such as 127.0.0.1:80")]
    Address {
        /// The text.
        text: String,
    },
    /// It begins with none of the known words.
    #[error("`{text}` is none of file:PATH, socket:PATH, tcp:ADDRESS:PORT, log:TEXT")]
    Unknown {
        /// The text.
        text: String,
    },
}

impl FromStr for Readiness {
    type Err = ParseReadinessError;

    fn from_str(text: &str) -> Result<Self, ParseReadinessError> {
        match text.split_once(':') {
            Some(("file", path)) if !path.is_empty() => Ok(Self::File(path.into())),
            Some(("socket", path)) if !path.is_empty() => Ok(Self::Socket(path.into())),
            Some(("tcp", address)) => match address.parse() {
                Ok(address) => Ok(Self::Tcp(address)),
                Err(_) => Err(ParseReadinessError::Address {
                    text: address.to_owned(),
                }),
            },
            Some(("log", text)) if !text.is_empty() => Ok(Self::Log(text.to_owned())),
            _ => Err(ParseReadinessError::Unknown {
                text: text.to_owned(),
            }),
        }
    }
}

impl TryFrom<String> for Readiness {
    type Error = ParseReadinessError;

    fn try_from(text: String) -> Result<Self, ParseReadinessError> {
        text.parse()
    }
}

impl fmt::Display for Readiness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(f, "file:{}", path.display()),
            Self::Socket(path) => write!(f, "socket:{}", path.display()),
            Self::Tcp(address) => write!(f, "tcp:{address}"),
            Self::Log(text) => write!(f, "log:{text}"),
        }
    }
}

impl From<Readiness> for String {
    fn from(ready: Readiness) -> Self {
        ready.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_to_be_ready_is_understood_and_written() {
        let all = [
            ("file:/a:b", Readiness::File("/a:b".into())),
            ("socket:/s", Readiness::Socket("/s".into())),
            ("log:ready: yes", Readiness::Log("ready: yes".into())),
            (
                "tcp:[::1]:80",
                Readiness::Tcp(([0, 0, 0, 0, 0, 0, 0, 1], 80).into()),
            ),
        ];
        for (text, ready) in all {
            assert_eq!(text.parse(), Ok(ready.clone()));
            assert_eq!(ready.to_string(), text);
        }
        for wrong in [
            "",
            "file:",
            "socket:",
            "log:",
            "tcp:localhost",
            "tcp:127.0.0.1",
            "udp:1",
            "/path",
        ] {
            assert!(wrong.parse::<Readiness>().is_err(), "{wrong}");
        }
    }
}
