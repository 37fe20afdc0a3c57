//! A workload made ready to be done: names are places, regular expressions are automata.

use memchr::memmem::Finder;
use regex::bytes::Regex;
use rookery_driver::Fault;
use rookery_stats::ErrorClass;
use rookery_workload::{
    data_driven::{Encoding, FeederPlaces, Part, Template},
    http::{Body, CaptureSource, Check, HttpOperation, HttpWorkload, PartContent, pattern},
};

use super::{
    begin::{BeginCheck, Scan},
    capture::Capture,
};

/// What stands between the parts of a form with files.
pub(super) const BOUNDARY: &str = "rookery-form-part-7d1f0c2e";

/// Values of a user, by place.
pub(super) type Values = [Option<Vec<u8>>];

/// A template whose names are places.
#[derive(Debug, Default)]
pub(super) struct Text(Vec<Piece>);

#[derive(Debug)]
enum Piece {
    Text(Vec<u8>),
    Value { place: usize, raw: bool },
}

impl Text {
    fn new(template: &Template, names: &[String]) -> Result<Self, String> {
        let piece = |part: &Part| match part {
            Part::Text(text) => Ok(Piece::Text(text.as_bytes().to_vec())),
            Part::Value { name, raw } => names
                .iter()
                .position(|known| known == name)
                .map(|place| Piece::Value { place, raw: *raw })
                .ok_or_else(|| format!("nothing gives the value `{name}`")),
        };
        template
            .parts()
            .iter()
            .map(piece)
            .collect::<Result<_, _>>()
            .map(Self)
    }

    /// Appends it, with the values in it.
    pub(super) fn append(
        &self,
        out: &mut Vec<u8>,
        values: &Values,
        encoding: Encoding,
    ) -> Result<(), Fault> {
        for piece in &self.0 {
            match piece {
                Piece::Text(text) => out.extend_from_slice(text),
                Piece::Value { place, raw } => {
                    let value = values.get(*place).and_then(Option::as_deref);
                    let value = value.ok_or(Fault::new(ErrorClass::Parse, "no-value"))?;
                    let encoding = if *raw { Encoding::Raw } else { encoding };
                    encoding.append(out, value);
                }
            }
        }
        Ok(())
    }

    /// It, where no value is in it.
    fn constant(&self) -> Option<Vec<u8>> {
        let texts = self.0.iter().map(|piece| match piece {
            Piece::Text(text) => Some(text.as_slice()),
            Piece::Value { .. } => None,
        });
        texts
            .collect::<Option<Vec<_>>>()
            .map(|texts| texts.concat())
    }

    /// It with its values, as they are.
    pub(super) fn plain(&self, values: &Values) -> Result<Vec<u8>, Fault> {
        let mut out = Vec::new();
        self.append(&mut out, values, Encoding::Raw)?;
        Ok(out)
    }
}

/// What a request sends.
#[derive(Debug)]
pub(super) enum Content {
    Empty,
    Text(Text),
    Json(Text),
    Form(Vec<(Vec<u8>, Text)>),
    Multipart(Vec<FormPart>),
}

/// A part of a form with files.
#[derive(Debug)]
pub(super) struct FormPart {
    pub(super) head: String,
    pub(super) content: FormContent,
}

#[derive(Debug)]
pub(super) enum FormContent {
    Value(Text),
    File(usize),
}

/// What is looked for in an answer.
#[derive(Debug)]
pub(super) enum Found {
    Regex(Box<Capture>),
    Json(String),
    /// Place in the list of wanted headers.
    Header(usize),
    Cookie(String),
}

/// A text that is looked for in answers.
#[derive(Debug)]
pub(super) enum Sought {
    /// The same each time: what speeds the search up is made once.
    Constant(Box<Finder<'static>>),
    /// It has values in it.
    Drawn(Text),
}

impl Sought {
    fn new(text: Text) -> Self {
        match text.constant() {
            Some(text) => Self::Constant(Box::new(Finder::new(&text).into_owned())),
            None => Self::Drawn(text),
        }
    }

