//! One client: the greeting, then requests and replies to the end. Whatever ends it, an open
//! transaction is rolled back.

use std::{
    io::{BufReader, Write as _},
    ops::ControlFlow,
    path::Path,
    time::{Duration, Instant},
};

use rookery_cast::micros;
use rookery_workload::orderentry::{
    Dialect, Table,
    sql::{Statement, Style},
    transaction::Value,
};
use rusqlite::{Connection, PrepFlags, Statement as Prepared, types::ValueRef};

use super::{
    counters::SharedCounters,
    engine::{EngineSettings, LOCK_PATIENCE, in_words, open},
    fill::{FillError, fill},
    gate::{Gate, Pass},
    line::{Arrived, Line, read_frame},
    message::{
        AnswersWriter, ErrorKind, FlightReader, LoadRequest, Request, write_counters, write_error,
        write_loaded, write_progress, write_welcome,
    },
    sessions::Registered,
    turn::{Turn, Turns},
    wire::{Fields, MAX_REPLY, put_int, put_null, put_text},
};
use crate::error::WireError;

/// How long a client may take to greet.
const GREETING_PATIENCE: Duration = Duration::from_secs(10);

/// How long a client may say nothing; longer than any think time.
const IDLE_PATIENCE: Duration = Duration::from_secs(3600);

/// The same within a transaction, in which others may wait for it.
const TRANSACTION_PATIENCE: Duration = Duration::from_secs(60);

/// How long a load waits for sessions whose clients have gone.
const SESSIONS_END_WITHIN: Duration = Duration::from_secs(2);

/// Time between two words about the progress of a load.
const PROGRESS_EVERY: Duration = Duration::from_millis(100);

/// The answer to a GET, whatever it asks for: the server listens when its database is open.
const HEALTHY: &[u8] = b"HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\nContent-Length: \
                         3\r\nConnection: close\r\n\r\nup\n";

/// Most statements of its own that one client has prepared.
const MOST_OWN: usize = 4096;

/// The engine's number for a database that is locked.
const BUSY: i64 = 5;

/// What all conversations share.
#[derive(Debug)]
pub(super) struct Shared<'a> {
    pub(super) file: &'a Path,
    pub(super) settings: EngineSettings,
    pub(super) gate: Gate,
    pub(super) turns: Turns,
    pub(super) counters: SharedCounters,
}

/// An error for the client.
#[derive(Debug)]
struct Refusal {
    kind: ErrorKind,
    code: i64,
    text: String,
    /// Whether the conversation is over.
    last: bool,
}

impl Refusal {
    fn new(kind: ErrorKind, text: impl Into<String>) -> Self {
        Self {
            kind,
            code: 0,
            text: text.into(),
            last: false,
        }
    }

    fn last(self) -> Self {
        Self { last: true, ..self }
    }
}

impl From<rusqlite::Error> for Refusal {
    fn from(error: rusqlite::Error) -> Self {
        let (code, text) = in_words(&error);
        Self {
            code,
            ..Self::new(ErrorKind::Engine, text)
        }
    }
}

/// After bytes that are not understood nothing that follows is.
impl From<WireError> for Refusal {
    fn from(error: WireError) -> Self {
        Self::new(ErrorKind::Protocol, error.to_string()).last()
    }
}

/// A line with the buffers of its frames.
struct Talk<'r> {
    reader: BufReader<Line>,
    writer: Line,
    input: Vec<u8>,
    output: Vec<u8>,
    registered: &'r Registered<'r>,
}

impl Talk<'_> {
    /// Waits for a request. Nothing when there is none and will be none.
    fn hear(&mut self, idle: Duration) -> Option<()> {
        match read_frame(&mut self.reader, &mut self.input, idle) {
            Arrived::Frame => Some(()),
            Arrived::End => None,
            Arrived::Http => {
                self.output.clear();
                self.output.extend_from_slice(HEALTHY);
                // Whoever asks is told once.
                self.say().and(None)
            }
            Arrived::Garbage(error) => {
                self.refuse(&error.into());
                None
            }
        }
    }

    /// Sends what `output` holds. A client that does not take it has gone.
    fn say(&mut self) -> Option<()> {
        self.writer.write_all(&self.output).ok()
    }

    fn refuse(&mut self, refusal: &Refusal) -> Option<()> {
        write_error(&mut self.output, refusal.kind, refusal.code, &refusal.text);
        self.say()?;
        (!refusal.last).then_some(())
    }
}

/// Tells a client beyond the limit so.
pub(super) fn turn_away(mut line: Line, most: usize) {
    let mut output = Vec::new();
    let text = format!(
        "{most} sessions are open already; start the server with a higher limit, or use fewer \
         terminals"
    );
    write_error(&mut output, ErrorKind::Full, 0, &text);
    // It may have gone; then there is nobody to tell.
    let _ = line.write_all(&output);
}

