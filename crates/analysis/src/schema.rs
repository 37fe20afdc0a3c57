//! The JSON Schema of what an analysis is printed as.
//!
//! The macro `data!` declares a type once: it becomes a struct or an enum that serialises, and its
//! doc comments become the descriptions of its schema, so that the two cannot drift apart.
//! [`Describe`] is to a type what `Serialize` is to its values.

use std::collections::BTreeMap;

use rookery_stats::{Basis, Change, CpuParts, Effect, Fairness, Ratio, Spread, Summary};
use rookery_study::{GuestKind, Level, Over, Purpose};
use rookery_workload::Better;
use serde_json::{Map, Value as Json, json};

/// A type whose JSON has a schema.
pub trait Describe {
    /// The schema of its values; named types add theirs to `definitions` and return a reference.
    fn describe(definitions: &mut Definitions) -> Json;
}

/// The named types of a schema.
#[derive(Debug, Default)]
pub struct Definitions(BTreeMap<&'static str, Json>);

/// Name, description and schema of a field.
pub type Field = (&'static str, &'static str, Json);

impl Definitions {
    /// The definitions, to be put under `$defs`.
    #[must_use]
    pub fn into_json(self) -> Json {
        let entries = self.0.into_iter();
        Json::Object(
            entries
                .map(|(name, schema)| (name.to_owned(), schema))
                .collect(),
        )
    }

    /// Define a type under its name, once; `schema` describes it.
    pub fn define(&mut self, name: &'static str, schema: impl FnOnce(&mut Self) -> Json) -> Json {
        if !self.0.contains_key(name) {
            // Known before its fields are looked at: they may refer to it.
            self.0.insert(name, Json::Null);
            let schema = schema(self);
            self.0.insert(name, schema);
        }
        json!({"$ref": format!("#/$defs/{name}")})
    }
}

/// The schema of an object with exactly these fields.
pub(crate) fn object(doc: &str, fields: Vec<Field>) -> Json {
    let names: Vec<&str> = fields.iter().map(|(name, ..)| *name).collect();
    let required = json!(names);
    let mut properties = Map::new();
    for (name, doc, schema) in fields {
        properties.insert(name.to_owned(), described(doc, schema));
    }
    described(
        doc,
        json!({
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": false,
        }),
    )
}

/// The schema of one of several words, each with its meaning.
pub(crate) fn words(doc: &str, variants: &[(&str, &str)]) -> Json {
    let one = |(name, doc): &(&str, &str)| described(doc, json!({"const": kebab(name)}));
    described(
        doc,
        json!({"oneOf": variants.iter().map(one).collect::<Vec<_>>()}),
    )
}

/// The schema of an enum whose variants are objects that say in `kind` which one they are.
pub(crate) fn tagged(doc: &str, variants: Vec<(&str, &str, Vec<Field>)>) -> Json {
    let one = |(name, doc, mut fields): (&str, &str, Vec<Field>)| {
        fields.insert(0, ("kind", "", json!({"const": kebab(name)})));
        object(doc, fields)
    };
    described(
        doc,
        json!({"oneOf": variants.into_iter().map(one).collect::<Vec<_>>()}),
    )
}

/// A schema with a description, which stands beside a reference as beside anything else.
fn described(doc: &str, mut schema: Json) -> Json {
    if let (false, Some(schema)) = (doc.trim().is_empty(), schema.as_object_mut()) {
        schema.insert("description".to_owned(), json!(plain(doc)));
    }
    schema
}

/// A doc comment as one line without marks for links.
fn plain(doc: &str) -> String {
    let words: Vec<&str> = doc.split_whitespace().collect();
    words.join(" ").replace("[`", "`").replace("`]", "`")
}

/// `OfferedLoad` as `offered-load`, as serde writes it.
fn kebab(name: &str) -> String {
    let mut text = String::new();
    for (place, letter) in name.char_indices() {
        if letter.is_uppercase() && place > 0 {
            text.push('-');
        }
        text.extend(letter.to_lowercase());
    }
    text
}

/// Declare a type that serialises, with its schema from its doc comments: a struct; an enum of
/// plain words; or an enum with data, whose variants say in `kind` which one they are.
macro_rules! data {
    (
        $(#[doc = $doc:literal])*
        #[derive($($derive:path),* $(,)?)]
        pub struct $name:ident {
            $($(#[doc = $field_doc:literal])* pub $field:ident: $type:ty),* $(,)?
        }
    ) => {
        $(#[doc = $doc])*
        #[derive($($derive,)* serde::Serialize)]
        pub struct $name {
            $($(#[doc = $field_doc])* pub $field: $type,)*
        }

        impl $crate::schema::Describe for $name {
            fn describe(definitions: &mut $crate::schema::Definitions) -> serde_json::Value {
                definitions.define(stringify!($name), |definitions| {
                    $crate::schema::object(concat!($($doc),*), vec![$((
                        stringify!($field),
                        concat!($($field_doc),*),
                        <$type as $crate::schema::Describe>::describe(definitions),
                    )),*])
                })
            }
        }
    };
    (
        $(#[doc = $doc:literal])*
        #[derive($($derive:path),* $(,)?)]
        pub enum $name:ident {
            $($(#[doc = $variant_doc:literal])* $variant:ident),* $(,)?
        }
    ) => {
        $(#[doc = $doc])*
        #[derive($($derive,)* serde::Serialize)]
        #[serde(rename_all = "kebab-case")]
        pub enum $name {
            $($(#[doc = $variant_doc])* $variant,)*
        }

        impl $crate::schema::Describe for $name {
            fn describe(definitions: &mut $crate::schema::Definitions) -> serde_json::Value {
                definitions.define(stringify!($name), |_| {
                    $crate::schema::words(
                        concat!($($doc),*),
                        &[$((stringify!($variant), concat!($($variant_doc),*))),*],
                    )
                })
            }
        }
    };
    (
        $(#[doc = $doc:literal])*
        #[derive($($derive:path),* $(,)?)]
        pub enum $name:ident {
            $(
                $(#[doc = $variant_doc:literal])*
                $variant:ident $({
                    $($(#[doc = $field_doc:literal])* $field:ident: $type:ty),* $(,)?
                })?
            ),* $(,)?
        }
    ) => {
        $(#[doc = $doc])*
        #[derive($($derive,)* serde::Serialize)]
        #[serde(tag = "kind", rename_all = "kebab-case")]
        pub enum $name {
            $(
                $(#[doc = $variant_doc])*
                $variant $({ $($(#[doc = $field_doc])* $field: $type,)* })?,
            )*
        }

        impl $crate::schema::Describe for $name {
            #[allow(unused_variables, reason = "variants without fields define nothing")]
            fn describe(definitions: &mut $crate::schema::Definitions) -> serde_json::Value {
                definitions.define(stringify!($name), |definitions| {
                    $crate::schema::tagged(concat!($($doc),*), vec![$((
                        stringify!($variant),
                        concat!($($variant_doc),*),
                        vec![$($((
                            stringify!($field),
                            concat!($($field_doc),*),
                            <$type as $crate::schema::Describe>::describe(definitions),
                        )),*)?],
                    )),*])
                })
            }
        }
    };
}
pub(crate) use data;

/// Describe types of other crates, as they serialise there.
macro_rules! foreign {
    ($($name:ident, $doc:literal { $($field:ident: $type:ty = $field_doc:literal),* $(,)? })*) => {$(
        impl Describe for $name {
            fn describe(definitions: &mut Definitions) -> Json {
                definitions.define(stringify!($name), |definitions| {
                    object($doc, vec![$((
                        stringify!($field),
                        $field_doc,
                        <$type as Describe>::describe(definitions),
                    )),*])
                })
            }
        }
    )*};
}

foreign! {
    Level, "One level of a factor" {
        key: String = "Key of the study file.",
        value: String = "Its value.",
    }
    Ratio, "A ratio of two means." {
        value: f64 = "Mean of the numerator over mean of the denominator.",
        interval: Option<(f64, f64)> = "Its 95 % interval; null where the repeats carry none.",
    }
    Summary, "Mean and spread of one number over repeats." {
        count: u32 = "Number of values.",
        mean: f64 = "Mean.",
        min: f64 = "Smallest.",
        max: f64 = "Largest.",
        spread: Spread = "Spread.",
    }
    Fairness, "How evenly guests were served." {
        jain: f64 = "Jain's index: 1 when all are served alike, 1/n when one takes all.",
        max_over_min: Option<f64> = "Largest over smallest; null when the smallest is zero.",
    }
    CpuParts, "CPU time by where it went." {
        user: f64 = "User mode of processes.",
        system: f64 = "The host's kernel.",
        guest: f64 = "Code of a virtual machine.",
        emulator: f64 = "The emulator beside the guest.",
    }
    Effect, "A ratio of two levels." {
        ratio: f64 = "The metric at the level over the metric at the reference.",
        interval: Option<(f64, f64)> = "95 % interval; null where a single block carries none.",
        p: Option<f64> = "Probability of a ratio at least so far from 1 by chance alone.",
        count: u32 = "Independent differences that it rests on.",
        basis: Basis = "What it rests on.",
        standard_error: Option<f64> = "Standard error of the log ratio.",
    }
}

/// Describe enums of other crates by their words.
macro_rules! foreign_words {
    ($($name:ident, $doc:literal { $($variant:ident = $variant_doc:literal),* $(,)? })*) => {$(
        impl Describe for $name {
            fn describe(definitions: &mut Definitions) -> Json {
                definitions.define(stringify!($name), |_| {
                    words($doc, &[$((stringify!($variant), $variant_doc)),*])
                })
            }
        }
    )*};
}

foreign_words! {
    Better, "Which direction of a metric is better." {
        Higher = "More is better.",
        Lower = "Less is better.",
        Neither = "It says what happened, not how well.",
    }
    Basis, "What an effect rests on." {
        Pairs = "Differences within blocks between trials that differ in this factor alone.",
        Contrasts = "Differences within whole blocks of a screening design.",
        Means = "Means of the levels, because trials are missing.",
    }
    GuestKind, "Where a guest lives." {
        Bare = "Processes of the host.",
        Container = "A container.",
        Vm = "A virtual machine.",
        Fake = "Nowhere: a simulated run.",
    }
    Over, "What is searched." {
        Users = "Users, or terminals.",
        Rate = "Arrivals per second.",
        Guests = "The number of guests.",
        Memory = "The memory of each guest, MiB.",
    }
    Purpose, "What a trial is for." {
        Study = "A point of the study, or a step of a search's ladder.",
        Approach = "To come nearer to the largest load.",
        Confirm = "To confirm that load.",
        Above = "To see that more is too much.",
        Pilot = "To choose the times of the others.",
    }
}

impl Describe for Spread {
    fn describe(definitions: &mut Definitions) -> Json {
        definitions.define("Spread", |_| {
            let number = || json!({"type": "number"});
            tagged(
                "How far repeats lie apart.",
                vec![
                    ("Single", "One value: nothing can be said.", Vec::new()),
                    (
                        "Range",
                        "Two values.",
                        vec![
                            ("min", "The smaller.", number()),
                            ("max", "The larger.", number()),
                        ],
                    ),
                    (
                        "Interval",
                        "Three or more values.",
                        vec![(
                            "half_width",
                            "Half of the 95 % interval of the mean.",
                            number(),
                        )],
                    ),
                ],
            )
        })
    }
}

impl Describe for Change {
    fn describe(definitions: &mut Definitions) -> Json {
        definitions.define("Change", |_| {
            tagged(
                "What an effect may be called.",
                vec![
                    ("Better", "A change to the good.", Vec::new()),
                    ("Worse", "A change to the bad.", Vec::new()),
                    (
                        "NoEffectSeen",
                        "The interval holds 1 and reaches not far from it.",
                        vec![(
                            "less_than",
                            "The larger distance of the ends of the interval from 1.",
                            json!({"type": "number"}),
                        )],
                    ),
                    (
                        "PerhapsChance",
                        "The interval leaves 1 out, but among so many comparisons that may be \
                         chance.",
                        Vec::new(),
                    ),
                    (
                        "Undecided",
                        "The interval holds 1 and much else.",
                        Vec::new(),
                    ),
                    ("NoInterval", "A single pair: no interval.", Vec::new()),
                ],
            )
        })
    }
}

macro_rules! plain_types {
    ($($type:ty = $schema:tt)*) => {$(
        impl Describe for $type {
            fn describe(_: &mut Definitions) -> Json {
                json!($schema)
            }
        }
    )*};
}

plain_types! {
    f64 = {"type": "number"}
    u32 = {"type": "integer", "minimum": 0}
    u64 = {"type": "integer", "minimum": 0}
    usize = {"type": "integer", "minimum": 0}
    bool = {"type": "boolean"}
    String = {"type": "string"}
    &'static str = {"type": "string"}
}

impl<T: Describe> Describe for Option<T> {
    fn describe(definitions: &mut Definitions) -> Json {
        json!({"anyOf": [T::describe(definitions), {"type": "null"}]})
    }
}

impl<T: Describe> Describe for Vec<T> {
    fn describe(definitions: &mut Definitions) -> Json {
        json!({"type": "array", "items": T::describe(definitions)})
    }
}

impl<T: Describe, const N: usize> Describe for [T; N] {
    fn describe(definitions: &mut Definitions) -> Json {
        json!({
            "type": "array",
            "items": T::describe(definitions),
            "minItems": N,
            "maxItems": N,
        })
    }
}

impl<A: Describe, B: Describe> Describe for (A, B) {
    fn describe(definitions: &mut Definitions) -> Json {
        json!({
            "type": "array",
            "prefixItems": [A::describe(definitions), B::describe(definitions)],
            "items": false,
            "minItems": 2,
        })
    }
}
