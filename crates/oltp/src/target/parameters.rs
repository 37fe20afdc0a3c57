//! What stands behind the `?` of a target.

use std::{fmt::Write as _, path::PathBuf, time::Duration};

use super::{Protocol, Target, decoded, encoded};
use crate::{Patience, error::TargetProblem, tls::Encryption};

/// The parameters of one target.
#[derive(Debug)]
pub(super) struct Parameters {
    /// A socket, or its directory.
    pub(super) socket: Option<PathBuf>,
    pub(super) port: Option<u16>,
    pub(super) patience: Patience,
    pub(super) clear_text: bool,
    pub(super) encryption: Encryption,
}

/// What the certificate of the server must prove.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TlsMode {
    Off,
    Unverified,
    Signed,
    Named,
}

impl TlsMode {
    /// In the words of either database.
    fn parse(protocol: Protocol, word: &str) -> Result<Self, TargetProblem> {
        let modes = match protocol {
            Protocol::Postgresql => ["disable", "require", "verify-ca", "verify-full"],
            _ => ["disabled", "required", "verify_ca", "verify_identity"],
        };
        let known = [Self::Off, Self::Unverified, Self::Signed, Self::Named];
        let word = word.to_ascii_lowercase();
        modes
            .iter()
            .position(|mode| *mode == word)
            .map(|index| known[index])
            .ok_or_else(|| {
                TargetProblem::from(format!(
                    "`{word}` is no mode of TLS; write {}: what is measured must not depend on \
                     what a server offers",
                    modes.join(", ")
                ))
            })
    }
}

impl Parameters {
    /// Takes `query` apart.
    pub(super) fn parse(protocol: Protocol, query: &str) -> Result<Self, TargetProblem> {
        let mut parameters = Self {
            socket: None,
            port: None,
            patience: Patience::DEFAULT,
            clear_text: false,
            encryption: Encryption::Off,
        };
        let (mut mode, mut roots, mut name) = (TlsMode::Off, None, None);
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (key, value) = pair
                .split_once('=')
                .ok_or_else(|| format!("`{pair}` is no KEY=VALUE"))?;
            match (key, protocol) {
                ("socket", Protocol::Mysql | Protocol::Sqlite) | ("host", Protocol::Postgresql) => {
                    parameters.socket = Some(PathBuf::from(decoded(value)?));
                }
                ("port", Protocol::Postgresql) => {
                    let port = value.parse().map_err(|_| format!("`{value}` is no port"))?;
                    parameters.port = Some(port);
                }
                ("timeout", _) => parameters.patience.answer = seconds(value)?,
                ("statement-timeout", _) => parameters.patience.statement = seconds(value)?,
                ("cleartext-password", Protocol::Postgresql) => match value {
                    "allow" => parameters.clear_text = true,
                    "refuse" => parameters.clear_text = false,
                    _ => return Err("write cleartext-password=allow or =refuse".into()),
                },
                ("sslmode", Protocol::Postgresql) | ("ssl-mode", Protocol::Mysql) => {
                    mode = TlsMode::parse(protocol, value)?;
                }
                ("sslrootcert", Protocol::Postgresql) | ("ssl-ca", Protocol::Mysql) => {
                    roots = Some(PathBuf::from(decoded(value)?));
                }
                ("tls-name", Protocol::Postgresql | Protocol::Mysql) => {
                    name = Some(decoded(value)?);
                }
                _ => return Err(format!("the parameter `{key}` is not known").into()),
            }
        }
        parameters.encryption = encryption(mode, roots, name)?;
        Ok(parameters)
    }
}

fn encryption(
    mode: TlsMode,
    roots: Option<PathBuf>,
    name: Option<String>,
) -> Result<Encryption, TargetProblem> {
    if name.is_some() && mode != TlsMode::Named {
        return Err(
            "tls-name is looked at by sslmode=verify-full (PostgreSQL) or \
                    ssl-mode=VERIFY_IDENTITY (MySQL) alone"
                .into(),
        );
    }
    match (mode, roots) {
        (TlsMode::Off, None) => Ok(Encryption::Off),
        (TlsMode::Unverified, None) => Ok(Encryption::Unverified),
        (TlsMode::Signed, Some(roots)) => Ok(Encryption::Signed { roots }),
        (TlsMode::Named, Some(roots)) => Ok(Encryption::Named { roots, name }),
        (TlsMode::Signed | TlsMode::Named, None) => Err(
            "there is no certificate to verify the server by; write sslrootcert=FILE (PostgreSQL) \
             or ssl-ca=FILE (MySQL)"
                .into(),
        ),
        (TlsMode::Off | TlsMode::Unverified, Some(_)) => Err(
            "a file of certificates is named, and a mode that looks at none: write \
             sslmode=verify-full (PostgreSQL) or ssl-mode=VERIFY_IDENTITY (MySQL)"
                .into(),
        ),
    }
}

fn seconds(value: &str) -> Result<Duration, TargetProblem> {
    value
        .parse()
        .ok()
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        .filter(|duration| !duration.is_zero())
        .ok_or_else(|| TargetProblem::from(format!("`{value}` is no time in seconds above 0")))
}

/// The parameters of `target` beside its socket, as they are written behind others.
pub(super) fn written(target: &Target) -> String {
    let mut out = String::new();
    let mut put = |key: &str, value: &str| {
        // A string takes everything.
        let _ = write!(out, "&{key}={value}");
    };
    let (patience, usual) = (target.patience, Patience::DEFAULT);
    if patience.answer != usual.answer {
        put("timeout", &patience.answer.as_secs_f64().to_string());
    }
    if patience.statement != usual.statement {
        put(
            "statement-timeout",
            &patience.statement.as_secs_f64().to_string(),
        );
    }
    if target.clear_text {
        put("cleartext-password", "allow");
    }
    let (mode, ca, words) = if target.protocol == Protocol::Postgresql {
        (
            "sslmode",
            "sslrootcert",
            ["require", "verify-ca", "verify-full"],
        )
    } else {
        (
            "ssl-mode",
            "ssl-ca",
            ["REQUIRED", "VERIFY_CA", "VERIFY_IDENTITY"],
        )
    };
    match &target.encryption {
        Encryption::Off => {}
        Encryption::Unverified => put(mode, words[0]),
        Encryption::Signed { roots } => {
            put(mode, words[1]);
            put(ca, &encoded(&roots.to_string_lossy()));
        }
        Encryption::Named { roots, name } => {
            put(mode, words[2]);
            put(ca, &encoded(&roots.to_string_lossy()));
            if let Some(name) = name {
                put("tls-name", &encoded(name));
            }
        }
    }
    out
}
