//! Rows into a table by arrays of parameters, a thousand at a time.

use odbc_api::{
    BindParamDesc, ColumnarBulkInserter, Connection, buffers::BoxColumnBuffer,
    handles::StatementImpl, parameter::WithDataType, sys::Timestamp as OdbcTimestamp,
};
use rookery_workload::orderentry::{
    Column, ColumnType, Decimal, Dialect, Population, Timestamp, insert_row,
    population::{Part, RowSink},
};

use super::values::{in_words, timestamp};
use crate::{ClientError, Progress};

/// Rows of one array.
const ROWS: usize = 1000;

/// Inserts the rows of a part in one transaction.
pub(super) fn insert(
    connection: &Connection<'_>,
    dialect: Dialect,
    population: &Population,
    part: Part,
) -> Result<Progress, ClientError> {
    connection.set_autocommit(false).map_err(in_words)?;
    let inserted = insert_rows(connection, dialect, population, part);
    let ended = match &inserted {
        Ok(_) => connection.commit(),
        Err(_) => connection.rollback(),
    };
    let ended = ended
        .and_then(|()| connection.set_autocommit(true))
        .map_err(in_words);
    inserted.and_then(|progress| ended.map(|()| progress))
}

fn insert_rows(
    connection: &Connection<'_>,
    dialect: Dialect,
    population: &Population,
    part: Part,
) -> Result<Progress, ClientError> {
    let columns = part.table.loaded_columns();
    let prepared = connection
        .prepare(&insert_row(part.table))
        .map_err(in_words)?;
    let descriptions = columns.iter().map(|column| description(dialect, column));
    let mut sink = ArraySink {
        inserter: prepared
            .into_column_inserter(ROWS, descriptions)
            .map_err(in_words)?,
        dialect,
        row: 0,
        column: 0,
        bytes: 0,
        misfit: false,
    };
    let mut rows = part.rows(population);
    let mut sent = Progress::default();
    loop {
        // All rows of the buffer may be written, and as many are sent as were.
        sink.inserter.set_num_rows(ROWS);
        let more = rows.fill(&mut sink);
        if sink.misfit {
            return Err(ClientError::Session(format!(
                "a value of {} does not fit its column",
                part.table.name()
            )));
        }
        let count = std::mem::take(&mut sink.row);
        sink.inserter.set_num_rows(count);
        if count > 0 {
            sink.inserter.execute().map_err(in_words)?;
        }
        sent.rows += count as u64;
        if !more {
            sent.bytes = sink.bytes;
            return Ok(sent);
        }
    }
}

fn description(dialect: Dialect, column: &Column) -> BindParamDesc {
    match column.kind {
        ColumnType::Small | ColumnType::Int => BindParamDesc::i32(column.nullable),
        ColumnType::Serial => BindParamDesc::i64(false),
        ColumnType::Decimal(..) if dialect.stores_unscaled() => BindParamDesc::i64(false),
        ColumnType::Decimal(digits, scale) => {
            BindParamDesc::decimal_as_text(digits.max(scale + 1), scale.cast_signed())
        }
        ColumnType::Char(length) | ColumnType::Varchar(length) => {
            BindParamDesc::text(length.into())
        }
        ColumnType::Time if dialect == Dialect::Sqlite => BindParamDesc::text(19),
        ColumnType::Time => BindParamDesc::timestamp(column.nullable, 0),
    }
}

/// Writes fields into the arrays.
struct ArraySink<'c> {
    inserter: ColumnarBulkInserter<StatementImpl<'c>, WithDataType<BoxColumnBuffer>>,
    dialect: Dialect,
    row: usize,
    column: usize,
    bytes: u64,
    /// A field met an array of another type: never with the population's own rows.
    misfit: bool,
}

impl ArraySink<'_> {
    /// The next field, of so many bytes.
    fn next(&mut self, bytes: usize) -> usize {
        self.bytes += bytes as u64 + 1;
        self.column += 1;
        self.column - 1
    }
}

impl RowSink for ArraySink<'_> {
    fn int(&mut self, value: i64) {
        let digits = value.unsigned_abs().checked_ilog10().unwrap_or(0) as usize + 1;
        let (column, row) = (self.next(digits), self.row);
        if let Some(array) = self.inserter.column_mut(column).as_slice::<i64>() {
            array[row] = value;
            return;
        }
        let Ok(value) = i32::try_from(value) else {
            self.misfit = true;
            return;
        };
        if let Some(array) = self.inserter.column_mut(column).as_slice::<i32>() {
            array[row] = value;
        } else if let Some(mut array) = self.inserter.column_mut(column).as_nullable_slice::<i32>()
        {
            array.set_cell(row, Some(value));
        } else {
            self.misfit = true;
        }
    }

    fn text(&mut self, value: &[u8]) {
        let (column, row) = (self.next(value.len()), self.row);
        match self.inserter.column_mut(column).as_text() {
            Some(mut array) => array.set_cell(row, Some(value)),
            None => self.misfit = true,
        }
    }

    fn decimal(&mut self, value: Decimal) {
        if self.dialect.stores_unscaled() {
            self.int(value.unscaled);
        } else {
            self.text(value.to_string().as_bytes());
        }
    }

    fn time(&mut self, value: Timestamp) {
        if self.dialect == Dialect::Sqlite {
            self.text(value.to_string().as_bytes());
            return;
        }
        let (column, row) = (self.next(19), self.row);
        let value = timestamp(value);
        if let Some(array) = self.inserter.column_mut(column).as_slice::<OdbcTimestamp>() {
            array[row] = value;
        } else if let Some(mut array) = self
            .inserter
            .column_mut(column)
            .as_nullable_slice::<OdbcTimestamp>()
        {
            array.set_cell(row, Some(value));
        } else {
            self.misfit = true;
        }
    }

    fn null(&mut self) {
        let (column, row) = (self.next(2), self.row);
        if let Some(mut array) = self.inserter.column_mut(column).as_nullable_slice::<i32>() {
            array.set_cell(row, None);
        } else if let Some(mut array) = self
            .inserter
            .column_mut(column)
            .as_nullable_slice::<OdbcTimestamp>()
        {
            array.set_cell(row, None);
        } else if let Some(mut array) = self.inserter.column_mut(column).as_text() {
            array.set_cell(row, None);
        } else {
            self.misfit = true;
        }
    }

    fn end_row(&mut self) -> bool {
        self.column = 0;
        self.row += 1;
        self.row < ROWS && !self.misfit
    }
}
