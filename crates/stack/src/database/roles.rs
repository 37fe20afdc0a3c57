//! Logs and temporary files on volumes of their own: moved there before the server of a clone
//! starts, and looked at where the server knows nothing of them.

use std::{
    fs, io,
    os::unix::fs::{MetadataExt as _, chown, lchown, symlink},
    path::Path,
};

use rookery_guest::RoleDirectory;
use rookery_study::StorageRole;

use super::{DatabaseError, Engine, Readings};

/// PostgreSQL's log, below its directory.
const LOG: &str = "postgresql/pg_wal";
/// PostgreSQL's temporary files, below its directory.
const TEMPORARY: &str = "postgresql/base/pgsql_tmp";
/// Prefix of the files of MariaDB's log.
const REDO: &str = "ib_logfile";

/// Move what has volumes of its own from the data of a clone, whose server does not run.
///
/// MariaDB is told where its log is, and would begin an empty one elsewhere: its files are moved.
/// PostgreSQL finds both by links, as `initdb --waldir` makes one; temporary files of sorts and
/// joins follow theirs, temporary tables stay with the data.
///
/// # Errors
/// When a file cannot be moved.
pub fn move_roles(
    engine: Engine,
    data: &Path,
    directories: &[RoleDirectory],
) -> Result<(), DatabaseError> {
    for directory in directories {
        let moved = match (engine, directory.role) {
            (Engine::Mariadb, StorageRole::Log) => move_redo(&data.join("mysql"), directory),
            (Engine::Postgresql, StorageRole::Log) => {
                move_behind_link(&data.join(LOG), directory, "pg_wal")
            }
            (Engine::Postgresql, StorageRole::Temporary) => {
                move_behind_link(&data.join(TEMPORARY), directory, "pgsql_tmp")
            }
            // Its directory of temporary files is a setting, and empty before its first start.
            (Engine::Mariadb, StorageRole::Temporary) | (_, StorageRole::Data) => Ok(()),
        };
        moved.map_err(|source| DatabaseError::Io {
            what: directory.outside.clone(),
            source,
        })?;
    }
    Ok(())
}

fn move_redo(database: &Path, directory: &RoleDirectory) -> io::Result<()> {
    for entry in fs::read_dir(database)? {
        let entry = entry?;
        let name = entry.file_name();
        if name.to_string_lossy().starts_with(REDO) {
            move_file(&entry.path(), &directory.outside.join(name))?;
        }
    }
    Ok(())
}

/// Move a directory, which may be absent, to `name` on the volume, and leave a link in its place.
fn move_behind_link(from: &Path, directory: &RoleDirectory, name: &str) -> io::Result<()> {
    let to = directory.outside.join(name);
    match fs::symlink_metadata(from) {
        Ok(_) => move_directory(from, &to)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            make_like(&to, from.parent().unwrap_or(from))?;
        }
        Err(error) => return Err(error),
    }
    symlink(Path::new(&directory.inside).join(name), from)?;
    let owner = fs::metadata(&to)?;
    keep_owner(|user, group| lchown(from, user, group), &owner)
}

/// The log has one level of directories below its own.
fn move_directory(from: &Path, to: &Path) -> io::Result<()> {
    make_like(to, from)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        let kind = entry.file_type()?;
        if kind.is_dir() {
            make_like(&target, &entry.path())?;
            for below in fs::read_dir(entry.path())? {
                let below = below?;
                move_file(&below.path(), &target.join(below.file_name()))?;
            }
            fs::remove_dir(entry.path())?;
        } else {
            move_file(&entry.path(), &target)?;
        }
    }
    fs::remove_dir(from)
}

/// Make a directory with owner and permissions of another.
fn make_like(path: &Path, like: &Path) -> io::Result<()> {
    let like = fs::metadata(like)?;
    fs::create_dir(path)?;
    keep_owner(|user, group| chown(path, user, group), &like)?;
    fs::set_permissions(path, like.permissions())
}

