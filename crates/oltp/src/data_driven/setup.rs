//! What makes and fills the tables, and what is counted in them afterwards.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use rookery_diagnosis::outside_text;
use rookery_workload::{FoundRow, sql::RowAudit};

use super::session::UTF_8;
use crate::{Database, OltpError, Target, error::shortened, runtime, stopping::unless_stopped};

/// Executes the statements one after the other; `progress` is told of how many were executed.
///
/// # Errors
/// When there is no way to the database, it refuses a statement, all of them together take longer
/// than `limit`, or `stop` is set.
pub fn set_up(
    target: &Target,
    statements: &[String],
    limit: Duration,
    stop: &AtomicBool,
    progress: &(dyn Fn(usize) + Sync),
) -> Result<(), OltpError> {
    let work = async {
        let mut database = connect(target).await?;
        for (done, statement) in statements.iter().enumerate() {
            if stop.load(Ordering::Relaxed) {
                return Err(OltpError::Stopped);
            }
            database.execute(statement).await?;
            progress(done + 1);
        }
        Ok(())
    };
    runtime()?.block_on(async {
        match tokio::time::timeout(limit, unless_stopped(stop, work)).await {
            Ok(ended) => ended,
            Err(_) => Err(OltpError::Slow { limit }),
        }
    })
}

/// What the audits find, beyond what was there before the load.
///
/// # Errors
/// When there is no way to the database, it refuses a statement, an answer is no number, or all of
/// them together take longer than `limit`.
pub fn count_records(
    target: &Target,
    audits: &[RowAudit],
    limit: Duration,
) -> Result<Vec<FoundRow>, OltpError> {
    let work = async {
        let mut database = connect(target).await?;
        let mut found = Vec::new();
        for audit in audits {
            let rows = database.rows(&audit.statement).await?;
            let number = rows.first().and_then(|row| row.first()).cloned().flatten();
            let number: Option<u64> = number.and_then(|text| text.trim().parse().ok());
            let number = number.ok_or_else(|| OltpError::Answer {
                statement: shortened(&audit.statement),
                answer: outside_text(&format!("{:?}", rows.first())),
            })?;
            // Less than there was before the load is less than anybody was told of.
            let new = number.saturating_sub(audit.initial);
            found.push(FoundRow::new(&audit.counts, new));
        }
        Ok(found)
    };
    runtime()?.block_on(async {
        match tokio::time::timeout(limit, work).await {
            Ok(found) => found,
            Err(_) => Err(OltpError::Slow { limit }),
        }
    })
}

async fn connect(target: &Target) -> Result<Database, OltpError> {
    let mut database = Database::connect(target).await?;
    if database.dialect().is_mysql_like() {
        database.execute(UTF_8).await?;
    }
    Ok(database)
}
