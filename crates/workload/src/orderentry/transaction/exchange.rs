//! What goes to a database and what comes back: calls and answers in buffers that are reused.

use std::{fmt::Debug, future::Future, ops::Range};

use rookery_cast::count_u32;

use super::{Bug, ErrorClass};
use crate::orderentry::{
    decimal::{Decimal, Timestamp},
    dialect::Dialect,
    sql::Statement,
};

/// A connection to a database with its prepared statements.
pub trait Session {
    /// The client's error.
    type Error: Debug;

    /// Whose SQL it speaks.
    fn dialect(&self) -> Dialect;

    /// Executes the calls of `flight` in order and appends one answer for each to `answers`, which
    /// is empty before.
    ///
    /// A client that can sends all calls before it reads the first answer. After an error the rest
    /// need not be executed and the answers mean nothing.
    fn fly(
        &mut self,
        flight: &Flight,
        answers: &mut Answers,
    ) -> impl Future<Output = Result<(), Self::Error>>;

    /// What kind of error it is; see [`classify`](super::classify).
    fn classify(&self, error: &Self::Error) -> ErrorClass;

    /// Whether the server executes nothing of a flight after an error in it. If it does, a COMMIT
    /// at the end of a flight could commit half a transaction, and travels alone.
    fn stops_at_error(&self) -> bool {
        // MariaDB and MySQL roll back at a deadlock, and what is behind it in the pipe runs on
        // outside the transaction.
        !self.dialect().is_mysql_like()
    }
}

/// A parameter, or a column of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value<'a> {
    /// Nothing.
    Null,
    /// A whole number.
    Int(i64),
    /// An exact decimal; [`Dialect::stores_unscaled`] says whether the database wants its unscaled
    /// number.
    Decimal(Decimal),
    /// A date and time.
    Time(Timestamp),
    /// Text, ASCII.
    Text(&'a [u8]),
}

#[derive(Clone, Copy, Debug)]
enum Cell {
    Null,
    Int(i64),
    Decimal(Decimal),
    Time(Timestamp),
    Text { start: u32, end: u32 },
}

/// Values one after another; texts lie in one buffer.
#[derive(Clone, Debug, Default)]
struct Cells {
    cells: Vec<Cell>,
    bytes: Vec<u8>,
}

impl Cells {
    fn clear(&mut self) {
        self.cells.clear();
        self.bytes.clear();
    }

    #[inline]
    fn push_text(&mut self, text: &[u8]) {
        let start = count_u32(self.bytes.len());
        self.bytes.extend_from_slice(text);
        self.cells.push(Cell::Text {
            start,
            end: count_u32(self.bytes.len()),
        });
    }

    #[inline]
    fn value(&self, index: usize) -> Option<Value<'_>> {
        Some(match *self.cells.get(index)? {
            Cell::Null => Value::Null,
            Cell::Int(number) => Value::Int(number),
            Cell::Decimal(decimal) => Value::Decimal(decimal),
            Cell::Time(time) => Value::Time(time),
            Cell::Text { start, end } => Value::Text(&self.bytes[start as usize..end as usize]),
        })
    }
}

/// Calls that travel together.
#[derive(Clone, Debug, Default)]
pub struct Flight {
    /// Each statement, and where its parameters end.
    calls: Vec<(Statement, usize)>,
    cells: Cells,
}

impl Flight {
    pub(super) fn clear(&mut self) {
        self.calls.clear();
        self.cells.clear();
    }

    /// Adds a call; parameters follow.
    pub(super) fn call(&mut self, statement: Statement) -> &mut Self {
        self.calls.push((statement, self.cells.cells.len()));
        self
    }

    fn push(&mut self, cell: Cell) -> &mut Self {
        self.cells.cells.push(cell);
        self.end_parameter()
    }

    fn end_parameter(&mut self) -> &mut Self {
        let end = self.cells.cells.len();
        if let Some((_, last)) = self.calls.last_mut() {
            *last = end;
        }
        self
    }

    pub(super) fn int(&mut self, number: impl Into<i64>) -> &mut Self {
        self.push(Cell::Int(number.into()))
    }

    pub(super) fn cents(&mut self, cents: i64) -> &mut Self {
        self.push(Cell::Decimal(Decimal::cents(cents)))
    }

    pub(super) fn time(&mut self, time: Timestamp) -> &mut Self {
        self.push(Cell::Time(time))
    }

    pub(super) fn text(&mut self, text: &[u8]) -> &mut Self {
        self.cells.push_text(text);
        self.end_parameter()
    }

    /// Number of calls.
    #[must_use]
    pub fn len(&self) -> usize {
        self.calls.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// The calls in order.
    pub fn calls(&self) -> impl ExactSizeIterator<Item = (Statement, Arguments<'_>)> {
        self.calls
            .iter()
            .enumerate()
            .map(|(index, &(statement, end))| {
                let start = index
                    .checked_sub(1)
                    .map_or(0, |before| self.calls[before].1);
                let arguments = Arguments {
                    cells: &self.cells,
                    range: start..end,
                };
                (statement, arguments)
            })
    }

    pub(super) fn statement(&self, call: usize) -> Option<Statement> {
        self.calls.get(call).map(|(statement, _)| *statement)
    }
}

/// The parameters of a call.
#[derive(Clone, Debug)]
pub struct Arguments<'a> {
    cells: &'a Cells,
    range: Range<usize>,
}

impl<'a> Iterator for Arguments<'a> {
    type Item = Value<'a>;

    fn next(&mut self) -> Option<Value<'a>> {
        self.cells.value(self.range.next()?)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.range.size_hint()
    }
}

impl ExactSizeIterator for Arguments<'_> {}

