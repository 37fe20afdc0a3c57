//! The JSON Schema of study files, for editors.

mod shared;

use serde_json::{Map, Value as Json, json};
use toml::de::DeValue;

use crate::{
    factors,
    grammar::{Below, KeyInfo, Need, SectionInfo},
    overrides, scale, sections,
};

/// JSON Schema (draft 2020-12) of a study file, made from the same list of keys as the parser. The
/// parser is the judge: it also refuses contradictions that a schema cannot express.
#[must_use]
pub fn json_schema() -> Json {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for section in &sections::ALL {
        if section.name.is_empty() {
            let keys = (section.keys)();
            required.extend(required_of(&keys));
            properties.extend(properties_of(section.name, &keys));
            continue;
        }
        let schema = section_schema(section);
        if section.many || schema.get("required").is_some() {
            required.push(json!(section.name));
        }
        properties.insert(section.name.to_owned(), schema);
    }
    put_overrides(&mut properties);
    allow_named_workloads(&mut properties);
    properties.insert(scale::SECTION.to_owned(), scale_schema(&properties));
    shared::share(json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Rookery study",
        "description": "What to run, how to load it and what to compare.",
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    }))
}

fn section_schema(section: &SectionInfo) -> Json {
    let mut schema = table_schema(section.name, (section.keys)(), section.meaning);
    for below in section.below {
        if let Some(properties) = schema.get_mut("properties").and_then(Json::as_object_mut) {
            put_below(section.name, below, properties);
        }
        if below.named_freely
            && let Some(schema) = schema.as_object_mut()
        {
            let any = table_schema(section.name, (below.keys)(), &(below.meaning)());
            schema.insert("additionalProperties".to_owned(), any);
        }
    }
    if section.many {
        json!({"type": "array", "items": schema, "minItems": 1, "maxItems": sections::MOST_LAYOUTS})
    } else {
        schema
    }
}

/// The sections below a section; a key of the same name may be a value or the section.
fn put_below(section: &str, below: &Below, properties: &mut Map<String, Json>) {
    for name in (below.names)() {
        // Where the whole section below is fixed, so are its keys.
        let path = format!("{section}.{name}");
        let owner = if factors::fixed(section, name).is_some() {
            path
        } else if factors::fixed_below(section, name).is_some() {
            path + factors::BELOW
        } else {
            section.to_owned()
        };
        let mut schema = table_schema(&owner, (below.keys)(), &(below.meaning)());
        if let (Some(any), Some(schema)) = (below.any, schema.as_object_mut()) {
            schema.insert("additionalProperties".to_owned(), (any.schema)());
        }
        let schema = match properties.remove(name) {
            Some(value) => json!({"anyOf": [value, schema]}),
            None => schema,
        };
        properties.insert(name.to_owned(), schema);
    }
}

/// `[workload.NAME]` stands for groups of layouts; a file may have nothing else of `[workload]`.
fn allow_named_workloads(properties: &mut Map<String, Json>) {
    let workload = properties.get_mut(sections::WORKLOAD);
    if let Some(schema) = workload.and_then(Json::as_object_mut) {
        schema.remove("required");
        schema.insert("additionalProperties".to_owned(), json!({"type": "object"}));
    }
}

/// Layouts may say what the sections say: below them, or, where the key is no other's, among their
/// own keys.
fn put_overrides(properties: &mut Map<String, Json>) {
    let mut more = Map::new();
    for section in overrides::SECTIONS {
        let Some(mut schema) = properties.get(section).cloned() else {
            continue;
        };
        let keys = schema.get("properties").and_then(Json::as_object).cloned();
        for (key, value) in keys.into_iter().flatten() {
            if overrides::owner(&key) == Some(section) && !more.contains_key(&key) {
                more.insert(key, value);
            }
        }
        if let Some(schema) = schema.as_object_mut() {
            schema.remove("required");
        }
        more.insert(section.to_owned(), schema);
    }
    let layout = properties
        .get_mut(sections::LAYOUT)
        .and_then(|layout| layout.pointer_mut("/items/properties"))
        .and_then(Json::as_object_mut);
    if let Some(layout) = layout {
        for (key, value) in &more {
            layout.entry(key).or_insert_with(|| value.clone());
        }
        layout.insert(sections::GROUP.to_owned(), group_schema(more));
    }
}

