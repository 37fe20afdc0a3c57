//! The traits that every kind of guest implements.

use std::{
    collections::BTreeMap,
    fmt,
    net::SocketAddr,
    ops::ControlFlow,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use rookery_host::{RunId, UsageProbe, volume::VolumeSpec};
use serde::{Deserialize, Serialize};

use crate::{
    health::Health,
    storage::{InForce, Provision, Volume},
    template::Lease,
    vm::{VmCounters, VmProbe},
};

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
    /// A virtual machine on libvirt and QEMU.
    Vm,
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

/// Names of what a root holds, such as `mariadb-server-core`, with their versions.
pub type Versions = BTreeMap<String, String>;

/// How a layer gets its content.
#[derive(Clone, Copy)]
pub enum Fill<'a> {
    /// Fills the data directory. The program is installed in the layer as well, so that guests can stand on it.
    Data(&'a (dyn Fn(&Path) -> Result<(), String> + Sync)),
    /// Fills the data directory, and the program has no part in it: the layer holds none (a new program leaves it valid). Guests stand on
    /// it [with a program](Template::with_program).
    DataOnly(&'a (dyn Fn(&Path) -> Result<(), String> + Sync)),
    /// The program and nothing else, to be put on data.
    Program,
    /// Makes a whole root file system in an empty directory, and says what is in it. The layer holds no program (a new program leaves it
    /// valid): it is a base for data layers, not for guests.
    Root(&'a (dyn Fn(&Path) -> Result<Versions, String> + Sync)),
}

impl fmt::Debug for Fill<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Data(_) => "Data",
            Self::DataOnly(_) => "DataOnly",
            Self::Program => "Program",
            Self::Root(_) => "Root",
        })
    }
}

/// How a template is built; its digest is the template's address.
#[derive(Clone, Debug)]
pub struct Recipe<'a> {
    /// Everything that decides the content, as text: stack, version, data size, seed, ...
    pub description: String,
    /// The program that guests run; copied with its shared libraries into a layer of [`Fill::Data`] or [`Fill::Program`].
    pub program: PathBuf,
    /// The template on which this one stands as a further layer; `None` = it stands alone. A [`Fill::Root`] and a
    /// [`Fill::Program`] stand alone.
    pub base: Option<&'a Template>,
    /// The content, made once.
    pub fill: Fill<'a>,
}

/// Asked several times a second while somebody else builds or removes templates in the same directory; `Break` gives up.
pub type Patience<'a> = &'a (dyn Fn() -> ControlFlow<()> + Sync);

/// Hears what is being built and how far it is, as in `system of machines` and `fetching packages, 12 s`.
pub type Progress<'a> = &'a (dyn Fn(&str, &str) + Sync);

/// The [`Patience`] that waits for ever.
pub fn patient() -> ControlFlow<()> {
    ControlFlow::Continue(())
}

/// A built template. While one value of it lives, it cannot be removed.
#[derive(Clone, Debug)]
pub struct Template {
    /// Digest of the recipe.
    pub digest: String,
    /// Root directory of the top layer, or of the one below a program that was put on it; the loaded data lies in `root/data`.
    pub root: PathBuf,
    /// The program on the host. A base, and data alone, have none.
    pub program: PathBuf,
    /// Root directories of all layers, the top first.
    pub layers: Vec<PathBuf>,
    /// Keeps it from being removed.
    pub(crate) lease: Lease,
}

impl Template {
    /// This template with the program of a [`Fill::Program`] on top: what guests stand on.
    #[must_use]
    pub fn with_program(&self, program: &Self) -> Self {
        Self {
            program: program.program.clone(),
            layers: std::iter::once(&program.root)
                .chain(&self.layers)
                .cloned()
                .collect(),
            lease: program.lease.and(&self.lease),
            ..self.clone()
        }
    }
}

/// A file that is written for a guest before each of its starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuestFile {
    /// Where, below the guest's directory of such files (`{conf}`): plain components, as in `htdocs/index.php`.
    pub path: String,
    /// Content; placeholders as in [`GuestSpec::args`].
    pub text: String,
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
    /// Arguments of the program. These words, wherever they stand in it, are replaced by what holds as the guest sees it; every other brace
    /// stays as it is:
    ///
    /// | word | stands for | in a container |
    /// |---|---|---|
    /// | `{data}` | the data directory | `/data` |
    /// | `{conf}` | directory of [`GuestSpec::files`]; to be read only | `/conf` |
    /// | `{run}` | directory for sockets and process numbers; empty at the first start | `/run` |
    /// | `{program}` | the program | `/program` |
    /// | `{address}` | IP address of the service | |
    /// | `{port}` | port of the service | |
    /// | `{listen}` | `address:port` | |
    ///
    /// A container's program is started by the loader of its own in `/program.d`, so that it runs in the root of any release. What it starts
    /// itself inherits nothing of that: no variable is set, and the libraries of the root are in force.
    pub args: Vec<String>,
    /// Port of the service.
    pub port: u16,
    /// How the service is seen to be healthy.
    pub health: Health,
    /// Files that are written before each start, in place of those of the start before.
    pub files: Vec<GuestFile>,
    /// User and group number of a container's first process, which then has no capability; `None` = root, with the least set. `/tmp`, `/run`
    /// and `/dev/shm` are open to every user. Bare guests ignore it: they are whoever made them.
    pub user: Option<u32>,
    /// Unix sockets of the service below its data directory (plain components, as in `mysql.sock`) by which the host talks to it, see
    /// [`Guest::sockets_dir`].
    pub sockets: Vec<String>,
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
    /// A template cannot be had or removed.
    #[error("{what}\n  mend: {mend}")]
    Template {
        /// What is the matter.
        what: String,
        /// What to do.
        mend: String,
    },
    /// The caller asked to stop.
    #[error("stopped while {doing}, as asked")]
    Stopped {
        /// What was being done.
        doing: &'static str,
    },
}

