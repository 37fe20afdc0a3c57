//! The traits that every kind of guest implements.

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    time::Duration,
};

use rookery_host::{RunId, UsageProbe};
use serde::{Deserialize, Serialize};

/// Kinds of guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A process group on an own loopback address.
    Bare,
    /// An OCI container run by runc.
    Container,
    /// A guest in name only.
    Fake,
}

/// Where a run lives.
#[derive(Clone, Debug)]
pub struct Site {
    /// Label of everything.
    pub run: RunId,
    /// Directory of the run's guests; clones, bundles and logs go below it.
    pub dir: PathBuf,
    /// Directory of content-addressed templates, shared between runs.
    pub templates: PathBuf,
}

/// How a template is built; its digest is the template's address.
pub struct Recipe<'a> {
    /// Everything that decides the content, as text: stack, version, data size, seed, ...
    pub description: String,
    /// The program that guests run; copied with its shared libraries into the root of container templates.
    pub program: PathBuf,
    /// Fills the data directory, once.
    pub fill: &'a (dyn Fn(&Path) -> Result<(), String> + Sync),
}

/// A built template.
#[derive(Clone, Debug)]
pub struct Template {
    /// Digest of the recipe.
    pub digest: String,
    /// Root directory; the loaded data lies in `root/data`, the program in `root/program`.
    pub root: PathBuf,
    /// The program on the host.
    pub program: PathBuf,
}

/// One guest to be made.
#[derive(Clone, Debug)]
pub struct GuestSpec {
    /// 1-based number within the trial; gives the address.
    pub number: u16,
    /// Name, such as `g1`: 1 to 40 characters of `a-z`, `0-9` and `-`. A guest of the same name overwrites the log of the one before.
    pub name: String,
    /// CPUs it may run on.
    pub cpus: Vec<u32>,
    /// CPU limit in cores; `None` = no quota.
    pub cpu_limit: Option<f64>,
    /// Memory limit, MiB; `None` = no limit.
    pub memory_mib: Option<u64>,
    /// Limit on processes and threads.
    pub pids: Option<u32>,
    /// Arguments of the program. `{data}` and `{listen}` stand for the data directory and `address:port` as the guest sees them.
    pub args: Vec<String>,
    /// Port of the service.
    pub port: u16,
    /// Path that answers 200 when the service is healthy.
    pub health_path: String,
}

/// Whether a guest lives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GuestState {
    /// Made, not started.
    Created,
    /// Running.
    Running,
    /// Ended, with the reason (`exit code 1`, `killed by signal 9`).
    Ended(String),
}

/// What can go wrong with guests: always what, where and how to mend.
#[derive(Debug, thiserror::Error)]
pub enum GuestError {
    /// The host lacks something.
    #[error("this host cannot run {kind} guests: {what}\n  mend: {mend}")]
    HostNotReady {
        /// Kind of guest.
        kind: &'static str,
        /// What is missing.
        what: String,
        /// What to do.
        mend: String,
    },
    /// A step failed.
    #[error("guest {guest}: {step} failed: {what}")]
    Step {
        /// Name of the guest, or `lab`.
        guest: String,
        /// What was attempted.
        step: &'static str,
        /// The reason, with a command's own words.
        what: String,
    },
    /// A guest was not healthy in time, or died.
    #[error("guest {guest}: {what}\n  its log ends with:\n{log}")]
    NotReady {
        /// Name of the guest.
        guest: String,
        /// What happened.
        what: String,
        /// Tail of the guest's own log, indented.
        log: String,
    },
    /// The caller asked to stop.
    #[error("stopped while {doing}, as asked")]
    Stopped {
        /// What was being done.
        doing: &'static str,
    },
}

/// One isolated place where a whole stack lives.
///
/// Dropping a guest kills and removes it: no path out of a trial leaves one behind.
pub trait Guest: Send {
    /// Its name.
    fn name(&self) -> &str;
    /// Where its service listens, as the driver reaches it (inside the lab's network, see [`Lab::network`]).
    fn address(&self) -> SocketAddr;
    /// Path that answers 200 when its service is healthy.
    fn health_path(&self) -> &str;
    /// Start it; returns when its processes run, not when it is healthy.
    ///
    /// # Errors
    /// When the kind's own means refuse.
    fn start(&mut self) -> Result<(), GuestError>;
    /// Whether it lives.
    fn state(&mut self) -> GuestState;
    /// A reader of its use of CPU and memory. Take it after the start: a bare guest that has no processes yet has nothing to read.
    fn usage_probe(&self) -> UsageProbe;
    /// Its data directory as the host sees it.
    fn data_dir(&self) -> &Path;
    /// The last `bytes` bytes of its own log.
    fn log_tail(&self, bytes: usize) -> String;
    /// Ask it to end, wait up to `grace`, then kill it.
    ///
    /// # Errors
    /// When even killing fails.
    fn stop(&mut self, grace: Duration) -> Result<(), GuestError>;
    /// Kill all its processes at once and wait until they are gone.
    ///
    /// # Errors
    /// When a process survives.
    fn kill(&mut self) -> Result<(), GuestError>;
    /// Remove everything of it but its log: clone, mounts, namespaces, cgroups. Kills it first if need be.
    ///
    /// # Errors
    /// When something remains.
    fn remove(&mut self) -> Result<(), GuestError>;
}

/// The ground on which the guests of one run stand.
///
/// Dropping a lab removes what the guests shared.
pub trait Lab: Send + Sync {
    /// Kind of its guests.
    fn kind(&self) -> Kind;
    /// The network namespace (a path such as `/run/netns/...`) that the driver's threads must enter; `None` = the host's own loopback.
    fn network(&self) -> Option<&Path>;
    /// Build the template of `recipe`, or find it built.
    ///
    /// # Errors
    /// When the recipe's own fill fails, or the disk does.
    fn template(&self, recipe: &Recipe<'_>) -> Result<Template, GuestError>;
    /// Clone a template into a new guest, not yet started.
    ///
    /// # Errors
    /// When the clone cannot be made; nothing is left behind.
    fn create(&self, template: &Template, spec: &GuestSpec) -> Result<Box<dyn Guest>, GuestError>;
    /// Remove what the guests shared.
    ///
    /// # Errors
    /// When something remains.
    fn close(&mut self) -> Result<(), GuestError>;
}
