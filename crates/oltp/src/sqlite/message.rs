//! What client and server say to each other.
//!
//! The client speaks first: a greeting with the protocol's version, a fingerprint of all
//! statements, and the style whose statements are to be prepared. From then on each request has one
//! reply, except that a load tells of its progress before its end. Statements of flights travel as
//! numbers: their texts are in both programs, and the fingerprint says that they are the same.

use std::sync::OnceLock;

use rookery_cast::{count_u8, count_u16};
use rookery_workload::orderentry::{
    Dialect, Population, Scale, SchemaOptions, Timestamp,
    sql::{Statement, Style},
    transaction::{Answers, Flight, Value},
};

use super::{
    counters::CacheCounters,
    wire::{Fields, begin_frame, end_frame, put_bytes, put_value},
};
use crate::error::WireError;

const MAGIC: &[u8] = b"rookery-oe";
const VERSION: u16 = 2;

/// The style of a session that sends text alone.
const NO_STYLE: u8 = u8::MAX;

/// A request as it is read; flights are read field by field, see [`FlightReader`].
#[derive(Debug, PartialEq)]
pub(super) enum Request<'a> {
    Hello(Hello),
    Flight(Fields<'a>),
    Text(&'a str),
    Counters,
    Load(LoadRequest),
    /// A statement of the client's own is to be prepared; it gets the next number from 0.
    Prepare(&'a str),
    /// Calls of such statements, as a flight.
    Call(Fields<'a>),
}

// Fields are bytes; two requests are the same when those are.
impl PartialEq for Fields<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

/// The greeting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Hello {
    pub(super) version: u16,
    pub(super) fingerprint: u64,
    /// Nothing: a session of text.
    pub(super) style: Option<Style>,
}

impl Hello {
    pub(super) fn new(style: Option<Style>) -> Self {
        Self {
            version: VERSION,
            fingerprint: fingerprint(),
            style,
        }
    }

    /// Whether both programs have the same protocol and the same statements.
    pub(super) fn fits(self) -> bool {
        self.version == VERSION && self.fingerprint == fingerprint()
    }
}

/// A number that changes with any statement's text (Fowler, Noll, Vo: FNV-1a, 64 bits).
fn fingerprint() -> u64 {
    static VALUE: OnceLock<u64> = OnceLock::new();
    *VALUE.get_or_init(|| {
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        let styles = Style::ALL
            .into_iter()
            .filter(|style| style.on(Dialect::Sqlite).is_ok());
        for statement in styles.flat_map(|style| Statement::used(style, Dialect::Sqlite)) {
            let index = (statement.index() as u64).to_le_bytes();
            for &byte in index
                .iter()
                .chain(statement.sql(Dialect::Sqlite).as_bytes())
            {
                hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
            }
        }
        hash
    })
}

/// What is to be loaded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct LoadRequest {
    pub(super) population: Population,
    pub(super) schema: SchemaOptions,
    pub(super) overwrite: bool,
}

const HELLO: u8 = 1;
const FLIGHT: u8 = 2;
const TEXT: u8 = 3;
const COUNTERS: u8 = 4;
const LOAD: u8 = 5;
const PREPARE: u8 = 6;
const CALL: u8 = 7;

impl<'a> Request<'a> {
    /// Reads the content of a frame.
    pub(super) fn read(frame: &'a [u8]) -> Result<Self, WireError> {
        let mut fields = Fields(frame);
        let kind = fields.u8()?;
        let request = match kind {
            HELLO => Self::Hello(read_hello(&mut fields)?),
            // Its end is checked when it is read.
            FLIGHT => return Ok(Self::Flight(fields)),
            CALL => return Ok(Self::Call(fields)),
            PREPARE => Self::Prepare(fields.text()?),
            TEXT => Self::Text(fields.text()?),
            COUNTERS => Self::Counters,
            LOAD => Self::Load(read_load(&mut fields)?),
            _ => {
                return Err(WireError::Unknown {
                    what: "request",
                    number: kind.into(),
                });
            }
        };
        fields.end()?;
        Ok(request)
    }
}

fn read_hello(fields: &mut Fields<'_>) -> Result<Hello, WireError> {
    if fields.bytes(MAGIC.len())? != MAGIC {
        return Err(WireError::Unknown {
            what: "greeting",
            number: 0,
        });
    }
    let (version, fingerprint) = (fields.u16()?, fields.u64()?);
    let style = match fields.u8()? {
        NO_STYLE => None,
        number => Some(
            *Style::ALL
                .get(usize::from(number))
                .ok_or(WireError::Unknown {
                    what: "statement style",
                    number: number.into(),
                })?,
        ),
    };
    Ok(Hello {
        version,
        fingerprint,
        style,
    })
}

fn read_load(fields: &mut Fields<'_>) -> Result<LoadRequest, WireError> {
    let (warehouses, divisor) = (fields.u32()?, fields.u32()?);
    let scale = Scale::new(warehouses, divisor).map_err(|_| WireError::Unknown {
        what: "the size of a database, warehouses",
        number: warehouses,
    })?;
    let (seed, loaded_at) = (fields.u64()?, Timestamp(fields.i64()?));
    let mut flag = || fields.u8().map(|byte| byte != 0);
    Ok(LoadRequest {
        population: Population {
            loaded_at,
            ..Population::new(scale, seed)
        },
        schema: SchemaOptions {
            foreign_keys: flag()?,
            history_key: flag()?,
        },
        overwrite: flag()?,
    })
}

pub(super) fn write_hello(out: &mut Vec<u8>, hello: Hello) {
    begin_frame(out);
    out.push(HELLO);
    out.extend_from_slice(MAGIC);
    out.extend_from_slice(&hello.version.to_le_bytes());
    out.extend_from_slice(&hello.fingerprint.to_le_bytes());
    let number = hello
        .style
        .and_then(|style| Style::ALL.iter().position(|&one| one == style))
        .map_or(NO_STYLE, count_u8);
    out.push(number);
    end_frame(out);
}

pub(super) fn write_text(out: &mut Vec<u8>, text: &str) {
    begin_frame(out);
    out.push(TEXT);
    put_bytes(out, text.as_bytes());
    end_frame(out);
}

pub(super) fn write_counters_request(out: &mut Vec<u8>) {
    begin_frame(out);
    out.push(COUNTERS);
    end_frame(out);
}

pub(super) fn write_load(out: &mut Vec<u8>, load: &LoadRequest) {
    begin_frame(out);
    out.push(LOAD);
    let Population {
        scale,
        seed,
        loaded_at,
    } = load.population;
    out.extend_from_slice(&scale.warehouses().to_le_bytes());
    out.extend_from_slice(&scale.divisor().to_le_bytes());
    out.extend_from_slice(&seed.to_le_bytes());
    out.extend_from_slice(&loaded_at.0.to_le_bytes());
    out.extend(
        [
            load.schema.foreign_keys,
            load.schema.history_key,
            load.overwrite,
        ]
        .map(u8::from),
    );
    end_frame(out);
}

pub(super) fn write_flight(out: &mut Vec<u8>, flight: &Flight) {
    begin_frame(out);
    out.push(FLIGHT);
    out.extend_from_slice(&count_u16(flight.len()).to_le_bytes());
    for (statement, arguments) in flight.calls() {
        out.extend_from_slice(&count_u16(statement.index()).to_le_bytes());
        out.push(count_u8(arguments.len()));
        arguments.for_each(|value| put_value(out, value));
    }
    end_frame(out);
}

pub(super) fn write_prepare(out: &mut Vec<u8>, text: &str) {
    begin_frame(out);
    out.push(PREPARE);
    put_bytes(out, text.as_bytes());
    end_frame(out);
}

/// One call of a statement of the client's own.
pub(super) fn write_call<'v>(
    out: &mut Vec<u8>,
    number: usize,
    values: impl ExactSizeIterator<Item = Value<'v>>,
) {
    begin_frame(out);
    out.push(CALL);
    out.extend_from_slice(&1u16.to_le_bytes());
    out.extend_from_slice(&count_u16(number).to_le_bytes());
    out.push(count_u8(values.len()));
    values.for_each(|value| put_value(out, value));
    end_frame(out);
}