/// Move a file to another file system: written out there before the load, and not by it.
fn move_file(from: &Path, to: &Path) -> io::Result<()> {
    let owner = fs::metadata(from)?;
    fs::copy(from, to)?;
    keep_owner(|user, group| chown(to, user, group), &owner)?;
    fs::File::open(to)?.sync_all()?;
    fs::remove_file(from)
}

/// Root alone can give files away, and only then have clones owners of their own.
fn keep_owner(
    give: impl FnOnce(Option<u32>, Option<u32>) -> io::Result<()>,
    owner: &fs::Metadata,
) -> io::Result<()> {
    if !rustix::process::geteuid().is_root() {
        return Ok(());
    }
    give(Some(owner.uid()), Some(owner.gid()))
}

/// Where a server has what a role is for: name of the setting, or of the link, and its value;
/// nothing where the server does not say.
#[must_use]
pub fn role_in_force(
    engine: Engine,
    readings: &Readings,
    data: &Path,
    role: StorageRole,
) -> Option<(&'static str, String)> {
    let setting =
        |name: &'static str| Some((name, readings.get(name).cloned().unwrap_or_default()));
    let link = |name: &'static str, path: &str| {
        // The directory behind the link is the guest's: from here it leads nowhere.
        let found = fs::read_link(data.join(path)).ok();
        let above = found.as_deref().and_then(Path::parent);
        Some((
            name,
            above.map_or_else(String::new, |above| above.display().to_string()),
        ))
    };
    match (engine, role) {
        (_, StorageRole::Data) => None,
        (Engine::Mariadb, StorageRole::Log) => setting("innodb_log_group_home_dir"),
        (Engine::Mariadb, StorageRole::Temporary) => setting("tmpdir"),
        (Engine::Postgresql, StorageRole::Log) => link("pg_wal", LOG),
        (Engine::Postgresql, StorageRole::Temporary) => link("pgsql_tmp", TEMPORARY),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn directory(role: StorageRole, outside: &Path) -> RoleDirectory {
        RoleDirectory {
            role,
            outside: outside.to_owned(),
            inside: format!("/volumes/{}", role.name()),
        }
    }

    #[test]
    fn logs_are_moved_and_found_again() {
        let place = tempfile::tempdir().expect("a directory");
        let (data, log) = (place.path().join("data"), place.path().join("log"));
        fs::create_dir_all(data.join("postgresql/pg_wal/archive_status")).expect("made");
        fs::create_dir_all(data.join("postgresql/base")).expect("made");
        fs::create_dir_all(data.join("mysql")).expect("made");
        fs::create_dir(&log).expect("made");
        for file in [
            "postgresql/pg_wal/000000010000000000000001",
            "postgresql/pg_wal/archive_status/a.done",
            "mysql/ib_logfile0",
            "mysql/ibdata1",
        ] {
            fs::write(data.join(file), file).expect("written");
        }
        let roles = [
            directory(StorageRole::Log, &log),
            directory(StorageRole::Temporary, &log),
        ];
        move_roles(Engine::Postgresql, &data, &roles).expect("moved");
        assert!(log.join("pg_wal/archive_status/a.done").is_file());
        assert!(log.join("pg_wal/000000010000000000000001").is_file());
        assert!(log.join("pgsql_tmp").is_dir());
        let none = Readings::new();
        assert_eq!(
            role_in_force(Engine::Postgresql, &none, &data, StorageRole::Log),
            Some(("pg_wal", "/volumes/log".to_owned()))
        );
        assert_eq!(
            role_in_force(Engine::Postgresql, &none, &data, StorageRole::Temporary),
            Some(("pgsql_tmp", "/volumes/temporary".to_owned()))
        );
        move_roles(Engine::Mariadb, &data, &roles).expect("moved");
        assert!(log.join("ib_logfile0").is_file() && !data.join("mysql/ib_logfile0").exists());
        assert!(data.join("mysql/ibdata1").is_file());
        let missing = move_roles(Engine::Mariadb, place.path(), &roles).expect_err("no data");
        assert!(missing.to_string().contains("log"), "{missing}");
    }
}
