//! Who may read the page: a token in the address, then a cookie; only under names of this machine,
//! and never for pages of others.

use std::{
    fs::File,
    io::{self, Read as _},
    net::{IpAddr, SocketAddr},
};

use hyper::{
    HeaderMap,
    header::{COOKIE, HOST, HeaderName, ORIGIN},
};

use crate::tls::TlsFiles;

/// Bytes of a secret, from the system's generator: nothing that can be guessed.
const SECRET_BYTES: usize = 32;
/// What a browser says of where a request comes from.
const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// The secrets of one server, and the names under which it answers.
pub(crate) struct Access {
    address: SocketAddr,
    /// Whether connections are encrypted.
    secure: bool,
    /// The name that the certificate is for.
    name: Option<String>,
    token: String,
    session: String,
    form: String,
}

/// Why a request is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// Its `Host` is no name of this server: another site has its name point here.
    Host,
    /// It comes from a page of another site.
    Origin,
    /// It has no cookie of this server.
    Session,
}

impl Access {
    /// New secrets for the server at `address`.
    ///
    /// # Errors
    /// When the system's generator cannot be read.
    pub(crate) fn new(address: SocketAddr, tls: Option<&TlsFiles>) -> io::Result<Self> {
        Ok(Self {
            address,
            secure: tls.is_some(),
            name: tls.and_then(|tls| tls.name.clone()),
            token: secret()?,
            session: secret()?,
            form: secret()?,
        })
    }

    /// The address to open in a browser.
    pub(crate) fn url(&self) -> String {
        let ip = match self.address.ip() {
            IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::from([127, 0, 0, 1]),
            IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::from(std::net::Ipv6Addr::LOCALHOST),
            ip => ip,
        };
        let address = match &self.name {
            Some(name) => format!("{name}:{}", self.address.port()),
            None => SocketAddr::new(ip, self.address.port()).to_string(),
        };
        format!("{}{address}/?token={}", self.scheme(), self.token)
    }

    fn scheme(&self) -> &'static str {
        if self.secure { "https://" } else { "http://" }
    }

    /// What a form of the page sends with it.
    pub(crate) fn form(&self) -> &str {
        &self.form
    }

    /// Whether `given` is the token of the address.
    pub(crate) fn is_token(&self, given: &str) -> bool {
        equal(given, &self.token)
    }

    /// Whether `given` is what a form of the page sends.
    pub(crate) fn is_form(&self, given: &str) -> bool {
        equal(given, &self.form)
    }

    /// The value of `Set-Cookie` that lets a browser in.
    pub(crate) fn cookie(&self) -> String {
        let secure = if self.secure { "; Secure" } else { "" };
        format!(
            "{}={}; Path=/; HttpOnly; SameSite=Strict{secure}",
            self.cookie_name(),
            self.session
        )
    }

    /// Whether the names in a request are ours: `Host` always, `Origin` where it is given.
    ///
    /// # Errors
    /// When it is refused.
    pub(crate) fn check_names(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        let host = only(headers, &HOST)
            .filter(|host| self.is_own(host))
            .ok_or(Refusal::Host)?;
        if headers.contains_key(ORIGIN) {
            let own = only(headers, &ORIGIN)
                .and_then(|origin| origin.strip_prefix(self.scheme()))
                .is_some_and(|origin| origin.eq_ignore_ascii_case(host));
            if !own {
                return Err(Refusal::Origin);
            }
        }
        match headers.get(FETCH_SITE).map(|value| value.as_bytes()) {
            None | Some(b"same-origin" | b"none") => Ok(()),
            Some(_) => Err(Refusal::Origin),
        }
    }

    /// Whether a request that changes something says where it comes from.
    ///
    /// # Errors
    /// When it does not.
    pub(crate) fn check_change(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        self.check_names(headers)?;
        if headers.contains_key(ORIGIN) {
            Ok(())
        } else {
            Err(Refusal::Origin)
        }
    }

    /// Whether a request has the cookie.
    ///
    /// # Errors
    /// When it has none, or a wrong one.
    pub(crate) fn check_session(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        let name = self.cookie_name();
        let values = headers.get_all(COOKIE).into_iter();
        let found = values
            .filter_map(|value| value.to_str().ok())
            .flat_map(|text| text.split(';'))
            .filter_map(|pair| pair.trim().split_once('='))
            .any(|(key, value)| key == name && equal(value, &self.session));
        if found { Ok(()) } else { Err(Refusal::Session) }
    }

    /// Cookies know no ports: each server on a machine has one of its own.
    fn cookie_name(&self) -> String {
        format!("rookery-live-{}", self.address.port())
    }

    /// Whether a `Host` is ours: `localhost`, the name of the certificate or the address itself.
    /// One that listens on all addresses answers under each of them; a name that another site can
    /// point here is none.
    fn is_own(&self, host: &str) -> bool {
        let port = self.address.port();
        let plain_port = if self.secure { 443 } else { 80 };
        if let Some(name) = &self.name {
            let with_port = format!("{name}:{port}");
            if host.eq_ignore_ascii_case(&with_port)
                || (port == plain_port && host.eq_ignore_ascii_case(name))
            {
                return true;
            }
        }
        if host.eq_ignore_ascii_case(&format!("localhost:{port}")) {
            let ip = self.address.ip();
            return ip.is_loopback() || ip.is_unspecified();
        }
        // Browsers leave the usual port out.
        let with_port = match host.parse::<IpAddr>() {
            Ok(ip) => SocketAddr::new(ip, plain_port),
            Err(_) => match host.parse::<SocketAddr>() {
                Ok(address) => address,
                Err(_) => return false,
            },
        };
        with_port == self.address
            || (self.address.ip().is_unspecified() && with_port.port() == port)
    }
}