/// The answers to a flight. A session appends columns, ends rows, ends answers.
#[derive(Clone, Debug, Default)]
pub struct Answers {
    cells: Cells,
    /// Where the columns of each row end.
    rows: Vec<usize>,
    /// Affected rows, and where the rows of each answer end.
    answers: Vec<(u64, usize)>,
}

impl Answers {
    /// Forgets all answers and keeps the room.
    pub fn clear(&mut self) {
        self.cells.clear();
        self.rows.clear();
        self.answers.clear();
    }

    /// A column that is null.
    pub fn push_null(&mut self) {
        self.cells.cells.push(Cell::Null);
    }

    /// A whole number, also an unscaled decimal where the dialect stores them so.
    #[inline]
    pub fn push_int(&mut self, number: i64) {
        self.cells.cells.push(Cell::Int(number));
    }

    /// An exact decimal that the client has decoded itself.
    #[inline]
    pub fn push_decimal(&mut self, decimal: Decimal) {
        self.cells.cells.push(Cell::Decimal(decimal));
    }

    /// Text, also a decimal or a number that the client got as text.
    #[inline]
    pub fn push_text(&mut self, text: &[u8]) {
        self.cells.push_text(text);
    }

    /// The columns since the last row are a row.
    #[inline]
    pub fn end_row(&mut self) {
        self.rows.push(self.cells.cells.len());
    }

    /// The rows since the last answer are an answer, to a statement that changed `affected` rows.
    #[inline]
    pub fn end_answer(&mut self, affected: u64) {
        self.answers.push((affected, self.rows.len()));
    }

    /// The answer to call `index` of the flight.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<Answer<'_>> {
        let &(affected, end) = self.answers.get(index)?;
        let start = index
            .checked_sub(1)
            .map_or(0, |before| self.answers[before].1);
        Some(Answer {
            answers: self,
            rows: start..end,
            affected,
        })
    }
}

/// The answer to one call.
#[derive(Clone, Debug)]
pub struct Answer<'a> {
    answers: &'a Answers,
    rows: Range<usize>,
    affected: u64,
}

impl<'a> Answer<'a> {
    /// Rows that the statement changed.
    #[must_use]
    pub fn affected(&self) -> u64 {
        self.affected
    }

    /// Rows that it answered with.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether it answered with none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Row `index`.
    #[must_use]
    pub fn row(&self, index: usize) -> Option<Row<'a>> {
        let row = self.rows.clone().nth(index)?;
        let start = row
            .checked_sub(1)
            .map_or(0, |before| self.answers.rows[before]);
        Some(Row {
            cells: &self.answers.cells,
            range: start..self.answers.rows[row],
        })
    }

    /// All rows.
    pub fn rows(&self) -> impl Iterator<Item = Row<'a>> {
        let answer = self.clone();
        (0..self.len()).filter_map(move |index| answer.row(index))
    }
}

/// A row of an answer. Columns count from 0.
#[derive(Clone, Debug)]
pub struct Row<'a> {
    cells: &'a Cells,
    range: Range<usize>,
}

impl<'a> Row<'a> {
    /// Column `index`, if the row has it.
    #[must_use]
    pub fn value(&self, index: usize) -> Option<Value<'a>> {
        self.range
            .clone()
            .nth(index)
            .and_then(|cell| self.cells.value(cell))
    }

    fn bad(index: usize, wanted: &'static str) -> Bug {
        Bug::Column { index, wanted }
    }

    pub(super) fn int(&self, index: usize) -> Result<i64, Bug> {
        match self.value(index) {
            Some(Value::Int(number)) => Ok(number),
            Some(Value::Decimal(Decimal { unscaled, scale: 0 })) => Ok(unscaled),
            Some(Value::Text(text)) => Decimal::parse(text, 0)
                .map(|decimal| decimal.unscaled)
                .map_err(|_| Self::bad(index, "a whole number")),
            _ => Err(Self::bad(index, "a whole number")),
        }
    }

    pub(super) fn id(&self, index: usize) -> Result<u32, Bug> {
        u32::try_from(self.int(index)?).map_err(|_| Self::bad(index, "a key"))
    }

    pub(super) fn text(&self, index: usize) -> Result<&'a [u8], Bug> {
        match self.value(index) {
            Some(Value::Text(text)) => Ok(text),
            _ => Err(Self::bad(index, "text")),
        }
    }

    /// A decimal in units of its last place: a number that the database stores unscaled comes as it
    /// is.
    fn unscaled(&self, index: usize, scale: u8) -> Result<i64, Bug> {
        let bad = || Self::bad(index, "a decimal");
        match self.value(index) {
            Some(Value::Int(unscaled)) => Ok(unscaled),
            Some(Value::Decimal(decimal)) if decimal.scale == scale => Ok(decimal.unscaled),
            Some(Value::Decimal(decimal)) => {
                let up = u32::from(scale.saturating_sub(decimal.scale));
                let down = u32::from(decimal.scale.saturating_sub(scale));
                let raised = 10i64
                    .checked_pow(up)
                    .and_then(|power| decimal.unscaled.checked_mul(power))
                    .ok_or_else(bad)?;
                match 10i64.checked_pow(down) {
                    Some(power) if raised % power == 0 => Ok(raised / power),
                    _ => Err(bad()),
                }
            }
            Some(Value::Text(text)) => Decimal::parse(text, scale)
                .map(|decimal| decimal.unscaled)
                .map_err(|_| bad()),
            _ => Err(bad()),
        }
    }

    pub(super) fn cents(&self, index: usize) -> Result<i64, Bug> {
        self.unscaled(index, 2)
    }

    pub(super) fn rate(&self, index: usize) -> Result<i64, Bug> {
        self.unscaled(index, 4)
    }
}
