//! What a JSON Schema says several times is said once, under `$defs`.

use std::collections::{BTreeMap, btree_map::Entry};

use serde_json::{Map, Value as Json, json};

/// A schema that is shorter than this is not worth a name, bytes of JSON.
const SHORTEST: usize = 120;

/// Every schema that stands in several places, and is long enough, becomes a definition; the places
/// refer to it.
pub(super) fn share(mut root: Json) -> Json {
    let mut uses = Uses::default();
    each_below("file", &mut root, &mut |name, schema| {
        uses.count(name, schema)
    });
    let mut definitions = Definitions {
        names: uses.names(),
        texts: Map::new(),
    };
    each_below("file", &mut root, &mut |_, schema| {
        definitions.refer(schema)
    });
    if let Some(root) = root
        .as_object_mut()
        .filter(|_| !definitions.texts.is_empty())
    {
        root.insert("$defs".to_owned(), Json::Object(definitions.texts));
    }
    root
}

/// How often each schema is used, and the key where it is met first.
#[derive(Default)]
struct Uses(BTreeMap<String, (usize, String)>);

impl Uses {
    /// What stands below a schema is counted with its first use alone: it is written once.
    fn count(&mut self, name: &str, schema: &mut Json) {
        let text = schema.to_string();
        if text.len() < SHORTEST {
            return;
        }
        match self.0.entry(text) {
            Entry::Occupied(mut known) => known.get_mut().0 += 1,
            Entry::Vacant(place) => {
                place.insert((1, name.to_owned()));
                each_below(name, schema, &mut |name, schema| self.count(name, schema));
            }
        }
    }

    /// The name of every schema that is used several times: its key, with a number where several
    /// have the same.
    fn names(self) -> BTreeMap<String, String> {
        let mut taken: BTreeMap<String, usize> = BTreeMap::new();
        let several = self.0.into_iter().filter(|(_, (uses, _))| *uses > 1);
        let named = several.map(|(text, (_, key))| {
            let number = taken.entry(key.clone()).or_default();
            *number += 1;
            let name = if *number == 1 {
                key
            } else {
                format!("{key}-{number}")
            };
            (text, name)
        });
        named.collect()
    }
}

/// The definitions that are referred to so far.
struct Definitions {
    names: BTreeMap<String, String>,
    texts: Map<String, Json>,
}

impl Definitions {
    fn refer(&mut self, schema: &mut Json) {
        let Some(name) = self.names.get(&schema.to_string()).cloned() else {
            each_below("", schema, &mut |_, schema| self.refer(schema));
            return;
        };
        let reference = json!({"$ref": format!("#/$defs/{name}")});
        let mut defined = std::mem::replace(schema, reference);
        if !self.texts.contains_key(&name) {
            // Its place is taken before what stands below it is looked at.
            self.texts.insert(name.clone(), Json::Null);
            each_below("", &mut defined, &mut |_, schema| self.refer(schema));
            self.texts.insert(name, defined);
        }
    }
}

/// The schemas directly below that of a key of the study file, each with its own key where it has
/// one, else with that.
fn each_below(key: &str, schema: &mut Json, each: &mut dyn FnMut(&str, &mut Json)) {
    let Some(keywords) = schema.as_object_mut() else {
        return;
    };
    for (keyword, value) in keywords {
        match (keyword.as_str(), value) {
            ("properties" | "patternProperties", Json::Object(properties)) => {
                for (name, schema) in properties {
                    each(name, schema);
                }
            }
            ("items" | "additionalProperties", value @ Json::Object(_)) => each(key, value),
            ("anyOf" | "oneOf" | "allOf", Json::Array(choices)) => {
                for schema in choices {
                    each(key, schema);
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn long(text: &str) -> Json {
        json!({"type": "string", "description": text.repeat(SHORTEST)})
    }

    #[test]
    fn what_stands_twice_is_defined_once() {
        let inner = long("a");
        let table =
            json!({"type": "object", "properties": {"name": inner, "short": {"type": "null"}}});
        let root = json!({"properties": {"x": table, "y": {"anyOf": [table, {"type": "null"}]}}});
        assert_eq!(
            share(root),
            json!({
                "properties": {
                    "x": {"$ref": "#/$defs/x"},
                    "y": {"anyOf": [{"$ref": "#/$defs/x"}, {"type": "null"}]},
                },
                "$defs": {"x": table},
            }),
            "what stands in it is used once, and stays"
        );
    }

    #[test]
    fn definitions_share_too_and_their_names_differ() {
        let inner = long("a");
        let table = |text: &str| json!({"properties": {"name": inner}, "description": text});
        let (one, other) = (table("one"), table("other"));
        let shared = share(json!({"properties": {
            "a": {"properties": {"t": one}},
            "b": {"properties": {"t": one}, "description": "not the same"},
            "c": {"properties": {"t": other}},
            "d": {"properties": {"t": other}, "description": "not the same"},
        }}));
        let definitions = shared["$defs"].as_object().expect("definitions");
        let names: Vec<&str> = definitions.keys().map(String::as_str).collect();
        assert_eq!(names, ["name", "t", "t-2"]);
        for name in ["t", "t-2"] {
            let name = &definitions[name]["properties"]["name"];
            assert_eq!(name["$ref"], "#/$defs/name");
        }
        assert_eq!(definitions["name"], inner);
    }

    #[test]
    fn keys_of_the_file_are_no_keywords() {
        let root = json!({"properties": {"items": long("a"), "anyOf": long("a")}});
        let shared = share(root);
        assert_eq!(
            shared["properties"]["items"]["$ref"],
            shared["properties"]["anyOf"]["$ref"]
        );
    }
}
