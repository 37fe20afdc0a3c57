//! A run as CSV files or as one JSON document.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{BufWriter, Write},
    path::Path,
};

use rusqlite::types::ValueRef;
use serde_json::{Map, Number, Value, json};

use crate::{CellError, Damage, Store, StoreError};

/// File name and query of every exported table. Histograms stay in the store: they are no text.
const TABLES: [(&str, &str); 18] = [
    ("points", "SELECT * FROM points ORDER BY point"),
    ("trials", "SELECT * FROM trials ORDER BY trial"),
    ("attempts", "SELECT * FROM attempts ORDER BY trial, attempt"),
    ("reasons", "SELECT * FROM reasons ORDER BY trial, position"),
    (
        "measurements",
        "SELECT m.*, r.ready_s, v.passed AS qos_passed FROM measurements m JOIN records r USING \
         (trial)
         LEFT JOIN verdicts v USING (trial) ORDER BY trial",
    ),
    (GUESTS, "SELECT * FROM guests ORDER BY trial, position"),
    (
        "metrics",
        "SELECT trial, guest, metric, unit, value FROM metrics ORDER BY trial, guest, position",
    ),
    (
        "operations",
        "SELECT trial, guest, operation, started, completed, succeeded, failed, unfinished, \
         service_mean_us, service_p50_us,
         service_p95_us, service_p99_us, service_max_us FROM operations ORDER BY trial, guest, \
         position",
    ),
    (
        "series",
        "SELECT * FROM seconds ORDER BY trial, guest, second",
    ),
    (
        "errors",
        "SELECT trial, guest, class, sub_class, count FROM errors ORDER BY trial, guest, position",
    ),
    ("verdicts", "SELECT * FROM rules ORDER BY trial, position"),
    (
        "resources",
        "SELECT * FROM resources ORDER BY trial, position",
    ),
    (
        "machines",
        "SELECT * FROM machines ORDER BY trial, position",
    ),
    (
        "audits",
        "SELECT a.*, p.what, p.found, p.acknowledged, p.unanswered FROM audits a LEFT JOIN proofs \
         p ON p.trial = a.trial AND p.guest = a.guest AND p.position = 0 ORDER BY a.trial, \
         a.position",
    ),
    (
        "proofs",
        "SELECT p.trial, p.guest, p.what, p.found, p.acknowledged, p.unanswered FROM proofs p JOIN \
         audits a USING (trial, guest) ORDER BY p.trial, a.position, p.position",
    ),
    ("tunings", "SELECT * FROM tunings ORDER BY trial, position"),
    ("logs", "SELECT * FROM logs ORDER BY trial, position"),
    ("pools", "SELECT * FROM pools ORDER BY point"),
];

const GUESTS: &str = "guests";
/// Whole numbers below this are exact in a double.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// Write one CSV file (RFC 4180, UTF-8, a head line, units in the names) per table into `dir`,
/// which is made if need be.
///
/// # Errors
/// When the store is damaged or a file cannot be written.
pub fn export_csv(store: &Store, dir: &Path) -> Result<(), StoreError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| StoreError::Export { path, source }
    };
    std::fs::create_dir_all(dir).map_err(failed(dir))?;
    for (name, sql) in TABLES {
        let (columns, rows) = exported(store, name, sql)?;
        let path = dir.join(format!("{name}.csv"));
        let write = || {
            let mut file = BufWriter::new(File::create(&path)?);
            let head: Vec<String> = columns
                .iter()
                .map(|column| field(&Value::from(column.as_str())))
                .collect();
            write!(file, "{}\r\n", head.join(","))?;
            for row in &rows {
                let fields: Vec<String> = row.iter().map(field).collect();
                write!(file, "{}\r\n", fields.join(","))?;
            }
            file.into_inner()
                .map_err(std::io::IntoInnerError::into_error)?
                .sync_all()
        };
        write().map_err(failed(&path))?;
    }
    Ok(())
}

