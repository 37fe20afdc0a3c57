//! What a load left in a database.

use std::path::Path;

use rookery_workload::{
    FoundRow,
    cms::{CmsData, NodeKind, new_nodes},
};
use rusqlite::Connection;

use super::{CmsError, schema};
use crate::embedded::open_writer;

/// What a load left.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// Nodes beyond the loaded ones, by kind.
    pub rows: Vec<FoundRow>,
    /// What is not as it should be, in words.
    pub faults: Vec<String>,
}

/// Counts what is in a database beyond what it was loaded with. What a server that was killed had
/// committed is recovered first.
///
/// # Errors
/// When the database cannot be read.
pub fn count(database: &Path) -> Result<Counted, CmsError> {
    let connection =
        open_writer(database).map_err(CmsError::database(database, "opening the database"))?;
    let data = schema::described(&connection, database)?;
    counted(&connection, &data).map_err(CmsError::database(database, "counting the nodes"))
}

fn counted(connection: &Connection, data: &CmsData) -> Result<Counted, rusqlite::Error> {
    let last = data.first_node + data.nodes - 1;
    let number = |query: &str| -> Result<u64, rusqlite::Error> {
        let found: i64 = connection.query_row(query, [last], |row| row.get(0))?;
        Ok(found.unsigned_abs())
    };
    let mut rows = Vec::new();
    for kind in NodeKind::ALL {
        let query = format!(
            "SELECT count(*) FROM nodes WHERE id > ?1 AND kind = '{}'",
            kind.name()
        );
        rows.push(FoundRow::new(new_nodes(kind), number(&query)?));
    }
    let mut faults = Vec::new();
    let loaded = number("SELECT count(*) FROM nodes WHERE id <= ?1")?;
    if loaded != u64::from(data.nodes) {
        faults.push(format!(
            "{loaded} of the {} loaded nodes are left",
            data.nodes
        ));
    }
    for (query, what) in [
        (
            "SELECT count(*) - count(DISTINCT title) FROM nodes WHERE id > ?1",
            "new nodes have the title of another",
        ),
        (
            "SELECT count(*) FROM nodes WHERE id > ?1 AND (title = '' OR body = '' OR NOT EXISTS \
             (SELECT 1 FROM accounts WHERE accounts.id = nodes.author))",
            "new nodes lack title, text or author",
        ),
        (
            "SELECT count(*) FROM nodes WHERE id > ?1 AND promoted <> (kind = 'story')",
            "new nodes are not promoted as their kind says",
        ),
    ] {
        let found = number(query)?;
        if found > 0 {
            faults.push(format!("{found} {what}"));
        }
    }
    Ok(Counted { rows, faults })
}
