//! One table of one warehouse through the database's own bulk road: binary COPY, or LOAD DATA from
//! memory.

use std::pin::{Pin, pin};

use bytes::Bytes;
use futures_util::SinkExt as _;
use rookery_workload::orderentry::{
    Population, Table,
    population::{Part, PartRows, TextFormat},
};
use tokio::time::timeout;
use tokio_postgres::{Client, CopyInSink};

use super::{Progress, Work, binary};
use crate::{
    ClientError, Database, OltpError, Target, database::AnyClient, error::shortened, fence::fenced,
    mysql::MysqlClient,
};

/// What is made and sent at once, bytes.
const CHUNK: usize = 256 * 1024;

pub(super) async fn load_part(
    database: &mut Database,
    target: &Target,
    population: &Population,
    part: Part,
    work: &Work<'_>,
) -> Result<Progress, OltpError> {
    let rows = part.rows(population);
    let arrived = match &mut database.client {
        AnyClient::Postgres(client) => copy(client, target, part.table, rows, work).await?,
        AnyClient::Sqlite(_) => {
            return Err(OltpError::setting("the server of SQLite loads by itself"));
        }
        #[cfg(feature = "odbc")]
        AnyClient::Odbc(connection) => return insert(connection, population, part, work).await,
        AnyClient::Mysql(client) => load_data(client, target, part.table, rows, work).await?,
    };
    if arrived.sent.rows == arrived.stored && arrived.warnings == 0 {
        return Ok(arrived.sent);
    }
    Err(OltpError::Incomplete {
        table: part.table.name(),
        warehouse: part.warehouse,
        sent: arrived.sent.rows,
        stored: arrived.stored,
        warnings: arrived.warnings,
    })
}

/// Over ODBC by arrays of parameters, a part at a time.
#[cfg(feature = "odbc")]
async fn insert(
    connection: &mut crate::odbc::Connection,
    population: &Population,
    part: Part,
    work: &Work<'_>,
) -> Result<Progress, OltpError> {
    let sent = connection
        .insert(population, part)
        .await
        .map_err(|why| OltpError::Statement {
            statement: format!("INSERT INTO {}", part.table.name()),
            why,
        })?;
    (work.progress)(sent);
    Ok(sent)
}

struct Arrived {
    sent: Progress,
    stored: u64,
    warnings: u64,
}

fn columns(table: Table) -> String {
    let names: Vec<&str> = table
        .loaded_columns()
        .iter()
        .map(|column| column.name)
        .collect();
    names.join(", ")
}

/// Room for a chunk, and the row that goes past its end.
fn room() -> Vec<u8> {
    Vec::with_capacity(CHUNK + 2048)
}

async fn copy(
    client: &Client,
    target: &Target,
    table: Table,
    mut rows: PartRows,
    work: &Work<'_>,
) -> Result<Arrived, OltpError> {
    let statement = format!(
        "COPY {} ({}) FROM STDIN (FORMAT binary)",
        table.name(),
        columns(table)
    );
    let mut sent = Progress::default();
    let step = |what: ClientError| OltpError::Statement {
        statement: shortened(&statement),
        why: what,
    };
    let sink = within(target, client.copy_in(statement.as_str())).await;
    let mut sink: Pin<&mut CopyInSink<Bytes>> = pin!(sink.map_err(step)?);
    let mut chunk = room();
    chunk.extend_from_slice(binary::HEADER);
    let mut more = true;
    while more {
        let count;
        (count, more) = binary::fill(&mut rows, table, &mut chunk, CHUNK);
        if !more {
            chunk.extend_from_slice(binary::TRAILER);
        }
        let progress = Progress {
            rows: count,
            bytes: chunk.len() as u64,
        };
        let bytes = Bytes::from(std::mem::replace(&mut chunk, room()));
        within(target, sink.send(bytes)).await.map_err(step)?;
        sent.rows += progress.rows;
        sent.bytes += progress.bytes;
        (work.progress)(progress);
    }
    let stored = within(target, sink.as_mut().finish()).await.map_err(step)?;
    Ok(Arrived {
        sent,
        stored,
        warnings: 0,
    })
}

/// One step of the client library, within the patience for statements.
async fn within<T>(
    target: &Target,
    step: impl Future<Output = Result<T, tokio_postgres::Error>>,
) -> Result<T, ClientError> {
    let patience = target.patience.statement;
    match timeout(patience, fenced(step)).await {
        Ok(done) => Ok(done??),
        Err(_) => Err(ClientError::Timeout(patience)),
    }
}

async fn load_data(
    client: &mut MysqlClient,
    target: &Target,
    table: Table,
    mut rows: PartRows,
    work: &Work<'_>,
) -> Result<Arrived, OltpError> {
    let statement = format!(
        "LOAD DATA LOCAL INFILE 'rows' INTO TABLE {} ({})",
        table.name(),
        columns(table)
    );
    let mut sent = Progress::default();
    let mut more = true;
    let next = || {
        let mut text = room();
        while more && text.is_empty() {
            let count;
            (count, more) = rows.fill_text(&mut text, TextFormat::LoadData, CHUNK);
            let step = Progress {
                rows: count,
                bytes: text.len() as u64,
            };
            sent.rows += step.rows;
            sent.bytes += step.bytes;
            (work.progress)(step);
        }
        (!text.is_empty()).then_some(text)
    };
    let loaded = client
        .load_local(&statement, target.patience.statement, next)
        .await;
    match loaded {
        Ok((stored, warnings)) => Ok(Arrived {
            sent,
            stored,
            warnings,
        }),
        Err(why) => Err(refusal(target, &statement, why)),
    }
}

fn refusal(target: &Target, statement: &str, why: ClientError) -> OltpError {
    match why.code() {
        // Not allowed with this version; loading local data is disabled.
        Some((_, 1148 | 3948 | 4166)) => OltpError::NoInfile {
            target: target.to_string(),
            why,
        },
        _ => OltpError::Statement {
            statement: shortened(statement),
            why,
        },
    }
}
