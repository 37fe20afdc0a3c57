//! Prepared statements in PostgreSQL's extended protocol: the calls of a flight go out together,
//! behind them one request for an end; answers are read into buffers that are kept.
//!
//! The server leaves out what follows an error up to that end, so the first error is the only one.

use std::ops::Range;

use bytes::BytesMut;
use postgres_protocol::{
    IsNull,
    message::frontend::{self, BindError},
};
use rookery_diagnosis::outside_text;
use rookery_workload::orderentry::transaction::{Answers, Value};
use tokio::time::timeout;
use tokio_postgres::{
    Config,
    types::{FromSql as _, ToSql as _, Type},
};

use super::{
    lent,
    wire::{Column, Parameter},
};
use crate::{
    ClientError, Target,
    limits::{LARGEST_ANSWER, LONGEST_MESSAGE, MOST_ASIDES, MessageRefusal},
    socket::{Incoming, Socket},
};

/// Bytes of a message before its content: its kind in one, its length in four.
const HEADER: usize = 5;

/// The last word to a server.
const TERMINATE: [u8; 5] = [b'X', 0, 0, 0, 4];

#[derive(Debug)]
struct Prepared {
    name: String,
    parameters: Vec<Type>,
    columns: Vec<Type>,
    form: Form,
}

/// How values travel, in both directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// By the types of order entry.
    Binary,
    /// Whatever their types are.
    Text,
}

/// A connection to PostgreSQL.
#[derive(Debug)]
pub(crate) struct PostgresClient {
    socket: Socket,
    incoming: Incoming,
    out: BytesMut,
    prepared: Vec<Prepared>,
    /// The calls that wait in `out`.
    calls: Vec<usize>,
    /// Answers are still under way: what comes next belongs to an earlier call.
    flying: bool,
    /// Messages since the last answer that nobody asked for.
    asides: u32,
}

impl Drop for PostgresClient {
    fn drop(&mut self) {
        self.socket.farewell(&TERMINATE);
    }
}

impl PostgresClient {
    /// Connects and introduces the user of `config`, within the target's patience.
    pub(crate) async fn connect(config: &Config, target: &Target) -> Result<Self, ClientError> {
        let patience = target.patience.answer;
        let connecting = async {
            let socket = Socket::connect(target).await?;
            lent::introduce(config, socket, target.clear_text).await
        };
        let late = |_| ClientError::Timeout(patience);
        Ok(Self {
            socket: timeout(patience, connecting).await.map_err(late)??,
            incoming: Incoming::default(),
            out: BytesMut::new(),
            prepared: Vec::new(),
            calls: Vec::new(),
            flying: false,
            asides: 0,
        })
    }

    /// Prepares a statement, and gives its number.
    pub(crate) async fn prepare(&mut self, text: &str) -> Result<usize, ClientError> {
        self.prepare_for(text, Form::Binary).await
    }

    /// As [`Self::prepare`], with values of any types as text.
    pub(crate) async fn prepare_as_text(&mut self, text: &str) -> Result<usize, ClientError> {
        self.prepare_for(text, Form::Text).await
    }

    async fn prepare_for(&mut self, text: &str, form: Form) -> Result<usize, ClientError> {
        self.begin()?;
        let name = format!("s{}", self.prepared.len());
        frontend::parse(&name, text, [], &mut self.out)?;
        frontend::describe(b'S', &name, &mut self.out)?;
        self.send().await?;
        let mut prepared = Prepared {
            name,
            parameters: Vec::new(),
            columns: Vec::new(),
            form,
        };
        let mut refused = None;
        loop {
            let (kind, content) = self.read().await?;
            match kind {
                b't' => prepared.parameters = parameter_types(content)?,
                b'T' => prepared.columns = column_types(content)?,
                b'E' => refused = Some(server_error(content)),
                b'Z' => break,
                b'1' | b'n' | b'N' | b'S' | b'A' => {}
                other => return Err(unexpected(other)),
            }
        }
        self.flying = false;
        if let Some(refused) = refused {
            return Err(refused);
        }
        self.prepared.push(prepared);
        Ok(self.prepared.len() - 1)
    }

