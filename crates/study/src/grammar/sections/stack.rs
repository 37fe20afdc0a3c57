//! `[stack]`: what runs in a guest, and how it is tuned.

use std::time::Duration;

use super::settings::{self, Settings};
use crate::{
    grammar::{
        Below, Context, Reader, SectionInfo, keys,
        kinds::{Choice, Named, Time},
    },
    problem::Code,
    stack_use::{BufferPool, LampUse, Pages, StackKind, StackUse, TuningProfile, WebServer},
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
        ("embedded", Self::Embedded, "Rookery's own application server on SQLite"),
        ("lamp", Self::Lamp, "Apache, PHP and MariaDB of the distribution"),
    ];
}

impl Named for Pages {
    const NAMES: &'static [(&'static str, Self, &'static str)] = &[
        ("faithful", Self::Faithful, "as the original, with its defects"),
        ("corrected", Self::Corrected, "without them"),
    ];
}

impl Named for WebServer {
    const NAMES: &'static [(&'static str, Self, &'static str)] = &[
        ("prefork", Self::Prefork, "a process for each connection, with PHP inside"),
        ("event", Self::Event, "threads for connections, PHP in php-fpm"),
    ];
}

impl Named for TuningProfile {
    const NAMES: &'static [(&'static str, Self, &'static str)] = &[
        ("stock", Self::Stock, "what the distribution ships"),
        ("pureflex", Self::Pureflex, "the formulas of the PureFlex study"),
        ("modern", Self::Modern, "what a good administrator does today"),
    ];
}

impl Named for BufferPool {
    const NAMES: &'static [(&'static str, Self, &'static str)] = &[
        ("cold", Self::Cold, "as after the start of the server"),
        ("warm", Self::Warm, "all tables and indexes are read once before the load"),
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
        /// Set of tunings to begin with (lamp only).
        tuning: Choice<TuningProfile> = Choice::NEW, Optional("\"stock\"");
        /// State of the database's memory when the load begins (lamp only).
        buffer_pool: Choice<BufferPool> = Choice::NEW, Optional("\"warm\"");
        /// CPU time that the server burns in every page on purpose, to prove that a slow-down of known size is found (embedded only).
        extra_cpu: Time = Time { min: Duration::ZERO, max: Duration::from_secs(1), example: "200us" }, Optional("\"0s\"");
    }
}

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
        if kind == StackKind::Embedded {
            refuse_keys(&LAMP_KEYS, "the LAMP stack", kind, context);
            return (!refused("extra_cpu", self.keys.extra_cpu.is_some(), context)).then(|| StackUse {
                kind,
                pages,
                extra_cpu: self.keys.extra_cpu.unwrap_or_default(),
                ..StackUse::default()
            });
        }
        refuse_keys(&EMBEDDED_KEYS, "the embedded stack", kind, context);
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
        if given.into_iter().any(|(key, read)| refused(key, read, context)) {
            return None;
        }
        let lamp = LampUse {
            server: server.unwrap_or(WebServer::Prefork),
            tuning: tuning.unwrap_or(TuningProfile::Stock),
            buffer_pool: buffer_pool.unwrap_or(BufferPool::Warm),
            settings: self.settings?,
        };
        Some(StackUse {
            kind,
            pages,
            lamp: Some(lamp),
            ..StackUse::default()
        })
    }

    pub(crate) fn of(stack: &StackUse) -> Self {
        let lamp = stack.lamp.as_ref();
        Self {
            keys: StackKeys {
                kind: Some(stack.kind),
                pages: Some(stack.pages),
                server: lamp.map(|lamp| lamp.server),
                tuning: lamp.map(|lamp| lamp.tuning),
                buffer_pool: lamp.map(|lamp| lamp.buffer_pool),
                extra_cpu: (!stack.extra_cpu.is_zero()).then_some(stack.extra_cpu),
            },
            settings: lamp.map(|lamp| lamp.settings.clone()),
        }
    }

    /// Appends the section and the settings.
    pub(crate) fn write(&self, out: &mut String) {
        self.keys.write(out);
        let settings = self.settings.as_ref().filter(|settings| !settings.is_empty());
        if let Some(settings) = settings {
            out.push_str(&format!("\n[{}.{}]\n", SECTION.name, settings::NAME));
            settings::write(settings, out);
        }
    }
}

/// What only LAMP has.
const LAMP_KEYS: [&str; 4] = ["server", "tuning", "buffer_pool", settings::NAME];

/// What only the embedded stack has.
const EMBEDDED_KEYS: [&str; 1] = ["extra_cpu"];

/// Whether a key is in the file, but was refused: it has its problem already.
fn refused(key: &str, read: bool, context: &Context) -> bool {
    !read && context.spans.has(&format!("{}.{key}", SECTION.name))
}

/// Refuse keys that have no meaning for a stack of `kind`.
fn refuse_keys(keys: &[&str], owner: &str, kind: StackKind, context: &mut Context) {
    for key in keys {
        let path = format!("{}.{key}", SECTION.name);
        if context.spans.has(&path) {
            let span = context.spans.nearest(&path);
            let message = format!("`{path}` belongs to {owner}, but `stack.kind` is \"{}\"", kind.name());
            let other = if kind == StackKind::Embedded {
                StackKind::Lamp
            } else {
                StackKind::Embedded
            };
            let mend = format!("write `kind = \"{}\"` in [stack], or remove it", other.name());
            context.refuse::<()>(Code::Contradiction, span, message, mend);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{super::testing::*, *};

    #[test]
    fn pages_are_corrected_unless_said() {
        let stack = with("").expect("valid").stack;
        assert_eq!((stack.pages, stack.lamp), (Pages::Corrected, None));
        assert_eq!(with("[stack]\npages = \"faithful\"\n").expect("valid").stack.pages, Pages::Faithful);
    }

    #[test]
    fn lamp_is_untuned_and_warm_unless_said() {
        let lamp = with("[stack]\nkind = \"lamp\"\n").expect("valid").stack.lamp.expect("lamp");
        assert_eq!(
            (lamp.server, lamp.tuning, lamp.buffer_pool, lamp.settings.len()),
            (WebServer::Prefork, TuningProfile::Stock, BufferPool::Warm, 0)
        );
    }

    #[test]
    fn keys_of_lamp_have_no_meaning_for_the_embedded_stack() {
        assert_eq!(
            refusal("[stack]\ntuning = \"stock\"\n[stack.settings]\n\"php.memory_limit\" = \"64M\"\n"),
            "study::contradiction: `stack.tuning` belongs to the LAMP stack, but `stack.kind` is \"embedded\"\n\
             study::contradiction: `stack.settings` belongs to the LAMP stack, but `stack.kind` is \"embedded\""
        );
    }

    #[test]
    fn a_planted_slow_down_has_no_meaning_for_lamp() {
        let stack = with("[stack]\nextra_cpu = \"200us\"\n").expect("valid").stack;
        assert_eq!(stack.extra_cpu, Duration::from_micros(200));
        assert_eq!(with("").expect("valid").stack.extra_cpu, Duration::ZERO);
        assert_eq!(
            refusal("[stack]\nkind = \"lamp\"\nextra_cpu = \"200us\"\n"),
            "study::contradiction: `stack.extra_cpu` belongs to the embedded stack, but `stack.kind` is \"lamp\""
        );
        assert!(refusal("[stack]\nextra_cpu = \"2s\"\n").starts_with("study::out-of-range"));
    }
}
