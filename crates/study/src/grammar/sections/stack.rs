//! `[stack]`: what runs in a guest, and how it is tuned.

use super::settings::{self, Settings};
use crate::{
    grammar::{
        Below, Context, Reader, SectionInfo, keys,
        kinds::{Choice, Named},
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
            refuse_lamp_keys(context);
            return Some(StackUse { kind, pages, lamp: None });
        }
        // What is in the file but was refused has its problem already.
        let refused = |key: &str, value: bool| !value && context.spans.has(&format!("{}.{key}", SECTION.name));
        let StackKeys {
            server,
            tuning,
            buffer_pool,
            ..
        } = self.keys;
        if refused("server", server.is_some()) || refused("tuning", tuning.is_some()) || refused("buffer_pool", buffer_pool.is_some()) {
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

/// The embedded stack has neither servers to choose nor settings.
fn refuse_lamp_keys(context: &mut Context) {
    for key in ["server", "tuning", "buffer_pool", settings::NAME] {
        let path = format!("{}.{key}", SECTION.name);
        if context.spans.has(&path) {
            let span = context.spans.nearest(&path);
            let message = format!("`{path}` belongs to the LAMP stack, but `stack.kind` is \"embedded\"");
            let mend = "write `kind = \"lamp\"` in [stack], or remove it";
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
}
