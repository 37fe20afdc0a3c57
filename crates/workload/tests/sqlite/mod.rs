//! A blocking session over SQLite in memory, and a loader: the smallest client that the workload
//! can have.

use std::{collections::BTreeMap, future::Future};

use rookery_workload::orderentry::{
    Condition, Decimal, Dialect, Ledger, Moment, Population, Scale, SchemaOptions, Table,
    Timestamp, after_load, create_tables, ledger_query,
    population::{Part, RowSink, meta_rows},
    sql::{Statement, Style},
    transaction::{Answers, ErrorClass, Flight, Session, Value, classify},
};
use rusqlite::{Connection, Error, types::ValueRef};

/// A session, and how often it was sent something.
pub(crate) struct SqliteSession {
    pub(crate) connection: Connection,
    texts: BTreeMap<usize, String>,
    pub(crate) flights: u64,
}

impl SqliteSession {
    /// A database that holds `population`.
    pub(crate) fn loaded(population: &Population, options: SchemaOptions, style: Style) -> Self {
        let connection = Connection::open_in_memory().expect("memory");
        connection.set_prepared_statement_cache_capacity(200);
        for text in create_tables(Dialect::Sqlite, options) {
            connection.execute_batch(&text).expect(&text);
        }
        connection.execute_batch("BEGIN").expect("begins");
        for part in Part::all(population) {
            load(&connection, population, part);
        }
        let meta = Part {
            table: Table::Meta,
            warehouse: 0,
        };
        load(&connection, population, meta);
        connection.execute_batch("COMMIT").expect("commits");
        for text in after_load(Dialect::Sqlite, options) {
            connection.execute_batch(&text).expect(&text);
        }
        Self {
            connection,
            texts: Statement::used(style, Dialect::Sqlite)
                .into_iter()
                .map(|statement| (statement.index(), statement.sql(Dialect::Sqlite)))
                .collect(),
            flights: 0,
        }
    }

    /// The conditions that do not hold.
    pub(crate) fn broken(&self, scale: Scale, moment: Moment) -> Vec<u8> {
        let finds = |query: &String| {
            let mut statement = self.connection.prepare(query).expect(query);
            statement.exists([]).expect(query)
        };
        Condition::all()
            .filter(|condition| {
                condition
                    .queries(Dialect::Sqlite, scale, moment)
                    .iter()
                    .any(finds)
            })
            .map(Condition::number)
            .collect()
    }

    /// What the database says of all that was committed.
    pub(crate) fn ledger(&self, scale: Scale) -> Ledger {
        let query = ledger_query(scale);
        let read = |row: &rusqlite::Row<'_>| {
            Ok(Ledger {
                new_orders: row.get(0)?,
                payments: row.get(1)?,
                delivered: row.get(2)?,
            })
        };
        self.connection
            .query_row(&query, [], read)
            .expect("a ledger")
    }

    /// One number.
    pub(crate) fn number(&self, query: &str) -> i64 {
        self.connection
            .query_row(query, [], |row| row.get(0))
            .expect(query)
    }

    /// Everything in the database but times and the keys of payments, as text.
    pub(crate) fn dump(&self) -> String {
        let mut dump = String::new();
        for table in Table::LOADED {
            let names: Vec<&str> = table
                .loaded_columns()
                .iter()
                .map(|column| column.name)
                .collect();
            let kept: Vec<&str> = names
                .into_iter()
                .filter(|name| !matches!(*name, "h_date" | "o_entry_d"))
                .collect();
            let query = format!(
                "SELECT {0} FROM {1} ORDER BY {0}",
                kept.join(", "),
                table.name()
            );
            let mut statement = self.connection.prepare(&query).expect("reads");
            let mut rows = statement.query([]).expect("reads");
            while let Some(row) = rows.next().expect("reads") {
                for index in 0..kept.len() {
                    dump.push_str(&format!("{:?} ", row.get_ref(index).expect("a column")));
                }
                dump.push('\n');
            }
        }
        dump
    }

    fn run(
        &self,
        statement: Statement,
        arguments: impl Iterator<Item = rusqlite::types::Value>,
        answers: &mut Answers,
    ) -> Result<(), Error> {
        if statement == Statement::ROLLBACK && self.connection.is_autocommit() {
            answers.end_answer(0);
            return Ok(());
        }
        let mut prepared = self
            .connection
            .prepare_cached(&self.texts[&statement.index()])?;
        let columns = prepared.column_count();
        for (index, value) in arguments.enumerate() {
            prepared.raw_bind_parameter(index + 1, value)?;
        }
        if columns == 0 {
            let affected = prepared.raw_execute()?;
            answers.end_answer(affected as u64);
            return Ok(());
        }
        let mut rows = prepared.raw_query();
        while let Some(row) = rows.next()? {
            for index in 0..columns {
                match row.get_ref(index)? {
                    ValueRef::Null => answers.push_null(),
                    ValueRef::Integer(number) => answers.push_int(number),
                    ValueRef::Text(text) => answers.push_text(text),
                    other => panic!("no column is {other:?}: money must not become a float"),
                }
            }
            answers.end_row();
        }
        answers.end_answer(0);
        Ok(())
    }
}

