//! Texts with places for values: `/item/${id}?q=${word}`.

use std::fmt;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Longest name of a value.
const LONGEST_NAME: usize = 64;

/// A text with places for values.
///
/// `${name}` stands for a value, encoded as its surroundings need it; `${name:raw}` for the value
/// as it is; `$$` for a dollar sign.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Template {
    parts: Vec<Part>,
}

/// A part of a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// This text.
    Text(String),
    /// A value.
    Value {
        /// Its name.
        name: String,
        /// It is put in as it is.
        raw: bool,
    },
}

/// A text that is no template.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TemplateError {
    /// `$` is followed by neither `{` nor `$`.
    #[error("a lone `$`; write `$$` for a dollar sign, `${{name}}` for a value")]
    LoneDollar,
    /// There is no `}`.
    #[error("`${{` without `}}`")]
    Open,
    /// What stands between the braces is no name.
    #[error("`${{{0}}}` names no value; names have letters, digits, `_`, `-` and `.`")]
    Name(String),
}

impl Template {
    /// Reads a template.
    ///
    /// # Errors
    /// When a place for a value is not written as it should be.
    pub fn parse(text: &str) -> Result<Self, TemplateError> {
        let (mut parts, mut literal, mut rest) = (Vec::new(), String::new(), text);
        while let Some(at) = rest.find('$') {
            literal.push_str(&rest[..at]);
            rest = &rest[at + 1..];
            if let Some(after) = rest.strip_prefix('$') {
                literal.push('$');
                rest = after;
                continue;
            }
            let inner = rest.strip_prefix('{').ok_or(TemplateError::LoneDollar)?;
            let end = inner.find('}').ok_or(TemplateError::Open)?;
            let (name, raw) = match inner[..end].strip_suffix(":raw") {
                Some(name) => (name, true),
                None => (&inner[..end], false),
            };
            if !is_name(name) {
                return Err(TemplateError::Name(
                    name.chars().take(LONGEST_NAME).collect(),
                ));
            }
            if !literal.is_empty() {
                parts.push(Part::Text(std::mem::take(&mut literal)));
            }
            let name = name.to_owned();
            parts.push(Part::Value { name, raw });
            rest = &inner[end + 1..];
        }
        literal.push_str(rest);
        if !literal.is_empty() {
            parts.push(Part::Text(literal));
        }
        Ok(Self { parts })
    }

    /// Its parts in turn.
    #[must_use]
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// The names of the values in it.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            Part::Value { name, .. } => Some(name.as_str()),
            Part::Text(_) => None,
        })
    }

    /// The text that it begins with, before any value.
    #[must_use]
    pub fn beginning(&self) -> &str {
        match self.parts.first() {
            Some(Part::Text(text)) => text,
            _ => "",
        }
    }

    /// All texts between values.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            Part::Text(text) => Some(text.as_str()),
            Part::Value { .. } => None,
        })
    }
}

/// Whether values may have this name.
#[must_use]
pub fn is_name(name: &str) -> bool {
    (1..=LONGEST_NAME).contains(&name.len())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte))
}

impl TryFrom<String> for Template {
    type Error = TemplateError;

    fn try_from(text: String) -> Result<Self, TemplateError> {
        Self::parse(&text)
    }
}

impl From<Template> for String {
    fn from(template: Template) -> Self {
        template.to_string()
    }
}

impl fmt::Display for Template {
    /// As it was written.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for part in &self.parts {
            match part {
                Part::Text(text) => f.write_str(&text.replace('$', "$$"))?,
                Part::Value { name, raw } => {
                    write!(f, "${{{name}{}}}", if *raw { ":raw" } else { "" })?;
                }
            }
        }
        Ok(())
    }
}

/// How a value is encoded where it is put in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// As it is.
    Raw,
    /// In a path or a query: everything but letters, digits and `-._~` as `%XX`.
    Percent,
    /// In a form: as `Percent`, a space as `+`.
    Form,
    /// In a string of JSON, without its quotes.
    Json,
}

impl Encoding {
    /// Appends a value.
    pub fn append(self, out: &mut Vec<u8>, value: &[u8]) {
        match self {
            Self::Raw => out.extend_from_slice(value),
            Self::Percent => percent(out, value, b"%20"),
            Self::Form => percent(out, value, b"+"),
            Self::Json => json(out, value),
        }
    }
}

fn percent(out: &mut Vec<u8>, value: &[u8], space: &[u8]) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    for &byte in value {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => out.push(byte),
            b' ' => out.extend_from_slice(space),
            _ => out.extend_from_slice(&[
                b'%',
                DIGITS[usize::from(byte >> 4)],
                DIGITS[usize::from(byte & 15)],
            ]),
        }
    }
}

fn json(out: &mut Vec<u8>, value: &[u8]) {
    for &byte in value {
        match byte {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
            0..=0x1f => out.extend_from_slice(format!("\\u{byte:04x}").as_bytes()),
            _ => out.push(byte),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn places_and_dollars_are_told_apart() {
        let template = Template::parse("/a$$b/${x}?q=${people.name:raw}").expect("a template");
        assert_eq!(template.names().collect::<Vec<_>>(), ["x", "people.name"]);
        assert_eq!(template.beginning(), "/a$b/");
        assert_eq!(template.to_string(), "/a$$b/${x}?q=${people.name:raw}");
        assert_eq!(Template::parse("${"), Err(TemplateError::Open));
        assert_eq!(Template::parse("a$b"), Err(TemplateError::LoneDollar));
        assert_eq!(
            Template::parse("${a b}"),
            Err(TemplateError::Name("a b".to_owned()))
        );
        assert_eq!(
            Template::parse("${}"),
            Err(TemplateError::Name(String::new()))
        );
    }

    #[test]
    fn values_are_encoded_for_their_place() {
        let encoded = |encoding: Encoding| {
            let mut out = Vec::new();
            encoding.append(&mut out, "a b\"\u{e9}\r\n&".as_bytes());
            String::from_utf8(out).expect("text")
        };
        assert_eq!(encoded(Encoding::Percent), "a%20b%22%C3%A9%0D%0A%26");
        assert_eq!(encoded(Encoding::Form), "a+b%22%C3%A9%0D%0A%26");
        assert_eq!(encoded(Encoding::Json), "a b\\\"\u{e9}\\u000d\\u000a&");
    }

    proptest! {
        #[test]
        fn a_template_is_written_as_it_is_read(text in "[a$\\{\\}:rw.]{0,20}") {
            if let Ok(template) = Template::parse(&text) {
                prop_assert_eq!(Template::parse(&template.to_string()), Ok(template));
            }
        }
    }
}
