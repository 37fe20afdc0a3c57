//! One value or several, and values by names.

use serde_json::{Value as Json, json};
use toml::{Spanned, de::DeValue};

use super::list::Bound;
use crate::{
    grammar::{At, Context, Kind, written_key},
    problem::Code,
    source::quoted,
};

/// One value, or a list of them: together they are the value of the key.
pub(crate) struct Values<K> {
    pub(crate) kind: K,
    pub(crate) most: usize,
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
        let bound = Bound {
            most: self.most,
            help: "remove some of them",
        };
        let mut values: Vec<Option<K::Value>> = Vec::with_capacity(list.len().min(self.most));
        bound.each(value, list, at, context, |element, at, context| {
            values.push(self.kind.read(element, at, context));
        })?;
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
pub(crate) struct Named<K> {
    pub(crate) kind: K,
    /// What the keys are.
    pub(crate) what: &'static str,
    pub(crate) key: &'static str,
    /// Whether a key is such a name.
    pub(crate) good: fn(&str) -> bool,
    pub(crate) most: usize,
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