fn value(value: Value<'_>) -> rusqlite::types::Value {
    match value {
        Value::Null => rusqlite::types::Value::Null,
        Value::Int(number) => number.into(),
        Value::Decimal(decimal) => decimal.unscaled.into(),
        Value::Time(time) => time.to_string().into(),
        Value::Text(text) => String::from_utf8(text.to_vec()).expect("ASCII").into(),
    }
}

impl Session for SqliteSession {
    type Error = Error;

    fn dialect(&self) -> Dialect {
        Dialect::Sqlite
    }

    fn fly(
        &mut self,
        flight: &Flight,
        answers: &mut Answers,
    ) -> impl Future<Output = Result<(), Error>> {
        self.flights += 1;
        let done = flight.calls().try_for_each(|(statement, arguments)| {
            self.run(statement, arguments.map(value), answers)
        });
        std::future::ready(done)
    }

    fn classify(&self, error: &Error) -> ErrorClass {
        let code = error.sqlite_error().map_or(0, |error| error.extended_code);
        classify(Dialect::Sqlite, "", code.into())
    }
}

/// Inserts rows one by one.
struct Inserts<'c> {
    statement: rusqlite::Statement<'c>,
    next: usize,
}

impl Inserts<'_> {
    fn bind(&mut self, value: impl rusqlite::ToSql) {
        self.next += 1;
        self.statement
            .raw_bind_parameter(self.next, value)
            .expect("binds");
    }
}

impl RowSink for Inserts<'_> {
    fn int(&mut self, value: i64) {
        self.bind(value);
    }

    fn text(&mut self, value: &[u8]) {
        self.bind(std::str::from_utf8(value).expect("ASCII"));
    }

    fn decimal(&mut self, value: Decimal) {
        self.bind(value.unscaled);
    }

    fn time(&mut self, value: Timestamp) {
        self.bind(value.to_string());
    }

    fn null(&mut self) {
        self.bind(rusqlite::types::Null);
    }

    fn end_row(&mut self) -> bool {
        self.next = 0;
        self.statement.raw_execute().expect("inserts");
        true
    }
}

fn load(connection: &Connection, population: &Population, part: Part) {
    let columns: Vec<&str> = part
        .table
        .loaded_columns()
        .iter()
        .map(|column| column.name)
        .collect();
    let markers = vec!["?"; columns.len()].join(", ");
    let text = format!(
        "INSERT INTO {} ({}) VALUES ({markers})",
        part.table.name(),
        columns.join(", ")
    );
    let mut sink = Inserts {
        statement: connection.prepare(&text).expect(&text),
        next: 0,
    };
    assert!(
        !part.rows(population).fill(&mut sink),
        "a sink without end takes all rows"
    );
}

/// The rows of `oe_meta`.
pub(crate) fn meta(population: &Population) -> BTreeMap<String, String> {
    meta_rows(population)
        .into_iter()
        .map(|(key, value)| (key.to_owned(), value))
        .collect()
}
