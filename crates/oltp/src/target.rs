//! Where a database is: a URL, taken apart, and whether load may go there.

use std::{
    borrow::Cow,
    fmt,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    path::PathBuf,
};

use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use serde::{Deserialize, Serialize};

use crate::{OltpError, Patience, error::TargetProblem, tls::Encryption};

#[cfg(feature = "odbc")]
mod odbc;
mod parameters;

use parameters::Parameters;

/// Port of Rookery's own server of SQLite within a guest, and of targets that name none.
pub const SQLITE_PORT: u16 = 5655;

/// Whose protocol is spoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protocol {
    Mysql,
    Postgresql,
    /// Of Rookery's own server of SQLite.
    Sqlite,
    /// Over a driver of ODBC.
    #[cfg(feature = "odbc")]
    Odbc(rookery_workload::orderentry::Dialect),
}

impl Protocol {
    fn default_port(self) -> u16 {
        match self {
            Self::Mysql => 3306,
            Self::Postgresql => 5432,
            Self::Sqlite => SQLITE_PORT,
            #[cfg(feature = "odbc")]
            Self::Odbc(_) => 0,
        }
    }
}

/// The way to the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    Tcp(SocketAddr),
    /// MariaDB, MySQL and SQLite: the socket itself.
    Socket(PathBuf),
    /// PostgreSQL: the directory of the socket, and the port that is part of its name.
    SocketDirectory(PathBuf, u16),
}

/// A database on a server. It prints itself without the password.
///
/// ```
/// use rookery_oltp::Target;
/// let target: Target = "mysql://oe:secret@127.0.0.1:3307/shop".parse()?;
/// assert_eq!(target.to_string(), "mysql://oe@127.0.0.1:3307/shop");
/// let target: Target = "postgresql://oe@/shop?host=/run/postgresql".parse()?;
/// assert_eq!(target.to_string(), "postgresql://oe@/shop?host=/run/postgresql&port=5432");
/// # Ok::<(), rookery_oltp::OltpError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Target {
    pub(crate) protocol: Protocol,
    pub(crate) route: Route,
    pub(crate) user: String,
    pub(crate) password: Option<String>,
    pub(crate) database: String,
    pub(crate) patience: Patience,
    /// Whether PostgreSQL may have the password in clear text.
    pub(crate) clear_text: bool,
    pub(crate) encryption: Encryption,
}

impl Target {
    /// The same database, waited for so long.
    #[must_use]
    pub fn with_patience(mut self, patience: Patience) -> Self {
        self.patience = patience;
        self
    }

    /// How long its server is waited for.
    #[must_use]
    pub fn patience(&self) -> Patience {
        self.patience
    }

    /// The address of its server; nothing of a socket, which is always local.
    #[must_use]
    pub fn address(&self) -> Option<IpAddr> {
        match self.route {
            Route::Tcp(address) => Some(address.ip()),
            _ => None,
        }
    }

    /// Refuses an address that is neither loopback nor in `confirmed`. Unix sockets are always
    /// local.
    ///
    /// # Errors
    /// [`OltpError::Foreign`].
    pub fn refuse_foreign(&self, confirmed: &[IpAddr]) -> Result<(), OltpError> {
        #[cfg(feature = "odbc")]
        if let Protocol::Odbc(_) = self.protocol {
            return odbc::refuse_foreign(self, confirmed);
        }
        match self.route {
            Route::Tcp(address)
                if !address.ip().to_canonical().is_loopback()
                    && !confirmed.contains(&address.ip()) =>
            {
                Err(OltpError::Foreign {
                    target: self.to_string(),
                    address: address.ip(),
                })
            }
            _ => Ok(()),
        }
    }
}

impl Target {
    /// The server of SQLite behind this socket.
    pub(crate) fn at_socket(path: PathBuf) -> Self {
        Self::sqlite(Route::Socket(path))
    }

    /// The server of SQLite at this address.
    pub(crate) fn at_address(address: SocketAddr) -> Self {
        Self::sqlite(Route::Tcp(address))
    }

