//! `[nats]` of a hosts file: the server that messages go over.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{Error, SeqAccess, Visitor},
};
use toml::Spanned;

use super::{
    HostEntry, NatsEntry, OwnServer, RunningServer,
    text::{Problems, beside, read_port},
};
use crate::bus::{NATS_PORT, NatsAddress};

/// Most servers of a cluster that are named.
const MOST_SERVERS: usize = 16;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawNats {
    url: Option<Spanned<Urls>>,
    credentials: Option<Spanned<String>>,
    ca: Option<Spanned<String>>,
    host: Option<RawServer>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawServer {
    name: Spanned<String>,
    port: Option<Spanned<i64>>,
}

/// One address of a server, or several.
enum Urls {
    One(String),
    Several(Vec<Spanned<String>>),
}

impl<'de> Deserialize<'de> for Urls {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(UrlsVisitor)
    }
}

struct UrlsVisitor;

impl<'de> Visitor<'de> for UrlsVisitor {
    type Value = Urls;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an address, or a list of addresses")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Urls, E> {
        Ok(Urls::One(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Urls, A::Error> {
        let mut all = Vec::new();
        while let Some(one) = list.next_element()? {
            all.push(one);
        }
        Ok(Urls::Several(all))
    }
}

/// Read `[nats]`. The host of an own server is taken out of `hosts`.
pub(super) fn read_nats(
    raw: &Spanned<RawNats>,
    hosts: &mut Vec<HostEntry>,
    problems: &mut Problems<'_>,
) -> Option<NatsEntry> {
    let nats = raw.get_ref();
    match (&nats.url, &nats.host) {
        (Some(url), None) => read_running(nats, url, problems),
        (_, Some(server)) => {
            let url = nats.url.as_ref().map(Spanned::span);
            let credentials = nats.credentials.as_ref().map(Spanned::span);
            let keys = [
                ("url", url),
                ("credentials", credentials),
                ("ca", nats.ca.as_ref().map(Spanned::span)),
            ];
            for (key, at) in keys {
                let message = format!("`{key}` and `[nats.host]` exclude each other");
                let help = "a server that is started here gets keys of its own: leave this key \
                            out, or `[nats.host]`, for a server that runs already";
                at.iter().for_each(|at| problems.add(at, &*message, help));
            }
            read_own(server, hosts, problems)
        }
        (None, None) => {
            let help = "write `url = \"tls://HOST:PORT\"` for a server that runs already, or \
                        `[nats.host]` with `name` for one that is started on that host";
            problems.add(&raw.span(), "`[nats]` names no server", help);
            None
        }
    }
}

fn read_running(
    nats: &RawNats,
    url: &Spanned<Urls>,
    problems: &mut Problems<'_>,
) -> Option<NatsEntry> {
    let texts = match url.get_ref() {
        Urls::One(text) => vec![(text, url.span())],
        Urls::Several(all) => all.iter().map(|one| (one.get_ref(), one.span())).collect(),
    };
    if !(1..=MOST_SERVERS).contains(&texts.len()) {
        let message = format!("`url` has {} addresses", texts.len());
        let help = format!("name 1 to {MOST_SERVERS} servers of the cluster: it knows the others");
        problems.add(&url.span(), message, &help);
        return None;
    }
    let mut addresses: Vec<NatsAddress> = Vec::new();
    for (text, at) in &texts {
        let Some(address) = NatsAddress::parse(text) else {
            let help = "write `tls://HOST:PORT`, or `nats://HOST:PORT` for a server without TLS; \
                        no user, no password: who we are says `credentials`";
            // What was written may hold a password.
            problems.add(at, "`url` is no address of a NATS server", help);
            continue;
        };
        if addresses
            .first()
            .is_some_and(|first| first.tls != address.tls)
        {
            let message = format!("`{text}` is encrypted where others are not, or the reverse");
            let help = "begin all addresses of a cluster with `tls://`, or all with `nats://`";
            problems.add(at, message, help);
        }
        addresses.push(address);
    }
    if addresses.iter().any(|address| address.tls) && nats.ca.is_none() {
        let help = "name the certificates that sign the server's: `ca = \"ca.pem\"`; Debian has those \
                    of public authorities in /etc/ssl/certs/ca-certificates.crt";
        problems.add(&url.span(), "`tls://` needs `ca`", help);
    }
    let file = problems.file;
    let path = |path: &Option<Spanned<String>>| {
        let path = path.as_ref();
        path.map(|path| beside(file, path.get_ref()))
    };
    Some(NatsEntry::Running(RunningServer {
        addresses,
        credentials: path(&nats.credentials),
        ca: path(&nats.ca),
    }))
}

fn read_own(
    raw: &RawServer,
    hosts: &mut Vec<HostEntry>,
    problems: &mut Problems<'_>,
) -> Option<NatsEntry> {
    let name = raw.name.get_ref();
    let port = read_port(raw.port.as_ref(), NATS_PORT, problems);
    let Some(place) = hosts.iter().position(|host| host.name == *name) else {
        let message = format!("`{name}` is no host of this file");
        let help = "name a host that `[[host]]` describes";
        problems.add(&raw.name.span(), message, help);
        return None;
    };
    let host = hosts.remove(place);
    if hosts.is_empty() {
        let message = format!("beside `{name}`, which has the NATS server, there is no host");
        let help = "add a `[[host]]`: that of the server performs no trials and drives no users, \
                    since its work would be theirs";
        problems.add(&raw.name.span(), message, help);
    }
    if host.port == port {
        let message = format!("port {port} of `{name}` is that of its sshd");
        problems.add(
            &raw.name.span(),
            message,
            "write another `port` into `[nats.host]`",
        );
    }
    Some(NatsEntry::Own(Box::new(OwnServer {
        host,
        port,
        hosts_file: problems.file.into(),
    })))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::{HostsFile, HostsProblem};
    use super::*;

    fn parse(nats: &str) -> Result<HostsFile, Vec<HostsProblem>> {
        let host = |name| format!("[[host]]\nname = \"{name}\"\naddress = \"192.0.2.{name}\"\n");
        let text = format!("[nats]\n{nats}\n{}{}", host("1"), host("2"));
        HostsFile::parse("dir/h.toml", &text).map_err(|problems| problems.0)
    }

    fn running(nats: &str) -> RunningServer {
        match parse(nats).expect("right").nats {
            Some(NatsEntry::Running(running)) => running,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_server_or_a_cluster_that_runs_is_read() {
        let one = running("url = \"nats://192.0.2.1\"\ncredentials = \"fleet.nk\"");
        assert_eq!(one.addresses[0].place(), "192.0.2.1:4222");
        assert_eq!(one.credentials.as_deref(), Some(Path::new("dir/fleet.nk")));
        let several = running("url = [\"tls://a\", \"tls://b:7\"]\nca = \"/ca.pem\"");
        let places: Vec<String> = several.addresses.iter().map(NatsAddress::place).collect();
        assert_eq!(places, ["a:4222", "b:7"]);
        assert_eq!(several.ca.as_deref(), Some(Path::new("/ca.pem")));
    }

    #[test]
    fn a_server_that_is_started_here_takes_a_host() {
        let file = parse("[nats.host]\nname = \"2\"").expect("right");
        let own = file.own_server().expect("a server");
        assert_eq!((own.host.name.as_str(), own.port), ("2", 4222));
        assert_eq!(own.keys(), Path::new("dir/h.toml.keys"));
        let names = |hosts: &[&HostEntry]| -> Vec<String> {
            hosts.iter().map(|host| host.name.clone()).collect()
        };
        assert_eq!(names(&file.hosts.iter().collect::<Vec<_>>()), ["1"]);
        assert_eq!(names(&file.machines()), ["1", "2"]);
    }

    #[test]
    fn every_problem_of_a_server_has_its_line_and_help() {
        for (wrong, expected) in [
            (
                "url = \"192.0.2.1\"",
                [(2, "no address of a NATS server")].as_slice(),
            ),
            ("url = \"tls://192.0.2.1\"", &[(2, "needs `ca`")]),
            ("url = []", &[(2, "0 addresses")]),
            (
                "ca = \"x\"\nurl = [\"tls://a\",\n\"b\",\n\"nats://c\"]",
                &[
                    (4, "no address"),
                    (5, "`nats://c` is encrypted where others"),
                ],
            ),
            ("ca = \"x\"", &[(1, "names no server")]),
            (
                "url = \"nats://a\"\nca = \"x\"\n[nats.host]\nname = \"1\"",
                &[(2, "`url` and"), (3, "`ca` and")],
            ),
            ("[nats.host]\nname = \"3\"", &[(3, "`3` is no host")]),
            (
                "[nats.host]\nname = \"1\"\nport = 0",
                &[(4, "0 is no port")],
            ),
            (
                "[nats.host]\nname = \"1\"\nport = 22",
                &[(3, "is that of its sshd")],
            ),
            ("password = \"x\"", &[(2, "password")]),
        ] {
            let problems = parse(wrong).expect_err(wrong);
            let lines: Vec<usize> = problems.iter().map(|problem| problem.line).collect();
            let known: Vec<usize> = expected.iter().map(|(line, _)| *line).collect();
            assert_eq!(lines, known, "{problems:#?}");
            for (problem, (_, words)) in problems.iter().zip(expected) {
                assert!(problem.message.contains(words), "{problem:?}");
                assert!(!problem.help.is_empty(), "{problem:?}");
            }
        }
        let alone = "[nats.host]\nname = \"a\"\n[[host]]\nname = \"a\"\naddress = \"b\"\n";
        let problems = HostsFile::parse("h.toml", alone).expect_err("no other").0;
        assert_eq!((problems.len(), problems[0].line), (1, 2), "{problems:?}");
    }
}