    /// Whether it is somewhere in `body`.
    pub(super) fn is_in(&self, body: &[u8], values: &Values) -> Result<bool, Fault> {
        let place = match self {
            Self::Constant(finder) => finder.find(body),
            Self::Drawn(text) => memchr::memmem::find(body, &text.plain(values)?),
        };
        Ok(place.is_some())
    }
}

/// What an answer must be.
#[derive(Debug)]
pub(super) enum Must {
    Contain(Sought),
    Lack(Sought),
    Match(Regex),
    Json(String, Text),
    Size(u64, u64),
    Digest([u8; 32]),
}

/// One operation.
#[derive(Debug)]
pub(super) struct Operation {
    pub(super) path: Text,
    pub(super) headers: Vec<(String, Text)>,
    pub(super) content: Content,
    /// The headers of the answer that are wanted.
    pub(super) wanted_headers: Vec<String>,
    pub(super) captures: Vec<(usize, Found)>,
    pub(super) checks: Vec<Must>,
    /// The body must be kept whole.
    pub(super) whole: bool,
    pub(super) digest: bool,
    /// What must be found in the begin of a body so that the rest is not needed; nothing where all
    /// of it always is.
    pub(super) begin: Option<BeginCheck>,
    pub(super) objects: Vec<(Text, Option<f64>)>,
    /// The feeders that it draws from anew.
    pub(super) feeders: FeederPlaces,
}

impl Operation {
    /// Whether the texts among its checks stand in the begin of a body.
    pub(super) fn has_texts(&self, begin: &[u8], values: &Values) -> bool {
        self.checks.iter().all(|must| match must {
            Must::Contain(text) => text.is_in(begin, values) == Ok(true),
            // Regular expressions are looked for by its check of begins.
            Must::Match(_) | Must::Size(..) => true,
            Must::Lack(_) | Must::Json(..) | Must::Digest(_) => false,
        })
    }
}

/// A workload made ready.
#[derive(Debug)]
pub(super) struct Compiled {
    pub(super) values: usize,
    pub(super) operations: Vec<Operation>,
    /// The feeders that a session draws from once.
    pub(super) session_feeders: FeederPlaces,
}

impl Compiled {
    /// Or what is wrong with it, in words.
    pub(super) fn new(workload: &HttpWorkload) -> Result<Self, String> {
        let names = workload.values();
        let all = FeederPlaces::new(&workload.feeders, &names)
            .ok_or_else(|| "a feeder gives nothing".to_owned())?;
        let operations = workload
            .operations
            .iter()
            .map(|operation| compile(workload, operation, &names, &all))
            .collect::<Result<_, _>>()?;
        Ok(Self {
            values: names.len(),
            operations,
            session_feeders: all.of_session(&workload.feeders),
        })
    }
}

fn compile(
    workload: &HttpWorkload,
    operation: &HttpOperation,
    names: &[String],
    feeders: &FeederPlaces,
) -> Result<Operation, String> {
    let text = |template: &Template| Text::new(template, names);
    let mut wanted_headers = Vec::new();
    let mut captures = Vec::new();
    for capture in &operation.captures {
        let place = names.iter().position(|known| *known == capture.name);
        let place = place.ok_or_else(|| format!("`{}` has no place", capture.name))?;
        let found = match &capture.source {
            CaptureSource::Regex(pattern) => Found::Regex(Box::new(Capture::new(pattern)?)),
            CaptureSource::Json(pointer) => Found::Json(pointer.clone()),
            CaptureSource::Header(name) => {
                wanted_headers.push(name.clone());
                Found::Header(wanted_headers.len() - 1)
            }
            CaptureSource::Cookie(name) => Found::Cookie(name.clone()),
        };
        captures.push((place, found));
    }
    let checks: Vec<Must> = operation
        .checks
        .iter()
        .map(|check| must(check, names))
        .collect::<Result<_, _>>()?;
    let looks_inside = |check: &Must| !matches!(check, Must::Size(..) | Must::Digest(_));
    let captures_body = captures
        .iter()
        .any(|(_, found)| matches!(found, Found::Regex(..) | Found::Json(_)));
    let headers = workload.headers.iter().chain(&operation.headers);
    let used: Vec<&str> = operation
        .templates()
        .chain(workload.headers.iter().map(|header| &header.value))
        .flat_map(Template::names)
        .collect();
    Ok(Operation {
        path: text(&operation.path)?,
        headers: headers
            .map(|header| Ok((header.name.clone(), text(&header.value)?)))
            .collect::<Result<_, String>>()?,
        content: content(&operation.body, names)?,
        whole: captures_body || operation.find_objects || checks.iter().any(looks_inside),
        digest: checks.iter().any(|check| matches!(check, Must::Digest(_))),
        begin: begin_check(operation),
        objects: operation
            .objects
            .iter()
            .map(|object| Ok((text(&object.path)?, object.conditional)))
            .collect::<Result<_, String>>()?,
        feeders: feeders.of_operation(&workload.feeders, &used),
        wanted_headers,
        captures,
        checks,
    })
}

/// What must be found in the begin of a body so that the rest is not needed; nothing where it is
/// needed all the same.
fn begin_check(operation: &HttpOperation) -> Option<BeginCheck> {
    let mut scans = Vec::new();
    for check in &operation.checks {
        match check {
            Check::Matches(pattern) => scans.push(Scan::new(pattern, false)?),
            Check::Contains(_) | Check::Size { .. } => {}
            Check::Lacks(_) | Check::Json { .. } | Check::Digest(_) => return None,
        }
    }
    for capture in &operation.captures {
        match &capture.source {
            CaptureSource::Regex(pattern) => scans.push(Scan::new(pattern, true)?),
            CaptureSource::Header(_) | CaptureSource::Cookie(_) => {}
            CaptureSource::Json(_) => return None,
        }
    }
    (!operation.find_objects).then(|| BeginCheck::new(scans))
}

fn regex(text: &str) -> Result<Regex, String> {
    pattern(text).map_err(|error| error.to_string())
}

fn must(check: &Check, names: &[String]) -> Result<Must, String> {
    let text = |template: &Template| Text::new(template, names);
    Ok(match check {
        Check::Contains(template) => Must::Contain(Sought::new(text(template)?)),
        Check::Lacks(template) => Must::Lack(Sought::new(text(template)?)),
        Check::Matches(pattern) => Must::Match(regex(pattern)?),
        Check::Json { pointer, value } => Must::Json(pointer.clone(), text(value)?),
        Check::Size { min, max } => Must::Size(*min, *max),
        Check::Digest(hex) => {
            Must::Digest(digest(hex).ok_or_else(|| format!("`{hex}` is no SHA-256 digest"))?)
        }
    })
}

/// 64 hexadecimal digits.
fn digest(hex: &str) -> Option<[u8; 32]> {
    let bytes: Option<Vec<u8>> = hex
        .as_bytes()
        .chunks(2)
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok())
        .collect();
    bytes?.try_into().ok()
}

