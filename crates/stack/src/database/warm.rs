//! A database in memory, or out of it, by a stated procedure, so that "warm" and "cold" mean the
//! same in every trial.

use std::{
    fs::{self, File, OpenOptions},
    io,
    path::Path,
};

use rustix::{
    fs::{Advice, fadvise},
    io::Errno,
};

use super::{DATABASE, DatabaseError, Server};
use crate::lamp::warm::warm_schema;

/// Tables and indexes of the workload, the largest last: what does not fit pushes out what is small
/// and comes back at once.
const RELATIONS: &str = "SELECT c.oid::regclass::text, c.relkind::text FROM pg_class c JOIN \
                         pg_namespace n ON n.oid = c.relnamespace \
     WHERE n.nspname = 'public' AND c.relkind IN ('r', 'i') ORDER BY pg_relation_size(c.oid), 1";

/// Files from this size on are a clone's own before its server runs, bytes. Smaller ones, of which
/// a database has a thousand, are copied so fast that nobody notices when.
const LARGE: u64 = 256 << 10;

/// Read every table and every index of the workload once, from end to end. What does not fit into
/// the buffer pool is evicted again.
///
/// MariaDB: `COUNT(*)` over each index, a table's rows being its primary key. PostgreSQL:
/// `pg_prewarm` of each relation; where that is not installed, a sequential scan of each table,
/// which leaves large tables in the cache of the system alone.
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
            server.pairs(&format!(
                "SELECT 'blocks', pg_prewarm('{}')::text",
                relation.replace('\'', "''")
            ))?;
        } else if kind == "r" {
            server.pairs(&format!("SELECT 'rows', count(*)::text FROM {relation}"))?;
        }
    }
    Ok(())
}

/// Let the system forget what it has cached of the files below `data`: what was written is written
/// out first, what is in use stays.
///
/// # Errors
/// When a file cannot be opened or written out. Files that vanish meanwhile are none.
pub fn cool(data: &Path) -> Result<(), DatabaseError> {
    each_file(data, &forget_file).map_err(|source| DatabaseError::Io {
        what: data.to_owned(),
        source,
    })
}

/// Make every large file below `data` the clone's own, before its server runs, and let the system
/// forget it.
///
/// An overlay copies a whole file when it is first opened for writing. Under load that would be
/// measured, and PostgreSQL takes the interruption of an opening that lasts so long for a broken
/// disk. What is copied here is not charged to the guest's memory.
///
/// # Errors
/// When a file cannot be opened for writing or written out.
pub fn take(data: &Path) -> Result<(), DatabaseError> {
    let failed = |source| DatabaseError::Io {
        what: data.to_owned(),
        source,
    };
    each_file(data, &|path| {
        if fs::symlink_metadata(path)?.len() < LARGE {
            return Ok(());
        }
        OpenOptions::new().write(true).open(path)?;
        forget_file(path)
    })
    .map_err(failed)
}

/// Do `work` with every file below `path`; what vanishes meanwhile is none.
fn each_file(path: &Path, work: &dyn Fn(&Path) -> io::Result<()>) -> io::Result<()> {
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        let done = match entry.file_type()? {
            kind if kind.is_dir() => each_file(&entry.path(), work),
            kind if kind.is_file() => work(&entry.path()),
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
        assert_eq!(
            fs::read_to_string(dir.path().join("deep/file")).expect("there"),
            "content"
        );
        let error = cool(&dir.path().join("none"))
            .expect_err("there is none")
            .to_string();
        assert!(error.contains("none"), "{error}");
    }
}
