//! Reads one section: looks keys up, fills defaults, remembers places, finds what nobody asked for.

use std::{borrow::Cow, collections::BTreeMap, fmt, ops::Range};

use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use super::{Kind, Need, written_key};
use crate::{
    companions::Companions,
    names::nearest,
    problem::{Code, Finding},
    source::{printable, quoted},
};

/// Where a key of the study stands in the file: `load.steady`, `layout[0].guests[1]`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Spans(BTreeMap<String, Range<usize>>);

impl Spans {
    /// The place of `path`, or of the nearest thing around it that is in the file, or the beginning
    /// of the file.
    pub(crate) fn nearest(&self, path: &str) -> Range<usize> {
        let mut path = path;
        loop {
            if let Some(span) = self.0.get(path) {
                return span.clone();
            }
            match path.rfind(['.', '[']) {
                Some(end) => path = &path[..end],
                None => return 0..0,
            }
        }
    }

    /// Whether `path` is in the file.
    pub(crate) fn has(&self, path: &str) -> bool {
        self.0.contains_key(path)
    }

    pub(crate) fn insert(&mut self, path: String, span: Range<usize>) {
        self.0.insert(path, span);
    }
}

/// What reading a study collects.
#[derive(Debug, Default)]
pub(crate) struct Context {
    pub(crate) findings: Vec<Finding>,
    pub(crate) spans: Spans,
    /// The files that the study names.
    pub(crate) companions: Companions,
}

impl Context {
    /// Notes a problem; returns nothing, so that a reader can end with it.
    pub(crate) fn refuse<T>(
        &mut self,
        code: Code,
        span: Range<usize>,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> Option<T> {
        self.findings.push(Finding {
            code,
            span,
            message: message.into(),
            help: help.into(),
        });
        None
    }

    /// A value of the wrong TOML type.
    pub(crate) fn wrong_type<T>(
        &mut self,
        value: &Spanned<DeValue<'_>>,
        at: &At,
        kind: &(impl Kind + ?Sized),
    ) -> Option<T> {
        if value
            .get_ref()
            .as_array()
            .is_some_and(|list| list.is_empty())
        {
            let message = format!("{at} is an empty list");
            return self.refuse(
                Code::EmptyList,
                value.span(),
                message,
                at.write(&kind.example()),
            );
        }
        let message = format!(
            "{at} is {}, expected {}",
            article(value.get_ref()),
            kind.describe()
        );
        let mut help = at.write(&kind.example());
        // `p99.9 = "4s"` means the key 9 in the table p99.
        if let DeValue::Table(table) = value.get_ref()
            && let Some(below) = table.keys().next()
        {
            let key = format!("{}.{}", at.key, printable(below.get_ref(), 20));
            help.push_str(&format!("; a key with a dot stands in quotes: `\"{key}\"`"));
        }
        self.refuse(Code::WrongType, value.span(), message, help)
    }

    /// A value of the right type beyond its range.
    pub(crate) fn out_of_range<T>(
        &mut self,
        value: &Spanned<DeValue<'_>>,
        at: &At,
        why: &str,
        kind: &(impl Kind + ?Sized),
    ) -> Option<T> {
        let message = format!("{at} {why}");
        let help = format!(
            "expected {}; for instance {}",
            kind.describe(),
            at.line(&kind.example())
        );
        self.refuse(Code::OutOfRange, value.span(), message, help)
    }
}

fn article(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a number with a fraction",
        DeValue::Boolean(_) => "a boolean",
        DeValue::Datetime(_) => "a date or time",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}

/// The key that is being read. Prints as it is named in messages.
#[derive(Clone, Debug)]
pub(crate) struct At {
    pub(crate) path: String,
    pub(crate) key: &'static str,
}

impl At {
    /// ``write `steady = "60s"` ``
    pub(crate) fn write(&self, value: &str) -> String {
        format!("write {}", self.line(value))
    }

    /// `` `steady = "60s"` ``
    pub(crate) fn line(&self, value: &str) -> String {
        format!("`{} = {value}`", written_key(self.key))
    }

    /// The same key, at the `index`-th element of its list.
    pub(crate) fn element(&self, index: usize) -> Self {
        Self {
            path: format!("{}[{index}]", self.path),
            key: self.key,
        }
    }
}

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The line says which layout and which element; the indices would only count from another
        // number than the reader.
        let mut name = String::new();
        let mut inside = false;
        for c in self.path.chars() {
            match c {
                '[' => inside = true,
                ']' => inside = false,
                _ if !inside => name.push(c),
                _ => {}
            }
        }
        write!(f, "`{name}`")
    }
}

