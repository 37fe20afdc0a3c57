//! From the text of a hosts file to its hosts.

use std::collections::{BTreeSet, HashSet};

use rookery_guest::WayKind;
use rookery_host::parse_cpu_list;
use serde::Deserialize;
use toml::Spanned;

use super::{
    HostEntry, HostsFile, HostsProblems, MOST_HOSTS, SSH_PORT,
    nats::{RawNats, read_nats},
    text::{Problems, beside, read_port},
};

/// Most bytes of a hosts file.
const MOST_BYTES: usize = 1 << 20;
/// Most characters of a name.
const MOST_NAME: usize = 32;
/// Most characters of an address, a user, a list of hosts to go through, or a directory.
const MOST_TEXT: usize = 255;

/// Where the program and what it makes lie, unless the file says so: per user, because one user
/// cannot write what is another's.
fn default_directory(user: Option<&str>) -> String {
    match user {
        Some(user) => format!("/var/tmp/rookery-fleet-{user}"),
        None => "/var/tmp/rookery-fleet".to_owned(),
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawFile {
    ssh_config: Option<Spanned<String>>,
    nats: Option<Spanned<RawNats>>,
    #[serde(default)]
    host: Vec<Spanned<RawHost>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawHost {
    name: Spanned<String>,
    address: Spanned<String>,
    user: Option<Spanned<String>>,
    port: Option<Spanned<i64>>,
    jump: Option<Spanned<String>>,
    #[serde(default)]
    sudo: bool,
    cpus: Option<Spanned<String>>,
    memory_mib: Option<Spanned<i64>>,
    directory: Option<Spanned<String>>,
    way: Option<Spanned<String>>,
}

pub(super) fn parse(file_name: &str, text: &str) -> Result<HostsFile, HostsProblems> {
    let mut problems = Problems::new(file_name, text);
    if text.len() > MOST_BYTES {
        let message = format!("the file has {} bytes, more than {MOST_BYTES}", text.len());
        problems.add(&(0..0), message, "is this another kind of file?");
        return Err(HostsProblems(problems.found));
    }
    let raw: RawFile = match toml::from_str(text) {
        Ok(raw) => raw,
        Err(error) => {
            let help = "a hosts file is TOML: `[[host]]` with `name`, `address`, and perhaps \
                        `user`, `port`, `jump`, `sudo`, `cpus`, `memory_mib`, `directory`, `way`; \
                        above them `ssh_config` and `[nats]` with `url`, `credentials`, `ca`, or \
                        `[nats.host]` with `name`, `port`";
            problems.add(&error.span().unwrap_or(0..0), error.message(), help);
            return Err(HostsProblems(problems.found));
        }
    };
    let mut hosts = read_hosts(&raw, &mut problems);
    let ssh_config = raw.ssh_config.as_ref();
    let ssh_config = ssh_config.map(|path| beside(file_name, path.get_ref()));
    let nats = raw.nats.as_ref();
    let nats = nats.and_then(|nats| read_nats(nats, &mut hosts, &mut problems));
    if problems.found.is_empty() {
        Ok(HostsFile {
            ssh_config,
            nats,
            hosts,
        })
    } else {
        Err(HostsProblems(problems.found))
    }
}

fn read_hosts(raw: &RawFile, problems: &mut Problems<'_>) -> Vec<HostEntry> {
    if raw.host.is_empty() {
        let help = "add `[[host]]` with `name = \"a\"` and `address = \"192.0.2.11\"`";
        problems.add(&(0..0), "the file has no host", help);
    }
    if let Some(one_more) = raw.host.get(MOST_HOSTS) {
        let message = format!("the file has more than {MOST_HOSTS} hosts");
        problems.add(&one_more.span(), message, "split it");
    }
    let mut names = HashSet::new();
    let mut places = HashSet::new();
    let mut hosts = Vec::new();
    for raw in raw.host.iter().take(MOST_HOSTS) {
        let host = read_host(raw.get_ref(), problems);
        if !names.insert(host.name.clone()) {
            let message = format!("two hosts are named `{}`", host.name);
            problems.add(
                &raw.get_ref().name.span(),
                message,
                "give each a name of its own",
            );
        }
        let place = (host.address.clone(), host.port, host.directory.clone());
        if !places.insert(place) {
            let message = format!("`{}` is another host's address and port too", host.address);
            let help = "each host runs one agent: name it once";
            problems.add(&raw.get_ref().address.span(), message, help);
        }
        hosts.push(host);
    }
    hosts
}

fn read_host(raw: &RawHost, problems: &mut Problems<'_>) -> HostEntry {
    let name = &raw.name;
    let help = "use letters, digits and dashes, at most 32, a letter or digit first";
    problems.check(name, is_name(name.get_ref()), "name of a host", help);
    let help = "write an IP address or a host name, without user and port";
    problems.check(
        &raw.address,
        is_word(raw.address.get_ref(), ".:-_%"),
        "address",
        help,
    );
    if let Some(user) = &raw.user {
        let help = "write the login name alone";
        problems.check(user, is_word(user.get_ref(), ".-_"), "user", help);
    }
    if let Some(jump) = &raw.jump {
        let help = "write hosts as ssh's -J takes them: user@host:port, several with commas";
        problems.check(
            jump,
            is_word(jump.get_ref(), ".:-_%@,[]"),
            "host to go through",
            help,
        );
    }
    let user = raw.user.as_ref().map(|user| user.get_ref().clone());
    let directory = read_directory(raw, user.as_deref(), problems);
    HostEntry {
        name: name.get_ref().clone(),
        address: raw.address.get_ref().clone(),
        port: read_port(raw.port.as_ref(), SSH_PORT, problems),
        jump: raw.jump.as_ref().map(|jump| jump.get_ref().clone()),
        sudo: raw.sudo,
        cpus: read_cpus(raw.cpus.as_ref(), problems),
        memory_mib: read_memory(raw.memory_mib.as_ref(), problems),
        directory,
        way: read_way(raw.way.as_ref(), problems),
        user,
    }
}

fn read_directory(raw: &RawHost, user: Option<&str>, problems: &mut Problems<'_>) -> String {
    let Some(directory) = &raw.directory else {
        return default_directory(user);
    };
    let text = directory.get_ref().trim_end_matches('/');
    let plain = text
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || "/._-".contains(c));
    let parts = text.strip_prefix('/').map(|rest| rest.split('/'));
    let deep = parts.is_some_and(|mut parts| {
        parts.clone().count() >= 2 && parts.all(|part| !["", ".", ".."].contains(&part))
    });
    let help = "write an absolute path of two or more parts of letters, digits, dots, dashes and \
                underscores: /srv/rookery";
    let holds = plain && deep && text.len() <= MOST_TEXT;
    problems.check(directory, holds, "directory for the program", help);
    text.to_owned()
}

fn read_cpus(cpus: Option<&Spanned<String>>, problems: &mut Problems<'_>) -> Option<BTreeSet<u32>> {
    let text = cpus?;
    let read = parse_cpu_list(text.get_ref()).filter(|cpus| !cpus.is_empty());
    let help = "write CPUs as the kernel does: \"0-3,8\"";
    problems.check(text, read.is_some(), "list of CPUs", help);
    read
}

fn read_memory(memory: Option<&Spanned<i64>>, problems: &mut Problems<'_>) -> Option<u64> {
    let memory = memory?;
    let read = u64::try_from(*memory.get_ref()).ok().filter(|mib| *mib > 0);
    if read.is_none() {
        let message = format!("{} MiB is no size of a memory", memory.get_ref());
        problems.add(&memory.span(), message, "write a whole number above 0");
    }
    read
}

fn read_way(way: Option<&Spanned<String>>, problems: &mut Problems<'_>) -> WayKind {
    let Some(way) = way else {
        return WayKind::default();
    };
    let mut all = WayKind::ALL.into_iter();
    let read = all.find(|kind| kind.name() == way.get_ref());
    let help = "write \"tunnel\", or \"direct\" for hosts on one Ethernet segment";
    problems.check(way, read.is_some(), "way of packets", help);
    read.unwrap_or_default()
}

fn is_name(text: &str) -> bool {
    text.len() <= MOST_NAME && !text.contains('_') && is_word(text, "-")
}

/// Whether a text can be a word of ssh's command line: letters, digits and `others`, the first one
/// no dash, so that it is no option.
fn is_word(text: &str, others: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || others.contains(c);
    (1..=MOST_TEXT).contains(&text.len()) && !text.starts_with('-') && text.chars().all(allowed)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn a_host_needs_a_name_and_an_address_alone() {
        let text = "[[host]]\nname = \"a\"\naddress = \"192.0.2.1\"\n";
        let file = HostsFile::parse("hosts.toml", text).expect("right");
        let host = &file.hosts[0];
        assert_eq!((host.port, host.sudo), (22, false));
        assert_eq!(host.way, WayKind::Tunnel);
        assert_eq!(host.program(), "/var/tmp/rookery-fleet/rookery");
        assert_eq!(host.place(), "host a (192.0.2.1, port 22)");
    }

    #[test]
    fn all_keys_are_read() {
        let text = r#"
            ssh_config = "ssh.conf"
            [[host]]
            name = "b-1"
            address = "fe80::1%eth0"
            user = "lab"
            port = 2201
            jump = "me@gate:22,other"
            sudo = true
            cpus = "0-2,5"
            memory_mib = 4096
            directory = "/srv/rookery/"
            way = "direct"
        "#;
        let file = HostsFile::parse("dir/hosts.toml", text).expect("right");
        assert_eq!(file.ssh_config.as_deref(), Some(Path::new("dir/ssh.conf")));
        let host = &file.hosts[0];
        assert_eq!(host.cpus, Some([0, 1, 2, 5].into()));
        assert_eq!(host.memory_mib, Some(4096));
        assert_eq!(host.program(), "/srv/rookery/rookery");
        assert_eq!(host.destination(), "lab@fe80::1%eth0");
        assert_eq!(host.way, WayKind::Direct);
    }

    #[test]
    fn every_problem_has_its_line_and_help() {
        let text = r#"[[host]]
name = "a"
address = "-oProxyCommand=x"
port = 70000
[[host]]
name = "a"
address = "b"
user = "me you"
cpus = "3-1"
memory_mib = 0
directory = "/srv/../etc"
way = "straight"
"#;
        let problems = HostsFile::parse("h.toml", text).expect_err("wrong").0;
        let lines: Vec<usize> = problems.iter().map(|problem| problem.line).collect();
        assert_eq!(lines, [3, 4, 8, 11, 9, 10, 12, 6], "{problems:#?}");
        assert!(problems.iter().all(|problem| !problem.help.is_empty()));
    }

    #[test]
    fn a_key_that_is_not_known_is_named_with_its_line() {
        let text = "[[host]]\nname = \"a\"\naddress = \"b\"\npassword = \"x\"\n";
        let problems = HostsFile::parse("h.toml", text).expect_err("wrong").0;
        assert_eq!(problems.len(), 1);
        assert_eq!(problems[0].line, 4, "{problems:?}");
        assert!(problems[0].message.contains("password"), "{problems:?}");
        assert!(HostsFile::parse("h.toml", "").is_err());
    }
}
