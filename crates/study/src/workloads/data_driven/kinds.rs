//! The kinds of values that only workload files have: templates, lists, tables of names.

use serde_json::{Value as Json, json};
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use rookery_workload::{
    data_driven::{Template, is_name},
    http::pattern,
};

use crate::{
    grammar::{At, Context, HomeOf, KeyInfo, Kind, Need, Reader, written_key},
    problem::Code,
    source::quoted,
};

/// Longest template or pattern.
const LONGEST_TEXT: usize = 16 * 1024;

/// A text as TOML on one line.
pub(in crate::workloads) fn written(text: &str) -> String {
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

/// A text with a meaning of its own.
pub(in crate::workloads) struct Read<T> {
    /// What it is, in words.
    pub(in crate::workloads) what: &'static str,
    pub(in crate::workloads) example: &'static str,
    /// The value, or what is wrong with it.
    pub(in crate::workloads) parse: fn(&str) -> Result<T, String>,
    pub(in crate::workloads) write: fn(&T) -> String,
}

impl<T> Kind for Read<T> {
    type Value = T;

    fn read(&self, value: &Spanned<DeValue<'_>>, at: &At, context: &mut Context) -> Option<T> {
        let DeValue::String(text) = value.get_ref() else {
            return context.wrong_type(value, at, self);
        };
        let read = if text.len() > LONGEST_TEXT {
            Err(format!("is longer than {LONGEST_TEXT} bytes"))
        } else {
            (self.parse)(text)
        };
        match read {
            Ok(value) => Some(value),
            Err(why) => {
                let help = format!(
                    "expected {}; for instance {}",
                    self.what,
                    at.line(&self.example())
                );
                context.refuse(Code::Malformed, value.span(), format!("{at}: {why}"), help)
            }
        }
    }

    fn write(&self, value: &T) -> String {
        written(&(self.write)(value))
    }

    fn describe(&self) -> String {
        self.what.to_owned()
    }

    fn example(&self) -> String {
        written(self.example)
    }

    fn schema(&self) -> Json {
        json!({"type": "string"})
    }
}

/// A text with places for values.
pub(in crate::workloads) const TEMPLATE: Read<Template> = Read {
    what: "text in which `${name}` stands for a value",
    example: "${word}",
    parse: |text| Template::parse(text).map_err(|error| error.to_string()),
    write: Template::to_string,
};

/// Path and query of a request.
pub(in crate::workloads) const PATH: Read<Template> = Read {
    what: "path that begins with `/`, in which `${name}` stands for a value",
    example: "/item/${id}",
    parse: |text| {
        let template = Template::parse(text).map_err(|error| error.to_string())?;
        let plain = |text: &str| text.bytes().all(|byte| byte.is_ascii_graphic());
        if !template.beginning().starts_with('/') {
            return Err(format!("{} does not begin with `/`", quoted(text)));
        }
        if !template.texts().all(plain) {
            return Err(
                "a path has no blanks and nothing beyond ASCII; write `%20` for a blank".to_owned(),
            );
        }
        Ok(template)
    },
    write: Template::to_string,
};

/// Any text.
pub(in crate::workloads) const ANY: Read<String> = Read {
    what: "text",
    example: "apple",
    parse: |text| Ok(text.to_owned()),
    write: String::clone,
};

/// A regular expression.
pub(in crate::workloads) const PATTERN: Read<String> = Read {
    what: "regular expression, which is matched in linear time",
    example: "id=([0-9]+)",
    parse: |text| match pattern(text) {
        Ok(_) => Ok(text.to_owned()),
        Err(error) => Err(error.to_string()),
    },
    write: String::clone,
};

/// A JSON pointer.
pub(in crate::workloads) const POINTER: Read<String> = Read {
    what: "JSON pointer",
    example: "/items/0/id",
    parse: |text| {
        if text.is_empty() || text.starts_with('/') {
            Ok(text.to_owned())
        } else {
            Err(format!("{} does not begin with `/`", quoted(text)))
        }
    },
    write: String::clone,
};

/// The name of an operation, a feeder or a column.
pub(in crate::workloads) const NAME: Read<String> = Read {
    what: "name of letters, digits, `_` and `-`",
    example: "browse",
    parse: |text| name(text, |name| is_name(name) && !name.contains('.')),
    write: String::clone,
};

/// The name of a header or a cookie.
pub(in crate::workloads) const TOKEN: Read<String> = Read {
    what: "name of a header or a cookie",
    example: "X-Token",
    parse: |text| name(text, is_token),
    write: String::clone,
};

/// 64 hexadecimal digits.
pub(in crate::workloads) const DIGEST: Read<String> = Read {
    what: "SHA-256 digest in 64 hexadecimal digits",
    example: "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    parse: |text| {
        let good = text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        match good {
            true => Ok(text.to_ascii_lowercase()),
            false => Err(format!("{} is no digest", quoted(text))),
        }
    },
    write: String::clone,
};

