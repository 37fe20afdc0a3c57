//! The site that is driven, as it is typed.

use std::net::SocketAddr;

use rookery_web::workloads::http::SiteName;

use crate::{
    address::address_of,
    exit::{Code, Failure},
};

/// A site and its address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) site: SiteName,
    pub(super) address: SocketAddr,
}

impl Target {
    /// Reads `http://HOST[:PORT][/BASE]`, or the same with `https://`.
    pub(super) fn parse(url: &str) -> Result<Self, Failure> {
        let wrong = |what: &str| {
            Failure::new(Code::Usage, format!("--target {url}: {what}"))
                .help("write http://HOST[:PORT][/BASE] or https://HOST[:PORT][/BASE]")
        };
        let (https, rest) = match (url.strip_prefix("http://"), url.strip_prefix("https://")) {
            (Some(rest), _) => (false, rest),
            (_, Some(rest)) => (true, rest),
            _ => return Err(wrong("only http:// and https:// are driven")),
        };
        let (authority, base) = match rest.find('/') {
            Some(at) => (&rest[..at], rest[at..].trim_end_matches('/')),
            None => (rest, ""),
        };
        let plain = |text: &str| {
            text.bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"._~:[]%/-".contains(&byte))
        };
        if authority.is_empty() || !plain(authority) || !plain(base) {
            return Err(wrong(
                "host and base take letters, digits, `.`, `_`, `~`, `%` and `-`",
            ));
        }
        let port = if https { 443 } else { 80 };
        let address = address_of(authority, port).map_err(|why| wrong(&why.to_string()))?;
        Ok(Self {
            site: SiteName {
                https,
                authority: authority.to_owned(),
                base: base.to_owned(),
            },
            address,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sites_are_read_as_they_are_typed() {
        let target =
            Target::parse("https://127.0.0.1/shop/").unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(target.address.port(), 443);
        assert_eq!(
            (target.site.https, target.site.base.as_str()),
            (true, "/shop")
        );
        let target = Target::parse("http://127.0.0.1:81").unwrap_or_else(|error| panic!("{error}"));
        assert_eq!((target.address.port(), target.site.base.as_str()), (81, ""));
        for url in [
            "ftp://x",
            "http://",
            "http:///x",
            "http://a b/",
            "http://127.0.0.1/a?b",
        ] {
            assert!(Target::parse(url).is_err(), "{url}");
        }
    }
}
