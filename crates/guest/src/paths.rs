//! Where the parts of a guest lie below a run's directory of guests.

use std::{
    fs, io,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use rookery_host::{RunId, mounts};
use serde::{Deserialize, Serialize};

/// Where a run keeps its guests and finds its templates.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunDirs {
    /// Label of everything.
    pub run: RunId,
    /// Directory of the run's guests; clones, bundles and logs go below it.
    pub dir: PathBuf,
    /// Directory of content-addressed templates, shared between runs.
    pub templates: PathBuf,
}

/// Name of the directory of clones; the only thing below a run's directory that is ever deleted.
const CLONES: &str = "clones";

/// Directory of all clones of a run.
pub(crate) fn clones(dir: &Path) -> PathBuf {
    dir.join(CLONES)
}

/// Directory of one guest's clone.
pub(crate) fn clone_dir(dir: &Path, guest: &str) -> PathBuf {
    clones(dir).join(guest)
}

/// The clone that a mount point `<dir>/clones/<guest>/rootfs` belongs to.
pub(crate) fn clone_of_mount(point: &Path) -> Option<&Path> {
    let clone = point.parent().filter(|_| point.ends_with("rootfs"))?;
    clone
        .parent()
        .filter(|parent| parent.ends_with(CLONES))
        .map(|_| clone)
}

/// File of one guest's log.
pub(crate) fn log_file(dir: &Path, guest: &str) -> PathBuf {
    dir.join("logs").join(format!("{guest}.log"))
}

/// Make the directories of a guest and an empty log.
///
/// # Errors
/// When the clone is already there, or the disk fails.
pub(crate) fn prepare(dir: &Path, guest: &str) -> io::Result<()> {
    let (clone, log) = (clone_dir(dir, guest), log_file(dir, guest));
    for directory in [clones(dir), dir.join("logs")] {
        fs::create_dir_all(&directory).map_err(|error| named(&directory, &error))?;
    }
    fs::create_dir(&clone).map_err(|error| named(&clone, &error))?;
    fs::write(&log, "").map_err(|error| named(&log, &error))
}

/// Delete a directory with all it holds. Absent is fine.
pub(crate) fn remove_tree(path: &Path) -> io::Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(named(path, &error)),
        _ => Ok(()),
    }
}

/// Delete a directory, unless something is still mounted in it: deleting would reach through the
/// mount.
pub(crate) fn remove_unmounted(path: &Path) -> io::Result<()> {
    let real = path.canonicalize()?;
    if let Some(mount) = mounts()?
        .into_iter()
        .find(|mount| mount.point.starts_with(&real))
    {
        return Err(io::Error::other(format!(
            "{} is still mounted",
            mount.point.display()
        )));
    }
    remove_tree(path)
}

/// Make a directory that every user may enter and read.
pub(crate) fn open_directory(path: &Path) -> io::Result<()> {
    fs::create_dir(path)
        .and_then(|()| fs::set_permissions(path, fs::Permissions::from_mode(0o755)))
        .map_err(|error| named(path, &error))
}

/// The error with the path that it is about.
pub(crate) fn named(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_root_file_systems_of_clones_are_clones() {
        assert_eq!(
            clone_of_mount(Path::new("/runs/a/clones/g1/rootfs")),
            Some(Path::new("/runs/a/clones/g1"))
        );
        assert_eq!(clone_of_mount(Path::new("/home/rootfs")), None);
        assert_eq!(clone_of_mount(Path::new("/runs/a/clones/g1")), None);
    }
}
