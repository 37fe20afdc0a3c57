//! Answers to requests, with what a browser may do with each.

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::{
    Response, StatusCode,
    header::{
        CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName,
        HeaderValue, LOCATION, REFERRER_POLICY, SET_COOKIE, X_CONTENT_TYPE_OPTIONS,
    },
};
use serde::Serialize;

use crate::stream::Body;

/// What the page itself may do: run its own script, and speak to its own server. It may not be
/// shown within another page.
const OWN_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src \
                          'self'; img-src 'self' data:; frame-src 'self'; base-uri 'none'; \
                          form-action 'none'; frame-ancestors 'none'";
/// What everything else may do: nothing.
const NO_POLICY: &str = "default-src 'none'; frame-ancestors 'none'; sandbox";

/// The content type of a stream of events.
const EVENTS: &str = "text/event-stream";
const RESOURCE_POLICY: HeaderName = HeaderName::from_static("cross-origin-resource-policy");
const OPENER_POLICY: HeaderName = HeaderName::from_static("cross-origin-opener-policy");

/// An answer.
pub(crate) type Answer = Response<Body>;

/// The page itself, and the files that it is made of.
pub(crate) fn own(content: &'static str, text: &'static str) -> Answer {
    with_policy(StatusCode::OK, content, OWN_POLICY, text.into())
}

/// A report or a comparison: a document of no origin, which runs the scripts that it brings, and
/// those alone. It can be shown within our page and reaches nothing of it.
pub(crate) fn sandboxed(html: Bytes, policy: &str) -> Answer {
    let policy = format!("{policy}; sandbox allow-scripts allow-downloads; frame-ancestors 'self'");
    with_policy(StatusCode::OK, "text/html; charset=utf-8", &policy, html)
}

/// A document that a browser saves.
pub(crate) fn download(document: Download) -> Answer {
    let mut answer = with_policy(
        StatusCode::OK,
        "application/json",
        NO_POLICY,
        document.bytes,
    );
    let name = format!("attachment; filename=\"{}\"", document.name);
    if let Ok(name) = HeaderValue::from_str(&name) {
        answer.headers_mut().insert(CONTENT_DISPOSITION, name);
    }
    answer
}

/// A document that a browser saves.
pub(crate) struct Download {
    /// A name of letters, digits, `-` and `.`.
    pub(crate) name: String,
    pub(crate) bytes: Bytes,
}

/// A value as JSON.
pub(crate) fn json(value: &impl Serialize) -> Answer {
    match serde_json::to_vec(value) {
        Ok(text) => with_policy(StatusCode::OK, "application/json", NO_POLICY, text.into()),
        Err(_) => error(
            StatusCode::INTERNAL_SERVER_ERROR,
            "the answer cannot be written",
        ),
    }
}

/// Words to a status, for people who see the answer itself.
pub(crate) fn error(status: StatusCode, text: &str) -> Answer {
    let text = format!("{text}\n");
    with_policy(status, "text/plain; charset=utf-8", NO_POLICY, text.into())
}

/// A stream of events.
pub(crate) fn events(body: Body) -> Answer {
    let mut answer = Response::new(body);
    dress(&mut answer, EVENTS, NO_POLICY);
    answer
}

/// Whether an answer is a stream of events.
pub(crate) fn is_stream(answer: &Answer) -> bool {
    answer.headers().get(CONTENT_TYPE) == Some(&HeaderValue::from_static(EVENTS))
}

/// To the page, with the cookie that lets a browser in: the token leaves the address bar.
pub(crate) fn welcome(cookie: &str) -> Answer {
    let mut answer = error(StatusCode::SEE_OTHER, "the page is at /");
    let headers = answer.headers_mut();
    headers.insert(LOCATION, HeaderValue::from_static("/"));
    if let Ok(cookie) = HeaderValue::from_str(cookie) {
        headers.insert(SET_COOKIE, cookie);
    }
    answer
}

fn with_policy(status: StatusCode, content: &'static str, policy: &str, body: Bytes) -> Answer {
    let mut answer = Response::new(Full::new(body).boxed_unsync());
    *answer.status_mut() = status;
    dress(&mut answer, content, policy);
    answer
}

fn dress(answer: &mut Answer, content: &'static str, policy: &str) {
    let headers = answer.headers_mut();
    let policy = HeaderValue::from_str(policy);
    headers.insert(
        CONTENT_SECURITY_POLICY,
        policy.unwrap_or(HeaderValue::from_static(NO_POLICY)),
    );
    for (name, value) in [
        (CONTENT_TYPE, content),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (REFERRER_POLICY, "no-referrer"),
        (CACHE_CONTROL, "no-store"),
        (RESOURCE_POLICY, "same-origin"),
        (OPENER_POLICY, "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
}
