//! The queries of the pages, and the connections they run on.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use rookery_workload::cms::{NODES_PER_PAGE, NodeKind};
use rusqlite::{Connection, OptionalExtension as _, Row, params};

use super::load::hashed;
use crate::embedded::{open_reader, open_writer};

type Result<T> = std::result::Result<T, rusqlite::Error>;

const NODE: &str = "
SELECT n.id, n.kind, n.title, n.body, a.name, n.created FROM nodes n JOIN accounts a ON a.id = \
                    n.author WHERE n.id = ?1";
const LIST: &str = "
SELECT n.id, n.kind, n.title, n.body, a.name, n.created FROM nodes n JOIN accounts a ON a.id = \
                    n.author
WHERE n.promoted = 1 ORDER BY n.created DESC, n.id DESC LIMIT ?1 OFFSET ?2";
const ACCOUNT: &str = "SELECT id, pass FROM accounts WHERE name = ?1";
const NAME: &str = "SELECT name FROM accounts WHERE id = ?1";
const INSERT: &str = "
INSERT INTO nodes (kind, title, body, author, created, promoted) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";

/// A node as pages show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ShownNode {
    pub(super) id: i64,
    pub(super) kind: String,
    pub(super) title: String,
    pub(super) body: String,
    pub(super) author: String,
    pub(super) created_s: i64,
}

/// A node that a user sends.
#[derive(Clone, Debug)]
pub(super) struct NewNode {
    pub(super) kind: NodeKind,
    pub(super) title: String,
    pub(super) body: String,
    pub(super) author: i64,
    pub(super) created_s: i64,
}

/// The database behind the pages.
pub(super) struct Store {
    database: PathBuf,
    /// Readers that are not in use.
    idle: Mutex<Vec<Connection>>,
    writer: Arc<Mutex<Connection>>,
}

impl Store {
    /// Opens so many readers and the writer.
    pub(super) fn open(database: &Path, readers: usize) -> Result<Self> {
        let idle: Result<Vec<Connection>> = (0..readers).map(|_| open_reader(database)).collect();
        Ok(Self {
            database: database.to_owned(),
            idle: Mutex::new(idle?),
            writer: Arc::new(Mutex::new(open_writer(database)?)),
        })
    }

    /// Works on a reader, on this thread.
    fn with<T>(&self, work: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        let taken = self.idle().pop();
        let reader = taken.map_or_else(|| open_reader(&self.database), Ok)?;
        let result = work(&reader);
        self.idle().push(reader);
        result
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<Connection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A node; `None` where there is none.
    pub(super) fn node(&self, id: i64) -> Result<Option<ShownNode>> {
        self.with(|reader| {
            let mut statement = reader.prepare_cached(NODE)?;
            statement.query_row([id], shown).optional()
        })
    }

    /// The promoted nodes of a page, the newest first.
    pub(super) fn list(&self, page: u32) -> Result<Vec<ShownNode>> {
        self.with(|reader| {
            let offset = u64::from(page) * u64::from(NODES_PER_PAGE);
            let mut statement = reader.prepare_cached(LIST)?;
            let rows = statement.query_map(params![NODES_PER_PAGE, offset.cast_signed()], shown)?;
            rows.collect()
        })
    }

    /// The account of this name, and whether this is its password.
    pub(super) fn login(&self, name: &str, password: &str) -> Result<Option<(i64, bool)>> {
        self.with(|reader| {
            let mut statement = reader.prepare_cached(ACCOUNT)?;
            let found: Option<(i64, String)> = statement
                .query_row([name], |row| Ok((row.get(0)?, row.get(1)?)))
                .optional()?;
            Ok(found.and_then(|(id, pass)| {
                let (salt, _) = pass.split_once('$')?;
                Some((id, hashed(salt, password) == pass))
            }))
        })
    }

    /// The name of an account.
    pub(super) fn name(&self, id: i64) -> Result<Option<String>> {
        self.with(|reader| {
            let mut statement = reader.prepare_cached(NAME)?;
            statement.query_row([id], |row| row.get(0)).optional()
        })
    }

    /// Adds a node and gives its id; it is on the disk then. The disk is waited for on a thread of
    /// its own: workers go on answering.
    ///
    /// # Errors
    /// When it was not added; nothing of it is there.
    pub(super) async fn create(&self, node: NewNode) -> std::result::Result<i64, CreateFault> {
        let writer = Arc::clone(&self.writer);
        let created = tokio::task::spawn_blocking(move || {
            let writer = writer.lock().unwrap_or_else(PoisonError::into_inner);
            writer.prepare_cached(INSERT)?.execute(params![
                node.kind.name(),
                node.title,
                node.body,
                node.author,
                node.created_s,
                node.kind == NodeKind::Story,
            ])?;
            Ok(writer.last_insert_rowid())
        });
        match created.await {
            Ok(created) => created.map_err(CreateFault::Refused),
            Err(_) => Err(CreateFault::Ending),
        }
    }
}

/// Why a node was not added.
#[derive(Debug)]
pub(super) enum CreateFault {
    /// SQLite refused.
    Refused(rusqlite::Error),
    /// The server is ending.
    Ending,
}

fn shown(row: &Row<'_>) -> Result<ShownNode> {
    Ok(ShownNode {
        id: row.get(0)?,
        kind: row.get(1)?,
        title: row.get(2)?,
        body: row.get(3)?,
        author: row.get(4)?,
        created_s: row.get(5)?,
    })
}
