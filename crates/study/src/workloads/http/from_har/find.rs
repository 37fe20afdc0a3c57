//! Where a value stands in an answer, so that it can be captured. What is found is tried: it gives
//! this value.

use rookery_workload::http::{CaptureSource, pattern};
use serde_json::Value as Json;

use super::exchange::Exchange;
use crate::workloads::data_driven::kinds::is_token;

/// Most places of a value that are looked at.
const MOST_PLACES: usize = 20;
/// Most values of a JSON document that are looked at.
const MOST_LEAVES: usize = 100_000;
/// Longest JSON pointer.
const LONGEST_POINTER: usize = 200;
/// Most characters before a value that lead to it.
const MOST_BEFORE: usize = 24;
/// A value of so many letters with a digit among them is made up by the server.
const KEY_LENGTH: usize = 12;

/// Where an answer holds the value of a field of this name; of one that is no secret only where it
/// is plain that the server made the value up.
pub(super) fn source(
    answer: &Exchange,
    name: &str,
    value: &str,
    secret: bool,
) -> Option<CaptureSource> {
    let is_key = value.len() >= KEY_LENGTH && value.bytes().any(|byte| byte.is_ascii_digit());
    if secret || is_key {
        let header = answer.answer_headers.iter().find(|(name, found)| {
            found == value && is_token(name) && !matches!(name.as_str(), "set-cookie" | "location")
        });
        if let Some((name, _)) = header {
            return Some(CaptureSource::Header(name.clone()));
        }
        let mut cookies = answer.set_cookies().into_iter();
        if let Some((name, _)) = cookies.find(|(name, found)| found == value && is_token(name)) {
            return Some(CaptureSource::Cookie(name));
        }
    }
    if answer.mime.contains("json") {
        return (secret || is_key)
            .then(|| in_json(&answer.body, value))
            .flatten()
            .map(CaptureSource::Json);
    }
    let places = || {
        answer
            .body
            .match_indices(value)
            .take(MOST_PLACES)
            .map(|(at, _)| at)
    };
    let field = places().find_map(|at| in_tag(&answer.body, at, name, value));
    let around = || places().find_map(|at| behind_text(&answer.body, at, value));
    field
        .or_else(|| if secret { around() } else { None })
        .map(CaptureSource::Regex)
}

/// The pointer to a value in a JSON document.
fn in_json(body: &str, value: &str) -> Option<String> {
    let document: Json = serde_json::from_str(body).ok()?;
    let mut left = MOST_LEAVES;
    let pointer = pointer_to(&document, value, String::new(), &mut left)?;
    (pointer.len() <= LONGEST_POINTER && !pointer.is_empty()).then_some(pointer)
}

fn pointer_to(document: &Json, value: &str, at: String, left: &mut usize) -> Option<String> {
    *left = left.checked_sub(1)?;
    match document {
        Json::String(text) => (text == value).then_some(at),
        Json::Number(number) => (number.to_string() == value).then_some(at),
        Json::Array(list) => list
            .iter()
            .enumerate()
            .find_map(|(index, one)| pointer_to(one, value, format!("{at}/{index}"), left)),
        Json::Object(map) => map.iter().find_map(|(key, one)| {
            let key = key.replace('~', "~0").replace('/', "~1");
            pointer_to(one, value, format!("{at}/{key}"), left)
        }),
        Json::Null | Json::Bool(_) => None,
    }
}

/// The pattern of a value that is an attribute of a tag of this name, such as a hidden field.
fn in_tag(body: &str, at: usize, name: &str, value: &str) -> Option<String> {
    let begin = body[..at].rfind('<')?;
    let end = at + body[at..].find('>')?;
    let (front, back) = (&body[begin..at], &body[at + value.len()..end]);
    let (attribute, quote) = ["value", "content"].into_iter().find_map(|attribute| {
        let quote = ['"', '\''].into_iter().find(|quote| {
            front.ends_with(&format!("{attribute}={quote}")) && back.starts_with(*quote)
        })?;
        Some((attribute, quote))
    })?;
    if name.is_empty() {
        return None;
    }
    let wanted = format!("{attribute}={quote}([^{quote}]*)");
    let named = ['"', '\''].map(|quote| format!("name={quote}{name}{quote}"));
    let text = if let Some(name) = named.iter().find(|name| front.contains(name.as_str())) {
        format!("{}[^>]*{wanted}", escaped(name))
    } else {
        let name = named.iter().find(|name| back.contains(name.as_str()))?;
        format!("{wanted}{quote}[^>]*{}", escaped(name))
    };
    gives(&text, body, value).then_some(text)
}

/// The pattern of a value by the text in front of it.
fn behind_text(body: &str, at: usize, value: &str) -> Option<String> {
    let front: Vec<char> = body[..at]
        .chars()
        .rev()
        .take_while(|c| !c.is_control())
        .take(MOST_BEFORE)
        .collect();
    let front: String = front.into_iter().rev().collect();
    let after = body[at + value.len()..].chars().next();
    let stop = match after {
        Some(c) if c.is_ascii_graphic() && !value.contains(c) => escaped(&c.to_string()),
        Some(c) if c.is_whitespace() && !value.contains(char::is_whitespace) => "\\s".to_owned(),
        _ => return None,
    };
    if front.trim().chars().count() < 4 {
        return None;
    }
    let text = format!("{}([^{stop}]+)", escaped(&front));
    gives(&text, body, value).then_some(text)
}

/// Whether a pattern gives this value of a body.
fn gives(text: &str, body: &str, value: &str) -> bool {
    pattern(text).is_ok_and(|regex| {
        let captures = regex.captures(body.as_bytes());
        let first = captures.and_then(|captures| captures.get(1));
        first.is_some_and(|found| found.as_bytes() == value.as_bytes())
    })
}

/// A text as a pattern that matches it alone.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        if "\\.+*?()|[]{}^$#&-~".contains(c) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_fields_and_texts_become_patterns() {
        let page = "<form><input type='hidden' name=\"csrf\" value=\"a+b=c\"><meta content='xyz123' \
                    name='token'><script>var key = \"k-1\";</script>";
        let at = |value: &str| page.find(value).expect("it is there");
        let tag = |name: &str, value: &str| in_tag(page, at(value), name, value);
        assert_eq!(
            tag("csrf", "a+b=c").as_deref(),
            Some("name=\"csrf\"[^>]*value=\"([^\"]*)")
        );
        assert_eq!(
            tag("token", "xyz123").as_deref(),
            Some("content='([^']*)'[^>]*name='token'")
        );
        assert_eq!(tag("other", "a+b=c"), None);
        let key = behind_text(page, at("k-1"), "k-1");
        assert_eq!(key.as_deref(), Some("ken'><script>var key = \"([^\"]+)"));
    }

    #[test]
    fn values_in_json_have_pointers() {
        let body = "{\"a/b\": [1, {\"t\": \"secret\"}], \"n\": 12345}";
        assert_eq!(in_json(body, "secret").as_deref(), Some("/a~1b/1/t"));
        assert_eq!(in_json(body, "12345").as_deref(), Some("/n"));
        assert_eq!(in_json("[", "x"), None);
    }
}
