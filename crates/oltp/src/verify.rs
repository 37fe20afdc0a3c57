//! The consistency conditions on a database, in one snapshot: also while transactions run.

use std::{
    collections::BTreeMap,
    sync::atomic::AtomicBool,
    time::{Duration, Instant},
};

use rookery_diagnosis::outside_text;
use rookery_workload::orderentry::{
    Condition, Dialect, Ledger, Moment, Population, Scale, SchemaOptions, Table, ledger_query,
    population::check_meta,
};

use crate::{Database, OltpError, Target, error::shortened, stopping::unless_stopped};

/// Offenders of one query that are told.
const MOST_OFFENDERS: usize = 10;

/// What a condition's queries found.
#[derive(Clone, Debug)]
pub struct Check {
    /// The condition.
    pub condition: Condition,
    /// At most ten offenders of each query: their key first, then what disagrees. Empty on a sound
    /// database.
    pub offenders: Vec<String>,
    /// How long its queries took.
    pub elapsed: Duration,
}

/// The state of a database.
#[derive(Clone, Debug)]
pub struct Verification {
    /// The server's version, in its own words.
    pub version: String,
    /// What was loaded.
    pub population: Population,
    /// How its schema was made.
    pub schema: SchemaOptions,
    /// All conditions, in order.
    pub checks: Vec<Check>,
    /// What was committed since load, by the database's own counters.
    pub ledger: Ledger,
}

impl Verification {
    /// Whether every condition holds.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.checks.iter().all(|check| check.offenders.is_empty())
    }
}

/// Checks what `target` holds. Blocks; `stop` ends it soon.
///
/// # Errors
/// When there is no way to the database, it was not loaded or not by this version, or a query
/// fails. A broken condition is no error.
pub fn verify(
    target: &Target,
    moment: Moment,
    stop: &AtomicBool,
) -> Result<Verification, OltpError> {
    crate::runtime()?.block_on(unless_stopped(stop, async {
        let mut database = Database::connect(target).await?;
        verify_on(&mut database, target, moment).await
    }))
}

/// What `target` was loaded with.
///
/// # Errors
/// When there is no way to the database, or it was not loaded or not by this version.
pub fn loaded(target: &Target) -> Result<Population, OltpError> {
    crate::runtime()?.block_on(async {
        let mut database = Database::connect(target).await?;
        Ok(read_meta(&mut database, target).await?.0)
    })
}

pub(crate) async fn verify_on(
    database: &mut Database,
    target: &Target,
    moment: Moment,
) -> Result<Verification, OltpError> {
    let (population, schema) = read_meta(database, target).await?;
    begin_snapshot(database).await?;
    let mut checks = Vec::new();
    for condition in Condition::all() {
        let began = Instant::now();
        let mut offenders = Vec::new();
        for query in condition.queries(database.dialect(), population.scale, moment) {
            let rows = database.rows(&query).await?;
            // The queries ask for no more; whoever answers may send more.
            offenders.extend(rows.iter().take(MOST_OFFENDERS).map(|row| words(row)));
        }
        checks.push(Check {
            condition,
            offenders,
            elapsed: began.elapsed(),
        });
    }
    let ledger = read_ledger(database, population.scale).await?;
    if !database.dialect().begins_implicitly() {
        database.execute("COMMIT").await?;
    }
    Ok(Verification {
        version: database.version().to_owned(),
        population,
        schema,
        checks,
        ledger,
    })
}

fn words(row: &[Option<String>]) -> String {
    let values: Vec<&str> = row
        .iter()
        .map(|value| value.as_deref().unwrap_or("null"))
        .collect();
    outside_text(&values.join(", "))
}

async fn begin_snapshot(database: &mut Database) -> Result<(), OltpError> {
    if database.dialect().is_mysql_like() {
        database
            .execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            .await?;
        database
            .execute("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY")
            .await
    } else if database.dialect() == Dialect::Sqlite {
        database.execute("BEGIN").await
    } else if database.dialect().begins_implicitly() {
        // Each query by itself: such a database is to be quiet while it is checked.
        Ok(())
    } else {
        database
            .execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            .await
    }
}

/// Reads `oe_meta`: what was loaded, and how.
pub(crate) async fn read_meta(
    database: &mut Database,
    target: &Target,
) -> Result<(Population, SchemaOptions), OltpError> {
    let rows = match database.short_rows("SELECT k, v FROM oe_meta").await {
        Err(OltpError::Statement { why, .. }) if why.has_no_table() => {
            return Err(OltpError::NotLoaded {
                target: target.to_string(),
            });
        }
        rows => rows?,
    };
    let pairs = rows
        .into_iter()
        .filter_map(|row| match <[Option<String>; 2]>::try_from(row) {
            Ok([Some(key), Some(value)]) => Some((key, value)),
            _ => None,
        });
    let rows: BTreeMap<String, String> = pairs.collect();
    let said = |key: &str, default: bool| rows.get(key).map_or(default, |value| value == "true");
    let schema = SchemaOptions {
        foreign_keys: said("foreign_keys", false),
        history_key: said("history_pk", true),
    };
    let population = check_meta(&rows, None, schema).map_err(|why| OltpError::Meta {
        target: target.to_string(),
        why,
    })?;
    Ok((population, schema))
}

/// What was committed since load.
pub(crate) async fn read_ledger(
    database: &mut Database,
    scale: Scale,
) -> Result<Ledger, OltpError> {
    let query = ledger_query(scale);
    let rows = database.rows(&query).await?;
    let numbers: Vec<i64> = rows
        .iter()
        .flatten()
        .filter_map(|value| value.as_deref()?.parse().ok())
        .collect();
    let [new_orders, payments, delivered] = numbers[..] else {
        return Err(OltpError::Answer {
            statement: shortened(&query),
            answer: outside_text(
                &rows
                    .iter()
                    .map(|row| words(row))
                    .collect::<Vec<_>>()
                    .join("; "),
            ),
        });
    };
    Ok(Ledger {
        new_orders,
        payments,
        delivered,
    })
}

/// Compares the number of rows of every table with what was sent.
pub(crate) async fn check_rows(
    database: &mut Database,
    table: Table,
    sent: u64,
) -> Result<(), OltpError> {
    let query = format!("SELECT COUNT(*) FROM {}", table.name());
    let rows = database.rows(&query).await?;
    let stored = rows
        .first()
        .and_then(|row| row.first()?.as_deref()?.parse().ok())
        .unwrap_or(0);
    if stored == sent {
        return Ok(());
    }
    Err(OltpError::Incomplete {
        table: table.name(),
        warehouse: 0,
        sent,
        stored,
        warnings: 0,
    })
}
