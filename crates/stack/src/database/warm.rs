//! A database in memory, or out of it, by a stated procedure, so that "warm" and "cold" mean the same in every trial.

use std::{
    fs::{self, File},
    io,
    path::Path,
};

use rustix::{
    fs::{Advice, fadvise},
    io::Errno,
};

use super::{DATABASE, DatabaseError, Server};
use crate::lamp::warm::warm_schema;

/// Tables and indexes of the workload, the largest last: what does not fit pushes out what is small and comes back at once.
const RELATIONS: &str = "SELECT c.oid::regclass::text, c.relkind::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace \
     WHERE n.nspname = 'public' AND c.relkind IN ('r', 'i') ORDER BY pg_relation_size(c.oid), 1";

/// Read every table and every index of the workload once, from end to end. What does not fit into the buffer pool is evicted again.
///
/// MariaDB: `COUNT(*)` over each index, a table's rows being its primary key. PostgreSQL: `pg_prewarm` of each relation; where that is not
/// installed, a sequential scan of each table, which leaves large tables in the cache of the system alone.
///
/// # Errors
/// When the server refuses a query.
pub fn warm(server: &mut Server) -> Result<(), DatabaseError> {
    if let Some(database) = server.mariadb() {
        warm_schema(database, DATABASE)?;
        return Ok(());
    }
    let prewarm = !server
        .pairs("SELECT extname, extversion FROM pg_extension WHERE extname = 'pg_prewarm'")?
        .is_empty();
    for (relation, kind) in server.pairs(RELATIONS)? {
        if prewarm {
            server.pairs(&format!("SELECT 'blocks', pg_prewarm('{}')::text", relation.replace('\'', "''")))?;
        } else if kind == "r" {
            server.pairs(&format!("SELECT 'rows', count(*)::text FROM {relation}"))?;
        }
    }
    Ok(())
}

/// Let the system forget what it has cached of the files below `data`: what was written is written out first, what is in use stays.
///
/// # Errors
/// When a file cannot be opened or written out. Files that vanish meanwhile are none.
pub fn cool(data: &Path) -> Result<(), DatabaseError> {
    forget(data).map_err(|source| DatabaseError::Io {
        what: data.to_owned(),
        source,
    })
}

fn forget(path: &Path) -> io::Result<()> {
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        let done = match entry.file_type()? {
            kind if kind.is_dir() => forget(&entry.path()),
            kind if kind.is_file() => forget_file(&entry.path()),
            _ => Ok(()),
        };
        match done {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            done => done?,
        }
    }
    Ok(())
}

fn forget_file(path: &Path) -> io::Result<()> {
    let file = File::open(path)?;
    // Dirty pages are never dropped.
    file.sync_data()?;
    match fadvise(&file, 0, None, Advice::DontNeed) {
        // Some file systems take no advice.
        Ok(()) | Err(Errno::OPNOTSUPP | Errno::INVAL | Errno::NOSYS) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_forgotten_and_stay() {
        let dir = tempfile::tempdir().expect("a directory");
        fs::create_dir(dir.path().join("deep")).expect("made");
        fs::write(dir.path().join("deep/file"), "content").expect("written");
        cool(dir.path()).expect("forgotten");
        assert_eq!(fs::read_to_string(dir.path().join("deep/file")).expect("there"), "content");
        let error = cool(&dir.path().join("none")).expect_err("there is none").to_string();
        assert!(error.contains("none"), "{error}");
    }
}
