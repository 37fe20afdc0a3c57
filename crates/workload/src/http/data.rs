//! What a workload file says, checked.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::{
    RandomDelay,
    data_driven::{
        Course, Feeder, FeederPlaces, MOST_OPERATIONS, OnFailure, RecordCount, Template,
        UnknownValue, Walk, check_values, mean_delay, records_of, value_names,
    },
};

/// A web workload as a user wrote it down.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HttpWorkload {
    /// Its operations.
    pub operations: Vec<HttpOperation>,
    /// Where values come from.
    #[serde(default)]
    pub feeders: Vec<Feeder>,
    /// Which operation follows which.
    pub walk: Walk,
    /// The operation that every session begins with, once.
    #[serde(default)]
    pub login: Option<usize>,
    /// What a failure does to the session.
    #[serde(default)]
    pub on_failure: OnFailure,
    /// The pause between two sessions; `None` = as after any operation.
    #[serde(default)]
    pub session_pause: Option<RandomDelay>,
    /// Headers of all requests.
    #[serde(default)]
    pub headers: Vec<Header>,
    /// How users load pages.
    pub browser: Browser,
    /// What an encrypted connection must be.
    #[serde(default)]
    pub tls: Tls,
}

/// One operation: a page, or a request of an interface.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HttpOperation {
    /// Its name in tables.
    pub name: String,
    /// The method of its request.
    pub method: Method,
    /// Path and query.
    pub path: Template,
    /// Headers beside those of all requests.
    #[serde(default)]
    pub headers: Vec<Header>,
    /// What is sent.
    #[serde(default)]
    pub body: Body,
    /// Values that are taken from the answer.
    #[serde(default)]
    pub captures: Vec<Capture>,
    /// What the answer must be.
    #[serde(default)]
    pub checks: Vec<Check>,
    /// The statuses of a good answer.
    #[serde(default)]
    pub statuses: Statuses,
    /// Redirects are followed, within the same authority.
    pub follow: bool,
    /// The pause after it, or the length of its cycle.
    pub delay: RandomDelay,
    /// Limit on the whole operation; `None` = that of the load.
    #[serde(default)]
    pub timeout: Option<Duration>,
    /// The largest body, in bytes after decompression.
    pub body_limit: u64,
    /// Objects that are loaded behind it.
    #[serde(default)]
    pub objects: Vec<Object>,
    /// Objects that are found in the page are loaded, too.
    #[serde(default)]
    pub find_objects: bool,
    /// The kind of record of which a success makes one more, for the audit.
    #[serde(default)]
    pub counts: Option<String>,
}

/// The method of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Method {
    /// `GET`
    #[default]
    Get,
    /// `HEAD`
    Head,
    /// `POST`
    Post,
    /// `PUT`
    Put,
    /// `PATCH`
    Patch,
    /// `DELETE`
    Delete,
    /// `OPTIONS`
    Options,
}

impl Method {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Get,
        Self::Head,
        Self::Post,
        Self::Put,
        Self::Patch,
        Self::Delete,
        Self::Options,
    ];

    /// As it stands in a request line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Head => "HEAD",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
            Self::Options => "OPTIONS",
        }
    }

    /// Whether a second request changes nothing: only such a one is sent again when the server had
    /// closed an idle connection.
    #[must_use]
    pub const fn is_repeatable(self) -> bool {
        matches!(self, Self::Get | Self::Head | Self::Options)
    }
}

/// A header of requests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: Template,
}

/// What a request sends.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Body {
    /// Nothing.
    #[default]
    Empty,
    /// This text.
    Text(Template),
    /// This document; values in it are escaped for strings of JSON.
    Json(Template),
    /// Fields of a form.
    Form(Vec<Field>),
    /// Parts of a form with files.
    Multipart(Vec<Part>),
}

/// A field of a form.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: Template,
}

/// A part of a form with files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// Name of the field.
    pub name: String,
    /// Its content.
    pub content: PartContent,
}

/// What a part of a form holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PartContent {
    /// A value.
    Value(Template),
    /// A file of so many letters.
    File {
        /// Its name.
        name: String,
        /// Its length.
        bytes: u32,
    },
}

/// A value that is taken from an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Capture {
    /// Its name.
    pub name: String,
    /// Where it is.
    pub source: Source,
}

/// Where a value is in an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// What the first group of this regular expression matches in the body, or all of it without a
    /// group.
    Regex(String),
    /// The value at this JSON pointer.
    Json(String),
    /// The value of this header.
    Header(String),
    /// The value of this cookie.
    Cookie(String),
}

/// What an answer must be, beside its status.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Check {
    /// The body contains this.
    Contains(Template),
    /// The body does not contain this.
    Lacks(Template),
    /// This regular expression matches somewhere in the body.
    Matches(String),
    /// The JSON pointer leads to this value, as text.
    Json {
        /// The pointer.
        pointer: String,
        /// The value.
        value: Template,
    },
    /// The body has so many bytes.
    Size {
        /// At least.
        min: u64,
        /// At most.
        max: u64,
    },
    /// SHA-256 of the body, in small hexadecimal digits.
    Digest(String),
}

