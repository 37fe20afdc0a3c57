//! `[stack]`: what runs in a guest, and how it is tuned.

use std::time::Duration;

use super::{
    image::{self, ImageKeys},
    settings::{self, Settings},
};
use crate::{
    foreign_use::{ExternalUse, StackCommands, UsageSource},
    grammar::{
        Below, Context, KeyInfo, Reader, SectionInfo, keys,
        kinds::{
            Choice, CommandLine, Factor, PathFromRoot, ProcessKind, ProcessName, Target, Time,
            Whole,
        },
    },
    names::Named,
    problem::Code,
    stack_use::{
        BufferPool, DatabaseUse, Engine, LampSite, LampUse, Pages, SimulatedUse, StackKind,
        StackUse, TuningProfile, WebServer,
    },
};

pub(super) const SECTION: SectionInfo = SectionInfo {
    name: "stack",
    many: false,
    meaning: "What runs in a guest.",
    keys: all_keys,
    below: &[Below {
        names: || vec![settings::NAME],
        named_freely: false,
        meaning: || settings::MEANING.to_owned(),
        keys: Vec::new,
        any: Some(settings::INFO),
    }],
};

impl Named for StackKind {
    const NAMES: &'static [(&'static str, Self, &'static str)] = &[
        (
            "embedded",
            Self::Embedded,
            "Rookery's own application server on SQLite",
        ),
        (
            "lamp",
            Self::Lamp,
            "Apache, PHP and MariaDB of the distribution",
        ),
        (
            "mariadb",
            Self::Mariadb,
            "MariaDB of the distribution, for order entry",
        ),
        (
            "postgresql",
            Self::Postgresql,
            "PostgreSQL of the distribution, for order entry",
        ),
        (
            "sqlite",
            Self::Sqlite,
            "SQLite behind Rookery's own small server, for order entry",
        ),
        (
            "bundled",
            Self::Bundled,
            "the small server that comes with the workload, where it has one",
        ),
        (
            "external",
            Self::External,
            "a system of yours that runs already: nothing is made, started or stopped",
        ),
        (
            "image",
            Self::Image,
            "a server of yours, made into guests from packages and files",
        ),
        (
            "simulated",
            Self::Simulated,
            "no stack: trials are computed from a queueing model, nothing runs",
        ),
    ];
}

impl Named for Pages {
    const NAMES: &'static [(&'static str, Self, &'static str)] = &[
        (
            "faithful",
            Self::Faithful,
            "as the original, with its defects",
        ),
        ("corrected", Self::Corrected, "without them"),
    ];
}

impl Named for WebServer {
    const NAMES: &'static [(&'static str, Self, &'static str)] = &[
        (
            "prefork",
            Self::Prefork,
            "a process for each connection, with PHP inside",
        ),
        (
            "event",
            Self::Event,
            "threads for connections, PHP in php-fpm",
        ),
    ];
}

impl Named for TuningProfile {
    const NAMES: &'static [(&'static str, Self, &'static str)] = &[
        ("stock", Self::Stock, "what the distribution ships"),
        (
            "pureflex",
            Self::Pureflex,
            "lamp only: the formulas of the PureFlex study",
        ),
        (
            "sun2009",
            Self::Sun2009,
            "lamp only: the settings of the study of Drupal on disks",
        ),
        (
            "rhev",
            Self::Rhev,
            "mariadb and postgresql only: the database settings of the RHEV study",
        ),
        (
            "modern",
            Self::Modern,
            "what a good administrator does today",
        ),
    ];
}

impl Named for BufferPool {
    const NAMES: &'static [(&'static str, Self, &'static str)] = &[
        ("cold", Self::Cold, "as after the start of the server"),
        (
            "warm",
            Self::Warm,
            "all tables and indexes are read once before the load",
        ),
    ];
}

