//! Targets over ODBC: a dialect and a connection string, whose keys say where it leads.

use std::{net::IpAddr, path::PathBuf};

use rookery_workload::orderentry::Dialect;

use super::{Protocol, Route, Target, decoded};
use crate::{OltpError, Patience, error::TargetProblem, tls::Encryption};

/// Keys that name a server, in the words of the drivers.
const SERVERS: [&str; 6] = [
    "server",
    "servername",
    "hostname",
    "host",
    "tcp_server",
    "address",
];

/// Keys whose values are for nobody else.
const SECRETS: [&str; 2] = ["pwd", "password"];

/// Takes `?dialect=NAME&connection=STRING` apart. The connection string is kept where passwords
/// are.
pub(super) fn parse(rest: &str) -> Result<Target, TargetProblem> {
    let query = rest
        .trim_start_matches('/')
        .strip_prefix('?')
        .ok_or("write odbc://?dialect=NAME&connection=STRING")?;
    let (mut dialect, mut connection) = (None, None);
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        match pair.split_once('=') {
            Some(("dialect", name)) => {
                dialect = Some(name.parse::<Dialect>().map_err(|error| error.to_string())?)
            }
            Some(("connection", string)) => connection = Some(decoded(string)?),
            _ => {
                return Err(format!(
                    "`{}` is not known; write dialect and connection",
                    pair.split('=').next().unwrap_or(pair)
                )
                .into());
            }
        }
    }
    let dialect = dialect.ok_or(
        "there is no dialect; write dialect=postgresql, mariadb, mysql, sqlite, db2 or generic",
    )?;
    let connection = connection
        .ok_or("there is no connection string; write connection=DRIVER%3D{NAME}%3B...")?;
    if pairs(&connection).next().is_none() {
        return Err("the connection string has no KEY=VALUE".into());
    }
    Ok(Target {
        protocol: Protocol::Odbc(dialect),
        route: Route::Socket(PathBuf::new()),
        user: String::new(),
        database: without_secrets(&connection),
        password: Some(connection),
        patience: Patience::DEFAULT,
        clear_text: false,
        encryption: Encryption::Off,
    })
}

/// Keys in lower case, and values.
fn pairs(connection: &str) -> impl Iterator<Item = (String, &str)> {
    connection.split(';').filter_map(|pair| {
        let (key, value) = pair.split_once('=')?;
        Some((key.trim().to_lowercase(), value.trim()))
    })
}

fn without_secrets(connection: &str) -> String {
    let open = pairs(connection).filter(|(key, _)| !SECRETS.contains(&key.as_str()));
    open.map(|(key, value)| format!("{key}={value}"))
        .collect::<Vec<_>>()
        .join(";")
}

/// Refuses a server that is not this machine, and a name that may be anything.
pub(super) fn refuse_foreign(target: &Target, confirmed: &[IpAddr]) -> Result<(), OltpError> {
    let connection = target.password.as_deref().unwrap_or_default();
    for (key, value) in pairs(connection) {
        if key == "dsn" || key == "filedsn" {
            return Err(OltpError::Setting {
                what: format!("{target} names a data source, which does not say where it leads"),
                help: Some("write its keys into the connection string"),
            });
        }
        if !SERVERS.contains(&key.as_str()) || value.starts_with('/') || value == "localhost" {
            continue;
        }
        let Ok(address) = value.trim_matches(['[', ']', '{', '}']).parse::<IpAddr>() else {
            return Err(OltpError::Setting {
                what: format!("{target} names the server `{value}`, which is no address"),
                help: Some("write its address, such as 127.0.0.1"),
            });
        };
        if !address.to_canonical().is_loopback() && !confirmed.contains(&address) {
            return Err(OltpError::Foreign {
                target: target.to_string(),
                address,
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(connection: &str) -> Result<Target, OltpError> {
        format!(
            "odbc://?dialect=postgresql&connection={}",
            connection.replace('%', "%25")
        )
        .parse()
    }

    #[test]
    fn passwords_stay_out_of_messages() {
        let target =
            target("DRIVER={PostgreSQL ANSI};SERVER=127.0.0.1;UID=oe;PWD=sec%ret").expect("valid");
        assert_eq!(
            target.to_string(),
            "odbc://?dialect=postgresql&connection=driver={PostgreSQL ANSI};server=127.0.0.1;uid=oe"
        );
        assert!(
            target
                .password
                .as_deref()
                .is_some_and(|string| string.contains("sec%ret"))
        );
        assert!(target.refuse_foreign(&[]).is_ok());
    }

    #[test]
    fn foreign_servers_need_a_word() {
        let foreign = target("DRIVER=x;Hostname=192.0.2.1").expect("valid");
        assert!(matches!(
            foreign.refuse_foreign(&[]),
            Err(OltpError::Foreign { .. })
        ));
        assert!(
            foreign
                .refuse_foreign(&["192.0.2.1".parse().expect("an address")])
                .is_ok()
        );
        for hidden in ["DSN=shop", "DRIVER=x;SERVER=db.example"] {
            let error = target(hidden)
                .expect("valid")
                .refuse_foreign(&[])
                .expect_err(hidden);
            assert!(
                matches!(error, OltpError::Setting { help: Some(_), .. }),
                "{error}"
            );
        }
        for near in [
            "DRIVER=x;SERVER=/run/pg",
            "DRIVER=x;SERVER=localhost",
            "DRIVER=SQLite3;Database=/d/o.sqlite",
        ] {
            assert!(
                target(near).expect("valid").refuse_foreign(&[]).is_ok(),
                "{near}"
            );
        }
    }

    #[test]
    fn bad_targets_are_refused_with_a_word() {
        for (url, word) in [
            ("odbc://x", "odbc://?dialect"),
            ("odbc://?dialect=oracle&connection=a%3Db", "oracle"),
            ("odbc://?connection=a%3Db", "no dialect"),
            ("odbc://?dialect=db2", "no connection"),
            ("odbc://?dialect=db2&connection=x", "KEY=VALUE"),
            ("odbc://?dialect=db2&user=x", "`user`"),
        ] {
            let error = url.parse::<Target>().expect_err(url).to_string();
            assert!(error.contains(word), "{url}: {error}");
        }
    }
}