/// The run as one JSON document: `run` and one list of objects per table.
///
/// # Errors
/// When the store is damaged.
pub fn export_json(store: &Store) -> Result<Value, StoreError> {
    let header = store.header()?;
    let mut document = Map::new();
    document.insert(
        "run".to_owned(),
        json!({
            "run_id": header.run_id, "title": header.title, "study_file": header.study_file, "study_text": header.study_text,
            "study": header.study, "plan": header.plan, "host": header.host, "rookery_version": header.rookery_version,
            "created_at": header.created_at, "notes": store.notes()?,
        }),
    );
    for (name, sql) in TABLES {
        let (columns, rows) = exported(store, name, sql)?;
        let object = |row: Vec<Value>| Value::Object(columns.iter().cloned().zip(row).collect());
        document.insert(name.to_owned(), rows.into_iter().map(object).collect());
    }
    Ok(Value::Object(document))
}

type Table = (Vec<String>, Vec<Vec<Value>>);

/// A table as it is exported: guests have a column for each metric of the run beside their own.
fn exported(store: &Store, name: &'static str, sql: &str) -> Result<Table, StoreError> {
    let own = table(store, name, sql)?;
    if name == GUESTS {
        return with_metrics(store, own);
    }
    Ok(own)
}

fn with_metrics(store: &Store, (mut columns, mut rows): Table) -> Result<Table, StoreError> {
    let sql = "SELECT metric FROM metrics GROUP BY metric ORDER BY min(position), metric";
    let (_, metrics) = table(store, "metrics", sql)?;
    let sql = "SELECT trial, guest, metric, value FROM metrics";
    let (_, cells) = table(store, "metrics", sql)?;
    // Counters of guests and names of metrics are few; a run has some thousand cells.
    let values: BTreeMap<[String; 3], &Value> = cells
        .iter()
        .map(|row| ([&row[0], &row[1], &row[2]].map(Value::to_string), &row[3]))
        .collect();
    for metric in metrics.iter().map(|row| &row[0]) {
        columns.push(metric.as_str().unwrap_or_default().to_owned());
        for row in &mut rows {
            let key = [&row[0], &row[1], metric].map(Value::to_string);
            let value = values.get(&key).map(|value| whole((*value).clone()));
            row.push(value.unwrap_or(Value::Null));
        }
    }
    Ok((columns, rows))
}

/// A count is a metric like any other; it is written without a fraction.
fn whole(value: Value) -> Value {
    match value.as_f64() {
        Some(number) if number.fract() == 0.0 && number.abs() < EXACT => {
            #[expect(clippy::cast_possible_truncation, reason = "whole and small enough")]
            let number = number as i64;
            Value::from(number)
        }
        _ => value,
    }
}

fn table(store: &Store, name: &'static str, sql: &str) -> Result<Table, StoreError> {
    let damaged = |error: rusqlite::Error| store.damaged(name, error);
    let columns: Vec<String> = {
        let statement = store.connection.prepare_cached(sql).map_err(damaged)?;
        statement.column_names().map(str::to_owned).collect()
    };
    let rows = store.collect(name, sql, [], |cells| {
        columns
            .iter()
            .enumerate()
            .map(|(index, column)| cell(column, cells.0.get_ref(index)?))
            .collect::<Result<Vec<_>, Damage>>()
    })?;
    Ok((columns, rows))
}

fn cell(column: &str, value: ValueRef<'_>) -> Result<Value, Damage> {
    match value {
        ValueRef::Null => Ok(Value::Null),
        ValueRef::Integer(number) => Ok(Value::from(number)),
        ValueRef::Real(number) => Ok(Number::from_f64(number).map_or(Value::Null, Value::Number)),
        ValueRef::Text(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => Ok(Value::from(text)),
            Err(_) => Err(CellError::NotUtf8 {
                column: column.to_owned(),
            }
            .into()),
        },
        ValueRef::Blob(_) => Err(CellError::Type {
            column: column.to_owned(),
            expected: "text or a number",
            found: value.data_type(),
        }
        .into()),
    }
}

/// One field of a CSV line, quoted where it must be. Text that a spreadsheet would take for a
/// formula is led by a quote.
fn field(value: &Value) -> String {
    let text = match value {
        Value::Null => return String::new(),
        Value::String(text) if text.starts_with(['=', '+', '-', '@', '\t', '\r']) => {
            format!("'{text}")
        }
        Value::String(text) => text.clone(),
        other => return other.to_string(),
    };
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text
    }
}