keys! {
    /// Keys of `[stack]`.
    StackKeys {
        /// Which stack.
        kind: Choice<StackKind> = Choice::NEW, Default("\"embedded\"");
        /// Whether the pages reproduce the known defects of the original.
        pages: Choice<Pages> = Choice::NEW, Default("\"corrected\"");
        /// A site of yours in place of the pages that come with Rookery: its tree, or an archive of
        /// it (lamp only; content management).
        site: PathFromRoot = PathFromRoot { example: "/srv/site" }, Optional("the pages that come with Rookery");
        /// How Apache serves (lamp only).
        server: Choice<WebServer> = Choice::NEW, Optional("\"prefork\"");
        /// Set of tunings to begin with (lamp, mariadb and postgresql).
        tuning: Choice<TuningProfile> = Choice::NEW, Optional("\"stock\"");
        /// State of the database's memory when the load begins (lamp, mariadb and postgresql).
        buffer_pool: Choice<BufferPool> = Choice::NEW, Optional("\"warm\"");
        /// CPU time that the server burns in every page on purpose, to prove that a slow-down of
        /// known size is found (embedded only).
        extra_cpu: Time = Time { min: Duration::ZERO, max: Duration::from_secs(1), example: "200us" }, Optional("\"0s\"");
        /// Time for which a page waits without using the CPU, on one of `processors_per_vcpu`: slow
        /// processors of a known speed, however few CPUs there are (embedded only; banking,
        /// e-commerce and support).
        extra_wait: Time = Time { min: Duration::ZERO, max: Duration::from_secs(1), example: "20ms" }, Optional("\"0s\"");
        /// The share of `extra_cpu` and `extra_wait` in which a page has the server for itself and
        /// no other page goes on: a serial section of known size, to prove that it is found
        /// (embedded only; banking, e-commerce and support).
        serial_share: Factor = Factor { min: 0.0, max: 1.0 }, Optional("0.0");
        /// Pages that take `extra_cpu` and `extra_wait` at once, for each vCPU (embedded only;
        /// banking, e-commerce and support).
        processors_per_vcpu: Whole<u32> = Whole { min: 1, max: 1000 }, Optional("1");
        /// Where the system listens (external only).
        target: Target = Target, Optional("it must be given");
        /// Path that a system which is ready answers with 200 (external and image).
        health: PathFromRoot = PathFromRoot { example: "/health" }, Optional("\"/\"");
        /// The process by which, with its descendants, the system's use of CPU and memory is seen,
        /// where it runs on this host (external only).
        process: ProcessKind = ProcessKind, Optional("its use is not seen");
        /// The control group by which it is seen instead, a directory (external only).
        cgroup: PathFromRoot = PathFromRoot { example: "/sys/fs/cgroup/system.slice/site.service" }, Optional("its use is not seen");
        /// Command before each trial that puts back what the trial before changed (external and
        /// image; like the commands below).
        reset: CommandLine = CommandLine, Optional("nothing is run");
        /// Command before the load of each trial that warms the system.
        prepare: CommandLine = CommandLine, Optional("nothing is run");
        /// Command before and after the load that prints settings in force as lines `NAME = VALUE`.
        read_settings: CommandLine = CommandLine, Optional("none is read");
        /// Command after the load that fails where the system holds something wrong, and may print
        /// what it counts as lines `NAME = NUMBER`, to be compared with what users were told.
        audit: CommandLine = CommandLine, Optional("nothing is audited");
        /// How long each of these commands may take.
        command_limit: Time = Time { min: Duration::from_millis(100), max: Duration::from_secs(3600), example: "60s" }, Optional("\"60s\"");
        /// CPU time of an order on one core, on average (this and the keys up to `host_cpus`:
        /// simulated only).
        cpu_demand: Time = Time { min: Duration::from_micros(1), max: TEN_SECONDS, example: "8ms" }, Optional("\"8ms\"");
        /// Time of an order on the disk that all guests share.
        disk_demand: Time = Time { min: Duration::ZERO, max: TEN_SECONDS, example: "500us" }, Optional("\"0s\"");
        /// Time of an order under the lock of its guest: the part that more CPUs do not speed up.
        lock_demand: Time = Time { min: Duration::ZERO, max: TEN_SECONDS, example: "500us" }, Optional("\"0s\"");
        /// Growth of all CPU demand with each further guest.
        guest_overhead: Factor = Factor { min: 0.0, max: 10.0 }, Optional("0.0");
        /// Deviation of the demands from trial to trial, as a share.
        noise: Factor = Factor { min: 0.0, max: 0.5 }, Optional("0.02");
        /// How long the whole system stands still, again and again.
        freeze: Time = Time { min: Duration::ZERO, max: Duration::from_secs(60), example: "1s" }, Optional("\"0s\"");
        /// From the begin of one freeze to the begin of the next.
        freeze_every: Time = Time { min: Duration::from_millis(1), max: Duration::from_secs(3600), example: "10s" }, Optional("\"10s\"");
        /// CPUs of the simulated host, the driver's included.
        host_cpus: Whole<u32> = Whole { min: 2, max: 1024 }, Optional("9");
    }
}