/// The calls of a flight, one after another.
#[derive(Debug)]
pub(super) struct FlightReader<'a> {
    fields: Fields<'a>,
    calls: u16,
}

impl<'a> FlightReader<'a> {
    pub(super) fn new(mut fields: Fields<'a>) -> Result<Self, WireError> {
        let calls = fields.u16()?;
        Ok(Self { fields, calls })
    }

    /// The next statement, by [`Statement::index`], and the number of its values, each of which
    /// [`Self::value`] must read before the next call. Nothing at the end of the flight.
    pub(super) fn call(&mut self) -> Result<Option<(usize, u8)>, WireError> {
        let Some(left) = self.calls.checked_sub(1) else {
            self.fields.end()?;
            return Ok(None);
        };
        self.calls = left;
        Ok(Some((usize::from(self.fields.u16()?), self.fields.u8()?)))
    }

    pub(super) fn value(&mut self) -> Result<Value<'a>, WireError> {
        self.fields.value()
    }
}

/// What an error of the server is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ErrorKind {
    /// The database engine refused; the number is its extended result code.
    Engine,
    /// The request is not understood, or the programs are not of the same version.
    Protocol,
    /// There are too many sessions.
    Full,
    /// The database is being loaded, or cannot be because it is in use.
    InUse,
    /// There are tables that must not be overwritten; the text is the table.
    Exists,
    /// The data directory or its files are not as they must be.
    Storage,
}

