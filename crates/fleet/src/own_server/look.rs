//! What is found on the host of an own server before anything is touched, and what is to be done.

use std::{
    net::{IpAddr, SocketAddr},
    time::Duration,
};

use ring::digest;
use rookery_diagnosis::outside_text;

use super::{CONFIG, DIRECTORY, PROGRAM, UserKeys, listen};
use crate::{
    bus::{NatsError, is_recent},
    error::{HostError, HostFault},
    hosts::OwnServer,
    ssh::{Ssh, as_agent, quoted},
};

/// How long the look may take.
const LIMIT: Duration = Duration::from_secs(30);
/// What stands before the facts.
const MARK: &str = "rookery-server-1";

/// What is to be done with a server.
pub(crate) enum Step {
    /// It runs, and these are the keys of its users.
    Leave(UserKeys),
    /// It has ended; its files are there, and these keys belong to them.
    StartAgain(UserKeys),
    /// It is to get new keys.
    Begin,
}

/// What the host's shell says.
#[derive(Debug, Default, PartialEq, Eq)]
struct Found {
    /// Version of the program; nothing where it is not there.
    version: Option<String>,
    /// SHA-256 of the configuration that is there.
    config: Option<String>,
    /// Whether the server runs.
    runs: bool,
    /// Whether something listens where it is to listen.
    taken: bool,
}

/// Look at the host of a server.
///
/// # Errors
/// What stands against the server.
pub(crate) fn look(ssh: &Ssh<'_>, own: &OwnServer) -> Result<Step, HostError> {
    let host = &own.host;
    let fault = |error: NatsError| HostError::new(host, HostFault::OwnServer(error));
    let listen = listen(own)?;
    let what = "looking at the NATS server";
    let command = as_agent(host, &format!("sh -c {}", quoted(&script(own, listen))));
    let said = ssh.run(host, what, &command, None, LIMIT)?;
    let found = parse(&said).ok_or_else(|| {
        let words = outside_text(&said);
        HostError::new(host, HostFault::Command { what, words })
    })?;
    let keys = UserKeys::read(&own.keys()).map_err(fault)?;
    let config = keys.as_ref().map(|keys| keys.config(listen)).transpose();
    let config = config.map_err(fault)?.map(|config| hexadecimal(&config));
    decide(own, found, keys.zip(config))
}

/// What is to be done, with the keys that are here and the digest of the configuration that belongs
/// to them.
fn decide(
    own: &OwnServer,
    found: Found,
    keys: Option<(UserKeys, String)>,
) -> Result<Step, HostError> {
    let fault = |fault| Err(HostError::new(&own.host, fault));
    let own_keys = keys.filter(|(_, config)| found.config.as_ref() == Some(config));
    if found.runs {
        let keys = own.keys();
        return match own_keys {
            Some((keys, _)) => Ok(Step::Leave(keys)),
            None => fault(HostFault::OtherKeys { keys }),
        };
    }
    if found.taken {
        let port = own.port;
        return fault(HostFault::PortTaken { port });
    }
    match found.version.as_deref().and_then(is_recent) {
        None => fault(HostFault::NoNatsServer),
        Some(false) => {
            let found = outside_text(found.version.as_deref().unwrap_or_default());
            fault(HostFault::OldNatsServer { found })
        }
        Some(true) => Ok(match own_keys {
            Some((keys, _)) => Step::StartAgain(keys),
            None => Step::Begin,
        }),
    }
}

/// The questions, for any POSIX shell and a `grep` that knows lines that end with NUL.
fn script(own: &OwnServer, listen: SocketAddr) -> String {
    let directory = quoted(&own.host.directory);
    let (address, port) = (kernel_text(listen.ip()), listen.port());
    // The pattern is another text than the path, so that this very search is not found.
    let pattern = CONFIG.replace('.', "[.]");
    format!(
        "d={directory}; echo {MARK}; echo \"version $({PROGRAM} --version 2>/dev/null)\"; \
         if r=$(cd \"$d/{DIRECTORY}\" 2>/dev/null && pwd -P) && [ -f \"$r/{CONFIG}\" ]; then \
         echo \"config $(sha256sum < \"$r/{CONFIG}\")\"; \
         for p in $(grep -lsxz -- \"$r/{pattern}\" /proc/[0-9]*/cmdline); do \
         echo \"process $(tr '\\0' ' ' < $p)\"; done; fi; \
         if cat /proc/net/tcp /proc/net/tcp6 2>/dev/null | \
         grep -Eiq ': (0+|{address}):{port:04X} 0+:0000 0A '; then echo taken; fi"
    )
}

/// An address as the kernel shows it in its tables of sockets: numbers of 32 bits in the order of
/// the machine, which is of the same kind as this one.
fn kernel_text(address: IpAddr) -> String {
    let octets = match address {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    };
    let (numbers, _) = octets.as_chunks::<4>();
    let texts = numbers
        .iter()
        .map(|number| format!("{:08X}", u32::from_ne_bytes(*number)));
    texts.collect()
}