const TEN_SECONDS: Duration = Duration::from_secs(10);

fn all_keys() -> Vec<KeyInfo> {
    let mut keys = StackKeys::keys();
    keys.extend(ImageKeys::keys());
    keys
}

/// The section and the settings below it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct StackSection {
    keys: StackKeys,
    image: ImageKeys,
    settings: Option<Settings>,
}

impl StackSection {
    pub(crate) fn read(mut reader: Reader<'_, '_, '_>) -> Self {
        let keys = StackKeys::read(&mut reader);
        let image = ImageKeys::read(&mut reader);
        let settings = settings::read(reader.free(settings::NAME));
        reader.finish();
        Self {
            keys,
            image,
            settings,
        }
    }

    pub(crate) fn build(self, context: &mut Context) -> Option<StackUse> {
        let (kind, pages) = (self.keys.kind?, self.keys.pages?);
        refuse_foreign_keys(kind, context);
        match kind {
            StackKind::Sqlite => Some(StackUse::Sqlite),
            StackKind::Bundled => Some(StackUse::Bundled),
            StackKind::External => external(self.keys, context).map(StackUse::External),
            StackKind::Image => self.image(context),
            StackKind::Simulated => simulated(&self.keys, pages, context).map(StackUse::Simulated),
            StackKind::Embedded => {
                let given = [
                    ("extra_cpu", self.keys.extra_cpu.is_some()),
                    ("extra_wait", self.keys.extra_wait.is_some()),
                    ("serial_share", self.keys.serial_share.is_some()),
                    (
                        "processors_per_vcpu",
                        self.keys.processors_per_vcpu.is_some(),
                    ),
                ];
                if given
                    .into_iter()
                    .any(|(key, read)| refused(key, read, context))
                {
                    return None;
                }
                Some(StackUse::Embedded {
                    pages,
                    extra_cpu: self.keys.extra_cpu.unwrap_or_default(),
                    extra_wait: self.keys.extra_wait.unwrap_or_default(),
                    serial_share: self.keys.serial_share.unwrap_or_default(),
                    processors_per_vcpu: self.keys.processors_per_vcpu.unwrap_or(1),
                })
            }
            StackKind::Lamp => {
                let server = self.keys.server;
                let site = self.keys.site.clone();
                if refused("site", site.is_some(), context) {
                    return None;
                }
                let tuned = self.tuned(kind, context)?;
                Some(StackUse::Lamp(LampUse {
                    site: site.map_or(LampSite::Own, LampSite::Tree),
                    pages,
                    server: server.unwrap_or(WebServer::Prefork),
                    tuning: tuned.tuning,
                    buffer_pool: tuned.buffer_pool,
                    settings: tuned.settings,
                }))
            }
            StackKind::Mariadb => self.database(Engine::Mariadb, context),
            StackKind::Postgresql => self.database(Engine::Postgresql, context),
        }
    }

    /// The image; nothing where a key of it was refused or is missing.
    fn image(self, context: &mut Context) -> Option<StackUse> {
        let Self {
            mut keys, image, ..
        } = self;
        let commands = commands(&mut keys, context)?;
        if refused("health", keys.health.is_some(), context) {
            return None;
        }
        let image = image.build(keys.health, commands, context)?;
        Some(StackUse::Image(Box::new(image)))
    }

    fn database(self, engine: Engine, context: &mut Context) -> Option<StackUse> {
        let tuned = self.tuned(engine.into(), context)?;
        Some(StackUse::Database(DatabaseUse {
            engine,
            tuning: tuned.tuning,
            buffer_pool: tuned.buffer_pool,
            settings: tuned.settings,
        }))
    }

    /// What all stacks of the distribution's packages have; nothing where a key of it was refused.
    fn tuned(self, kind: StackKind, context: &mut Context) -> Option<Tuned> {
        let StackKeys {
            server,
            tuning,
            buffer_pool,
            ..
        } = self.keys;
        let given = [
            ("server", server.is_some()),
            ("tuning", tuning.is_some()),
            ("buffer_pool", buffer_pool.is_some()),
        ];
        if given
            .into_iter()
            .any(|(key, read)| refused(key, read, context))
        {
            return None;
        }
        let tuning = tuning.unwrap_or(TuningProfile::Stock);
        check_tuning(kind, tuning, context)?;
        let settings = self.settings?;
        check_components(kind, &settings, context)?;
        Some(Tuned {
            tuning,
            buffer_pool: buffer_pool.unwrap_or(BufferPool::Warm),
            settings,
        })
    }

