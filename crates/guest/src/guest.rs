//! A guest, of whatever kind.

use std::{
    fmt, fs,
    net::SocketAddr,
    path::{Path, PathBuf},
    time::Duration,
};

use rookery_host::UsageProbe;

use crate::{
    counters::MachineProbe,
    error::{GuestError, StepError},
    health::Health,
    storage::{InForce, RoleDirectory, VolumeFault, VolumeLook},
};

/// What is attempted where a command of the user is run.
pub(crate) const RUN_STEP: &str = "running a command";

/// A command that is run where the programs of a guest are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuestCommand {
    /// The program and its arguments; no shell reads them.
    pub words: Vec<String>,
    /// Variables beside those of the guest.
    pub variables: CommandVariables,
    /// How long it may take.
    pub limit: Duration,
}

/// Variables of a command: names with values. The values may be secrets, and are not shown.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct CommandVariables(pub Vec<(String, String)>);

impl fmt::Debug for CommandVariables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set()
            .entries(self.0.iter().map(|(name, _)| name))
            .finish()
    }
}

/// How such a command ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandEnd {
    /// Nothing where it ended well, otherwise how: `exit code 1`, `killed by signal 9`.
    pub failure: Option<String>,
    /// The beginning of what it said.
    pub output: String,
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

/// Tells the numbers of a guest's processes, as the host counts them; empty when it has none.
pub type ProcessProbe = Box<dyn FnMut() -> Vec<u32> + Send>;

/// One isolated place where a whole stack lives.
///
/// Dropping a guest kills and removes it: no path out of a trial leaves one behind.
pub trait Guest: Send {
    /// Its name.
    fn name(&self) -> &str;
    /// Where its service listens, as the driver reaches it (inside the lab's network, see
    /// [`Lab::network`](crate::Lab::network)).
    fn address(&self) -> SocketAddr;
    /// How its service is seen to be healthy.
    fn health(&self) -> &Health;
    /// Start it; returns when its processes run, not when it is healthy. A guest that was stopped
    /// or killed, or that ended by itself, starts again at the same address, with its data as they
    /// were left.
    ///
    /// # Errors
    /// When it runs already, or the kind's own means refuse.
    fn start(&mut self) -> Result<(), GuestError>;
    /// Whether it lives.
    fn state(&mut self) -> GuestState;
    /// A reader of its use of CPU and memory. Take it after the start: a bare guest that has no
    /// processes yet has nothing to read.
    fn usage_probe(&self) -> UsageProbe;
    /// A reader of the numbers of its processes. Take it after the start.
    fn process_probe(&self) -> ProcessProbe {
        Box::new(Vec::new)
    }
    /// What was asked of its storage and memory nodes, beside what is in force; nothing where
    /// nothing was asked. A guest that runs tells all.
    fn in_force(&self) -> Vec<InForce> {
        Vec::new()
    }
    /// Directories on volumes beside that of its data, by role; none where all of it lies with the
    /// data.
    fn role_directories(&self) -> Vec<RoleDirectory> {
        Vec::new()
    }
    /// Where a link below its data leads, as the guest sees it; `None` where there is none, or the
    /// guest alone could tell and does not.
    fn link_in_data(&self, path: &str) -> Option<PathBuf> {
        fs::read_link(self.data_dir().join(path)).ok()
    }
    /// What is wrong with a volume of it; `None` where nothing is seen to be, and of
    /// guests that have none.
    fn volume_fault(&self, look: VolumeLook) -> Option<VolumeFault> {
        let _ = look;
        None
    }
    /// Run a command of the user where its programs are, to its end.
    ///
    /// # Errors
    /// When the command cannot be run or is late, or this kind of guest runs none.
    fn run(&self, command: &GuestCommand) -> Result<CommandEnd, GuestError> {
        let program = command.words.first().map_or("", String::as_str);
        let why = StepError::Refused("no command is run in guests of this kind".to_owned());
        tracing::debug!(guest = self.name(), program, "refused");
        Err(GuestError::in_guest(self.name(), RUN_STEP, why))
    }
    /// How many of its processes the kernel (of a machine its own) has killed since its start
    /// because they wanted more memory than its limit; 0 for kinds whose limit is not in force.
    fn memory_kills(&self) -> u64 {
        0
    }
    /// A reader of what is counted of the guest as a machine of its own, by its kernel and from
    /// outside; `None` for a guest that has no kernel of its own, or does not run. Take it after
    /// the start.
    fn machine_probe(&self) -> Option<MachineProbe> {
        None
    }
    /// Its data directory as the host sees it. Those of a virtual machine lie on its own disk: the
    /// host sees them as they were at the last
    /// [`Guest::stop`], and before the first one not at all. Those of a system that runs already
    /// are not known: its path is empty.
    fn data_dir(&self) -> &Path;
    /// Where the host finds the [`GuestSpec::sockets`](crate::GuestSpec::sockets) of a guest that
    /// runs, at the same paths as below its data directory. Those of a virtual machine are led to
    /// the host.
    fn sockets_dir(&self) -> &Path {
        self.data_dir()
    }
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
    /// Remove everything of it but its log: clone, mounts, namespaces, cgroups. Kills it first if
    /// need be.
    ///
    /// # Errors
    /// When something remains.
    fn remove(&mut self) -> Result<(), GuestError>;
}
