//! `[stack]`: what runs in a guest, and how it is tuned.

use std::time::Duration;

use super::settings::{self, Settings};
use crate::{
    grammar::{
        Below, Context, Reader, SectionInfo, keys,
        kinds::{Choice, Factor, Named, Time, Whole},
    },
    orderentry_use::DatabaseUse,
    problem::Code,
    stack_use::{
        BufferPool, LampUse, Pages, SimulatedUse, StackKind, StackUse, TuningProfile, WebServer,
    },
};

pub(super) const SECTION: SectionInfo = SectionInfo {
    name: "stack",
    many: false,
    meaning: "What runs in a guest.",
    keys: StackKeys::keys,
    below: Some(Below {
        names: &[settings::NAME],
        meaning: settings::MEANING,
        keys: Vec::new,
        any: Some(settings::INFO),
    }),
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
        /// How Apache serves (lamp only).
        server: Choice<WebServer> = Choice::NEW, Optional("\"prefork\"");
        /// Set of tunings to begin with (lamp, mariadb and postgresql).
        tuning: Choice<TuningProfile> = Choice::NEW, Optional("\"stock\"");
        /// State of the database's memory when the load begins (lamp, mariadb and postgresql).
        buffer_pool: Choice<BufferPool> = Choice::NEW, Optional("\"warm\"");
        /// CPU time that the server burns in every page on purpose, to prove that a slow-down of known size is found (embedded only).
        extra_cpu: Time = Time { min: Duration::ZERO, max: Duration::from_secs(1), example: "200us" }, Optional("\"0s\"");
        /// CPU time of an order on one core, on average (this and all keys below: simulated only).
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

/// The section and the settings below it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct StackSection {
    keys: StackKeys,
    settings: Option<Settings>,
}

impl StackSection {
    pub(crate) fn read(mut reader: Reader<'_, '_, '_>) -> Self {
        let keys = StackKeys::read(&mut reader);
        let settings = settings::read(reader.free(settings::NAME));
        reader.finish();
        Self { keys, settings }
    }

    pub(crate) fn build(self, context: &mut Context) -> Option<StackUse> {
        let (kind, pages) = (self.keys.kind?, self.keys.pages?);
        refuse_foreign_keys(kind, context);
        if kind == StackKind::Sqlite {
            return Some(StackUse {
                kind,
                pages,
                ..StackUse::default()
            });
        }
        if kind == StackKind::Simulated {
            return Some(StackUse {
                kind,
                pages,
                simulated: Some(simulated(&self.keys, context)?),
                ..StackUse::default()
            });
        }
        if kind == StackKind::Embedded {
            return (!refused("extra_cpu", self.keys.extra_cpu.is_some(), context)).then(|| {
                StackUse {
                    kind,
                    pages,
                    extra_cpu: self.keys.extra_cpu.unwrap_or_default(),
                    ..StackUse::default()
                }
            });
        }
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
        let (tuning, buffer_pool) = (
            tuning.unwrap_or(TuningProfile::Stock),
            buffer_pool.unwrap_or(BufferPool::Warm),
        );
        check_tuning(kind, tuning, context)?;
        let settings = self.settings?;
        check_components(kind, &settings, context)?;
        let used = StackUse {
            kind,
            pages,
            ..StackUse::default()
        };
        Some(if kind == StackKind::Lamp {
            let lamp = LampUse {
                server: server.unwrap_or(WebServer::Prefork),
                tuning,
                buffer_pool,
                settings,
            };
            StackUse {
                lamp: Some(lamp),
                ..used
            }
        } else {
            let database = DatabaseUse {
                tuning,
                buffer_pool,
                settings,
            };
            StackUse {
                database: Some(database),
                ..used
            }
        })
    }

    pub(crate) fn of(stack: &StackUse) -> Self {
        let lamp = stack.lamp.as_ref();
        let database = stack.database.as_ref();
        let simulated = stack.simulated.as_ref();
        Self {
            keys: StackKeys {
                kind: Some(stack.kind),
                pages: stack.kind.dialect().is_none().then_some(stack.pages),
                server: lamp.map(|lamp| lamp.server),
                tuning: lamp
                    .map(|lamp| lamp.tuning)
                    .or(database.map(|database| database.tuning)),
                buffer_pool: lamp
                    .map(|lamp| lamp.buffer_pool)
                    .or(database.map(|database| database.buffer_pool)),
                extra_cpu: (!stack.extra_cpu.is_zero()).then_some(stack.extra_cpu),
                cpu_demand: simulated.map(|system| system.cpu_demand),
                disk_demand: simulated.map(|system| system.disk_demand),
                lock_demand: simulated.map(|system| system.lock_demand),
                guest_overhead: simulated.map(|system| system.guest_overhead),
                noise: simulated.map(|system| system.noise),
                freeze: simulated.map(|system| system.freeze),
                freeze_every: simulated.map(|system| system.freeze_every),
                host_cpus: simulated.map(|system| system.host_cpus),
            },
            settings: lamp
                .map(|lamp| lamp.settings.clone())
                .or(database.map(|database| database.settings.clone())),
        }
    }

