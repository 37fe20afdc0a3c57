//! The thread's side of a session: it owns the connection, and does one thing after another.

use std::{collections::HashMap, sync::mpsc::Receiver};

use odbc_api::{
    Cursor as _, CursorImpl, DataType, Error, IntoParameter as _, Prepared, ResultSetMetadata as _,
    buffers::TextRowSet,
    handles::{StatementImpl, StatementRef},
    parameter::{InputParameter, VarCharBox, WithDataType},
};
use rookery_workload::orderentry::{
    ColumnType, Dialect, Population, Table,
    population::Part,
    sql::{Statement, Style},
    transaction::{Answers, Flight, Value},
};
use tokio::sync::oneshot;

use super::{
    fill::insert,
    values::{in_words, timestamp},
};
use crate::{ClientError, Progress, options::TextRow};

/// Rows that one fetch brings.
const ROWS: usize = 32;

/// Longest text of a column; the workload's longest has 500 characters.
const LONGEST: usize = 1000;

/// What the session asks of its thread. A reply that nobody awaits any more is thrown away.
pub(super) enum Command {
    Prepare {
        reply: oneshot::Sender<Result<(), ClientError>>,
    },
    Fly {
        flight: Flight,
        answers: Answers,
        reply: oneshot::Sender<Result<(Flight, Answers), ClientError>>,
    },
    Text {
        text: String,
        reply: oneshot::Sender<Result<Vec<TextRow>, ClientError>>,
    },
    Insert {
        population: Population,
        part: Part,
        reply: oneshot::Sender<Result<Progress, ClientError>>,
    },
}

/// Does what comes, until the session is dropped.
pub(super) fn serve(
    connection: &odbc_api::Connection<'_>,
    dialect: Dialect,
    commands: &Receiver<Command>,
) {
    let mut worker = Worker {
        connection,
        dialect,
        statements: HashMap::new(),
    };
    while let Ok(command) = commands.recv() {
        match command {
            Command::Prepare { reply } => drop(reply.send(worker.prepare().map_err(in_words))),
            Command::Fly {
                flight,
                mut answers,
                reply,
            } => {
                let flown = worker.fly(&flight, &mut answers);
                let _ = reply.send(flown.map(|()| (flight, answers)));
            }
            Command::Text { text, reply } => drop(reply.send(worker.text(&text).map_err(in_words))),
            Command::Insert {
                population,
                part,
                reply,
            } => drop(reply.send(insert(connection, dialect, &population, part))),
        }
    }
    // What is open is rolled back: a connection with an open transaction cannot be closed.
    let _ = connection.rollback();
}

struct Worker<'c> {
    connection: &'c odbc_api::Connection<'c>,
    dialect: Dialect,
    /// By [`Statement::index`].
    statements: HashMap<usize, Kept<'c>>,
}

/// A statement with the buffer of its rows, which is made when the first come.
struct Kept<'c> {
    prepared: Prepared<StatementImpl<'c>>,
    rows: Option<(TextRowSet, Vec<bool>)>,
}

impl Worker<'_> {
    /// Prepares what plain transactions execute, and switches autocommit off.
    fn prepare(&mut self) -> Result<(), Error> {
        for statement in Statement::used(Style::Plain, self.dialect) {
            if !statement.is_control() {
                let prepared = self
                    .connection
                    .prepare(&statement.sql_with_marks(self.dialect))?;
                self.statements.insert(
                    statement.index(),
                    Kept {
                        prepared,
                        rows: None,
                    },
                );
            }
        }
        self.connection.set_autocommit(false)
    }

    fn fly(&mut self, flight: &Flight, answers: &mut Answers) -> Result<(), ClientError> {
        for (statement, arguments) in flight.calls() {
            if statement.is_control() {
                self.control(statement).map_err(in_words)?;
                answers.end_answer(0);
                continue;
            }
            let Some(kept) = self.statements.get_mut(&statement.index()) else {
                return Err(ClientError::Session(format!(
                    "{statement:?} was not prepared"
                )));
            };
            let parameters: Vec<Box<dyn InputParameter>> = arguments
                .map(|value| parameter(self.dialect, value))
                .collect();
            let affected = execute(kept, self.dialect, &parameters, answers).map_err(in_words)?;
            answers.end_answer(affected);
        }
        Ok(())
    }

    /// Without autocommit a transaction begins by itself.
    fn control(&mut self, statement: Statement) -> Result<(), Error> {
        match statement {
            Statement::COMMIT => self.connection.commit(),
            Statement::ROLLBACK => self.connection.rollback(),
            _ => Ok(()),
        }
    }

    fn text(&mut self, text: &str) -> Result<Vec<TextRow>, Error> {
        let Some(mut cursor) = self.connection.execute(text, (), None)? else {
            return Ok(Vec::new());
        };
        let buffer = TextRowSet::for_cursor(ROWS, &mut cursor, Some(LONGEST))?;
        let mut block = cursor.bind_buffer(buffer)?;
        let mut rows = Vec::new();
        while let Some(batch) = block.fetch_with_truncation_check(true)? {
            for row in 0..batch.num_rows() {
                let column = |column| {
                    batch
                        .at(column, row)
                        .map(|text| String::from_utf8_lossy(text).into_owned())
                };
                rows.push((0..batch.num_cols()).map(column).collect());
            }
        }
        Ok(rows)
    }
}