impl ErrorKind {
    const ALL: [Self; 6] = [
        Self::Engine,
        Self::Protocol,
        Self::Full,
        Self::InUse,
        Self::Exists,
        Self::Storage,
    ];
}

/// What the server says.
#[derive(Debug, PartialEq)]
pub(super) enum Reply<'a> {
    /// The engine's version.
    Welcome(&'a str),
    /// To a flight or a text.
    Answers(AnswersReader<'a>),
    Counters(CacheCounters),
    /// Rows and bytes since the last word.
    Progress {
        rows: u64,
        bytes: u64,
    },
    /// Times in microseconds: rows, then keys and statistics.
    Loaded {
        streaming_us: u64,
        indexing_us: u64,
    },
    Error {
        kind: ErrorKind,
        code: i64,
        text: &'a str,
    },
}

const WELCOME: u8 = 129;
const ANSWERS: u8 = 130;
const COUNTED: u8 = 131;
const PROGRESS: u8 = 132;
const LOADED: u8 = 133;
const ERROR: u8 = 134;

impl<'a> Reply<'a> {
    /// Reads the content of a frame.
    pub(super) fn read(frame: &'a [u8]) -> Result<Self, WireError> {
        let mut fields = Fields(frame);
        let kind = fields.u8()?;
        let reply = match kind {
            WELCOME => Self::Welcome(fields.text()?),
            ANSWERS => return Ok(Self::Answers(AnswersReader(fields))),
            COUNTED => Self::Counters(CacheCounters {
                hits: fields.u64()?,
                misses: fields.u64()?,
            }),
            PROGRESS => Self::Progress {
                rows: fields.u64()?,
                bytes: fields.u64()?,
            },
            LOADED => Self::Loaded {
                streaming_us: fields.u64()?,
                indexing_us: fields.u64()?,
            },
            ERROR => {
                let number = fields.u8()?;
                let kind = *ErrorKind::ALL
                    .get(usize::from(number))
                    .ok_or(WireError::Unknown {
                        what: "error",
                        number: number.into(),
                    })?;
                Self::Error {
                    kind,
                    code: fields.i64()?,
                    text: fields.text()?,
                }
            }
            _ => {
                return Err(WireError::Unknown {
                    what: "reply",
                    number: kind.into(),
                });
            }
        };
        fields.end()?;
        Ok(reply)
    }
}

pub(super) fn write_welcome(out: &mut Vec<u8>, version: &str) {
    begin_frame(out);
    out.push(WELCOME);
    put_bytes(out, version.as_bytes());
    end_frame(out);
}

fn write_numbers<const N: usize>(out: &mut Vec<u8>, kind: u8, numbers: [u64; N]) {
    begin_frame(out);
    out.push(kind);
    numbers
        .iter()
        .for_each(|number| out.extend_from_slice(&number.to_le_bytes()));
    end_frame(out);
}

pub(super) fn write_counters(out: &mut Vec<u8>, counters: CacheCounters) {
    write_numbers(out, COUNTED, [counters.hits, counters.misses]);
}

pub(super) fn write_progress(out: &mut Vec<u8>, rows: u64, bytes: u64) {
    write_numbers(out, PROGRESS, [rows, bytes]);
}

pub(super) fn write_loaded(out: &mut Vec<u8>, streaming_us: u64, indexing_us: u64) {
    write_numbers(out, LOADED, [streaming_us, indexing_us]);
}

pub(super) fn write_error(out: &mut Vec<u8>, kind: ErrorKind, code: i64, text: &str) {
    begin_frame(out);
    out.push(ERROR);
    let number = ErrorKind::ALL.iter().position(|&one| one == kind);
    out.push(count_u8(number.unwrap_or(0)));
    out.extend_from_slice(&code.to_le_bytes());
    put_bytes(out, text.as_bytes());
    end_frame(out);
}

/// Writes the answers to a flight: begun, then for each call its rows and its end, then finished.
#[derive(Debug)]
pub(super) struct AnswersWriter<'b> {
    out: &'b mut Vec<u8>,
    answers: u16,
    rows: u32,
    columns: u16,
    head: usize,
}