/// Tells the numbers of a guest's processes, as the host counts them; empty when it has none.
pub type ProcessProbe = Box<dyn FnMut() -> Vec<u32> + Send>;

/// One isolated place where a whole stack lives.
///
/// Dropping a guest kills and removes it: no path out of a trial leaves one behind.
pub trait Guest: Send {
    /// Its name.
    fn name(&self) -> &str;
    /// Where its service listens, as the driver reaches it (inside the lab's network, see [`Lab::network`]).
    fn address(&self) -> SocketAddr;
    /// How its service is seen to be healthy.
    fn health(&self) -> &Health;
    /// Start it; returns when its processes run, not when it is healthy. A guest that was stopped or killed, or that ended by itself, starts
    /// again at the same address, with its data as they were left.
    ///
    /// # Errors
    /// When it runs already, or the kind's own means refuse.
    fn start(&mut self) -> Result<(), GuestError>;
    /// Whether it lives.
    fn state(&mut self) -> GuestState;
    /// A reader of its use of CPU and memory. Take it after the start: a bare guest that has no processes yet has nothing to read.
    fn usage_probe(&self) -> UsageProbe;
    /// A reader of the numbers of its processes. Take it after the start.
    fn process_probe(&self) -> ProcessProbe {
        Box::new(Vec::new)
    }
    /// What was asked of its storage and memory nodes, beside what is in force; nothing where nothing was asked. A guest that runs tells all.
    fn in_force(&self) -> Vec<InForce> {
        Vec::new()
    }
    /// How many of its processes the kernel has killed since its start because they wanted more memory than its limit; 0 for kinds whose
    /// limit is not in force.
    fn memory_kills(&self) -> u64 {
        0
    }
    /// A reader of what libvirt and its own kernel count of a virtual machine that runs; `None` for other kinds. Take it after the start.
    fn vm_probe(&self) -> Option<VmProbe> {
        None
    }
    /// What they count now.
    fn vm_counters(&self) -> Option<VmCounters> {
        self.vm_probe()?()
    }
    /// Its data directory as the host sees it. Those of a virtual machine lie on its own disk: the host sees them as they were at the last
    /// [`Guest::stop`], and before the first one not at all.
    fn data_dir(&self) -> &Path;
    /// Where the host finds the [`GuestSpec::sockets`] of a guest that runs, at the same paths as below its data directory. Those of a virtual
    /// machine are led to the host.
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
    /// Build the template of `recipe`, or find it built. One builder is at work in a directory at a time; the others have `patience`.
    ///
    /// # Errors
    /// When the recipe's own fill fails, or the disk does; [`GuestError::Stopped`] when the patience ends.
    fn template(&self, recipe: &Recipe<'_>, patience: Patience<'_>)
    -> Result<Template, GuestError>;
    /// Build what guests on `template` need besides it, or find it built: for virtual machines the system that they boot and the image of their
    /// disks, which take minutes once. Where nobody has asked for it, the first guest's creation does it without a word.
    ///
    /// # Errors
    /// When it cannot be built, or the patience ends.
    fn prepare(
        &self,
        template: &Template,
        told: Progress<'_>,
        patience: Patience<'_>,
    ) -> Result<(), GuestError> {
        let _ = (template, told, patience);
        Ok(())
    }
    /// Make a volume for the data of one guest or several, named with 1 to 40 characters of `a-z`, `0-9` and `-`. It is removed with the last
    /// guest that has it.
    ///
    /// # Errors
    /// When it cannot be made; nothing is left behind.
    fn volume(&self, name: &str, spec: &VolumeSpec) -> Result<Arc<Volume>, GuestError>;
    /// Clone a template into a new guest, not yet started, its data in the run's directory.
    ///
    /// # Errors
    /// When the clone cannot be made; nothing is left behind.
    fn create(&self, template: &Template, spec: &GuestSpec) -> Result<Box<dyn Guest>, GuestError> {
        self.create_with(template, spec, &Provision::default())
    }
    /// Clone a template into a new guest, not yet started, with what `provision` gives it.
    ///
    /// # Errors
    /// When the clone cannot be made, or this kind of guest cannot have what it is given; nothing is left behind.
    fn create_with(
        &self,
        template: &Template,
        spec: &GuestSpec,
        provision: &Provision,
    ) -> Result<Box<dyn Guest>, GuestError>;
    /// Remove what the guests shared.
    ///
    /// # Errors
    /// When something remains.
    fn close(&mut self) -> Result<(), GuestError>;
}
