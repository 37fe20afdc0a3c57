//! One table of one warehouse through the database's own bulk road: binary COPY, or LOAD DATA from
//! memory.

use std::{
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use bytes::Bytes;
use futures_util::{SinkExt as _, stream};
use mysql_async::{Conn, prelude::Queryable as _};
use rookery_workload::orderentry::{
    Population, Table,
    population::{Part, PartRows, TextFormat},
};
use tokio_postgres::{Client, CopyInSink};

use super::{Progress, Work, binary};
use crate::{ClientError, Database, OltpError, Target, database::AnyClient, error::shortened};

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
        AnyClient::Postgres(client) => copy(client, part.table, rows, work).await?,
        AnyClient::Sqlite(_) => {
            return Err(OltpError::setting("the server of SQLite loads by itself"));
        }
        #[cfg(feature = "odbc")]
        AnyClient::Odbc(connection) => return insert(connection, population, part, work).await,
        AnyClient::Mysql(conn) => load_data(conn, target, part.table, rows, work).await?,
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
    table: Table,
    mut rows: PartRows,
    work: &Work<'_>,
) -> Result<Arrived, OltpError> {
    let statement = format!(
        "COPY {} ({}) FROM STDIN (FORMAT binary)",
        table.name(),
        columns(table)
    );
    let refused = |why: tokio_postgres::Error| OltpError::Statement {
        statement: shortened(&statement),
        why: why.into(),
    };
    let mut sent = Progress::default();
    let sink: CopyInSink<Bytes> = client.copy_in(statement.as_str()).await.map_err(refused)?;
    let mut sink = pin!(sink);
    let mut chunk = room();
    chunk.extend_from_slice(binary::HEADER);
    let mut more = true;
    while more {
        if work.ends() {
            return Err(OltpError::Stopped);
        }
        let count;
        (count, more) = binary::fill(&mut rows, table, &mut chunk, CHUNK);
        if !more {
            chunk.extend_from_slice(binary::TRAILER);
        }
        let step = Progress {
            rows: count,
            bytes: chunk.len() as u64,
        };
        sink.send(Bytes::from(std::mem::replace(&mut chunk, room())))
            .await
            .map_err(refused)?;
        sent.rows += step.rows;
        sent.bytes += step.bytes;
        (work.progress)(step);
    }
    let stored = sink.finish().await.map_err(refused)?;
    Ok(Arrived {
        sent,
        stored,
        warnings: 0,
    })
}

/// What the stream of a LOAD DATA tells its loader, who cannot look into it.
#[derive(Debug, Default)]
struct Sent {
    rows: AtomicU64,
    bytes: AtomicU64,
    stop: AtomicBool,
}

impl Sent {
    fn progress(&self) -> Progress {
        Progress {
            rows: self.rows.load(Ordering::Relaxed),
            bytes: self.bytes.load(Ordering::Relaxed),
        }
    }
}

/// Longest time between two looks at how far a LOAD DATA is.
const LOOK: std::time::Duration = std::time::Duration::from_millis(100);

async fn load_data(
    conn: &mut Conn,
    target: &Target,
    table: Table,
    rows: PartRows,
    work: &Work<'_>,
) -> Result<Arrived, OltpError> {
    let statement = format!(
        "LOAD DATA LOCAL INFILE 'rows' INTO TABLE {} ({})",
        table.name(),
        columns(table)
    );
    let sent = Arc::new(Sent::default());
    let shared = Arc::clone(&sent);
    let chunks = stream::unfold((rows, true), move |(mut rows, more)| {
        let sent = Arc::clone(&shared);
        async move {
            if !more {
                return None;
            }
            if sent.stop.load(Ordering::Relaxed) {
                return Some((
                    Err(std::io::Error::other("stopped on request")),
                    (rows, false),
                ));
            }
            let mut text = room();
            let (count, more) = rows.fill_text(&mut text, TextFormat::LoadData, CHUNK);
            sent.rows.fetch_add(count, Ordering::Relaxed);
            sent.bytes.fetch_add(text.len() as u64, Ordering::Relaxed);
            Some((Ok(Bytes::from(text)), (rows, more)))
        }
    });
    conn.set_infile_handler(async move { Ok(Box::pin(chunks) as mysql_async::InfileData) });
    let mut seen = Progress::default();
    let mut look = || {
        let now = sent.progress();
        (work.progress)(Progress {
            rows: now.rows - seen.rows,
            bytes: now.bytes - seen.bytes,
        });
        seen = now;
        sent.stop.store(work.ends(), Ordering::Relaxed);
    };
    let loading = async {
        let result = conn.query_iter(statement.as_str()).await?;
        let (stored, warnings) = (result.affected_rows(), u64::from(result.warnings()));
        result.drop_result().await?;
        Ok::<_, mysql_async::Error>((stored, warnings))
    };
    let mut loading = pin!(loading);
    let loaded = loop {
        match tokio::time::timeout(LOOK, &mut loading).await {
            Ok(loaded) => break loaded,
            Err(_) => look(),
        }
    };
    look();
    match loaded {
        Ok((stored, warnings)) => Ok(Arrived {
            sent: sent.progress(),
            stored,
            warnings,
        }),
        Err(_) if work.ends() => Err(OltpError::Stopped),
        Err(error) => Err(refusal(target, &statement, error.into())),
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