/// Numbers from one to another: `1..100`.
pub(in crate::workloads) const RANGE: Read<(u64, u64)> = Read {
    what: "first and last number, such as \"1..1000\"",
    example: "1..1000",
    parse: |text| {
        let ends = text.split_once("..");
        let ends = ends.and_then(|(first, last)| {
            Some((first.trim().parse().ok()?, last.trim().parse().ok()?))
        });
        ends.filter(|(first, last): &(u64, u64)| first <= last && *last < u64::MAX)
            .ok_or_else(|| format!("{} is no range", quoted(text)))
    },
    write: |(first, last)| format!("{first}..{last}"),
};

/// Whole certificates.
pub(in crate::workloads) const PEM: Read<String> = Read {
    what: "certificates as PEM text",
    example: "-----BEGIN CERTIFICATE-----...",
    parse: |text| {
        let good = text.contains("-----BEGIN CERTIFICATE-----");
        good.then(|| text.to_owned())
            .ok_or_else(|| "there is no certificate in it".to_owned())
    },
    write: String::clone,
};

fn name(text: &str, good: impl Fn(&str) -> bool) -> Result<String, String> {
    match good(text) {
        true => Ok(text.to_owned()),
        false => Err(format!("{} is no name", quoted(text))),
    }
}

/// Whether a header may have this name.
pub(in crate::workloads) fn is_token(name: &str) -> bool {
    (1..=64).contains(&name.len())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_.!#$%&'*+^`|~".contains(&byte))
}

/// One value, or a list of them.
pub(in crate::workloads) struct Values<K> {
    pub(in crate::workloads) kind: K,
    pub(in crate::workloads) most: usize,
}

impl<K: Kind> Kind for Values<K> {
    type Value = Vec<K::Value>;

    fn read(
        &self,
        value: &Spanned<DeValue<'_>>,
        at: &At,
        context: &mut Context,
    ) -> Option<Vec<K::Value>> {
        let DeValue::Array(list) = value.get_ref() else {
            return self.kind.read(value, at, context).map(|one| vec![one]);
        };
        if list.len() > self.most {
            let message = format!(
                "{at} has {} values, at most {} are allowed",
                list.len(),
                self.most
            );
            return context.refuse(Code::TooMany, value.span(), message, "remove some of them");
        }
        // All of them, so that the problems of each are told.
        let values: Vec<Option<K::Value>> = list
            .iter()
            .enumerate()
            .map(|(index, element)| self.kind.read(element, &at.element(index), context))
            .collect();
        values.into_iter().collect()
    }

    fn write(&self, value: &Vec<K::Value>) -> String {
        let all: Vec<String> = value.iter().map(|one| self.kind.write(one)).collect();
        format!("[{}]", all.join(", "))
    }

    fn takes_lists(&self) -> bool {
        true
    }

    fn describe(&self) -> String {
        format!("{}, or a list of up to {}", self.kind.describe(), self.most)
    }

    fn example(&self) -> String {
        format!("[{}]", self.kind.example())
    }

    fn schema(&self) -> Json {
        let one = self.kind.schema();
        json!({"anyOf": [one, {"type": "array", "items": one, "maxItems": self.most}]})
    }
}

/// A table whose keys the writer of the workload names, in the order of the file.
pub(in crate::workloads) struct Named<K> {
    pub(in crate::workloads) kind: K,
    /// What the keys are.
    pub(in crate::workloads) what: &'static str,
    pub(in crate::workloads) key: &'static str,
    /// Whether a key is such a name.
    pub(in crate::workloads) good: fn(&str) -> bool,
    pub(in crate::workloads) most: usize,
}

impl<K: Kind> Kind for Named<K> {
    type Value = Vec<(String, K::Value)>;

    fn read(
        &self,
        value: &Spanned<DeValue<'_>>,
        at: &At,
        context: &mut Context,
    ) -> Option<Vec<(String, K::Value)>> {
        let DeValue::Table(table) = value.get_ref() else {
            return context.wrong_type(value, at, self);
        };
        if table.len() > self.most {
            let message = format!(
                "{at} has {} keys, at most {} are allowed",
                table.len(),
                self.most
            );
            return context.refuse(Code::TooMany, value.span(), message, "remove some of them");
        }
        let mut entries: Vec<_> = table.iter().collect();
        entries.sort_by_key(|(key, _)| key.span().start);
        let mut all = Vec::new();
        for (key, value) in &entries {
            let name = key.get_ref();
            if !(self.good)(name) {
                let message = format!("{at}: {} is no {}", quoted(name), self.what);
                let help = format!("write for instance `{}`", self.key);
                context.refuse::<()>(Code::Malformed, key.span(), message, help);
                continue;
            }
            let inner = At {
                path: format!("{}.{name}", at.path),
                key: at.key,
            };
            context.spans.insert(inner.path.clone(), key.span());
            let read = self.kind.read(value, &inner, context);
            all.extend(read.map(|value| (name.to_string(), value)));
        }
        (all.len() == entries.len()).then_some(all)
    }