    pub(crate) fn from_use(stack: &StackUse) -> Self {
        let mut keys = StackKeys {
            kind: Some(stack.kind()),
            pages: stack.pages(),
            ..StackKeys::default()
        };
        let mut image = ImageKeys::default();
        let mut settings = None;
        match stack {
            StackUse::Embedded {
                extra_cpu,
                extra_wait,
                serial_share,
                processors_per_vcpu,
                ..
            } => {
                keys.extra_cpu = (!extra_cpu.is_zero()).then_some(*extra_cpu);
                keys.extra_wait = (!extra_wait.is_zero()).then_some(*extra_wait);
                keys.serial_share = (*serial_share > 0.0).then_some(*serial_share);
                keys.processors_per_vcpu =
                    (*processors_per_vcpu > 1).then_some(*processors_per_vcpu);
            }
            StackUse::Lamp(lamp) => {
                keys.site = match &lamp.site {
                    LampSite::Own => None,
                    LampSite::Tree(path) => Some(path.clone()),
                };
                keys.server = Some(lamp.server);
                keys.tuning = Some(lamp.tuning);
                keys.buffer_pool = Some(lamp.buffer_pool);
                settings = Some(lamp.settings.clone());
            }
            StackUse::Database(database) => {
                keys.tuning = Some(database.tuning);
                keys.buffer_pool = Some(database.buffer_pool);
                settings = Some(database.settings.clone());
            }
            StackUse::Sqlite | StackUse::Bundled => {}
            StackUse::External(system) => write_external(system, &mut keys),
            StackUse::Image(own) => {
                keys.health = Some(own.health.clone());
                write_commands(&own.commands, &mut keys);
                image = ImageKeys::from_use(own);
            }
            StackUse::Simulated(system) => {
                keys.cpu_demand = Some(system.cpu_demand);
                keys.disk_demand = Some(system.disk_demand);
                keys.lock_demand = Some(system.lock_demand);
                keys.guest_overhead = Some(system.guest_overhead);
                keys.noise = Some(system.noise);
                keys.freeze = Some(system.freeze);
                keys.freeze_every = Some(system.freeze_every);
                keys.host_cpus = Some(system.host_cpus);
            }
        }
        Self {
            keys,
            image,
            settings,
        }
    }

    /// Appends the section and the settings.
    pub(crate) fn write(&self, out: &mut String) {
        self.keys.write(out);
        self.image.write(out);
        let settings = self
            .settings
            .as_ref()
            .filter(|settings| !settings.is_empty());
        if let Some(settings) = settings {
            out.push_str(&format!("\n[{}.{}]\n", SECTION.name, settings::NAME));
            settings::write(settings, out);
        }
    }
}

/// Keys that the LAMP stack and the database servers share.
struct Tuned {
    tuning: TuningProfile,
    buffer_pool: BufferPool,
    settings: Settings,
}

/// What only some kinds of stack have, how messages name them, and whose key it is.
const OWN_KEYS: [(&[StackKind], &str, &[&str]); 8] = [
    (&[StackKind::Lamp], "the LAMP stack", &["server", "site"]),
    (
        &[StackKind::Lamp, StackKind::Mariadb, StackKind::Postgresql],
        "the LAMP stack and the databases",
        &["tuning", "buffer_pool", settings::NAME],
    ),
    (
        &[StackKind::Embedded, StackKind::Lamp, StackKind::Simulated],
        "the stacks of the DVD Store",
        &["pages"],
    ),
    (
        &[StackKind::Embedded],
        "the embedded stack",
        &[
            "extra_cpu",
            "extra_wait",
            "serial_share",
            "processors_per_vcpu",
        ],
    ),
    (
        &[StackKind::External],
        "systems that run already",
        &EXTERNAL_KEYS,
    ),
    (
        &[StackKind::External, StackKind::Image],
        "systems that run already and images",
        &COMMAND_KEYS,
    ),
    (&[StackKind::Image], "images", &image::NAMES),
    (
        &[StackKind::Simulated],
        "the simulated stack",
        &SIMULATED_KEYS,
    ),
];

