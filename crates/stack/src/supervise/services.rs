//! The services file: what to start, how to see that it is ready, how to stop it.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
    time::Duration,
};

use rookery_diagnosis::Diagnosis;
pub use rookery_study::Readiness as Ready;
use rustix::process::Signal;
use serde::Deserialize;

/// A services file is a few lines for each service; more than this is not one.
const LONGEST_FILE: u64 = 1 << 20;
/// More services than any guest has.
const MOST_SERVICES: usize = 64;
/// Longest wait that may be asked for: one hour.
const LONGEST_WAIT_MS: u64 = 3_600_000;

/// What a guest runs.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Services {
    /// What holds for all services.
    #[serde(default)]
    pub guest: GuestSection,
    /// The services, in the order of their start.
    #[serde(default, rename = "service")]
    pub services: Vec<Service>,
}

/// What holds for all services of a guest.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GuestSection {
    /// Started by root: enter a user namespace first.
    #[serde(default)]
    pub user_namespace: bool,
    /// Enter a namespace of shared memory and semaphores of its own, where that is allowed: what a
    /// killed service leaves there ends with it.
    #[serde(default)]
    pub ipc_namespace: bool,
    /// Directory of files, each with the value of the variable that its name is; all services have
    /// them.
    #[serde(default)]
    pub secrets: Option<PathBuf>,
    /// The guest ends, in order, when all its services were started and its oneshots are done: it
    /// makes something.
    #[serde(default)]
    pub ends_when_done: bool,
}

/// One service.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Service {
    /// Name in the log: 1 to 32 characters of `a-z`, `0-9` and `-`.
    pub name: String,
    /// Program and arguments.
    pub command: Vec<String>,
    /// `command` is arguments of this very program, which is started as the supervisor was.
    #[serde(default)]
    pub own_program: bool,
    /// Variables besides `PATH`, `LANG`, `TZ` and the run's labels.
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
    /// How it is seen to be ready; at once if not given.
    #[serde(default)]
    pub ready: Option<Ready>,
    /// How long that, or a oneshot's whole work, may take, ms.
    #[serde(default = "default_ready_within_ms")]
    pub ready_within_ms: u64,
    /// Signal that asks it to end.
    #[serde(default)]
    pub stop_signal: StopWith,
    /// Time from that signal to SIGKILL, ms.
    #[serde(default = "default_grace_ms")]
    pub grace_ms: u64,
    /// It may not leave the process group of the guest, as it would.
    #[serde(default)]
    pub keep_group: bool,
    /// It does its work and ends; the next service starts after its exit code 0.
    #[serde(default)]
    pub oneshot: bool,
    /// Where this exists a oneshot is skipped.
    #[serde(default)]
    pub creates: Option<PathBuf>,
}

fn default_ready_within_ms() -> u64 {
    60_000
}

fn default_grace_ms() -> u64 {
    10_000
}

impl Service {
    pub(super) fn ready_within(&self) -> Duration {
        Duration::from_millis(self.ready_within_ms)
    }

    pub(super) fn grace(&self) -> Duration {
        Duration::from_millis(self.grace_ms)
    }
}

/// The signals by which services are asked to end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum StopWith {
    /// SIGTERM.
    #[default]
    Term,
    /// SIGINT.
    Int,
    /// SIGQUIT; php-fpm ends gracefully by it.
    Quit,
    /// SIGWINCH; Apache ends gracefully, and slowly, by it.
    Winch,
}

impl StopWith {
    pub(super) fn signal(self) -> Signal {
        match self {
            Self::Term => Signal::TERM,
            Self::Int => Signal::INT,
            Self::Quit => Signal::QUIT,
            Self::Winch => Signal::WINCH,
        }
    }
}

/// A services file that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("services file {path}: {source}")]
pub struct ServicesError {
    path: String,
    source: ServicesFault,
}