fn parse(said: &str) -> Option<Found> {
    let mut lines = said.lines().skip_while(|line| *line != MARK);
    lines.next()?;
    let mut found = Found::default();
    for line in lines {
        let (key, value) = line.split_once(' ').unwrap_or((line, ""));
        match key {
            "version" => {
                let version = value.trim().strip_prefix("nats-server: v");
                found.version = version.map(str::to_owned);
            }
            "config" => found.config = value.split(' ').next().map(str::to_owned),
            // Others may have the file open too.
            "process" => found.runs |= value.starts_with(&format!("{PROGRAM} -c /")),
            "taken" => found.taken = true,
            _ => {}
        }
    }
    Some(found)
}

fn hexadecimal(text: &str) -> String {
    let digest = digest::digest(&digest::SHA256, text.as_bytes());
    let digits = digest.as_ref().iter().map(|byte| format!("{byte:02x}"));
    digits.collect()
}

#[cfg(test)]
mod tests {
    use rookery_diagnosis::Diagnosis as _;

    use super::*;
    use crate::HostsFile;

    fn own() -> OwnServer {
        let text = "[nats.host]\nname = \"b\"\n[[host]]\nname = \"a\"\naddress = \"192.0.2.1\"\n\
                    [[host]]\nname = \"b\"\naddress = \"192.0.2.2\"\n";
        let file = HostsFile::parse("h.toml", text).expect("right");
        file.own_server().expect("a server").clone()
    }

    #[test]
    fn what_a_shell_says_is_read() {
        let said = "Welcome!\nrookery-server-1\nversion nats-server: v2.9.10\nconfig abc  -\n\
                    process vi /d/nats/server.conf\n";
        let mut found = parse(said).expect("facts");
        let expected = Found {
            version: Some("2.9.10".to_owned()),
            config: Some("abc".to_owned()),
            ..Found::default()
        };
        assert_eq!(found, expected);
        found = parse(&format!(
            "{said}process nats-server -c /d/nats/server.conf \ntaken\n"
        ))
        .expect("facts");
        assert!(found.runs && found.taken);
        assert_eq!(parse("Welcome!\n"), None);
        let none = parse("rookery-server-1\nversion \n").expect("facts");
        assert_eq!(none, Found::default());
    }

    #[test]
    fn an_address_is_searched_for_as_the_kernel_writes_it() {
        let expected = if cfg!(target_endian = "little") {
            "0C004D0A"
        } else {
            "0A4D000C"
        };
        assert_eq!(kernel_text(IpAddr::from([10, 77, 0, 12])), expected);
        let loopback: IpAddr = "::1".parse().expect("an address");
        assert_eq!(kernel_text(loopback).len(), 32);
    }

    /// The step, or the code of what stands against it.
    fn decided(found: Found, keys: Option<&str>) -> &'static str {
        let listen = SocketAddr::from(([192, 0, 2, 2], 4222));
        let keys = keys.map(|config| {
            let (keys, _) = UserKeys::make(listen).expect("made");
            (keys, config.to_owned())
        });
        match decide(&own(), found, keys) {
            Ok(Step::Leave(_)) => "leave",
            Ok(Step::StartAgain(_)) => "again",
            Ok(Step::Begin) => "begin",
            Err(error) => {
                assert!(error.help().is_some() && error.host == "b", "{error}");
                error.code()
            }
        }
    }

    #[test]
    fn what_stands_against_a_server_is_found() {
        let here = || Found {
            version: Some("2.9.10".to_owned()),
            ..Found::default()
        };
        let version = |text: &str| Found {
            version: Some(text.to_owned()),
            ..Found::default()
        };
        assert_eq!(decided(here(), None), "begin");
        assert_eq!(decided(Found::default(), None), "fleet::no-nats-server");
        assert_eq!(decided(version("dev"), None), "fleet::no-nats-server");
        assert_eq!(decided(version("2.8.4"), None), "fleet::nats-version");
        let taken = Found {
            taken: true,
            ..here()
        };
        assert_eq!(decided(taken, None), "fleet::nats-port");
    }

    #[test]
    fn a_server_of_the_same_keys_is_left_or_started_again() {
        let found = |runs| Found {
            version: Some("2.10.1".to_owned()),
            config: Some("abc".to_owned()),
            taken: runs,
            runs,
        };
        assert_eq!(decided(found(true), Some("abc")), "leave");
        assert_eq!(decided(found(false), Some("abc")), "again");
        assert_eq!(decided(found(false), Some("other")), "begin");
        assert_eq!(decided(found(true), Some("other")), "fleet::nats-keys");
        assert_eq!(decided(found(true), None), "fleet::nats-keys");
    }
}