    /// Appends the section and the settings.
    pub(crate) fn write(&self, out: &mut String) {
        self.keys.write(out);
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

/// What only some kinds of stack have, how messages name them, and whose key it is.
const OWN_KEYS: [(&[StackKind], &str, &[&str]); 5] = [
    (&[StackKind::Lamp], "the LAMP stack", &["server"]),
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
    (&[StackKind::Embedded], "the embedded stack", &["extra_cpu"]),
    (
        &[StackKind::Simulated],
        "the simulated stack",
        &SIMULATED_KEYS,
    ),
];

/// A tuning that the stack does not have.
fn check_tuning(kind: StackKind, tuning: TuningProfile, context: &mut Context) -> Option<()> {
    let foreign = match kind {
        StackKind::Lamp => TuningProfile::Rhev,
        _ => TuningProfile::Pureflex,
    };
    if tuning != foreign {
        return Some(());
    }
    let span = context.spans.nearest("stack.tuning");
    let message = format!(
        "the stack \"{}\" has no tuning \"{}\"",
        kind.name(),
        foreign.name()
    );
    let names: Vec<String> = TuningProfile::NAMES
        .iter()
        .filter(|(_, tuning, _)| *tuning != foreign)
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
    let mend = format!(
        "its settings begin with {}",
        known
            .iter()
            .map(|one| format!("`{one}.`"))
            .collect::<Vec<_>>()
            .join(", ")
    );
    context.refuse(Code::Contradiction, span, message, mend)
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
            let mend = format!("write {} in [stack], or remove it", kinds.join(" or "));
            context.refuse::<()>(Code::Contradiction, span, message, mend);
        }
    }
}

/// The simulated system; nothing where a key of it was refused.
fn simulated(keys: &StackKeys, context: &mut Context) -> Option<SimulatedUse> {
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
mod tests {
    use super::{super::testing::*, *};

    #[test]
    fn pages_are_corrected_unless_said() {
        let stack = with("").expect("valid").stack;
        assert_eq!((stack.pages, stack.lamp), (Pages::Corrected, None));
        assert_eq!(
            with("[stack]\npages = \"faithful\"\n")
                .expect("valid")
                .stack
                .pages,
            Pages::Faithful
        );
    }

    #[test]
    fn lamp_is_untuned_and_warm_unless_said() {
        let lamp = with("[stack]\nkind = \"lamp\"\n")
            .expect("valid")
            .stack
            .lamp
            .expect("lamp");
        assert_eq!(
            (
                lamp.server,
                lamp.tuning,
                lamp.buffer_pool,
                lamp.settings.len()
            ),
            (
                WebServer::Prefork,
                TuningProfile::Stock,
                BufferPool::Warm,
                0
            )
        );
    }

    #[test]
    fn keys_of_lamp_have_no_meaning_for_the_embedded_stack() {
        assert_eq!(
            refusal(
                "[stack]\ntuning = \"stock\"\n[stack.settings]\n\"php.memory_limit\" = \"64M\"\n"
            ),
            "study::contradiction: `stack.tuning` belongs to the LAMP stack and the databases, but `stack.kind` is \"embedded\"\n\
             study::contradiction: `stack.settings` belongs to the LAMP stack and the databases, but `stack.kind` is \"embedded\""
        );
    }

    #[test]
    fn a_planted_slow_down_has_no_meaning_for_lamp() {
        let stack = with("[stack]\nextra_cpu = \"200us\"\n")
            .expect("valid")
            .stack;
        assert_eq!(stack.extra_cpu, Duration::from_micros(200));
        assert_eq!(with("").expect("valid").stack.extra_cpu, Duration::ZERO);
        assert_eq!(
            refusal("[stack]\nkind = \"lamp\"\nextra_cpu = \"200us\"\n"),
            "study::contradiction: `stack.extra_cpu` belongs to the embedded stack, but `stack.kind` is \"lamp\""
        );
        assert!(refusal("[stack]\nextra_cpu = \"2s\"\n").starts_with("study::out-of-range"));
    }

    #[test]
    fn a_simulated_system_has_keys_of_its_own() {
        let stack = with("[stack]\nkind = \"simulated\"\ncpu_demand = \"4ms\"\nnoise = 0\n")
            .expect("valid")
            .stack;
        let system = stack.simulated.expect("simulated");
        assert_eq!(
            (system.cpu_demand, system.noise, system.host_cpus),
            (Duration::from_millis(4), 0.0, 9)
        );
        assert_eq!(
            refusal("[stack]\ncpu_demand = \"4ms\"\n"),
            "study::contradiction: `stack.cpu_demand` belongs to the simulated stack, but `stack.kind` is \"embedded\""
        );
        assert_eq!(
            refusal("[stack]\nkind = \"simulated\"\nfreeze = \"2s\"\nfreeze_every = \"2s\"\n"),
            "study::contradiction: `stack.freeze` is not shorter than `stack.freeze_every`: the system would never run"
        );
    }
}
