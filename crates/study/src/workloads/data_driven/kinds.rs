//! The kinds of values that only workload files have: templates, patterns, names.

use rookery_workload::{
    data_driven::{Template, is_name},
    http::pattern,
};

pub(in crate::workloads) use crate::grammar::kinds::{LONGEST_TEXT, Named, Read, Tables, Values};
use crate::source::quoted;

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