/// Bytes of an answer before its rows: affected rows, rows, columns.
const ANSWER_HEAD: usize = 14;

impl<'b> AnswersWriter<'b> {
    pub(super) fn begin(out: &'b mut Vec<u8>) -> Self {
        begin_frame(out);
        out.push(ANSWERS);
        out.extend_from_slice(&[0; 2]);
        Self {
            out,
            answers: 0,
            rows: 0,
            columns: 0,
            head: 0,
        }
    }

    pub(super) fn begin_answer(&mut self, columns: usize) {
        self.head = self.out.len();
        self.rows = 0;
        self.columns = count_u16(columns);
        self.out.extend_from_slice(&[0; ANSWER_HEAD]);
    }

    /// Where the values of the next row go.
    pub(super) fn row(&mut self) -> &mut Vec<u8> {
        self.rows += 1;
        self.out
    }

    pub(super) fn end_answer(&mut self, affected: u64) {
        let head = &mut self.out[self.head..self.head + ANSWER_HEAD];
        head[..8].copy_from_slice(&affected.to_le_bytes());
        head[8..12].copy_from_slice(&self.rows.to_le_bytes());
        head[12..].copy_from_slice(&self.columns.to_le_bytes());
        self.answers += 1;
    }

    /// Bytes so far.
    pub(super) fn len(&self) -> usize {
        self.out.len()
    }

    pub(super) fn finish(self) {
        let start = super::wire::LENGTH + 1;
        self.out[start..start + 2].copy_from_slice(&self.answers.to_le_bytes());
        end_frame(self.out);
    }
}

/// Answers that are still to be read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct AnswersReader<'a>(Fields<'a>);

impl AnswersReader<'_> {
    /// Reads all of them into `answers`.
    pub(super) fn into_answers(mut self, answers: &mut Answers) -> Result<(), WireError> {
        let fields = &mut self.0;
        for _ in 0..fields.u16()? {
            let (affected, rows, columns) = (fields.u64()?, fields.u32()?, fields.u16()?);
            for _ in 0..bounded(rows, columns)? {
                for _ in 0..columns {
                    match fields.value()? {
                        Value::Int(number) => answers.push_int(number),
                        Value::Text(text) => answers.push_text(text),
                        _ => answers.push_null(),
                    }
                }
                answers.end_row();
            }
            answers.end_answer(affected);
        }
        self.0.end()
    }

    /// The rows of the last answer as text.
    pub(super) fn into_text(mut self) -> Result<Vec<Vec<Option<String>>>, WireError> {
        let fields = &mut self.0;
        let mut last = Vec::new();
        for _ in 0..fields.u16()? {
            let (_, rows, columns) = (fields.u64()?, fields.u32()?, fields.u16()?);
            last.clear();
            for _ in 0..bounded(rows, columns)? {
                let row: Result<Vec<_>, _> =
                    (0..columns).map(|_| fields.value().map(text_of)).collect();
                last.push(row?);
            }
        }
        self.0.end()?;
        Ok(last)
    }
}

/// A row has columns; without any, nothing bounds the number of rows by the length of the frame.
fn bounded(rows: u32, columns: u16) -> Result<u32, WireError> {
    if rows > 0 && columns == 0 {
        return Err(WireError::Truncated);
    }
    Ok(rows)
}

fn text_of(value: Value<'_>) -> Option<String> {
    match value {
        Value::Int(number) => Some(number.to_string()),
        Value::Text(text) => Some(String::from_utf8_lossy(text).into_owned()),
        _ => None,
    }
}

#[cfg(test)]
#[path = "message_tests.rs"]
mod tests;