    fn write(&self, value: &Vec<(String, K::Value)>) -> String {
        let all: Vec<String> = value
            .iter()
            .map(|(name, value)| format!("{} = {}", written_key(name), self.kind.write(value)))
            .collect();
        format!("{{{}}}", all.join(", "))
    }

    fn describe(&self) -> String {
        format!("table: {} = {}", self.what, self.kind.describe())
    }

    fn example(&self) -> String {
        format!("{{{} = {}}}", self.key, self.kind.example())
    }

    fn schema(&self) -> Json {
        json!({"type": "object", "additionalProperties": self.kind.schema(), "maxProperties": self.most})
    }
}

/// Tables with keys of their own: `[[workload.operation]]`.
pub(in crate::workloads) struct Tables<T> {
    pub(in crate::workloads) what: &'static str,
    pub(in crate::workloads) most: usize,
    pub(in crate::workloads) example: &'static str,
    pub(in crate::workloads) keys: fn() -> Vec<KeyInfo>,
    pub(in crate::workloads) read: fn(&mut Reader<'_, '_, '_>) -> T,
    pub(in crate::workloads) write: fn(&T, &mut String),
}

/// A key of a workload file has no other home.
const NOWHERE: HomeOf = |_, _| None;

impl<T> Tables<T> {
    fn one(&self, table: &Spanned<DeValue<'_>>, at: &At, context: &mut Context) -> Option<T> {
        let DeValue::Table(keys) = table.get_ref() else {
            return context.wrong_type(table, at, self);
        };
        Some(self.table(keys, table.span(), at, context))
    }

    fn table(
        &self,
        keys: &DeTable<'_>,
        span: std::ops::Range<usize>,
        at: &At,
        context: &mut Context,
    ) -> T {
        context.spans.insert(at.path.clone(), span.clone());
        let mut reader = Reader::new(Some(keys), &at.path, span, NOWHERE, context);
        let read = (self.read)(&mut reader);
        reader.finish();
        read
    }
}

impl<T> Kind for Tables<T> {
    type Value = Vec<T>;

    fn read(&self, value: &Spanned<DeValue<'_>>, at: &At, context: &mut Context) -> Option<Vec<T>> {
        let DeValue::Array(tables) = value.get_ref() else {
            return context.wrong_type(value, at, self);
        };
        if tables.len() > self.most {
            let message = format!(
                "there are {} {}, at most {} are allowed",
                tables.len(),
                self.what,
                self.most
            );
            return context.refuse(Code::TooMany, value.span(), message, "remove some of them");
        }
        let all: Vec<Option<T>> = tables
            .iter()
            .enumerate()
            .map(|(index, table)| self.one(table, &at.element(index), context))
            .collect();
        all.into_iter().collect()
    }

    fn write(&self, value: &Vec<T>) -> String {
        let all: Vec<String> = value
            .iter()
            .map(|table| {
                let mut lines = String::new();
                (self.write)(table, &mut lines);
                format!("{{{}}}", lines.lines().collect::<Vec<_>>().join(", "))
            })
            .collect();
        format!("[{}]", all.join(", "))
    }

    fn takes_lists(&self) -> bool {
        true
    }

    fn describe(&self) -> String {
        format!("tables, one for each of the {}", self.what)
    }

    fn example(&self) -> String {
        format!("[{}]", self.example)
    }

    fn schema(&self) -> Json {
        json!({"type": "array", "items": table_schema(&(self.keys)()), "maxItems": self.most})
    }
}

/// The schema of a table with these keys.
pub(in crate::workloads) fn table_schema(keys: &[KeyInfo]) -> Json {
    let mut properties = serde_json::Map::new();
    for key in keys {
        let mut schema = key.schema.clone();
        if let Some(schema) = schema.as_object_mut() {
            let description = format!("{} ({})", key.meaning, key.describe);
            schema.insert("description".to_owned(), json!(description));
        }
        properties.insert(key.name.to_owned(), schema);
    }
    let required: Vec<&str> = keys
        .iter()
        .filter(|key| key.need == Need::Required)
        .map(|key| key.name)
        .collect();
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}