    /// Adds a call of a prepared statement to what is sent next.
    pub(crate) fn call<'a>(
        &mut self,
        statement: usize,
        values: impl ExactSizeIterator<Item = Value<'a>>,
    ) -> Result<(), ClientError> {
        let Some(prepared) = self.prepared.get(statement) else {
            return Err(ClientError::Session(format!(
                "statement {statement} was not prepared"
            )));
        };
        if values.len() != prepared.parameters.len() {
            let (given, wanted) = (values.len(), prepared.parameters.len());
            return Err(ClientError::Session(format!(
                "{given} parameters for a statement that has {wanted}"
            )));
        }
        // One form for all values, in both directions.
        let form = prepared.form;
        let code = i16::from(form == Form::Binary);
        let bound = frontend::bind(
            "",
            &prepared.name,
            [code],
            values.zip(&prepared.parameters),
            |(value, ty), out| {
                if let (Form::Text, Value::Text(text)) = (form, value) {
                    out.extend_from_slice(text);
                    return Ok(IsNull::No);
                }
                Ok(match Parameter(value).to_sql(ty, out)? {
                    tokio_postgres::types::IsNull::Yes => IsNull::Yes,
                    tokio_postgres::types::IsNull::No => IsNull::No,
                })
            },
            [code],
            &mut self.out,
        );
        if let Err(why) = bound {
            self.forget();
            return Err(match why {
                BindError::Conversion(why) => ClientError::Session(why.to_string()),
                BindError::Serialization(why) => why.into(),
            });
        }
        frontend::execute("", 0, &mut self.out)?;
        self.calls.push(statement);
        Ok(())
    }

    /// Drops what was added: half a flight must not go out with a later one.
    pub(crate) fn forget(&mut self) {
        self.out.clear();
        self.calls.clear();
    }

    /// Executes statements that have no parameters and whose rows nobody wants.
    pub(crate) async fn text(&mut self, statements: &str) -> Result<(), ClientError> {
        self.begin()?;
        frontend::query(statements, &mut self.out)?;
        self.socket.send(&self.out).await?;
        self.out.clear();
        let mut refused = None;
        loop {
            match self.read().await? {
                (b'E', content) => refused = Some(server_error(content)),
                (b'Z', _) => break,
                _ => {}
            }
        }
        self.flying = false;
        refused.map_or(Ok(()), Err)
    }

    /// Sends what was added and reads all answers.
    pub(crate) async fn fly(&mut self, answers: &mut Answers) -> Result<(), ClientError> {
        self.begin()?;
        self.send().await?;
        let mut refused = None;
        let mut answered = 0;
        let mut bytes = 0;
        loop {
            let (kind, range) = self.next().await?;
            let content = self.incoming.taken(range);
            match kind {
                b'D' => {
                    bytes += content.len() + HEADER;
                    if bytes > LARGEST_ANSWER {
                        return Err(MessageRefusal::LargeAnswer.into());
                    }
                    let statement = self.calls.get(answered).ok_or_else(|| unexpected(kind))?;
                    let prepared = &self.prepared[*statement];
                    push_row(content, &prepared.columns, prepared.form, answers)?;
                }
                b'C' => {
                    answers.end_answer(affected(content));
                    answered += 1;
                }
                b'I' => {
                    answers.end_answer(0);
                    answered += 1;
                }
                b'E' => refused = refused.or_else(|| Some(server_error(content))),
                b'Z' => break,
                // Bound; a notice, a setting, a notification.
                b'2' | b'N' | b'S' | b'A' => {}
                other => return Err(unexpected(other)),
            }
        }
        self.calls.clear();
        self.flying = false;
        refused.map_or(Ok(()), Err)
    }

    /// A call that was given up leaves answers behind, which nobody could tell from those to later
    /// calls.
    fn begin(&mut self) -> Result<(), ClientError> {
        if std::mem::replace(&mut self.flying, true) {
            return Err(ClientError::Io(std::io::Error::new(
                std::io::ErrorKind::ConnectionAborted,
                "an earlier call on this connection was given up",
            )));
        }
        Ok(())
    }

    async fn send(&mut self) -> Result<(), ClientError> {
        frontend::sync(&mut self.out);
        self.socket.send(&self.out).await?;
        self.out.clear();
        Ok(())
    }

    async fn read(&mut self) -> Result<(u8, &[u8]), ClientError> {
        let (kind, range) = self.next().await?;
        Ok((kind, self.incoming.taken(range)))
    }

    /// The next message: its kind, and where its content lies.
    async fn next(&mut self) -> Result<(u8, Range<usize>), ClientError> {
        if self.incoming.waiting().len() < HEADER {
            self.incoming.fill(&mut self.socket, HEADER).await?;
        }
        let head = self.incoming.waiting();
        let kind = head[0];
        let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize;
        // The length counts itself.
        if !(4..=LONGEST_MESSAGE).contains(&length) {
            let bytes = length as u64;
            return Err(if length < 4 {
                MessageRefusal::Short { bytes }
            } else {
                MessageRefusal::Long { bytes }
            }
            .into());
        }
        if matches!(kind, b'N' | b'S' | b'A') {
            self.asides += 1;
            if self.asides > MOST_ASIDES {
                return Err(MessageRefusal::Asides.into());
            }
        } else {
            self.asides = 0;
        }
        if self.incoming.waiting().len() <= length {
            self.incoming.fill(&mut self.socket, 1 + length).await?;
        }
        self.incoming.take(HEADER);
        Ok((kind, self.incoming.take(length - 4)))
    }
}

