//! A first look at a host by its own shell, before anything is copied there.

use std::time::Duration;

use crate::{
    error::{HostError, HostFault},
    hosts::HostEntry,
    ssh::{Ssh, quoted},
};

/// How long the look may take.
const LIMIT: Duration = Duration::from_secs(30);
/// What stands before the facts: a shell may greet with lines of its own.
const MARK: &str = "rookery-probe-1";

/// What tells a machine from others, in its own words: its boot, and its network, which differs
/// between machines that share a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MachineIdentity(pub(crate) String);

/// What a shell says of a host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Probe {
    /// System and machine: `Linux x86_64`.
    pub(crate) machine: String,
    /// Which machine it is; nothing where it cannot be read.
    pub(crate) identity: Option<MachineIdentity>,
    /// Login name.
    pub(crate) user: String,
    /// Whether that is root.
    pub(crate) root: bool,
    /// What sudo says where it does not work.
    pub(crate) sudo: Option<String>,
    /// Whether the directory is there.
    pub(crate) directory: DirectoryState,
    /// SHA-256 of the program in it.
    pub(crate) digest: Option<String>,
}

/// What is where the program is to lie.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum DirectoryState {
    /// Nothing.
    #[default]
    None,
    /// A directory of the user.
    Own,
    /// Something else.
    Foreign,
}

/// Look at a host.
///
/// # Errors
/// When it cannot be reached, or says something else than was asked.
pub(crate) fn probe(ssh: &Ssh<'_>, host: &HostEntry) -> Result<Probe, HostError> {
    let what = "looking at the host";
    let command = format!("exec sh -c {}", quoted(&script(host)));
    let said = ssh.run(host, what, &command, None, LIMIT)?;
    parse(&said).ok_or_else(|| {
        let words = rookery_diagnosis::outside_text(&said);
        HostError::new(host, HostFault::Command { what, words })
    })
}

/// Whether a host can be one of a fleet.
///
/// # Errors
/// What stands against it.
pub(crate) fn check(host: &HostEntry, probe: &Probe) -> Result<(), HostError> {
    let fault = |fault| Err(HostError::new(host, fault));
    let own = format!("Linux {}", std::env::consts::ARCH);
    if probe.machine != own {
        let found = probe.machine.clone();
        return fault(HostFault::OtherMachine { found, own });
    }
    let user = probe.user.clone();
    if let Some(words) = probe.sudo.clone().filter(|_| host.sudo && !probe.root) {
        return fault(HostFault::Sudo { user, words });
    }
    if probe.directory == DirectoryState::Foreign {
        let directory = host.directory.clone();
        return fault(HostFault::Directory { directory, user });
    }
    Ok(())
}

/// The questions, for any POSIX shell.
fn script(host: &HostEntry) -> String {
    let directory = quoted(&host.directory);
    format!(
        "d={directory}; echo {MARK}; echo \"machine $(uname -s) $(uname -m)\"; \
         b=$(cat /proc/sys/kernel/random/boot_id) && n=$(readlink /proc/self/ns/net) && \
         echo \"identity $b $n\"; echo \"user $(id -un)\"; echo \"uid $(id -u)\"; \
         if s=$(sudo -n true 2>&1); then :; else echo \"sudo $s\" | head -n 1; fi; \
         if [ -d \"$d\" ] && [ ! -L \"$d\" ] && [ -O \"$d\" ]; then echo directory own; \
         elif [ -e \"$d\" ] || [ -L \"$d\" ]; then echo directory foreign; \
         else echo directory none; fi; \
         if [ -f \"$d/rookery\" ]; then echo \"digest $(sha256sum < \"$d/rookery\")\"; fi"
    )
}

fn parse(said: &str) -> Option<Probe> {
    let mut lines = said.lines().skip_while(|line| *line != MARK);
    lines.next()?;
    let mut probe = Probe::default();
    for line in lines {
        let (key, value) = line.split_once(' ').unwrap_or((line, ""));
        match key {
            "machine" => probe.machine = value.to_owned(),
            "identity" => {
                let identity = MachineIdentity(value.to_owned());
                probe.identity = (!value.is_empty()).then_some(identity);
            }
            "user" => probe.user = value.to_owned(),
            "uid" => probe.root = value == "0",
            "sudo" => probe.sudo = Some(rookery_diagnosis::outside_text(value)),
            "directory" => {
                probe.directory = match value {
                    "own" => DirectoryState::Own,
                    "none" => DirectoryState::None,
                    _ => DirectoryState::Foreign,
                }
            }
            "digest" => probe.digest = value.split(' ').next().map(str::to_owned),
            _ => {}
        }
    }
    (!probe.machine.is_empty()).then_some(probe)
}

#[cfg(test)]
mod tests {
    use crate::HostsFile;

    use super::*;

    fn host(more: &str) -> HostEntry {
        let text = format!("[[host]]\nname = \"a\"\naddress = \"192.0.2.1\"\n{more}\n");
        let file = HostsFile::parse("h.toml", &text).expect("right");
        file.hosts.into_iter().next().expect("one")
    }

    fn here() -> Probe {
        Probe {
            machine: format!("Linux {}", std::env::consts::ARCH),
            user: "me".to_owned(),
            ..Probe::default()
        }
    }

    #[test]
    fn what_a_shell_says_is_read() {
        let said = "Welcome!\nrookery-probe-1\nmachine Linux x86_64\n\
                    identity boot-1 net:[7]\nuser me\nuid 1000\n\
                    sudo sudo: a password is required\ndirectory own\ndigest abc  -\n";
        let probe = parse(said).expect("facts");
        assert_eq!(probe.machine, "Linux x86_64");
        let identity = MachineIdentity("boot-1 net:[7]".to_owned());
        assert_eq!(probe.identity, Some(identity));
        assert_eq!(probe.sudo.as_deref(), Some("sudo: a password is required"));
        assert_eq!(probe.directory, DirectoryState::Own);
        assert_eq!(probe.digest.as_deref(), Some("abc"));
        assert!(!probe.root);
        assert_eq!(parse("Welcome!\n"), None);
    }

    #[test]
    fn what_stands_against_a_host_is_found() {
        assert!(check(&host(""), &here()).is_ok());
        let other = Probe {
            machine: "Linux riscv64".to_owned(),
            ..here()
        };
        let fault = check(&host(""), &other).expect_err("another machine").fault;
        assert!(matches!(fault, HostFault::OtherMachine { .. }));
        let no_sudo = Probe {
            sudo: Some("sudo: a password is required".to_owned()),
            ..here()
        };
        assert!(check(&host(""), &no_sudo).is_ok(), "it is not asked for");
        let fault = check(&host("sudo = true"), &no_sudo)
            .expect_err("no sudo")
            .fault;
        assert!(matches!(fault, HostFault::Sudo { .. }));
        let foreign = Probe {
            directory: DirectoryState::Foreign,
            ..here()
        };
        let fault = check(&host(""), &foreign).expect_err("not ours").fault;
        assert!(matches!(fault, HostFault::Directory { .. }));
    }
}