/// The value of a header that is there exactly once.
fn only<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Option<&'h str> {
    let mut values = headers.get_all(name).into_iter();
    match (values.next(), values.next()) {
        (Some(value), None) => value.to_str().ok(),
        _ => None,
    }
}

/// Whether two texts are equal, in a time that does not depend on where they differ.
fn equal(given: &str, secret: &str) -> bool {
    given.len() == secret.len()
        && given
            .bytes()
            .zip(secret.bytes())
            .fold(0, |differences, (a, b)| differences | (a ^ b))
            == 0
}

fn secret() -> io::Result<String> {
    let mut bytes = [0; SECRET_BYTES];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(hex(&bytes))
}

/// Bytes as hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;

    use super::*;

    fn access(address: &str) -> Access {
        Access::new(address.parse().expect("an address"), None).expect("random bytes")
    }

    #[test]
    fn an_encrypted_server_answers_under_its_name_and_marks_its_cookie() {
        let tls = TlsFiles {
            certificate: "unused".into(),
            key: "unused".into(),
            name: Some("bench.example".to_owned()),
        };
        let address = "192.0.2.7:8443".parse().expect("an address");
        let access = Access::new(address, Some(&tls)).expect("random bytes");
        assert!(
            access
                .url()
                .starts_with("https://bench.example:8443/?token=")
        );
        assert!(access.cookie().ends_with("; Secure"), "{}", access.cookie());
        let from = |host: &str, origin: &str| {
            access.check_names(&headers(&[("host", host), ("origin", origin)]))
        };
        for host in ["bench.example:8443", "BENCH.example:8443", "192.0.2.7:8443"] {
            assert_eq!(from(host, &format!("https://{host}")), Ok(()), "{host}");
        }
        let plain = from("bench.example:8443", "http://bench.example:8443");
        assert_eq!(plain, Err(Refusal::Origin));
        let other = from("evil.example:8443", "https://evil.example:8443");
        assert_eq!(other, Err(Refusal::Host));
    }

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            let value = HeaderValue::from_str(value).expect("a header");
            headers.append(HeaderName::from_static(name), value);
        }
        headers
    }

    #[test]
    fn only_names_of_this_machine_are_answered() {
        let access = access("127.0.0.1:7000");
        for host in ["127.0.0.1:7000", "localhost:7000", "LOCALHOST:7000"] {
            assert_eq!(
                access.check_names(&headers(&[("host", host)])),
                Ok(()),
                "{host}"
            );
        }
        for host in [
            "evil.example:7000",
            "localhost",
            "127.0.0.1",
            "127.0.0.1:7001",
            "127.0.0.1.evil.example:7000",
            "localhost.evil.example:7000",
            "",
        ] {
            let refused = access.check_names(&headers(&[("host", host)]));
            assert_eq!(refused, Err(Refusal::Host), "{host}");
        }
        let twice = headers(&[("host", "127.0.0.1:7000"), ("host", "127.0.0.1:7000")]);
        assert_eq!(access.check_names(&twice), Err(Refusal::Host));
        assert_eq!(access.check_names(&HeaderMap::new()), Err(Refusal::Host));
    }

    #[test]
    fn a_server_on_all_addresses_answers_under_addresses_and_not_under_names() {
        let access = access("0.0.0.0:7000");
        let checked = |host| access.check_names(&headers(&[("host", host)]));
        assert_eq!(checked("192.0.2.7:7000"), Ok(()));
        assert_eq!(checked("evil.example:7000"), Err(Refusal::Host));
        assert!(access.url().starts_with("http://127.0.0.1:7000/?token="));
    }

    #[test]
    fn pages_of_others_are_refused() {
        let access = access("127.0.0.1:7000");
        let from = |name: &'static str, value| {
            access.check_names(&headers(&[("host", "127.0.0.1:7000"), (name, value)]))
        };
        assert_eq!(from("origin", "http://127.0.0.1:7000"), Ok(()));
        assert_eq!(from("sec-fetch-site", "same-origin"), Ok(()));
        assert_eq!(from("sec-fetch-site", "none"), Ok(()));
        for origin in [
            "http://evil.example",
            "https://127.0.0.1:7000",
            "http://127.0.0.1:7001",
            "http://localhost:7000",
            "null",
        ] {
            assert_eq!(from("origin", origin), Err(Refusal::Origin), "{origin}");
        }
        for site in ["cross-site", "same-site"] {
            assert_eq!(from("sec-fetch-site", site), Err(Refusal::Origin), "{site}");
        }
        let silent = headers(&[("host", "127.0.0.1:7000")]);
        assert_eq!(access.check_change(&silent), Err(Refusal::Origin));
    }

    #[test]
    fn a_session_needs_the_cookie_of_this_server() {
        let access = access("127.0.0.1:7000");
        let set = access.cookie();
        let own = set.split(';').next().expect("a pair");
        let with = |cookie: &str| access.check_session(&headers(&[("cookie", cookie)]));
        assert_eq!(with(own), Ok(()));
        assert_eq!(with(&format!("a=b; {own}; c=d")), Ok(()));
        assert_eq!(with("rookery-live-7000="), Err(Refusal::Session));
        assert_eq!(with(&own[..own.len() - 1]), Err(Refusal::Session));
        assert_eq!(with(&own.replace("7000", "7001")), Err(Refusal::Session));
        assert_eq!(
            access.check_session(&HeaderMap::new()),
            Err(Refusal::Session)
        );
        assert!(
            set.contains("HttpOnly") && set.contains("SameSite=Strict"),
            "{set}"
        );
        assert!(!access.is_token("") && !access.is_token(access.form()));
    }
}
