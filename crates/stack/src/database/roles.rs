//! Logs and temporary files on volumes of their own: what is moved there before the server of a
//! clone starts, and where the server has them.

use std::path::{Path, PathBuf};

use rookery_guest::{Guest, RoleDirectory, RoleMove};
use rookery_study::StorageRole;

use super::{Engine, EngineFacts as _, Readings};
use crate::tuning::Effective;

/// PostgreSQL's log, below the data.
const LOG: &str = "postgresql/pg_wal";
/// PostgreSQL's temporary files, below the data.
const TEMPORARY: &str = "postgresql/base/pgsql_tmp";

/// What is moved to the volume of a role from the data of a clone.
///
/// MariaDB is told where its log is, and would begin an empty one elsewhere: its files are moved;
/// its directory of temporary files is a setting, and empty before its first start. PostgreSQL
/// finds both by links, as `initdb --waldir` makes one; temporary files of sorts and joins follow
/// theirs, temporary tables stay with the data.
#[must_use]
pub fn moved(engine: Engine, role: StorageRole) -> Vec<RoleMove> {
    let directory = |path: &str, name: &str| RoleMove::Directory {
        path: path.to_owned(),
        name: name.to_owned(),
    };
    match (engine, role) {
        (Engine::Mariadb, StorageRole::Log) => vec![RoleMove::Files {
            directory: "mysql".to_owned(),
            prefix: "ib_logfile".to_owned(),
        }],
        (Engine::Postgresql, StorageRole::Log) => vec![directory(LOG, "pg_wal")],
        (Engine::Postgresql, StorageRole::Temporary) => vec![directory(TEMPORARY, "pgsql_tmp")],
        (Engine::Mariadb, StorageRole::Temporary) | (_, StorageRole::Data) => Vec::new(),
    }
}

/// Where the server of a guest has what its roles are for, beside where it was asked to have it.
#[must_use]
pub fn role_settings(engine: Engine, readings: &Readings, guest: &dyn Guest) -> Vec<Effective> {
    let setting = |directory: RoleDirectory| {
        let (name, in_force) = role_in_force(engine, readings, guest, directory.role)?;
        Some(Effective {
            name: format!("{}.{name}", engine.key()),
            differs: directory.inside != in_force,
            asked: Some(directory.inside),
            effective: Some(in_force),
        })
    };
    let directories = guest.role_directories().into_iter();
    directories.filter_map(setting).collect()
}

/// Where a server has what a role is for: name of the setting, or of the link among the data of the
/// guest, and its value; nothing where the server does not say.
fn role_in_force(
    engine: Engine,
    readings: &Readings,
    guest: &dyn Guest,
    role: StorageRole,
) -> Option<(&'static str, String)> {
    let setting =
        |name: &'static str| Some((name, readings.get(name).cloned().unwrap_or_default()));
    let link = |name: &'static str, path: &str| Some((name, above(guest.link_in_data(path))));
    match (engine, role) {
        (_, StorageRole::Data) => None,
        (Engine::Mariadb, StorageRole::Log) => setting("innodb_log_group_home_dir"),
        (Engine::Mariadb, StorageRole::Temporary) => setting("tmpdir"),
        (Engine::Postgresql, StorageRole::Log) => link("pg_wal", LOG),
        (Engine::Postgresql, StorageRole::Temporary) => link("pgsql_tmp", TEMPORARY),
    }
}

/// The directory of the role that a link leads into.
fn above(link: Option<PathBuf>) -> String {
    let above = link.as_deref().and_then(Path::parent);
    above.map_or_else(String::new, |above| above.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_is_told_where_its_files_are_leaves_no_link() {
        let linked = |engine, role| {
            let moves = moved(engine, role);
            let link = |one: &RoleMove| matches!(one, RoleMove::Directory { .. });
            (moves.len(), moves.iter().any(link))
        };
        assert_eq!(linked(Engine::Mariadb, StorageRole::Log), (1, false));
        assert_eq!(linked(Engine::Mariadb, StorageRole::Temporary), (0, false));
        assert_eq!(linked(Engine::Postgresql, StorageRole::Log), (1, true));
        assert_eq!(
            linked(Engine::Postgresql, StorageRole::Temporary),
            (1, true)
        );
        assert_eq!(above(Some("/volumes/log/pg_wal".into())), "/volumes/log");
        assert_eq!(above(None), "");
    }
}
