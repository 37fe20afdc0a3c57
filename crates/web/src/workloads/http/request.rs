//! The bytes of requests.

use std::{borrow::Cow, io::Write as _};

use rookery_driver::Fault;
use rookery_stats::ErrorClass;
use rookery_workload::{data_driven::Encoding, http::Method};

use super::{
    HttpSite,
    compiled::{BOUNDARY, Content, FormContent, Operation, Text, Values},
};
use crate::browser::cache::Validator;

/// A value that cannot stand where it should.
const BAD_VALUE: Fault = Fault::new(ErrorClass::Parse, "bad-value");
/// Longest target of a request.
const LONGEST_TARGET: usize = 8 * 1024;
/// Letters of files that are made up.
const FILE_LETTERS: &[u8] = b"the quick brown fox jumps over the lazy dog\n";

/// Writes the target of an operation: the site's base, then its path.
pub(super) fn target(
    out: &mut Vec<u8>,
    site: &HttpSite,
    path: &Text,
    values: &Values,
) -> Result<(), Fault> {
    out.extend_from_slice(site.site.base.as_bytes());
    path.append(out, values, Encoding::Percent)?;
    let good = out.len() <= LONGEST_TARGET
        && out.starts_with(b"/")
        && out.iter().all(u8::is_ascii_graphic);
    if good { Ok(()) } else { Err(BAD_VALUE) }
}

/// Appends request line and the headers that all requests have.
fn begin(out: &mut Vec<u8>, site: &HttpSite, method: Method, target: &[u8], cookies: &[u8]) {
    out.extend_from_slice(method.name().as_bytes());
    out.push(b' ');
    out.extend_from_slice(target);
    out.extend_from_slice(b" HTTP/1.1\r\nHost: ");
    out.extend_from_slice(site.site.authority.as_bytes());
    out.extend_from_slice(b"\r\n");
    if site.workload.browser.gzip {
        out.extend_from_slice(b"Accept-Encoding: gzip\r\n");
    }
    if !cookies.is_empty() {
        out.extend_from_slice(b"Cookie: ");
        out.extend_from_slice(cookies);
        out.extend_from_slice(b"\r\n");
    }
}

/// Writes the request of an operation, or the one that a redirect asks for: `content` is left out
/// where the redirect changes the method.
pub(super) fn operation(
    out: &mut Vec<u8>,
    site: &HttpSite,
    operation: &Operation,
    (method, target, with_content): (Method, &[u8], bool),
    values: &Values,
    cookies: &[u8],
) -> Result<(), Fault> {
    begin(out, site, method, target, cookies);
    for (name, value) in &operation.headers {
        out.extend_from_slice(name.as_bytes());
        out.extend_from_slice(b": ");
        let begin = out.len();
        value.append(out, values, Encoding::Raw)?;
        if out[begin..].iter().any(u8::is_ascii_control) {
            return Err(BAD_VALUE);
        }
        out.extend_from_slice(b"\r\n");
    }
    let needs_length = !method.is_repeatable();
    if !with_content {
        out.extend_from_slice(if needs_length {
            b"Content-Length: 0\r\n\r\n"
        } else {
            b"\r\n"
        });
        return Ok(());
    }
    let mut body = Vec::new();
    let kind = append_content(&mut body, &operation.content, values)?;
    let own_kind = operation
        .headers
        .iter()
        .any(|(name, _)| name.eq_ignore_ascii_case("content-type"));
    if let Some(kind) = kind.filter(|_| !own_kind) {
        out.extend_from_slice(b"Content-Type: ");
        out.extend_from_slice(kind.as_bytes());
        out.extend_from_slice(b"\r\n");
    }
    if needs_length || !body.is_empty() {
        let written = write!(out, "Content-Length: {}\r\n", body.len());
        debug_assert!(written.is_ok(), "memory takes everything");
    }
    out.extend_from_slice(b"\r\n");
    out.extend_from_slice(&body);
    Ok(())
}

/// Writes the request for an embedded object.
pub(super) fn object(
    out: &mut Vec<u8>,
    site: &HttpSite,
    target: &[u8],
    validator: Option<&Validator>,
    cookies: &[u8],
) {
    begin(out, site, Method::Get, target, cookies);
    if let Some(validator) = validator {
        validator.append(out);
    }
    out.extend_from_slice(b"\r\n");
}

/// Appends a body; its kind, where it has one.
fn append_content(
    out: &mut Vec<u8>,
    content: &Content,
    values: &Values,
) -> Result<Option<Cow<'static, str>>, Fault> {
    match content {
        Content::Empty => Ok(None),
        Content::Text(text) => {
            text.append(out, values, Encoding::Raw)?;
            Ok(Some("text/plain; charset=utf-8".into()))
        }
        Content::Json(text) => {
            text.append(out, values, Encoding::Json)?;
            Ok(Some("application/json".into()))
        }
        Content::Form(fields) => {
            for (index, (name, value)) in fields.iter().enumerate() {
                if index > 0 {
                    out.push(b'&');
                }
                out.extend_from_slice(name);
                out.push(b'=');
                // What a form holds is encoded, whether it was written or drawn.
                Encoding::Form.append(out, &value.plain(values)?);
            }
            Ok(Some("application/x-www-form-urlencoded".into()))
        }
        Content::Multipart(parts) => {
            for part in parts {
                out.extend_from_slice(format!("--{BOUNDARY}\r\n{}", part.head).as_bytes());
                match &part.content {
                    FormContent::Value(value) => value.append(out, values, Encoding::Raw)?,
                    FormContent::File(bytes) => {
                        out.extend(FILE_LETTERS.iter().cycle().take(*bytes));
                    }
                }
                out.extend_from_slice(b"\r\n");
            }
            out.extend_from_slice(format!("--{BOUNDARY}--\r\n").as_bytes());
            let kind = format!("multipart/form-data; boundary={BOUNDARY}");
            Ok(Some(kind.into()))
        }
    }
}