    /// The server has one database and asks nobody's name.
    fn sqlite(route: Route) -> Self {
        Self {
            protocol: Protocol::Sqlite,
            route,
            user: String::new(),
            password: None,
            database: String::new(),
            patience: Patience::DEFAULT,
            clear_text: false,
            encryption: Encryption::Off,
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = match self.protocol {
            Protocol::Mysql => "mysql",
            Protocol::Postgresql => "postgresql",
            #[cfg(feature = "odbc")]
            Protocol::Odbc(dialect) => {
                return write!(
                    f,
                    "odbc://?dialect={}&connection={}",
                    dialect.name(),
                    self.database
                );
            }
            Protocol::Sqlite => {
                return match &self.route {
                    Route::Tcp(address) => write!(f, "sqlite+oe://{address}/"),
                    Route::Socket(path) | Route::SocketDirectory(path, _) => {
                        write!(f, "sqlite+oe:///?socket={}", path.display())
                    }
                };
            }
        };
        let (user, database) = (&self.user, &self.database);
        match &self.route {
            Route::Tcp(address) => write!(f, "{scheme}://{user}@{address}/{database}"),
            Route::Socket(path) => {
                write!(f, "{scheme}://{user}@/{database}?socket={}", path.display())
            }
            Route::SocketDirectory(path, port) => write!(
                f,
                "{scheme}://{user}@/{database}?host={}&port={port}",
                path.display()
            ),
        }
    }
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Target({self})")
    }
}

/// As a URL with its password: for the driver that shall go there, and for no one to read.
impl From<Target> for String {
    fn from(target: Target) -> Self {
        #[cfg(feature = "odbc")]
        if let Protocol::Odbc(dialect) = target.protocol {
            let connection = target.password.as_deref().unwrap_or_default();
            return format!(
                "odbc://?dialect={}&connection={}",
                dialect.name(),
                encoded(connection)
            );
        }
        let (host, query) = match &target.route {
            Route::Tcp(address) => (address.to_string(), String::new()),
            Route::Socket(path) => {
                let path = encoded(&path.to_string_lossy());
                (String::new(), format!("&socket={path}"))
            }
            Route::SocketDirectory(path, port) => {
                let path = encoded(&path.to_string_lossy());
                (String::new(), format!("&host={path}&port={port}"))
            }
        };
        let query = query + &parameters::written(&target);
        let query = query.replacen('&', "?", 1);
        if target.protocol == Protocol::Sqlite {
            return format!("sqlite+oe://{host}/{query}");
        }
        let scheme = if target.protocol == Protocol::Mysql {
            "mysql"
        } else {
            "postgresql"
        };
        let password = target
            .password
            .map_or_else(Self::new, |password| format!(":{}", encoded(&password)));
        let (user, database) = (encoded(&target.user), encoded(&target.database));
        format!("{scheme}://{user}{password}@{host}/{database}{query}")
    }
}

impl TryFrom<String> for Target {
    type Error = OltpError;

    fn try_from(url: String) -> Result<Self, OltpError> {
        url.parse()
    }
}

impl std::str::FromStr for Target {
    type Err = OltpError;

    fn from_str(url: &str) -> Result<Self, OltpError> {
        parse(url).map_err(|why| OltpError::BadTarget { why })
    }
}

fn refuse<T>(what: impl Into<TargetProblem>) -> Result<T, TargetProblem> {
    Err(what.into())
}

fn parse(url: &str) -> Result<Target, TargetProblem> {
    let (scheme, rest) = url.split_once("://").ok_or("there is no `://`")?;
    if scheme == "odbc" {
        return odbc(rest);
    }
    let protocol = match scheme {
        "mysql" | "mariadb" | "mysql+unix" | "mariadb+unix" => Protocol::Mysql,
        "postgresql" | "postgres" => Protocol::Postgresql,
        "sqlite+oe" => Protocol::Sqlite,
        "sqlite" | "sqlite3" => {
            return refuse(
                "SQLite is reached through Rookery's own server: start it with `rookery app \
                 orderentry --data DIRECTORY`, and write sqlite+oe://127.0.0.1:PORT/",
            );
        }
        _ => return refuse(format!("the scheme `{scheme}` is not known")),
    };
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (authority, database) = rest.split_once('/').unwrap_or((rest, ""));
    let parameters = Parameters::parse(protocol, query)?;
    if protocol == Protocol::Sqlite {
        return if authority.contains('@') || !database.is_empty() {
            refuse(
                "the server of SQLite has one database and no users; write \
                 sqlite+oe://127.0.0.1:PORT/",
            )
        } else {
            let route = route(protocol, authority, &parameters)?;
            Ok(Target::sqlite(route).with_patience(parameters.patience))
        };
    }
    // A password may hold an @ that nobody has written as %40.
    let (account, host) = authority
        .rsplit_once('@')
        .ok_or("there is no user; write USER:PASSWORD@ before the host")?;
    let (user, password) = match account.split_once(':') {
        Some((user, password)) => (user, Some(decoded(password)?)),
        None => (account, None),
    };
    if database.is_empty() || database.contains('/') {
        return refuse("there is no database; write /NAME behind the host");
    }
    if user.is_empty() {
        return refuse("the user is empty");
    }
    let route = route(protocol, host, &parameters)?;
    if parameters.encryption != Encryption::Off && !matches!(route, Route::Tcp(_)) {
        return refuse("a socket of this machine is not encrypted; name a host, or no mode of TLS");
    }
    Ok(Target {
        protocol,
        route,
        user: decoded(user)?,
        password,
        database: decoded(database)?,
        patience: parameters.patience,
        clear_text: parameters.clear_text,
        encryption: parameters.encryption,
    })
}

