//! The process that conducts a run, and whether it lives.
//!
//! A process number means something in its own PID namespace alone: a `clean` in a container that
//! shares `/run` with the host would take every controller of the host for dead. And the
//! registration of a run may be lost with `/run/rookery`. So a controller also announces itself, by
//! an abstract socket that vanishes with it, and one that cannot be seen counts as alive.

use std::{
    fmt, fs, io,
    os::{
        linux::net::SocketAddrExt,
        unix::{
            fs::MetadataExt,
            net::{SocketAddr, UnixListener},
        },
    },
};

use serde::{Deserialize, Serialize};

use crate::{Identity, RunId};

/// What the names of the sockets begin with, behind the zero byte of an abstract name.
const SOCKET: &str = "rookery-run-";

/// A process that conducts a run, or did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Controller {
    /// The process.
    #[serde(flatten)]
    pub identity: Identity,
    /// The PID namespace in which that number counts, by its inode; 0 = not known, as earlier
    /// releases wrote it: that of whoever reads.
    #[serde(default)]
    pub pid_namespace: u64,
}

impl Controller {
    /// This process.
    ///
    /// # Errors
    /// When `/proc` is not there.
    pub fn current() -> io::Result<Self> {
        Ok(Self {
            identity: Identity::own()?,
            pid_namespace: own_pid_namespace()?,
        })
    }

    /// Whether it lives, or may: nothing can be said of a process in a PID namespace that is not
    /// ours.
    #[must_use]
    pub fn may_live(self) -> bool {
        let visible = self.pid_namespace == 0
            || own_pid_namespace().is_ok_and(|own| own == self.pid_namespace);
        !visible || self.identity.is_alive()
    }

    /// What its `Display` wrote.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut words = text.split(':');
        let (pid, start) = (words.next()?, words.next()?);
        Some(Self {
            identity: Identity {
                pid: pid.parse().ok()?,
                start_ticks: start.parse().ok()?,
            },
            pid_namespace: words.next().map_or(Some(0), |word| word.parse().ok())?,
        })
    }
}

impl fmt::Display for Controller {
    /// Number, start time and namespace, as labels hold it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Identity { pid, start_ticks } = self.identity;
        write!(f, "{pid}:{start_ticks}:{}", self.pid_namespace)
    }
}

fn own_pid_namespace() -> io::Result<u64> {
    Ok(fs::metadata("/proc/self/ns/pid")?.ino())
}

/// Says that this process conducts a run, as long as it is held.
#[derive(Debug)]
pub struct Presence {
    _socket: UnixListener,
}

impl Presence {
    /// Announce a run.
    ///
    /// # Errors
    /// When the run is announced already, or the system refuses.
    pub fn announce(run: &RunId) -> io::Result<Self> {
        let name = SocketAddr::from_abstract_name(format!("{SOCKET}{run}"))?;
        Ok(Self {
            _socket: UnixListener::bind_addr(&name)?,
        })
    }
}

/// The runs whose controllers announce themselves in our network namespace.
///
/// # Errors
/// When `/proc` is not there.
pub fn announced() -> io::Result<Vec<RunId>> {
    Ok(announced_in(&fs::read_to_string("/proc/net/unix")?))
}

/// The last word of each line is the name; an abstract one begins with `@`.
fn announced_in(text: &str) -> Vec<RunId> {
    text.lines()
        .filter_map(|line| {
            let name = line.split_whitespace().last()?.strip_prefix('@')?;
            RunId::try_from(name.strip_prefix(SOCKET)?.to_owned()).ok()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_controller_is_read_back_also_from_an_earlier_release() {
        let own = Controller::current().expect("own");
        assert!(own.may_live() && own.pid_namespace > 0);
        assert_eq!(Controller::parse(&own.to_string()), Some(own));
        let json = serde_json::to_string(&own).expect("JSON");
        assert_eq!(serde_json::from_str::<Controller>(&json).ok(), Some(own));

        let earlier = Controller {
            pid_namespace: 0,
            ..own
        };
        let Identity { pid, start_ticks } = own.identity;
        assert_eq!(
            Controller::parse(&format!("{pid}:{start_ticks}")),
            Some(earlier)
        );
        let json = format!(r#"{{"pid":{pid},"start_ticks":{start_ticks}}}"#);
        assert_eq!(
            serde_json::from_str::<Controller>(&json).ok(),
            Some(earlier)
        );
        assert!(earlier.may_live());
        assert_eq!(Controller::parse("7"), None);
    }

    #[test]
    fn a_controller_that_cannot_be_seen_may_live() {
        let own = Controller::current().expect("own");
        let mut dead = own;
        dead.identity.start_ticks += 1;
        assert!(!dead.may_live());
        let elsewhere = Controller {
            pid_namespace: own.pid_namespace + 1,
            ..dead
        };
        assert!(elsewhere.may_live());
    }

    #[test]
    fn a_run_is_announced_once_and_as_long_as_its_controller_lives() {
        let run = RunId::try_from(format!("p{}", std::process::id() % 1_000_000)).expect("valid");
        let presence = Presence::announce(&run).expect("announced");
        assert!(announced().expect("read").contains(&run));
        assert!(
            Presence::announce(&run).is_err(),
            "a run has one controller"
        );
        drop(presence);
        assert!(!announced().expect("read").contains(&run));
    }

    #[test]
    fn other_sockets_are_no_runs() {
        let text = "Num RefCount Protocol Flags Type St Inode Path\n\
                    0: 00000002 00000000 00010000 0001 01 1 /run/rookery-run-a\n\
                    0: 00000002 00000000 00010000 0001 01 2 @rookery-run-\n\
                    0: 00000002 00000000 00010000 0001 01 3\n\
                    0: 00000002 00000000 00010000 0001 01 4 @rookery-run-ab12\n";
        let found: Vec<String> = announced_in(text).iter().map(ToString::to_string).collect();
        assert_eq!(found, ["ab12"]);
    }
}