/// Serves one client to its end.
pub(super) fn converse(line: Line, shared: &Shared<'_>, registered: &Registered<'_>) {
    let Ok(writer) = line.try_clone() else { return };
    let mut talk = Talk {
        reader: BufReader::new(line),
        writer,
        input: Vec::new(),
        output: Vec::new(),
        registered,
    };
    // Every way out is an end of the conversation, and none is worth a word here: the client was
    // told, or has gone.
    let _ = greet(&mut talk, shared);
}

fn greet(talk: &mut Talk<'_>, shared: &Shared<'_>) -> Option<()> {
    talk.hear(GREETING_PATIENCE)?;
    let hello = match Request::read(&talk.input) {
        Ok(Request::Hello(hello)) => hello,
        Ok(_) => {
            let refusal = Refusal::new(
                ErrorKind::Protocol,
                "the first message is no greeting: the client speaks another protocol",
            );
            return talk.refuse(&refusal.last());
        }
        Err(error) => return talk.refuse(&error.into()),
    };
    if !hello.fits() {
        let refusal = Refusal::new(
            ErrorKind::Protocol,
            "client and server are not of the same version; use the same program for both",
        );
        return talk.refuse(&refusal.last());
    }
    write_welcome(&mut talk.output, rusqlite::version());
    match hello.style {
        Some(style) => {
            let pass = match enter(shared) {
                Ok(pass) => pass,
                Err(refusal) => return talk.refuse(&refusal.last()),
            };
            serve(talk, shared, pass, Some(style), false)
        }
        None => {
            talk.say()?;
            attend(talk, shared)
        }
    }
}

fn enter<'a>(shared: &'a Shared<'_>) -> Result<Pass<'a>, Refusal> {
    let busy = || {
        Refusal::new(
            ErrorKind::InUse,
            "the database is being loaded; wait until that has ended",
        )
    };
    shared.gate.enter().ok_or_else(busy)
}

/// A session of text: it may load as long as it has not used the database.
fn attend(talk: &mut Talk<'_>, shared: &Shared<'_>) -> Option<()> {
    loop {
        talk.hear(IDLE_PATIENCE)?;
        let input = std::mem::take(&mut talk.input);
        match Request::read(&input) {
            Ok(Request::Load(load)) => match load_file(talk, shared, &load) {
                Ok((streaming_us, indexing_us)) => {
                    write_loaded(&mut talk.output, streaming_us, indexing_us);
                    talk.say()?;
                }
                Err(refusal) => talk.refuse(&refusal)?,
            },
            Ok(Request::Counters) => {
                write_counters(&mut talk.output, shared.counters.read());
                talk.say()?;
            }
            Ok(_) => {
                talk.input = input;
                return match enter(shared) {
                    Ok(pass) => serve(talk, shared, pass, None, true),
                    Err(refusal) => talk.refuse(&refusal.last()),
                };
            }
            Err(error) => return talk.refuse(&error.into()),
        }
    }
}

/// A session on the database. With a style, its statements are prepared before the client is
/// welcomed; with `heard`, the first request is there already.
fn serve(
    talk: &mut Talk<'_>,
    shared: &Shared<'_>,
    _pass: Pass<'_>,
    style: Option<Style>,
    heard: bool,
) -> Option<()> {
    let connection = match open(shared.file, shared.settings) {
        Ok(connection) => connection,
        Err(error) => return talk.refuse(&Refusal::from(error).last()),
    };
    talk.registered
        .interrupted_by(connection.get_interrupt_handle());
    let prepared = match prepare(&connection, style) {
        Ok(prepared) => prepared,
        Err(error) => return talk.refuse(&Refusal::from(error).last()),
    };
    if style.is_some() {
        talk.say()?;
    }
    let mut session = Session {
        connection: &connection,
        shared,
        prepared,
        own: Vec::new(),
        turn: None,
    };
    let mut heard = heard;
    loop {
        if !heard {
            let idle = if connection.is_autocommit() {
                IDLE_PATIENCE
            } else {
                TRANSACTION_PATIENCE
            };
            talk.hear(idle)?;
        }
        heard = false;
        let answered = session.answer(&talk.input, &mut talk.output);
        session.settle();
        match answered {
            Ok(()) => talk.say()?,
            Err(refusal) => talk.refuse(&refusal)?,
        }
    }
}