/// The statuses of a good answer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Statuses {
    /// 200 to 299.
    #[default]
    Success,
    /// One of these.
    OneOf(Vec<u16>),
}

impl Statuses {
    /// Whether a status is one of them.
    #[must_use]
    pub fn allow(&self, status: u16) -> bool {
        match self {
            Self::Success => (200..300).contains(&status),
            Self::OneOf(list) => list.contains(&status),
        }
    }
}

/// An object that is loaded behind a page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Object {
    /// Path and query.
    pub path: Template,
    /// The share of requests for it that are conditional; `None` = as the cache of the user says.
    #[serde(default)]
    pub conditional: Option<f64>,
}

/// How users load pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Browser {
    /// Connections of one user.
    pub connections: u8,
    /// Objects are kept for the session: asked for again only when they may have changed.
    pub cache: bool,
    /// Compressed bodies are accepted.
    pub gzip: bool,
    /// The most that one user receives, bytes/s; `None` = no limit.
    pub receive_rate: Option<u64>,
}

impl Default for Browser {
    fn default() -> Self {
        Self {
            connections: 2,
            cache: true,
            gzip: false,
            receive_rate: None,
        }
    }
}

/// What an encrypted connection must be.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tls {
    /// Certificates that sign that of the server, as PEM; `None` = none are known.
    pub ca: Option<String>,
    /// The certificate of the server is not verified.
    pub insecure: bool,
    /// The version; `None` = what both speak.
    pub version: Option<TlsVersion>,
}

/// Versions of TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TlsVersion {
    /// 1.2
    #[serde(rename = "1.2")]
    V12,
    /// 1.3
    #[serde(rename = "1.3")]
    V13,
}

/// What is wrong with a workload as a whole.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum WorkloadFault {
    /// An operation uses a value that nothing gives.
    #[error(transparent)]
    UnknownValue(#[from] UnknownValue),
    /// There are no operations, or too many.
    #[error("there are {0} operations, where 1 to {MOST_OPERATIONS} are possible")]
    Operations(usize),
}

impl HttpOperation {
    /// All templates of its requests and checks.
    pub fn templates(&self) -> impl Iterator<Item = &Template> {
        let body: Vec<&Template> = match &self.body {
            Body::Empty => Vec::new(),
            Body::Text(text) | Body::Json(text) => vec![text],
            Body::Form(fields) => fields.iter().map(|field| &field.value).collect(),
            Body::Multipart(parts) => parts
                .iter()
                .filter_map(|part| match &part.content {
                    PartContent::Value(value) => Some(value),
                    PartContent::File { .. } => None,
                })
                .collect(),
        };
        let checks = self.checks.iter().filter_map(|check| match check {
            Check::Contains(text) | Check::Lacks(text) | Check::Json { value: text, .. } => {
                Some(text)
            }
            _ => None,
        });
        std::iter::once(&self.path)
            .chain(self.headers.iter().map(|header| &header.value))
            .chain(body)
            .chain(checks)
            .chain(self.objects.iter().map(|object| &object.path))
    }
}

impl HttpWorkload {
    /// The names of all values, by place.
    #[must_use]
    pub fn values(&self) -> Vec<String> {
        let operations = self.operations.iter();
        let captures = operations.flat_map(|operation| &operation.captures);
        value_names(&self.feeders, captures.map(|capture| capture.name.as_str()))
    }

    /// Every kind of record that an operation counts, each once.
    #[must_use]
    pub fn records(&self) -> Vec<RecordCount> {
        let operations = self.operations.iter();
        records_of(operations.filter_map(|operation| operation.counts.as_deref()))
    }

    /// What decides how users go through it, with the feeders of sessions.
    #[must_use]
    pub fn course<'w>(&'w self, of_session: &'w FeederPlaces) -> Course<'w> {
        Course {
            walk: &self.walk,
            login: self.login,
            on_failure: self.on_failure,
            session_pause: self.session_pause,
            feeders: &self.feeders,
            of_session,
        }
    }

    /// The mean of the delays of all operations: the longest random delay before the first.
    #[must_use]
    pub fn mean_delay(&self) -> Duration {
        mean_delay(self.operations.iter().map(|operation| operation.delay))
    }

    /// What cannot be seen in one operation alone.
    ///
    /// # Errors
    /// The first fault.
    pub fn check(&self) -> Result<(), WorkloadFault> {
        if !(1..=MOST_OPERATIONS).contains(&self.operations.len()) {
            return Err(WorkloadFault::Operations(self.operations.len()));
        }
        let known = self.values();
        for operation in &self.operations {
            let headers = self.headers.iter().map(|header| &header.value);
            let used = operation.templates().chain(headers);
            check_values(&operation.name, used.flat_map(Template::names), &known)?;
        }
        Ok(())
    }
}