/// A table of keys that the writer of the study names.
pub(crate) struct Free<'t, 'i, 'c> {
    pub(crate) table: Option<&'t DeTable<'i>>,
    /// Whether the file has no such table; otherwise a missing one was refused.
    pub(crate) absent: bool,
    pub(crate) context: &'c mut Context,
}

/// The section, as it is written, that has a key of exactly this name, other than the one at a
/// path.
pub(crate) type HomeOf = fn(name: &str, path: &str) -> Option<String>;

/// Reads one table.
pub(crate) struct Reader<'t, 'i, 'c> {
    table: Option<&'t DeTable<'i>>,
    /// Path of the table, empty for the root.
    path: String,
    /// Where something missing would be added.
    place: Range<usize>,
    asked: Vec<Cow<'static, str>>,
    /// For keys that stand in the wrong section.
    home_of: HomeOf,
    pub(crate) context: &'c mut Context,
}

impl<'t, 'i, 'c> Reader<'t, 'i, 'c> {
    /// A reader of a table, or of nothing, when the section is absent and only its defaults speak.
    pub(crate) fn new(
        table: Option<&'t DeTable<'i>>,
        path: &str,
        place: Range<usize>,
        home_of: HomeOf,
        context: &'c mut Context,
    ) -> Self {
        Self {
            table,
            path: path.to_owned(),
            place,
            asked: Vec::new(),
            home_of,
            context,
        }
    }

    fn path_of(&self, key: &str) -> String {
        if self.path.is_empty() {
            key.to_owned()
        } else {
            format!("{}.{key}", self.path)
        }
    }

    fn look_up(&mut self, key: impl Into<Cow<'static, str>>) -> Option<&'t Spanned<DeValue<'i>>> {
        let key = key.into();
        let found = self.table.and_then(|table| table.get(key.as_ref()));
        let path = self.path_of(&key);
        self.asked.push(key);
        let value = found?;
        self.context.spans.insert(path, value.span());
        Some(value)
    }

    /// The value of a key, or its default, or nothing when it is absent or wrong.
    pub(crate) fn take<K: Kind>(
        &mut self,
        key: &'static str,
        kind: &K,
        need: Need,
    ) -> Option<K::Value> {
        let at = At {
            path: self.path_of(key),
            key,
        };
        if let Some(value) = self.look_up(key) {
            return kind.read(value, &at, self.context);
        }
        match need {
            Need::Optional(_) => None,
            Need::Default(text) => {
                let value = DeValue::parse(text).expect("the defaults of the grammar are TOML");
                let mut scratch = Context::default();
                let default = kind.read(&value, &at, &mut scratch);
                debug_assert!(default.is_some(), "{}: {scratch:?}", at.path);
                default
            }
            Need::Required => {
                let section = self.title();
                let help = format!("add {} to {section}", at.line(&kind.example()));
                let message = format!("{at} is missing");
                self.context
                    .refuse(Code::MissingKey, self.place.clone(), message, help)
            }
        }
    }

    fn title(&self) -> String {
        // Which of several is said by the line.
        let parts = self.path.split('.').map(|part| part.split('[').next());
        let name = parts.flatten().collect::<Vec<_>>().join(".");
        match self.path.ends_with(']') {
            _ if name.is_empty() => "the top of the file".to_owned(),
            true => format!("[[{name}]]"),
            false => format!("[{name}]"),
        }
    }

    /// Whether `key` is a table in the file.
    pub(crate) fn has_table(&self, key: &str) -> bool {
        let value = self.table.and_then(|table| table.get(key));
        value.is_some_and(|value| value.get_ref().is_table())
    }

    /// The table below `key`: `[key]`.
    pub(crate) fn section(&mut self, key: &'static str) -> Reader<'t, 'i, '_> {
        self.section_below(Cow::Borrowed(key))
    }

    /// The table below a key that the writer of the study named.
    pub(crate) fn section_named(&mut self, key: &str) -> Reader<'t, 'i, '_> {
        self.section_below(Cow::Owned(key.to_owned()))
    }

