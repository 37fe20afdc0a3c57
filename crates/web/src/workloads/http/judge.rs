//! Whether an answer is what it must be, and what is taken from it.

use std::borrow::Cow;

use rookery_driver::Fault;
use rookery_stats::ErrorClass;
use rookery_workload::{data_driven::set_value, http::HttpOperation};
use serde_json::Value as Json;

use super::compiled::{Found, Must, Operation, Values};
use crate::{browser::answer::Answer, http::cookies::Cookies};

/// Longest value that is taken from an answer.
const LONGEST_VALUE: usize = 4 * 1024;

const NOT_FOUND: Fault = Fault::new(ErrorClass::Parse, "capture");
const NO_JSON: Fault = Fault::new(ErrorClass::Parse, "json");

/// The body as JSON, read when it is first asked for.
pub(super) struct Document<'a> {
    body: &'a [u8],
    read: Option<Json>,
}

impl<'a> Document<'a> {
    pub(super) fn new(body: &'a [u8]) -> Self {
        Self { body, read: None }
    }

    /// The value at a pointer as text.
    pub(super) fn text(&mut self, pointer: &str) -> Result<Option<String>, Fault> {
        let document = match self.read.take() {
            Some(document) => document,
            None => serde_json::from_slice(self.body).map_err(|_| NO_JSON)?,
        };
        let text = document.pointer(pointer).map(|value| match value {
            Json::String(text) => text.clone(),
            other => other.to_string(),
        });
        self.read = Some(document);
        Ok(text)
    }
}

/// Judges the status of an answer.
pub(super) fn status(
    operation: &HttpOperation,
    answer: &Answer,
    logged_in: bool,
) -> Result<(), Fault> {
    let told = &answer.told;
    if operation.statuses.allow(told.status) {
        return Ok(());
    }
    Err(match told.status {
        401 | 403 if logged_in => Fault::code(ErrorClass::SessionLost, told.status),
        429 | 503 if told.retry_after => Fault::code(ErrorClass::Overload, told.status),
        300..=303 | 307 | 308 => Fault::new(ErrorClass::Redirect, "unexpected"),
        status => Fault::code(ErrorClass::Status, status),
    })
}

/// Judges the content of an answer.
pub(super) fn content(
    operation: &Operation,
    answer: &Answer,
    values: &Values,
) -> Result<(), Fault> {
    let mut document = Document::new(&answer.kept);
    for must in &operation.checks {
        check(must, answer, &mut document, values)?;
    }
    Ok(())
}

/// Judges one thing that the content of an answer must be.
pub(super) fn check(
    must: &Must,
    answer: &Answer,
    document: &mut Document<'_>,
    values: &Values,
) -> Result<(), Fault> {
    let body = &answer.kept;
    let (good, sub_class) = match must {
        Must::Contain(text) => (text.is_in(body, values)?, "contains"),
        Must::Lack(text) => (!text.is_in(body, values)?, "lacks"),
        Must::Match(regex) => (regex.is_match(body), "matches"),
        Must::Json(pointer, value) => {
            let found = document.text(pointer)?;
            let wanted = value.plain(values)?;
            (
                found.is_some_and(|found| found.as_bytes() == wanted),
                "json",
            )
        }
        Must::Size(min, max) => ((*min..=*max).contains(&answer.bytes), "size"),
        Must::Digest(digest) => (answer.digest == Some(*digest), "digest"),
    };
    if good {
        Ok(())
    } else {
        Err(Fault::new(ErrorClass::Content, sub_class))
    }
}

/// Takes the values of an answer.
pub(super) fn capture(
    operation: &Operation,
    answer: &Answer,
    cookies: &Cookies,
    values: &mut Values,
) -> Result<(), Fault> {
    let mut document = Document::new(&answer.kept);
    for (place, found) in &operation.captures {
        let value = value(found, answer, &mut document, cookies)?;
        set_value(&mut values[*place], &value);
    }
    Ok(())
}

/// Takes one value of an answer: of a regular expression the first group, or all of it.
pub(super) fn value<'a>(
    found: &Found,
    answer: &'a Answer,
    document: &mut Document<'_>,
    cookies: &'a Cookies,
) -> Result<Cow<'a, [u8]>, Fault> {
    let value = match found {
        Found::Regex(capture) => {
            let place = capture.find(&answer.kept);
            place.map(|(from, to)| Cow::Borrowed(&answer.kept[from..to]))
        }
        Found::Json(pointer) => {
            let text = document.text(pointer)?;
            text.map(|text| Cow::Owned(text.into_bytes()))
        }
        Found::Header(place) => {
            let value = answer.told.headers.get(*place).and_then(Option::as_deref);
            value.map(Cow::Borrowed)
        }
        Found::Cookie(name) => cookies.value(name).map(Cow::Borrowed),
    };
    value
        .filter(|value| value.len() <= LONGEST_VALUE)
        .ok_or(NOT_FOUND)
}