fn content(body: &Body, names: &[String]) -> Result<Content, String> {
    let text = |template: &Template| Text::new(template, names);
    Ok(match body {
        Body::Empty => Content::Empty,
        Body::Text(template) => Content::Text(text(template)?),
        Body::Json(template) => Content::Json(text(template)?),
        Body::Form(fields) => Content::Form(
            fields
                .iter()
                .map(|field| {
                    let mut name = Vec::new();
                    Encoding::Form.append(&mut name, field.name.as_bytes());
                    Ok((name, text(&field.value)?))
                })
                .collect::<Result<_, String>>()?,
        ),
        Body::Multipart(parts) => Content::Multipart(
            parts
                .iter()
                .map(|part| {
                    let disposition =
                        format!("Content-Disposition: form-data; name=\"{}\"", part.name);
                    Ok(match &part.content {
                        PartContent::Value(value) => FormPart {
                            head: format!("{disposition}\r\n\r\n"),
                            content: FormContent::Value(text(value)?),
                        },
                        PartContent::File { name, bytes } => FormPart {
                            head: format!(
                                "{disposition}; filename=\"{name}\"\r\nContent-Type: \
                                 application/octet-stream\r\n\r\n"
                            ),
                            content: FormContent::File(rookery_cast::index(u64::from(*bytes))),
                        },
                    })
                })
                .collect::<Result<_, String>>()?,
        ),
    })
}
