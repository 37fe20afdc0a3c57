//! Tables with keys of their own, several of them.

use serde_json::{Value as Json, json};
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use crate::{
    grammar::{At, Context, HomeOf, KeyInfo, Kind, Need, Reader},
    problem::Code,
};

/// Tables with keys of their own: `[[workload.operation]]`.
pub(crate) struct Tables<T> {
    pub(crate) what: &'static str,
    pub(crate) most: usize,
    pub(crate) example: &'static str,
    pub(crate) keys: fn() -> Vec<KeyInfo>,
    pub(crate) read: fn(&mut Reader<'_, '_, '_>) -> T,
    pub(crate) write: fn(&T, &mut String),
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
fn table_schema(keys: &[KeyInfo]) -> Json {
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