/// What is wrong with a services file.
#[derive(Debug, thiserror::Error)]
enum ServicesFault {
    #[error(transparent)]
    Unreadable(#[from] io::Error),
    #[error("is longer than 1 MiB")]
    TooLong,
    #[error(transparent)]
    Toml(#[from] toml::de::Error),
    #[error("needs 1 to {MOST_SERVICES} [[service]] tables")]
    Count,
    #[error("two services are called `{name}`")]
    Twice { name: String },
    #[error("the name {name:?} is not 1 to 32 characters of a-z, 0-9 and -")]
    Name { name: String },
    #[error("service {name}: {what}")]
    Service { name: String, what: &'static str },
}

impl Diagnosis for ServicesError {
    fn code(&self) -> &'static str {
        "supervise::services-file"
    }

    fn help(&self) -> Option<String> {
        Some(
            match self.source {
                ServicesFault::Unreadable(_) => "name a readable services file",
                ServicesFault::TooLong => "name a services file",
                _ => "see `rookery supervise --help` for the keys of a service",
            }
            .to_owned(),
        )
    }
}

impl Services {
    /// Read and check the file at `path`.
    ///
    /// # Errors
    /// When it cannot be read or does not say what to run.
    pub fn read(path: &Path) -> Result<Self, ServicesError> {
        Self::read_file(path).map_err(|source| ServicesError {
            path: path.display().to_string(),
            source,
        })
    }

    fn read_file(path: &Path) -> Result<Self, ServicesFault> {
        let mut text = String::new();
        File::open(path)?
            .take(LONGEST_FILE + 1)
            .read_to_string(&mut text)?;
        if text.len() as u64 > LONGEST_FILE {
            return Err(ServicesFault::TooLong);
        }
        Self::parse(&text)
    }

    /// Parse the text of a services file.
    fn parse(text: &str) -> Result<Self, ServicesFault> {
        let services: Self = toml::from_str(text)?;
        if services.services.is_empty() || services.services.len() > MOST_SERVICES {
            return Err(ServicesFault::Count);
        }
        let mut names = BTreeSet::new();
        for service in &services.services {
            service.check()?;
            if !names.insert(&service.name) {
                let name = service.name.clone();
                return Err(ServicesFault::Twice { name });
            }
        }
        Ok(services)
    }
}

impl Service {
    fn check(&self) -> Result<(), ServicesFault> {
        let name = &self.name;
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if name.is_empty() || name.len() > 32 || !name.chars().all(plain) {
            return Err(ServicesFault::Name { name: name.clone() });
        }
        let fail = |what| {
            Err(ServicesFault::Service {
                name: name.clone(),
                what,
            })
        };
        if self.command.first().is_none_or(String::is_empty) {
            return fail("`command` is empty");
        }
        let variables = self
            .environment
            .iter()
            .flat_map(|(key, value)| [key, value]);
        if self
            .command
            .iter()
            .chain(variables)
            .any(|text| text.contains('\0'))
        {
            return fail("`command` and `environment` must be free of NUL");
        }
        if self
            .environment
            .keys()
            .any(|key| key.is_empty() || key.contains('='))
        {
            return fail("`environment` has a name that is empty or contains `=`");
        }
        if self.oneshot && self.ready.is_some() {
            return fail("a oneshot is ready when it ends; it has no `ready`");
        }
        if !self.oneshot && self.creates.is_some() {
            return fail("`creates` is for oneshots");
        }
        if [self.ready_within_ms, self.grace_ms]
            .iter()
            .any(|ms| *ms > LONGEST_WAIT_MS)
        {
            return fail("`ready_within_ms` and `grace_ms` end with 3600000, an hour");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(text: &str) -> String {
        Services::parse(text).expect_err("refused").to_string()
    }

    #[test]
    fn a_full_file_is_understood() {
        let text = r#"
            [guest]
            user_namespace = true
            secrets = "/conf/secrets"
            ends_when_done = true
            [[service]]
            name = "first"
            command = ["/bin/true"]
            oneshot = true
            creates = "/data/x"
            [[service]]
            name = "web"
            command = ["/bin/web", "-f"]
            environment = { A = "b" }
            ready = "tcp:127.0.0.1:80"
            ready_within_ms = 5
            stop_signal = "QUIT"
            grace_ms = 7
        "#;
        let services = Services::parse(text).expect("valid");
        assert!(services.guest.user_namespace && services.guest.ends_when_done);
        assert_eq!(services.guest.secrets, Some("/conf/secrets".into()));
        let [first, web] = &services.services[..] else {
            panic!("two services")
        };
        assert!(first.oneshot && first.creates.as_deref() == Some(Path::new("/data/x")));
        assert_eq!(
            (first.ready_within_ms, first.grace_ms, first.stop_signal),
            (60_000, 10_000, StopWith::Term)
        );
        assert_eq!(web.ready, Some(Ready::Tcp(([127, 0, 0, 1], 80).into())));
        assert_eq!(
            (web.ready_within_ms, web.grace_ms, web.stop_signal),
            (5, 7, StopWith::Quit)
        );
    }

    #[test]
    fn what_is_wrong_is_named() {
        let service = |rest: &str| refusal(&format!("[[service]]\nname = \"s\"\n{rest}"));
        assert!(refusal("").contains("1 to 64"));
        assert!(refusal("[[service]]\nname = \"S!\"\ncommand = [\"a\"]").contains("S!"));
        assert!(service("command = []").contains("`command` is empty"));
        assert!(service("command = [\"a\\u0000\"]").contains("NUL"));
        assert!(
            service("command = [\"a\"]\nenvironment = { \"A=B\" = \"\" }").contains("environment")
        );
        assert!(
            service("command = [\"a\"]\noneshot = true\nready = \"file:/x\"").contains("oneshot")
        );
        assert!(service("command = [\"a\"]\ncreates = \"/x\"").contains("creates"));
        assert!(service("command = [\"a\"]\ngrace_ms = 3600001").contains("hour"));
        assert!(service("command = [\"a\"]\nreadyy = \"file:/x\"").contains("readyy"));
        assert!(service("command = [\"a\"]\nstop_signal = \"KILL\"").contains("KILL"));
        let twice = "[[service]]\nname = \"s\"\ncommand = [\"a\"]\n";
        assert!(refusal(&twice.repeat(2)).contains("two services"));
    }
}