/// Without the feature there is nobody who could go there.
#[cfg(not(feature = "odbc"))]
fn odbc(_rest: &str) -> Result<Target, TargetProblem> {
    refuse("this program was built without ODBC; build it with --features odbc")
}

#[cfg(feature = "odbc")]
use self::odbc::parse as odbc;

fn route(protocol: Protocol, host: &str, parameters: &Parameters) -> Result<Route, TargetProblem> {
    let port = parameters.port.unwrap_or(protocol.default_port());
    match (host.is_empty(), parameters.socket.clone()) {
        (true, Some(path)) if path.is_absolute() => Ok(match protocol {
            Protocol::Mysql | Protocol::Sqlite => Route::Socket(path),
            #[cfg(feature = "odbc")]
            Protocol::Odbc(_) => Route::Socket(path),
            Protocol::Postgresql => Route::SocketDirectory(path, port),
        }),
        (true, Some(path)) => refuse(format!("the path {} is not absolute", path.display())),
        (true, None) => refuse("there is neither a host nor a socket"),
        (false, Some(_)) => refuse("there is a host and a socket; name one of them"),
        (false, None) => address(host, port).map(Route::Tcp),
    }
}

/// Addresses alone: where load goes must not depend on a name server.
fn address(host: &str, port: u16) -> Result<SocketAddr, TargetProblem> {
    let wrong = || {
        format!("`{host}` is no address; write 127.0.0.1, 127.0.0.1:PORT, [::1]:PORT or localhost")
    };
    if let Ok(address) = host.parse::<SocketAddr>() {
        return Ok(address);
    }
    if let Ok(ip) = host
        .trim_start_matches('[')
        .trim_end_matches(']')
        .parse::<IpAddr>()
    {
        return Ok(SocketAddr::new(ip, port));
    }
    let (name, port) = match host.split_once(':') {
        Some((name, port)) => (name, port.parse().map_err(|_| wrong())?),
        None => (host, port),
    };
    if name == "localhost" {
        Ok(SocketAddr::new(Ipv4Addr::LOCALHOST.into(), port))
    } else {
        refuse(wrong())
    }
}

fn encoded(text: &str) -> String {
    utf8_percent_encode(text, NON_ALPHANUMERIC).to_string()
}