fn unexpected(kind: u8) -> ClientError {
    ClientError::Session(format!(
        "the server sends a message of kind `{}` out of turn",
        kind.escape_ascii()
    ))
}

fn cut() -> ClientError {
    ClientError::Session("the server's answer is cut off".to_owned())
}

/// Takes `N` bytes from the front.
#[inline]
fn front<const N: usize>(content: &mut &[u8]) -> Result<[u8; N], ClientError> {
    let (taken, rest) = content.split_first_chunk::<N>().ok_or_else(cut)?;
    *content = rest;
    Ok(*taken)
}

fn parameter_types(mut content: &[u8]) -> Result<Vec<Type>, ClientError> {
    let count = u16::from_be_bytes(front(&mut content)?);
    (0..count)
        .map(|_| Ok(known(u32::from_be_bytes(front(&mut content)?))))
        .collect()
}

fn column_types(mut content: &[u8]) -> Result<Vec<Type>, ClientError> {
    let count = u16::from_be_bytes(front(&mut content)?);
    let mut types = Vec::with_capacity(count.into());
    for _ in 0..count {
        let name = content.iter().position(|byte| *byte == 0).ok_or_else(cut)?;
        content = &content[name + 1..];
        // Table and column in it, type, its width, its modifier, the form.
        front::<6>(&mut content)?;
        types.push(known(u32::from_be_bytes(front(&mut content)?)));
        front::<8>(&mut content)?;
    }
    Ok(types)
}

/// Types of the server's own; a type that somebody made is text to us, and refused where it
/// matters.
fn known(oid: u32) -> Type {
    Type::from_oid(oid).unwrap_or(Type::TEXT)
}

#[inline]
fn push_row(
    mut content: &[u8],
    columns: &[Type],
    form: Form,
    answers: &mut Answers,
) -> Result<(), ClientError> {
    let count = u16::from_be_bytes(front(&mut content)?);
    if usize::from(count) != columns.len() {
        return Err(cut());
    }
    for ty in columns {
        let length = i32::from_be_bytes(front(&mut content)?);
        let Ok(length) = usize::try_from(length) else {
            answers.push_null();
            continue;
        };
        let (raw, rest) = content.split_at_checked(length).ok_or_else(cut)?;
        content = rest;
        if form == Form::Text {
            answers.push_text(raw);
            continue;
        }
        match Column::from_sql(ty, raw).map_err(|why| ClientError::Session(why.to_string()))? {
            Column::Null => answers.push_null(),
            Column::Int(number) => answers.push_int(number),
            Column::Decimal(decimal) => answers.push_decimal(decimal),
            Column::Text(text) => answers.push_text(text),
        }
    }
    answers.end_row();
    Ok(())
}