/// The statements of a style, by [`Statement::index`].
fn prepare(
    connection: &Connection,
    style: Option<Style>,
) -> Result<Vec<Option<Prepared<'_>>>, rusqlite::Error> {
    let Some(style) = style else {
        return Ok(Vec::new());
    };
    let mut prepared: Vec<Option<Prepared<'_>>> = (0..Statement::COUNT).map(|_| None).collect();
    for statement in Statement::used(style, Dialect::Sqlite) {
        let text = statement.sql(Dialect::Sqlite);
        prepared[statement.index()] =
            Some(connection.prepare_with_flags(&text, PrepFlags::SQLITE_PREPARE_PERSISTENT)?);
    }
    Ok(prepared)
}

/// A connection to the database at work.
struct Session<'a> {
    connection: &'a Connection,
    shared: &'a Shared<'a>,
    prepared: Vec<Option<Prepared<'a>>>,
    /// The statements of the client's own.
    own: Vec<Prepared<'a>>,
    /// While a transaction writes.
    turn: Option<Turn<'a>>,
}

impl Session<'_> {
    fn answer(&mut self, input: &[u8], output: &mut Vec<u8>) -> Result<(), Refusal> {
        match Request::read(input)? {
            Request::Flight(fields) => self.fly(fields, output),
            Request::Text(text) => self.text(text, output),
            Request::Prepare(text) => self.prepare_own(text, output),
            Request::Call(fields) => self.call_own(fields, output),
            Request::Counters => {
                write_counters(output, self.shared.counters.read());
                Ok(())
            }
            Request::Load(_) => Err(Refusal::new(
                ErrorKind::InUse,
                "this session has used the database; a load needs a session of its own",
            )),
            Request::Hello(_) => Err(Refusal::new(ErrorKind::Protocol, "a second greeting").last()),
        }
    }

    /// What follows the end of a transaction.
    fn settle(&mut self) {
        if self.connection.is_autocommit() {
            self.turn = None;
            self.shared.counters.take_from(self.connection);
        }
    }

    fn take_turn(&mut self) -> Result<(), Refusal> {
        if self.turn.is_none() {
            self.turn = Some(
                self.shared
                    .turns
                    .take(LOCK_PATIENCE)
                    .ok_or_else(|| Refusal {
                        code: BUSY,
                        ..Refusal::new(
                            ErrorKind::Engine,
                            format!(
                                "database is locked: no turn to write within {} s",
                                LOCK_PATIENCE.as_secs()
                            ),
                        )
                    })?,
            );
        }
        Ok(())
    }

    fn fly(&mut self, fields: Fields<'_>, output: &mut Vec<u8>) -> Result<(), Refusal> {
        let mut flight = FlightReader::new(fields)?;
        let mut answers = AnswersWriter::begin(output);
        while let Some((index, values)) = flight.call()? {
            if index == Statement::BEGIN_WRITE.index() {
                self.take_turn()?;
            }
            // Nothing to undo is undone already.
            let skipped = index == Statement::ROLLBACK.index() && self.connection.is_autocommit();
            let connection = self.connection;
            let Some(Some(statement)) = self.prepared.get_mut(index) else {
                let text = format!("statement {index} belongs to another style than the session's");
                return Err(Refusal::new(ErrorKind::Protocol, text).last());
            };
            if skipped {
                (0..values).try_for_each(|_| flight.value().map(drop))?;
                answers.begin_answer(0);
                answers.end_answer(0);
                continue;
            }
            execute(connection, statement, &mut flight, values, &mut answers)?;
            // The next writer need not wait for the client to read its answer.
            if index == Statement::COMMIT.index() {
                self.turn = None;
            }
        }
        answers.finish();
        Ok(())
    }

    fn prepare_own(&mut self, text: &str, output: &mut Vec<u8>) -> Result<(), Refusal> {
        if self.own.len() >= MOST_OWN {
            let text = format!("{MOST_OWN} statements are prepared already");
            return Err(Refusal::new(ErrorKind::Engine, text));
        }
        let flags = PrepFlags::SQLITE_PREPARE_PERSISTENT;
        self.own
            .push(self.connection.prepare_with_flags(text, flags)?);
        AnswersWriter::begin(output).finish();
        Ok(())
    }

    fn call_own(&mut self, fields: Fields<'_>, output: &mut Vec<u8>) -> Result<(), Refusal> {
        let mut flight = FlightReader::new(fields)?;
        let mut answers = AnswersWriter::begin(output);
        while let Some((index, values)) = flight.call()? {
            let connection = self.connection;
            let Some(writes) = self.own.get(index).map(|statement| !statement.readonly()) else {
                let text = format!("statement {index} was not prepared");
                return Err(Refusal::new(ErrorKind::Protocol, text).last());
            };
            if writes && connection.is_autocommit() {
                self.take_turn()?;
            }
            let statement = &mut self.own[index];
            execute(connection, statement, &mut flight, values, &mut answers)?;
        }
        answers.finish();
        Ok(())
    }

    fn text(&mut self, text: &str, output: &mut Vec<u8>) -> Result<(), Refusal> {
        let mut statement = self.connection.prepare(text)?;
        if !statement.readonly() && self.connection.is_autocommit() {
            self.take_turn()?;
        }
        let mut answers = AnswersWriter::begin(output);
        let nothing = FlightReader::new(Fields(&[0, 0]))?;
        execute(
            self.connection,
            &mut statement,
            &mut { nothing },
            0,
            &mut answers,
        )?;
        answers.finish();
        Ok(())
    }
}

