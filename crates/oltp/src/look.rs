//! Short questions to a database outside the load: how many orders it has given, what was
//! committed, at which isolation level.

use std::time::Duration;

use rookery_diagnosis::outside_text;
use rookery_workload::orderentry::{Isolation, Ledger, Moment};

use crate::{
    Database, OltpError, Target, runtime,
    verify::{Verification, read_ledger, read_meta, verify_on},
};

/// Longest time for one short question.
const PATIENCE: Duration = Duration::from_secs(30);

/// A server as it answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    /// Its version, in its own words.
    pub version: String,
    /// The isolation level of a session that asked for one, in the server's words; nothing where it
    /// does not say.
    pub isolation: Option<String>,
}

/// Version, and the isolation level of a session that asks for `isolation`.
///
/// # Errors
/// When there is no way to the database, it refuses the level, or it does not answer within 30 s.
pub fn server(target: &Target, isolation: Isolation) -> Result<Server, OltpError> {
    asked(async {
        let mut database = Database::connect(target).await?;
        let dialect = database.dialect();
        if let Some(statement) = dialect.set_isolation(isolation) {
            database.execute(&statement).await?;
        }
        let isolation = match dialect.read_isolation() {
            Some(query) => database.word(query).await?,
            None => None,
        };
        Ok(Server {
            version: database.version().to_owned(),
            isolation,
        })
    })
}

/// Sum of the next order numbers of all districts: its growth is the number of committed new
/// orders.
///
/// # Errors
/// When there is no way to the database, or it does not answer within 30 s.
pub fn next_orders(target: &Target) -> Result<u64, OltpError> {
    const QUERY: &str = "SELECT SUM(d_next_o_id) FROM district";
    asked(async {
        let mut database = Database::connect(target).await?;
        let rows = database.rows(QUERY).await?;
        let number = rows
            .iter()
            .flatten()
            .flatten()
            .next()
            .and_then(|text| text.parse().ok());
        number.ok_or_else(|| OltpError::Answer {
            statement: QUERY.to_owned(),
            answer: outside_text(&format!("{rows:?}")),
        })
    })
}

/// What was committed since load, by the database's own rows.
///
/// # Errors
/// When there is no way to the database, it was not loaded, or the answer takes longer than
/// `limit`.
pub fn ledger(target: &Target, limit: Duration) -> Result<Ledger, OltpError> {
    within(limit, async {
        let mut database = Database::connect(target).await?;
        let (population, _) = read_meta(&mut database, target).await?;
        read_ledger(&mut database, population.scale).await
    })
}

/// The consistency conditions at any time, as [`verify`](crate::verify), with a limit.
///
/// # Errors
/// As [`verify`](crate::verify), and when it takes longer than `limit`.
pub fn verify_within(target: &Target, limit: Duration) -> Result<Verification, OltpError> {
    within(limit, async {
        let mut database = Database::connect(target).await?;
        verify_on(&mut database, target, Moment::AnyTime).await
    })
}

fn asked<T>(question: impl Future<Output = Result<T, OltpError>>) -> Result<T, OltpError> {
    within(PATIENCE, question)
}

fn within<T>(
    limit: Duration,
    question: impl Future<Output = Result<T, OltpError>>,
) -> Result<T, OltpError> {
    runtime()?.block_on(async {
        match tokio::time::timeout(limit, question).await {
            Ok(answer) => answer,
            Err(_) => Err(OltpError::Slow { limit }),
        }
    })
}
