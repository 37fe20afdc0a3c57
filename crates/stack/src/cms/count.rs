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
    counted_here(&connection, &data).map_err(CmsError::database(database, "counting the nodes"))
}

fn counted_here(connection: &Connection, data: &CmsData) -> Result<Counted, rusqlite::Error> {
    let site = SiteNodes {
        nodes: "nodes",
        accounts: "accounts",
    };
    counted(&site, data, |query| {
        let found: i64 = connection.query_row(query, [], |row| row.get(0))?;
        Ok(found.unsigned_abs())
    })
}

/// Where the nodes and accounts of a site are: tables, or queries in parentheses, that have the
/// columns of the small site's.
pub(crate) struct SiteNodes {
    /// With `id`, `kind`, `title`, `body`, `author` and `promoted`.
    pub(crate) nodes: &'static str,
    /// With `id`.
    pub(crate) accounts: &'static str,
}

/// Counts what a site has beyond these data; `number` asks for the one number of a query, which any
/// server of SQL understands.
///
/// # Errors
/// Those of `number`.
pub(crate) fn counted<E>(
    site: &SiteNodes,
    data: &CmsData,
    mut number: impl FnMut(&str) -> Result<u64, E>,
) -> Result<Counted, E> {
    let last = u64::from(data.first_node) + u64::from(data.nodes) - 1;
    let SiteNodes {
        nodes: all,
        accounts,
    } = site;
    let nodes = format!("SELECT count(*) FROM {all} n WHERE n.id");
    let mut rows = Vec::new();
    for kind in NodeKind::ALL {
        let query = format!("{nodes} > {last} AND n.kind = '{}'", kind.name());
        rows.push(FoundRow::new(new_nodes(kind), number(&query)?));
    }
    let mut faults = Vec::new();
    let loaded = number(&format!("{nodes} <= {last}"))?;
    if loaded != u64::from(data.nodes) {
        faults.push(format!(
            "{loaded} of the {} loaded nodes are left",
            data.nodes
        ));
    }
    for (query, what) in [
        (
            format!("SELECT count(*) - count(DISTINCT n.title) FROM {all} n WHERE n.id > {last}"),
            "new nodes have the title of another",
        ),
        (
            format!(
                "{nodes} > {last} AND (n.title = '' OR n.body = '' OR NOT EXISTS (SELECT 1 FROM \
                 {accounts} a WHERE a.id = n.author))"
            ),
            "new nodes lack title, text or author",
        ),
        (
            format!("{nodes} > {last} AND n.promoted <> (n.kind = 'story')"),
            "new nodes are not promoted as their kind says",
        ),
    ] {
        let found = number(&query)?;
        if found > 0 {
            faults.push(format!("{found} {what}"));
        }
    }
    Ok(Counted { rows, faults })
}
