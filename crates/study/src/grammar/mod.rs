//! The grammar of a study file.
//!
//! Every section declares its keys once, with the `keys!` macro: name, kind, default and meaning.
//! Parsing, the search for the nearest valid key, printing, the JSON Schema and the reference text
//! all read that one list.

pub(crate) mod kinds;
mod reader;

use serde_json::Value as Json;
use toml::{Spanned, de::DeValue};

pub(crate) use reader::{At, Context, Free, HomeOf, Reader, Spans};

/// A kind of value: how it is read, written, described and checked by an editor.
pub(crate) trait Kind {
    /// What it means.
    type Value;

    /// Reads a value; on a problem tells the context and gives nothing.
    fn read(
        &self,
        value: &Spanned<DeValue<'_>>,
        at: &At,
        context: &mut Context,
    ) -> Option<Self::Value>;

    /// The value as TOML, so that reading it again gives the same value.
    fn write(&self, value: &Self::Value) -> String;

    /// In words, with the range: `duration, 1s to 24h`.
    fn describe(&self) -> String;

    /// A good value as TOML, for help texts.
    fn example(&self) -> String;

    /// JSON Schema of the values.
    fn schema(&self) -> Json;

    /// Whether a list is a value of it; otherwise a list of its values is a factor.
    fn takes_lists(&self) -> bool {
        false
    }
}

/// Whether a key must be given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    /// It must.
    Required,
    /// Left out, it has this value (as TOML).
    Default(&'static str),
    /// Left out, this happens (in words).
    Optional(&'static str),
}

/// One key, as schema and reference show it.
#[derive(Debug)]
pub(crate) struct KeyInfo {
    pub(crate) name: &'static str,
    pub(crate) meaning: String,
    pub(crate) need: Need,
    pub(crate) describe: String,
    pub(crate) schema: Json,
    /// Whether a list is a value of it, and no factor.
    pub(crate) list: bool,
}

impl KeyInfo {
    /// The key `other` of `owner` has the same name: both are shown as one.
    pub(crate) fn join(&mut self, owner: &str, other: Self) {
        if self.meaning != other.meaning {
            let own = self.meaning.trim_end_matches('.');
            self.meaning = format!("{own}; {owner}: {}", other.meaning);
        }
        if self.describe != other.describe {
            self.describe = format!("{}; {owner}: {}", self.describe, other.describe);
        }
        if self.schema != other.schema {
            self.schema = serde_json::json!({"anyOf": [self.schema, other.schema]});
        }
        if self.need != other.need {
            self.need = Need::Optional("as the workload says");
        }
        self.list |= other.list;
    }
}

/// One section, as schema and reference show it.
#[derive(Clone, Copy)]
pub(crate) struct SectionInfo {
    pub(crate) name: &'static str,
    /// `[[name]]`, several times.
    pub(crate) many: bool,
    pub(crate) meaning: &'static str,
    pub(crate) keys: fn() -> Vec<KeyInfo>,
    /// Sections below it, those with the same keys together.
    pub(crate) below: &'static [Below],
}

/// Sections below a section: `[qos.login]`.
#[derive(Clone, Copy)]
pub(crate) struct Below {
    pub(crate) names: fn() -> Vec<&'static str>,
    /// Whether the writer of the study may have names of his own beside these.
    pub(crate) named_freely: bool,
    pub(crate) meaning: fn() -> String,
    pub(crate) keys: fn() -> Vec<KeyInfo>,
    /// Keys that the writer of the study names.
    pub(crate) any: Option<FreeInfo>,
}

/// Keys that the writer of the study names, as schema and reference show them.
#[derive(Clone, Copy)]
pub(crate) struct FreeInfo {
    pub(crate) name: &'static str,
    pub(crate) describe: &'static str,
    /// A line of a study.
    pub(crate) example: &'static str,
    pub(crate) schema: fn() -> Json,
}

/// Declares the keys of a section: a struct with one optional value per key, `keys`, `read` and
/// `write`.
///
/// `field ("name") : Kind = kind, need;` where the name is needed only when it is no Rust
/// identifier.
macro_rules! keys {
    (
        $(#[$outer:meta])*
        $section:ident {
            $(
                $(#[doc = $doc:literal])+
                $field:ident $(($name:literal))? : $kind:ty = $make:expr, $need:expr;
            )+
        }
    ) => {
        $(#[$outer])*
        #[derive(Clone, Debug, Default, PartialEq)]
        pub(crate) struct $section {
            $(pub(crate) $field: Option<<$kind as $crate::grammar::Kind>::Value>,)+
        }

        impl $section {
            /// The list of keys.
            #[allow(dead_code)]
            pub(crate) fn keys() -> Vec<$crate::grammar::KeyInfo> {
                use $crate::grammar::{Kind as _, Need};
                vec![$({
                    let kind: $kind = $make;
                    $crate::grammar::KeyInfo {
                        name: $crate::grammar::key_name!($field $(($name))?),
                        meaning: concat!($($doc),+).trim().to_owned(),
                        need: { use Need::*; $need },
                        describe: kind.describe(),
                        schema: kind.schema(),
                        list: kind.takes_lists(),
                    }
                }),+]
            }

            /// Reads all keys; what is absent gets its default, what is wrong is told to the
            /// reader.
            pub(crate) fn read(reader: &mut $crate::grammar::Reader<'_, '_, '_>) -> Self {
                use $crate::grammar::Need;
                Self {
                    $($field: {
                        let kind: $kind = $make;
                        reader.take($crate::grammar::key_name!($field $(($name))?), &kind, { use Need::*; $need })
                    },)+
                }
            }

            /// Whether a key is in the file but has no value: it was refused, and its problem is
            /// told already.
            #[allow(dead_code)]
            pub(crate) fn misread(
                &self,
                section: &str,
                context: &$crate::grammar::Context,
            ) -> bool {
                let read = [
                    $(($crate::grammar::key_name!($field $(($name))?), self.$field.is_some()),)+
                ];
                read.into_iter()
                    .any(|(key, read)| !read && context.spans.has(&format!("{section}.{key}")))
            }

            /// Appends `key = value` lines of all keys that have a value.
            #[allow(dead_code)]
            pub(crate) fn write(&self, out: &mut String) {
                use $crate::grammar::Kind as _;
                $(if let Some(value) = &self.$field {
                    let kind: $kind = $make;
                    $crate::grammar::write_line(out, $crate::grammar::key_name!($field $(($name))?), &kind.write(value));
                })+
            }
        }
    };
}

macro_rules! key_name {
    ($field:ident) => {
        stringify!($field)
    };
    ($field:ident ($name:literal)) => {
        $name
    };
}

pub(crate) use {key_name, keys};

/// Appends `key = value`, the key in quotes where TOML wants them.
pub(crate) fn write_line(out: &mut String, key: &str, value: &str) {
    out.push_str(&written_key(key));
    out.push_str(" = ");
    out.push_str(value);
    out.push('\n');
}

/// A key as it must be written in TOML.
pub(crate) fn written_key(key: &str) -> String {
    let bare = !key.is_empty()
        && key
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    if bare { key.to_owned() } else { written(key) }
}

/// A text as TOML on one line.
pub(crate) fn written(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() => out.push_str(&format!("\\u{:04X}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