/// A tuning that the stack does not have.
fn check_tuning(kind: StackKind, tuning: TuningProfile, context: &mut Context) -> Option<()> {
    let foreign: &[TuningProfile] = match kind {
        StackKind::Lamp => &[TuningProfile::Rhev],
        _ => &[TuningProfile::Pureflex, TuningProfile::Sun2009],
    };
    if !foreign.contains(&tuning) {
        return Some(());
    }
    let span = context.spans.nearest("stack.tuning");
    let message = format!(
        "the stack \"{}\" has no tuning \"{}\"",
        kind.name(),
        tuning.name()
    );
    let names: Vec<String> = TuningProfile::NAMES
        .iter()
        .filter(|(_, tuning, _)| !foreign.contains(tuning))
        .map(|(name, ..)| format!("\"{name}\""))
        .collect();
    context.refuse(
        Code::Contradiction,
        span,
        message,
        format!("write one of {}", names.join(", ")),
    )
}

/// Components whose settings a stack has.
fn components(kind: StackKind) -> &'static [&'static str] {
    match kind {
        StackKind::Mariadb => &["mariadb"],
        StackKind::Postgresql => &["postgresql"],
        _ => &["mariadb", "apache", "php", "pages"],
    }
}

/// Settings of what the stack does not run.
fn check_components(kind: StackKind, settings: &Settings, context: &mut Context) -> Option<()> {
    let known = components(kind);
    let foreign = |name: &&String| {
        name.split_once('.')
            .is_some_and(|(component, _)| !known.contains(&component))
    };
    let Some(name) = settings.keys().find(foreign) else {
        return Some(());
    };
    let span = context.spans.nearest(&format!("stack.settings.{name}"));
    let message = format!(
        "the setting `{name}` is not one of the stack \"{}\"",
        kind.name()
    );
    let help = format!(
        "its settings begin with {}",
        known
            .iter()
            .map(|one| format!("`{one}.`"))
            .collect::<Vec<_>>()
            .join(", ")
    );
    context.refuse(Code::Contradiction, span, message, help)
}

const SIMULATED_KEYS: [&str; 8] = [
    "cpu_demand",
    "disk_demand",
    "lock_demand",
    "guest_overhead",
    "noise",
    "freeze",
    "freeze_every",
    "host_cpus",
];

const EXTERNAL_KEYS: [&str; 3] = ["target", "process", "cgroup"];

/// Keys of the stacks that are the user's own.
const COMMAND_KEYS: [&str; 6] = [
    "health",
    "reset",
    "prepare",
    "read_settings",
    "audit",
    "command_limit",
];

/// How long a command may take unless the study says.
const COMMAND_LIMIT: Duration = Duration::from_secs(60);

/// The system that runs already; nothing where a key of it was refused or is missing.
fn external(mut keys: StackKeys, context: &mut Context) -> Option<ExternalUse> {
    let commands = commands(&mut keys, context)?;
    let given = [
        ("target", keys.target.is_some()),
        ("health", keys.health.is_some()),
        ("process", keys.process.is_some()),
        ("cgroup", keys.cgroup.is_some()),
    ];
    let mut given = given.into_iter();
    if given.any(|(key, read)| refused(key, read, context)) {
        return None;
    }
    let Some(target) = keys.target else {
        let span = context.spans.nearest("stack.kind");
        let message = "`stack.target` is missing: nothing says where the system listens";
        let help = "add `target = \"http://127.0.0.1:8080\"` to [stack]";
        return context.refuse(Code::MissingKey, span, message, help);
    };
    let usage = match (keys.process, keys.cgroup) {
        (None, None) => UsageSource::Unknown,
        (Some(ProcessName::Number(number)), None) => UsageSource::Process(number),
        (Some(ProcessName::File(path)), None) => UsageSource::PidFile(path),
        (None, Some(path)) => UsageSource::Cgroup(path),
        (Some(_), Some(_)) => {
            let span = context.spans.nearest("stack.cgroup");
            let message = "`stack.process` and `stack.cgroup` both say by what the system is seen";
            return context.refuse(Code::Contradiction, span, message, "remove one of the two");
        }
    };
    Some(ExternalUse {
        target,
        health: keys.health.unwrap_or_else(|| "/".to_owned()),
        usage,
        commands,
    })
}

