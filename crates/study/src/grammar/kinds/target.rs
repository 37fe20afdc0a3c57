//! Where a system listens that runs already.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use serde_json::{Value as Json, json};
use toml::{Spanned, de::DeValue};

use crate::{
    grammar::{At, Context, Kind},
    problem::Code,
};

/// The address of a server over HTTP. Names are not resolved: what a name means may change between
/// the user's consent and the load.
pub(crate) struct Target;

impl Kind for Target {
    type Value = SocketAddr;

    fn read(
        &self,
        value: &Spanned<DeValue<'_>>,
        at: &At,
        context: &mut Context,
    ) -> Option<SocketAddr> {
        let DeValue::String(text) = value.get_ref() else {
            return context.wrong_type(value, at, self);
        };
        match parse(text) {
            Ok(address) => Some(address),
            Err(what) => {
                let message = format!("{at} {what}");
                let help = format!("write `{} = {}`", at.key, self.example());
                context.refuse(Code::Malformed, value.span(), message, help)
            }
        }
    }

    fn write(&self, value: &SocketAddr) -> String {
        format!("\"http://{value}\"")
    }

    fn describe(&self) -> String {
        "`http://ADDRESS` or `http://ADDRESS:PORT`, the address an IP address or `localhost`"
            .to_owned()
    }

    fn example(&self) -> String {
        "\"http://127.0.0.1:8080\"".to_owned()
    }

    fn schema(&self) -> Json {
        json!({"type": "string", "pattern": "^http://[^/]+/?$"})
    }
}

/// The address, or what is wrong with the text.
fn parse(text: &str) -> Result<SocketAddr, String> {
    let Some(rest) = text.strip_prefix("http://") else {
        return Err("is no address over HTTP: it does not begin with `http://`".to_owned());
    };
    let authority = rest.strip_suffix('/').unwrap_or(rest);
    if authority.contains('/') {
        return Err("has a path: what is asked for is said by the workload".to_owned());
    }
    if authority.contains('@') {
        return Err("has a user or a password, which would be stored with the run".to_owned());
    }
    let port = authority.strip_prefix("localhost").map(|rest| match rest {
        "" => Some(80),
        rest => rest.strip_prefix(':')?.parse().ok(),
    });
    let address = match port {
        Some(port) => port.map(|port| SocketAddr::from((Ipv4Addr::LOCALHOST, port))),
        None => authority.parse().ok().or_else(|| {
            let plain = authority.trim_start_matches('[').trim_end_matches(']');
            let address: IpAddr = plain.parse().ok()?;
            Some(SocketAddr::from((address, 80)))
        }),
    };
    match address {
        Some(address) if address.port() == 0 => Err("has the port 0".to_owned()),
        Some(address) if address.ip().is_unspecified() || address.ip().is_multicast() => {
            Err(format!("is at {}, where no one server is", address.ip()))
        }
        Some(address) => Ok(address),
        None => Err("has neither an IP address nor `localhost`; names are not resolved".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::{super::testing::*, *};

    #[test]
    fn addresses_are_read_and_written() {
        for (text, meant) in [
            ("http://127.0.0.1:8080", "127.0.0.1:8080"),
            ("http://127.0.0.1:8080/", "127.0.0.1:8080"),
            ("http://localhost", "127.0.0.1:80"),
            ("http://localhost:81", "127.0.0.1:81"),
            ("http://[::1]:9", "[::1]:9"),
            ("http://[::1]", "[::1]:80"),
            ("http://192.0.2.7", "192.0.2.7:80"),
        ] {
            let found = read(&Target, &format!("'{text}'")).expect(text);
            assert_eq!(found.to_string(), meant);
            assert_eq!(read(&Target, &Target.write(&found)), Ok(found));
        }
    }

    #[test]
    fn what_is_no_single_server_is_refused() {
        for text in [
            "127.0.0.1:80",
            "https://127.0.0.1",
            "http://shop.example",
            "http://127.0.0.1/shop",
            "http://me:secret@127.0.0.1",
            "http://127.0.0.1:0",
            "http://0.0.0.0:80",
            "http://224.0.0.1",
            "http://localhost:",
            "http://localhosts",
            "http://",
        ] {
            assert_eq!(
                code(&Target, &format!("'{text}'")),
                Code::Malformed,
                "{text}"
            );
        }
        assert_eq!(code(&Target, "80"), Code::WrongType);
    }
}