/// The last number of `UPDATE 3`, `INSERT 0 1`, `SELECT 2`; 0 for `COMMIT`.
#[inline]
fn affected(content: &[u8]) -> u64 {
    let tag = content.strip_suffix(&[0]).unwrap_or(content);
    let digits = tag.rsplit(|byte| *byte == b' ').next().unwrap_or_default();
    digits
        .iter()
        .try_fold(0u64, |number, digit| match digit {
            b'0'..=b'9' => number.checked_mul(10)?.checked_add(u64::from(digit - b'0')),
            _ => None,
        })
        .unwrap_or(0)
}

/// The fields of an error: each has a letter and ends with a zero.
fn server_error(content: &[u8]) -> ClientError {
    let field = |letter: u8| {
        let mut fields = content.split(|byte| *byte == 0);
        let found = fields.find(|field| field.first() == Some(&letter))?;
        Some(String::from_utf8_lossy(&found[1..]).into_owned())
    };
    ClientError::Server {
        message: outside_text(&field(b'M').unwrap_or_default()),
        state: outside_text(&field(b'C').unwrap_or_default()),
        code: 0,
    }
}

#[cfg(test)]
mod tests {
    use rookery_workload::orderentry::transaction::Value;

    use super::*;

    #[test]
    fn the_end_of_a_statement_tells_how_many_rows_it_changed() {
        for (tag, rows) in [
            ("UPDATE 3", 3),
            ("INSERT 0 12", 12),
            ("SELECT 2", 2),
            ("COMMIT", 0),
            ("", 0),
        ] {
            assert_eq!(affected(format!("{tag}\0").as_bytes()), rows, "{tag}");
        }
    }

    #[test]
    fn an_error_has_a_state_and_words() {
        let error =
            server_error(b"SERROR\0VERROR\0C40001\0Mcould not serialize access\0Fheapam.c\0\0");
        assert_eq!(
            error.to_string(),
            "could not serialize access (SQLSTATE 40001)"
        );
        assert_eq!(error.code(), Some(("40001", 0)));
    }

    #[test]
    fn descriptions_give_the_types() {
        let parameters = [&[0, 2][..], &23u32.to_be_bytes(), &1700u32.to_be_bytes()].concat();
        assert_eq!(
            parameter_types(&parameters).expect("whole"),
            [Type::INT4, Type::NUMERIC]
        );
        assert!(parameter_types(&parameters[..9]).is_err());
        let column = [
            b"w_tax\0".as_slice(),
            &[0; 6],
            &1700u32.to_be_bytes(),
            &[0; 8],
        ]
        .concat();
        let columns = [&[0, 1][..], &column].concat();
        assert_eq!(column_types(&columns).expect("whole"), [Type::NUMERIC]);
        assert!(column_types(&columns[..columns.len() - 1]).is_err());
    }

    #[test]
    fn rows_are_read_by_their_types() {
        let row = [
            &[0, 3][..],
            &4u32.to_be_bytes(),
            &(-7i32).to_be_bytes(),
            &u32::MAX.to_be_bytes(),
            &2u32.to_be_bytes(),
            b"ab",
        ]
        .concat();
        let types = [Type::INT4, Type::INT4, Type::TEXT];
        let mut answers = Answers::default();
        push_row(&row, &types, Form::Binary, &mut answers).expect("whole");
        answers.end_answer(1);
        let read = answers
            .get(0)
            .and_then(|answer| answer.row(0))
            .expect("a row");
        let expected = [Value::Int(-7), Value::Null, Value::Text(b"ab")];
        assert_eq!(
            [0, 1, 2].map(|column| read.value(column)),
            expected.map(Some)
        );
        assert!(
            push_row(&row[..row.len() - 1], &types, Form::Binary, &mut answers).is_err(),
            "a byte is missing"
        );
        assert!(
            push_row(&row, &types[..2], Form::Binary, &mut answers).is_err(),
            "a column too many"
        );
    }
}