/// The commands of the user; nothing where one of them was refused.
fn commands(keys: &mut StackKeys, context: &Context) -> Option<StackCommands> {
    let given = [
        ("reset", keys.reset.is_some()),
        ("prepare", keys.prepare.is_some()),
        ("read_settings", keys.read_settings.is_some()),
        ("audit", keys.audit.is_some()),
        ("command_limit", keys.command_limit.is_some()),
    ];
    let mut given = given.into_iter();
    if given.any(|(key, read)| refused(key, read, context)) {
        return None;
    }
    Some(StackCommands {
        reset: keys.reset.take().unwrap_or_default(),
        prepare: keys.prepare.take().unwrap_or_default(),
        read_settings: keys.read_settings.take().unwrap_or_default(),
        audit: keys.audit.take().unwrap_or_default(),
        limit: keys.command_limit.unwrap_or(COMMAND_LIMIT),
    })
}

fn write_external(system: &ExternalUse, keys: &mut StackKeys) {
    keys.target = Some(system.target);
    keys.health = Some(system.health.clone());
    match &system.usage {
        UsageSource::Unknown => {}
        UsageSource::Process(number) => keys.process = Some(ProcessName::Number(*number)),
        UsageSource::PidFile(path) => keys.process = Some(ProcessName::File(path.clone())),
        UsageSource::Cgroup(path) => keys.cgroup = Some(path.clone()),
    }
    write_commands(&system.commands, keys);
}

fn write_commands(commands: &StackCommands, keys: &mut StackKeys) {
    let words = |command: &[String]| (!command.is_empty()).then(|| command.to_vec());
    keys.reset = words(&commands.reset);
    keys.prepare = words(&commands.prepare);
    keys.read_settings = words(&commands.read_settings);
    keys.audit = words(&commands.audit);
    keys.command_limit = Some(commands.limit);
}

/// Whether a key is in the file, but was refused: it has its problem already.
fn refused(key: &str, read: bool, context: &Context) -> bool {
    !read && context.spans.has(&format!("{}.{key}", SECTION.name))
}

/// Refuse the keys of other kinds of stack than `kind`.
fn refuse_foreign_keys(kind: StackKind, context: &mut Context) {
    let foreign = OWN_KEYS
        .iter()
        .filter(|(owners, ..)| !owners.contains(&kind));
    for (owners, named, key) in
        foreign.flat_map(|(owners, named, keys)| keys.iter().map(move |key| (owners, named, key)))
    {
        let path = format!("{}.{key}", SECTION.name);
        if context.spans.has(&path) {
            let span = context.spans.nearest(&path);
            let message = format!(
                "`{path}` belongs to {named}, but `stack.kind` is \"{}\"",
                kind.name()
            );
            let kinds: Vec<String> = owners
                .iter()
                .map(|owner| format!("`kind = \"{}\"`", owner.name()))
                .collect();
            let help = format!("write {} in [stack], or remove it", kinds.join(" or "));
            context.refuse::<()>(Code::Contradiction, span, message, help);
        }
    }
}

/// The simulated system; nothing where a key of it was refused.
fn simulated(keys: &StackKeys, pages: Pages, context: &mut Context) -> Option<SimulatedUse> {
    let given = [
        keys.cpu_demand.is_some(),
        keys.disk_demand.is_some(),
        keys.lock_demand.is_some(),
        keys.guest_overhead.is_some(),
        keys.noise.is_some(),
        keys.freeze.is_some(),
        keys.freeze_every.is_some(),
        keys.host_cpus.is_some(),
    ];
    if SIMULATED_KEYS
        .iter()
        .zip(given)
        .any(|(key, read)| refused(key, read, context))
    {
        return None;
    }
    let system = SimulatedUse {
        pages,
        host_cpus: keys.host_cpus.unwrap_or(9),
        cpu_demand: keys.cpu_demand.unwrap_or(Duration::from_millis(8)),
        disk_demand: keys.disk_demand.unwrap_or_default(),
        lock_demand: keys.lock_demand.unwrap_or_default(),
        guest_overhead: keys.guest_overhead.unwrap_or_default(),
        noise: keys.noise.unwrap_or(0.02),
        freeze: keys.freeze.unwrap_or_default(),
        freeze_every: keys.freeze_every.unwrap_or(Duration::from_secs(10)),
    };
    if system.freeze >= system.freeze_every {
        let span = context.spans.nearest("stack.freeze");
        let message =
            "`stack.freeze` is not shorter than `stack.freeze_every`: the system would never run";
        return context.refuse(
            Code::Contradiction,
            span,
            message,
            "make `freeze` shorter, or freeze less often",
        );
    }
    Some(system)
}

#[cfg(test)]
mod tests;
