//! What is moved from the data of a clone to a volume of its own, before its server starts.

use std::{
    fs, io,
    os::unix::fs::{MetadataExt as _, chown, lchown, symlink},
    path::Path,
};

use serde::{Deserialize, Serialize};

use crate::paths::named;

/// What is moved from the data of a clone to the directory of a role. Its server does not run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RoleMove {
    /// Files of a directory: the server is told where they are.
    Files {
        /// The directory, below the data.
        directory: String,
        /// What their names begin with.
        prefix: String,
    },
    /// A directory, of at most one level of others; a link to it stays in its place.
    Directory {
        /// Where it is below the data. It may be absent.
        path: String,
        /// Its name in the directory of the role.
        name: String,
    },
}

/// The directory of a role, as whoever moves sees it and as the guest does.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RoleEnds<'a> {
    pub(crate) outside: &'a Path,
    pub(crate) inside: &'a str,
}

/// Give the directory of a role to whom the data are for, and move there what goes there. What was
/// moved before, stays.
///
/// # Errors
/// When a file cannot be moved; its path is named.
pub(crate) fn fill_role(data: &Path, ends: RoleEnds<'_>, moves: &[RoleMove]) -> io::Result<()> {
    take_over(ends.outside, &fs::metadata(data)?)?;
    moves.iter().try_for_each(|one| match one {
        RoleMove::Files { directory, prefix } => {
            let directory = data.join(directory);
            move_files(&directory, prefix, ends.outside).map_err(|error| named(&directory, &error))
        }
        RoleMove::Directory { path, name } => {
            let from = data.join(path);
            move_behind_link(&from, ends, name).map_err(|error| named(&from, &error))
        }
    })
}

fn move_files(directory: &Path, prefix: &str, to: &Path) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let name = entry.file_name();
        if name.to_string_lossy().starts_with(prefix) {
            move_file(&entry.path(), &to.join(name))?;
        }
    }
    Ok(())
}

/// Move a directory to `name` on the volume, and leave a link in its place.
fn move_behind_link(from: &Path, ends: RoleEnds<'_>, name: &str) -> io::Result<()> {
    let to = ends.outside.join(name);
    match fs::symlink_metadata(from) {
        Ok(found) if found.is_symlink() => return Ok(()),
        Ok(_) => move_directory(from, &to)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            make_like(&to, from.parent().unwrap_or(from))?;
        }
        Err(error) => return Err(error),
    }
    symlink(Path::new(ends.inside).join(name), from)?;
    let owner = fs::metadata(&to)?;
    keep_owner(|user, group| lchown(from, user, group), &owner)
}

fn move_directory(from: &Path, to: &Path) -> io::Result<()> {
    make_like(to, from)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
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

/// Make a directory with owner and permissions of another. A move that was cut short has made it
/// already.
fn make_like(path: &Path, like: &Path) -> io::Result<()> {
    match fs::create_dir(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    take_over(path, &fs::metadata(like)?)
}

/// Give a directory the owner and the permissions of another.
fn take_over(path: &Path, like: &fs::Metadata) -> io::Result<()> {
    keep_owner(|user, group| chown(path, user, group), like)?;
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

#[cfg(test)]
mod tests {
    use super::*;

    fn files(directory: &str, prefix: &str) -> RoleMove {
        RoleMove::Files {
            directory: directory.to_owned(),
            prefix: prefix.to_owned(),
        }
    }

    fn directory(path: &str, name: &str) -> RoleMove {
        RoleMove::Directory {
            path: path.to_owned(),
            name: name.to_owned(),
        }
    }

    #[test]
    fn files_and_directories_are_moved_once() {
        let place = tempfile::tempdir().expect("a directory");
        let (data, log) = (place.path().join("data"), place.path().join("log"));
        fs::create_dir_all(data.join("server/wal/status")).expect("made");
        fs::create_dir_all(data.join("server/base")).expect("made");
        fs::create_dir(&log).expect("made");
        for file in [
            "server/wal/1",
            "server/wal/status/a",
            "server/log0",
            "server/rows",
        ] {
            fs::write(data.join(file), file).expect("written");
        }
        let ends = RoleEnds {
            outside: &log,
            inside: "/volumes/log",
        };
        let moves = [
            directory("server/wal", "wal"),
            directory("server/base/temporary", "temporary"),
            files("server", "log"),
        ];
        for _ in 0..2 {
            fill_role(&data, ends, &moves).expect("moved");
            for moved in ["wal/1", "wal/status/a", "log0"] {
                assert!(log.join(moved).is_file(), "{moved}");
            }
            assert!(log.join("temporary").is_dir());
            assert!(data.join("server/rows").is_file() && !data.join("server/log0").exists());
            let link = fs::read_link(data.join("server/wal")).expect("a link");
            assert_eq!(link, Path::new("/volumes/log/wal"));
        }
        let missing = fill_role(&data, ends, &[files("no/such", "log")]).expect_err("no data");
        assert!(missing.to_string().contains("no/such"), "{missing}");
    }

    #[test]
    fn a_move_that_was_cut_short_goes_on() {
        let place = tempfile::tempdir().expect("a directory");
        let (data, log) = (place.path().join("data"), place.path().join("log"));
        fs::create_dir_all(data.join("wal/status")).expect("made");
        fs::write(data.join("wal/2"), "whole").expect("written");
        fs::create_dir_all(log.join("wal/status")).expect("made");
        fs::write(log.join("wal/2"), "ha").expect("written");
        let ends = RoleEnds {
            outside: &log,
            inside: "/volumes/log",
        };
        fill_role(&data, ends, &[directory("wal", "wal")]).expect("moved");
        assert_eq!(
            fs::read_to_string(log.join("wal/2")).expect("read"),
            "whole"
        );
        assert!(data.join("wal").is_symlink());
    }
}