/// `%40` and the like, strictly: a lone `%` may be part of a password that no one encoded.
fn decoded(text: &str) -> Result<String, TargetProblem> {
    let mut rest = text.split('%').skip(1);
    if rest.any(|after| {
        let digits = after.as_bytes().get(..2);
        !digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    }) {
        return refuse(
            "a `%` is not followed by two hexadecimal digits; write %25 for the sign itself",
        );
    }
    percent_decode_str(text)
        .decode_utf8()
        .map(Cow::into_owned)
        .map_err(|_| TargetProblem::from("the text is not UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_taken_apart() {
        let target: Target = "mysql://o%65:p%40:w@127.0.0.1/shop".parse().expect("valid");
        assert_eq!(target.password.as_deref(), Some("p@:w"));
        assert_eq!(target.to_string(), "mysql://oe@127.0.0.1:3306/shop");
        assert!(
            !format!("{target:?}").contains("p@"),
            "the password stays out of messages"
        );
        for (url, printed) in [
            (
                "postgres://u@localhost:5433/d",
                "postgresql://u@127.0.0.1:5433/d",
            ),
            ("postgresql://u@[::1]/d", "postgresql://u@[::1]:5432/d"),
            ("postgresql://u@[::1]:7/d", "postgresql://u@[::1]:7/d"),
            (
                "mysql+unix://root@/d?socket=/run/my.sock",
                "mysql://root@/d?socket=/run/my.sock",
            ),
            (
                "postgresql://u@/d?host=/run/pg&port=7",
                "postgresql://u@/d?host=/run/pg&port=7",
            ),
            ("sqlite+oe://localhost", "sqlite+oe://127.0.0.1:5655/"),
            ("sqlite+oe://[::1]:7/", "sqlite+oe://[::1]:7/"),
            (
                "sqlite+oe:///?socket=/s/oe.sock",
                "sqlite+oe:///?socket=/s/oe.sock",
            ),
        ] {
            assert_eq!(url.parse::<Target>().expect(url).to_string(), printed);
        }
    }

    #[test]
    fn bad_urls_are_refused_with_a_word() {
        for (url, word) in [
            ("127.0.0.1/d", "://"),
            ("oracle://u@127.0.0.1/d", "oracle"),
            ("mysql://127.0.0.1/d", "user"),
            ("mysql://@127.0.0.1/d", "user is empty"),
            ("mysql://u@127.0.0.1", "database"),
            ("mysql://u@db.example/d", "no address"),
            ("mysql://u@/d", "neither a host nor a socket"),
            ("mysql://u@127.0.0.1/d?socket=/s", "name one"),
            ("mysql://u@/d?socket=s", "not absolute"),
            ("mysql://u@/d?host=/s", "`host` is not known"),
            ("mysql://u:%4@127.0.0.1/d", "hexadecimal"),
            ("sqlite:///data/shop.sqlite", "rookery app orderentry"),
            ("sqlite+oe://u@127.0.0.1/", "no users"),
            ("sqlite+oe://", "neither a host nor a socket"),
            ("postgresql://u@/d?host=/s&port=x", "no port"),
            ("postgresql://u@127.0.0.1/d?sslmode=prefer", "verify-full"),
            (
                "mysql://u@127.0.0.1/d?ssl-mode=PREFERRED",
                "verify_identity",
            ),
            ("mysql://u@127.0.0.1/d?ssl-mode=VERIFY_CA", "ssl-ca"),
            (
                "mysql://u@127.0.0.1/d?ssl-mode=REQUIRED&ssl-ca=/c",
                "looks at none",
            ),
            (
                "postgresql://u@127.0.0.1/d?sslmode=require&tls-name=d",
                "verify-full",
            ),
            ("postgresql://u@/d?host=/s&sslmode=require", "socket"),
            ("postgresql://u@127.0.0.1/d?timeout=0", "above 0"),
            ("mysql://u@127.0.0.1/d?timeout=-1", "above 0"),
            (
                "mysql://u@127.0.0.1/d?cleartext-password=allow",
                "not known",
            ),
        ] {
            let error = url.parse::<Target>().expect_err(url).to_string();
            assert!(error.contains(word), "{url}: {error}");
        }
    }

    #[test]
    fn targets_travel_with_their_password() {
        for url in [
            "mysql://o%65:p%40:w@127.0.0.1/shop",
            "postgres://u@[::1]:5433/d%2Fe",
            "mysql+unix://root@/d?socket=/run/my%20sock",
            "postgresql://u:@/d?host=/run/pg&port=7",
            "sqlite+oe://localhost",
            "sqlite+oe:///?socket=/s/oe.sock",
            "sqlite+oe://localhost?timeout=1.5",
            "postgresql://u@127.0.0.1/d?sslmode=require&cleartext-password=allow&timeout=2",
            "postgresql://u@127.0.0.1/d?sslmode=verify-full&sslrootcert=/c/a&tls-name=db.example",
            "mysql://u@127.0.0.1/d?ssl-mode=VERIFY_CA&ssl-ca=/c%20a&statement-timeout=0.25",
        ] {
            let target: Target = url.parse().expect(url);
            let sent = serde_json::to_string(&target).expect("a text");
            let arrived: Target = serde_json::from_str(&sent).expect(&sent);
            assert_eq!(arrived, target, "{sent}");
        }
        let refused = serde_json::from_str::<Target>("\"oracle://u:secret@127.0.0.1/d\"");
        let words = refused.expect_err("no such scheme").to_string();
        assert!(!words.contains("secret"), "{words}");
    }

    #[test]
    fn foreign_addresses_need_a_word() {
        let target = |host: &str| format!("mysql://u@{host}/d").parse::<Target>().expect(host);
        assert!(target("127.0.0.9").refuse_foreign(&[]).is_ok());
        assert!(target("[::ffff:127.0.0.1]").refuse_foreign(&[]).is_ok());
        let foreign = target("192.0.2.1");
        assert!(matches!(
            foreign.refuse_foreign(&[]),
            Err(OltpError::Foreign { .. })
        ));
        assert!(
            foreign
                .refuse_foreign(&["192.0.2.1".parse().expect("an address")])
                .is_ok()
        );
    }
}
