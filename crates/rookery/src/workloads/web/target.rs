//! The site that is driven, as it is typed, and whose certificate it must have.

use std::{net::SocketAddr, path::PathBuf};

use clap::Args;
use rookery_web::workloads::http::SiteName;
use rookery_workload::http::Tls;

use crate::{
    address::address_of,
    exit::{Code, Failure},
    workloads::file,
};

/// Whose certificate a site must have, beside what the workload says.
#[derive(Clone, Debug, Args)]
pub(crate) struct TrustArgs {
    /// Certificates that sign that of the server, as a PEM file
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
    /// Take any certificate of the server
    #[arg(long, conflicts_with = "ca")]
    insecure: bool,
}

impl TrustArgs {
    /// What was typed counts before what the workload says.
    pub(crate) fn put_into(&self, tls: &mut Tls) -> Result<(), Failure> {
        tls.insecure |= self.insecure;
        if let Some(path) = &self.ca {
            tls.ca = Some(file::text(path)?);
            tls.insecure = false;
        }
        Ok(())
    }
}

/// A site and its address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) site: SiteName,
    pub(crate) address: SocketAddr,
}

impl Target {
    /// Reads `http://HOST[:PORT][/BASE]`, or the same with `https://`; `option` is where it was
    /// typed.
    pub(crate) fn parse(option: &str, url: &str) -> Result<Self, Failure> {
        let wrong = |what: &str| {
            Failure::new(Code::Usage, format!("{option} {url}: {what}"))
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
        let target = Target::parse("--target", "https://127.0.0.1/shop/")
            .unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(target.address.port(), 443);
        assert_eq!(
            (target.site.https, target.site.base.as_str()),
            (true, "/shop")
        );
        let target = Target::parse("--target", "http://127.0.0.1:81")
            .unwrap_or_else(|error| panic!("{error}"));
        assert_eq!((target.address.port(), target.site.base.as_str()), (81, ""));
        for url in [
            "ftp://x",
            "http://",
            "http:///x",
            "http://a b/",
            "http://127.0.0.1/a?b",
        ] {
            assert!(Target::parse("--target", url).is_err(), "{url}");
        }
    }
}