    fn section_below(&mut self, key: Cow<'static, str>) -> Reader<'t, 'i, '_> {
        let path = self.path_of(&key);
        let mut place = self.place.clone();
        let mut found = None;
        if let Some(value) = self.look_up(key) {
            match value.get_ref() {
                DeValue::Table(table) => {
                    found = Some(table);
                    place = value.span();
                }
                other => {
                    let message = format!("`{path}` is {}, expected a section", article(other));
                    let help =
                        format!("write `[{path}]` once, on a line of its own, and its keys below");
                    self.context
                        .refuse::<()>(Code::WrongType, value.span(), message, help);
                }
            }
        }
        Reader::new(found, &path, place, self.home_of, self.context)
    }

    /// The table below `key`, whose keys the writer of the study names.
    pub(crate) fn free(&mut self, key: &'static str) -> Free<'t, 'i, '_> {
        let absent = self.table.is_none_or(|table| table.get(key).is_none());
        let section = self.section(key);
        Free {
            table: section.table,
            absent,
            context: section.context,
        }
    }

    /// Every table of `[[key]]`, one after the other.
    pub(crate) fn each(
        &mut self,
        key: &'static str,
        most: usize,
        mut read: impl FnMut(Reader<'t, 'i, '_>),
    ) {
        let Some(value) = self.look_up(key) else {
            return;
        };
        let help = format!("write `[[{key}]]` on a line of its own, and its keys below");
        let DeValue::Array(tables) = value.get_ref() else {
            let message = format!(
                "`{key}` is {}, expected sections that may stand several times",
                article(value.get_ref())
            );
            return self
                .context
                .refuse(Code::WrongType, value.span(), message, help)
                .unwrap_or_default();
        };
        if tables.len() > most {
            let message = format!(
                "there are {} sections [[{key}]], at most {most} are allowed",
                tables.len()
            );
            let help = "split the study into several files".to_owned();
            return self
                .context
                .refuse(Code::TooMany, value.span(), message, help)
                .unwrap_or_default();
        }
        for (index, table) in tables.iter().enumerate() {
            let path = format!("{}[{index}]", self.path_of(key));
            match table.get_ref() {
                DeValue::Table(content) => {
                    self.context.spans.insert(path.clone(), table.span());
                    read(Reader::new(
                        Some(content),
                        &path,
                        table.span(),
                        self.home_of,
                        self.context,
                    ));
                }
                other => {
                    let message = format!(
                        "an element of `{key}` is {}, expected a section",
                        article(other)
                    );
                    self.context
                        .refuse::<()>(Code::WrongType, table.span(), message, help.clone());
                }
            }
        }
    }

    /// Names a key that is read elsewhere, so that it is offered for mistyped ones.
    pub(crate) fn knows(&mut self, key: &'static str) {
        self.asked.push(Cow::Borrowed(key));
    }

    /// Names a key whose value is not read here, and remembers where it stands; whether it is in
    /// the file.
    pub(crate) fn locate(&mut self, key: &'static str) -> bool {
        self.look_up(key).is_some()
    }

    /// Refuses every key that nobody asked for.
    pub(crate) fn finish(self) {
        let Some(table) = self.table else { return };
        for (key, value) in table {
            let name = key.get_ref().as_ref();
            if !self.asked.iter().any(|asked| asked == name) {
                let place = if self.path.is_empty() { "at" } else { "in" };
                let message = format!("unknown key {} {place} {}", quoted(name), self.title());
                let help = self.help_for_unknown(name, value.get_ref());
                self.context
                    .refuse::<()>(Code::UnknownKey, key.span(), message, help);
            }
        }
    }

    fn help_for_unknown(&self, name: &str, value: &DeValue<'_>) -> String {
        let asked: Vec<&str> = self.asked.iter().map(AsRef::as_ref).collect();
        if let Some(near) = nearest(name, &asked) {
            return format!("write `{}`, or remove it", written_key(near));
        }
        if let Some(section) = (self.home_of)(name, &self.path) {
            return format!("it belongs to {section}; move it there");
        }
        let kind = if value.is_table() { "section" } else { "key" };
        let known: Vec<String> = asked.into_iter().map(written_key).collect();
        format!(
            "remove this {kind}; {} has: {}",
            self.title(),
            known.join(", ")
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_of_a_default_is_the_section_around_it() {
        let mut spans = Spans::default();
        spans.insert("layout[0]".into(), 5..9);
        assert_eq!(spans.nearest("layout[0].guests[3]"), 5..9);
        assert_eq!(spans.nearest("host.guest_cpus"), 0..0);
    }
}