/// Executes a prepared statement and appends its rows. Gives the number of changed rows.
fn execute(
    kept: &mut Kept<'_>,
    dialect: Dialect,
    parameters: &[Box<dyn InputParameter>],
    answers: &mut Answers,
) -> Result<u64, Error> {
    let executed = match parameters {
        [] => kept.prepared.execute(()),
        some => kept.prepared.execute(some),
    };
    let has_rows = match executed? {
        Some(cursor) => {
            fetch(cursor, &mut kept.rows, dialect, answers)?;
            true
        }
        None => false,
    };
    if has_rows {
        return Ok(0);
    }
    Ok(kept.prepared.row_count()?.unwrap_or(0) as u64)
}

/// Appends the rows of a cursor.
fn fetch(
    mut cursor: CursorImpl<StatementRef<'_>>,
    rows: &mut Option<(TextRowSet, Vec<bool>)>,
    dialect: Dialect,
    answers: &mut Answers,
) -> Result<(), Error> {
    if rows.is_none() {
        let buffer = TextRowSet::for_cursor(ROWS, &mut cursor, Some(LONGEST))?;
        let numbers = (1_u16..)
            .take(buffer.num_cols())
            .map(|column| Ok(dialect.stores_unscaled() && is_number(&cursor.col_name(column)?)));
        let numbers = numbers.collect::<Result<Vec<_>, Error>>()?;
        *rows = Some((buffer, numbers));
    }
    let Some((buffer, numbers)) = rows else {
        return Ok(());
    };
    let mut block = cursor.bind_buffer(buffer)?;
    while let Some(batch) = block.fetch_with_truncation_check(true)? {
        for row in 0..batch.num_rows() {
            for (column, &number) in numbers.iter().enumerate() {
                match batch.at(column, row) {
                    None => answers.push_null(),
                    // Everything arrives as text; a number that is stored unscaled must not be
                    // taken for a decimal.
                    Some(text) => match std::str::from_utf8(text)
                        .ok()
                        .and_then(|text| text.parse().ok())
                    {
                        Some(unscaled) if number => answers.push_int(unscaled),
                        _ => answers.push_text(text),
                    },
                }
            }
            answers.end_row();
        }
    }
    Ok(())
}

/// Whether a column of a row holds a number: all do that are no text of a table.
fn is_number(name: &str) -> bool {
    let columns = Table::ALL.iter().flat_map(|table| table.columns());
    let kind = columns
        .into_iter()
        .find(|column| column.name == name)
        .map(|column| column.kind);
    !matches!(
        kind,
        Some(ColumnType::Char(_) | ColumnType::Varchar(_) | ColumnType::Time)
    )
}

/// A value with the type that it has in the table: not every database compares a number with a
/// text.
fn parameter(dialect: Dialect, value: Value<'_>) -> Box<dyn InputParameter> {
    match value {
        Value::Null => Box::new(None::<i32>.into_parameter()),
        Value::Int(number) => match i32::try_from(number) {
            Ok(number) => Box::new(number),
            Err(_) => Box::new(number),
        },
        Value::Decimal(decimal) if dialect.stores_unscaled() => Box::new(decimal.unscaled),
        Value::Decimal(decimal) => Box::new(WithDataType::new(
            VarCharBox::from_string(decimal.to_string()),
            DataType::Decimal {
                precision: 14,
                scale: i16::from(decimal.scale),
            },
        )),
        Value::Time(time) if dialect == Dialect::Sqlite => {
            Box::new(VarCharBox::from_string(time.to_string()))
        }
        Value::Time(time) => Box::new(WithDataType::new(
            timestamp(time),
            DataType::Timestamp { precision: 0 },
        )),
        Value::Text(text) => Box::new(VarCharBox::from_string(
            String::from_utf8_lossy(text).into_owned(),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_numbers_and_names_are_not() {
        assert!(is_number("SUM(ol_amount)") && is_number("w_tax") && is_number("o_id"));
        assert!(!is_number("c_zip") && !is_number("s_dist_01") && !is_number("o_entry_d"));
    }
}