/// Groups say what layouts say, but for lists of guests; a workload may be named.
fn group_schema(overrides: Map<String, Json>) -> Json {
    let section = &sections::GROUP_SECTION;
    let mut schema = table_schema(section.name, (section.keys)(), section.meaning);
    if let Some(properties) = schema.get_mut("properties").and_then(Json::as_object_mut) {
        for (key, value) in overrides {
            let value = if key == sections::WORKLOAD {
                json!({"anyOf": [value, {"type": "string"}]})
            } else {
                value
            };
            properties.entry(key).or_insert(value);
        }
    }
    json!({"type": "array", "items": schema, "minItems": 1, "maxItems": sections::MOST_GROUPS})
}

/// Scales hold the sections of the study, of which nothing is required; layouts are replaced as a
/// whole and must be complete.
fn scale_schema(properties: &Map<String, Json>) -> Json {
    let mut overlay = properties.clone();
    for (_, schema) in overlay
        .iter_mut()
        .filter(|(name, _)| *name != sections::LAYOUT)
    {
        if let Some(schema) = schema.as_object_mut() {
            schema.remove("required");
        }
    }
    json!({
        "type": "object",
        "description": scale::MEANING,
        "maxProperties": scale::MOST,
        "additionalProperties": {"type": "object", "properties": overlay, "additionalProperties": false},
    })
}

/// A value, or a list of values where the key may be a factor.
fn with_levels(section: &str, key: &KeyInfo) -> Json {
    if key.list || factors::fixed(section, key.name).is_some() {
        return key.schema.clone();
    }
    let one = &key.schema;
    json!({"anyOf": [one, {"type": "array", "items": one, "minItems": 1, "maxItems": factors::MOST_LEVELS, "uniqueItems": true}]})
}

fn table_schema(section: &str, keys: Vec<KeyInfo>, meaning: &str) -> Json {
    let required = required_of(&keys);
    let mut schema = json!({
        "type": "object",
        "description": meaning,
        "properties": properties_of(section, &keys),
        "additionalProperties": false,
    });
    if let (false, Some(schema)) = (required.is_empty(), schema.as_object_mut()) {
        schema.insert("required".to_owned(), Json::Array(required));
    }
    schema
}

fn required_of(keys: &[KeyInfo]) -> Vec<Json> {
    keys.iter()
        .filter(|key| key.need == Need::Required)
        .map(|key| json!(key.name))
        .collect()
}

fn properties_of(section: &str, keys: &[KeyInfo]) -> Map<String, Json> {
    let property = |key: &KeyInfo| {
        let mut schema = with_levels(section, key);
        if let Some(schema) = schema.as_object_mut() {
            schema.insert(
                "description".to_owned(),
                json!(format!("{} ({})", key.meaning, key.describe)),
            );
            if let Need::Default(text) = key.need {
                schema.insert("default".to_owned(), default_json(text));
            }
        }
        (key.name.to_owned(), schema)
    };
    keys.iter().map(property).collect()
}

/// A default of the grammar as JSON; defaults are strings and numbers.
fn default_json(text: &str) -> Json {
    let value = DeValue::parse(text).expect("the defaults of the grammar are TOML");
    match value.get_ref() {
        DeValue::String(text) => json!(text.as_ref()),
        DeValue::Integer(number) => number
            .as_str()
            .parse::<i64>()
            .map_or(Json::Null, Json::from),
        DeValue::Float(number) => number
            .as_str()
            .parse::<f64>()
            .map_or(Json::Null, Json::from),
        _ => Json::Null,
    }
}