/// Binds the next `values` of `flight` to a statement, executes it, and appends its answer.
fn execute(
    connection: &Connection,
    statement: &mut Prepared<'_>,
    flight: &mut FlightReader<'_>,
    values: u8,
    answers: &mut AnswersWriter<'_>,
) -> Result<(), Refusal> {
    if usize::from(values) != statement.parameter_count() {
        let text = format!(
            "{values} values came for a statement with {}",
            statement.parameter_count()
        );
        return Err(Refusal::new(ErrorKind::Protocol, text).last());
    }
    for position in 1..=usize::from(values) {
        match flight.value()? {
            Value::Int(number) => statement.raw_bind_parameter(position, number)?,
            Value::Text(text) => {
                let text = std::str::from_utf8(text).map_err(|_| WireError::NotText)?;
                statement.raw_bind_parameter(position, text)?;
            }
            _ => statement.raw_bind_parameter(position, rusqlite::types::Null)?,
        }
    }
    let (columns, reads) = (statement.column_count(), statement.readonly());
    answers.begin_answer(columns);
    let mut rows = statement.raw_query();
    while let Some(row) = rows.next()? {
        let out = answers.row();
        for column in 0..columns {
            match row.get_ref(column)? {
                ValueRef::Null => put_null(out),
                ValueRef::Integer(number) => put_int(out, number),
                // No column and no sum of the schema is one; a typed query may ask for one all the
                // same.
                ValueRef::Real(number) => put_text(out, number.to_string().as_bytes()),
                ValueRef::Text(text) | ValueRef::Blob(text) => put_text(out, text),
            }
        }
        if answers.len() > MAX_REPLY {
            let text = format!("the answer is longer than {MAX_REPLY} bytes; ask for fewer rows");
            return Err(Refusal::new(ErrorKind::Engine, text));
        }
    }
    drop(rows);
    answers.end_answer(if reads { 0 } else { connection.changes() });
    Ok(())
}

/// Loads the database, and tells the client how far it is. Gives microseconds for rows, and for the
/// rest.
fn load_file(
    talk: &mut Talk<'_>,
    shared: &Shared<'_>,
    load: &LoadRequest,
) -> Result<(u64, u64), Refusal> {
    let in_use = || {
        Refusal::new(
            ErrorKind::InUse,
            "other sessions use the database; end them, then load",
        )
    };
    let _pass = shared.gate.load(SESSIONS_END_WITHIN).ok_or_else(in_use)?;
    if !load.overwrite
        && let Some(table) = first_table(shared)?
    {
        return Err(Refusal::new(ErrorKind::Exists, table.name()));
    }
    let mut told = Instant::now();
    let mut since = (0, 0);
    let mut report = |rows: u64, bytes: u64| {
        since = (since.0 + rows, since.1 + bytes);
        // A step without rows is the last before a longer time without any.
        if rows > 0 && told.elapsed() < PROGRESS_EVERY {
            return ControlFlow::Continue(());
        }
        told = Instant::now();
        write_progress(&mut talk.output, since.0, since.1);
        since = (0, 0);
        // A client that stops the load goes away.
        match talk.say() {
            Some(()) => ControlFlow::Continue(()),
            None => ControlFlow::Break(()),
        }
    };
    let filled = fill(shared.file, &load.population, load.schema, &mut report).map_err(
        |error| match error {
            FillError::Engine(error) => error.into(),
            FillError::Storage { .. } => Refusal::new(ErrorKind::Storage, error.to_string()),
            FillError::Stopped => Refusal::new(ErrorKind::Storage, error.to_string()).last(),
        },
    )?;
    Ok((micros(filled.streaming), micros(filled.indexing)))
}

/// The first table of the workload that is there.
fn first_table(shared: &Shared<'_>) -> Result<Option<Table>, Refusal> {
    if !shared.file.exists() {
        return Ok(None);
    }
    let connection = open(shared.file, shared.settings)?;
    let mut statement =
        connection.prepare("SELECT name FROM sqlite_master WHERE type = 'table'")?;
    let names: Vec<String> = statement
        .query_map([], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    Ok(Table::ALL
        .into_iter()
        .find(|table| names.iter().any(|name| name == table.name())))
}
