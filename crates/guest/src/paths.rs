//! Where the parts of a guest lie below a run's directory of guests.

use std::{
    fs::{self, File, TryLockError},
    io,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use rookery_host::{RunId, detach, mounts, without_links};
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

/// Directory in the data of a template that all guests read and none writes: bare guests read that
/// of the template, containers and machines have it below what they write.
pub const SHARED: &str = "rookery-shared";

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

/// Holds the directory of a clone as long as its guest is there: no other guest may have its name.
#[derive(Debug)]
pub(crate) struct CloneClaim {
    _directory: File,
}

impl CloneClaim {
    /// # Errors
    /// When a guest that is there holds it.
    fn take(clone: &Path) -> io::Result<Self> {
        let directory = File::open(clone)?;
        match directory.try_lock() {
            Ok(()) => Ok(Self {
                _directory: directory,
            }),
            Err(TryLockError::WouldBlock) => Err(io::Error::new(
                io::ErrorKind::AlreadyExists,
                "a guest of this name is there already",
            )),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}

/// Make the directories of a guest and an empty log. A clone that an earlier guest of the name left
/// is replaced.
///
/// # Errors
/// When a guest of the name is there, a clone that was left cannot be removed, or the disk fails.
pub(crate) fn prepare(dir: &Path, guest: &str) -> io::Result<CloneClaim> {
    let (clone, log) = (clone_dir(dir, guest), log_file(dir, guest));
    let at_clone = |error: io::Error| named(&clone, &error);
    for directory in [clones(dir), dir.join("logs")] {
        fs::create_dir_all(&directory).map_err(|error| named(&directory, &error))?;
    }
    match fs::symlink_metadata(&clone) {
        Ok(left) if left.is_dir() => {
            CloneClaim::take(&clone).map_err(at_clone)?;
            remove_clone(&clone)?;
        }
        // Of a link only the link is removed.
        Ok(_) => fs::remove_file(&clone).map_err(at_clone)?,
        Err(_) => {}
    }
    fs::create_dir(&clone).map_err(at_clone)?;
    let claim = CloneClaim::take(&clone).map_err(at_clone)?;
    without_links::replace(&log)?;
    Ok(claim)
}

/// Unmount all that is mounted in a clone, then delete it.
fn remove_clone(clone: &Path) -> io::Result<()> {
    for mount in mounts()?.iter().rev() {
        if mount.point.starts_with(clone) {
            detach(&mount.point)?;
        }
    }
    remove_tree(clone)
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
    fn a_clone_that_is_there_is_replaced() {
        let directory = tempfile::tempdir().expect("temporary directory");
        let (dir, elsewhere) = (directory.path().join("run"), directory.path().join("else"));
        fs::create_dir_all(clone_dir(&dir, "g1").join("data")).expect("left by a guest before");
        fs::create_dir(&elsewhere).expect("made");
        fs::write(elsewhere.join("kept"), "").expect("written");
        std::os::unix::fs::symlink(&elsewhere, clone_dir(&dir, "g2")).expect("linked");
        for guest in ["g1", "g2"] {
            let claim = prepare(&dir, guest).expect("prepared");
            assert!(prepare(&dir, guest).is_err(), "its guest is there");
            drop(claim);
            let clone = clone_dir(&dir, guest);
            assert!(fs::symlink_metadata(&clone).expect("there").is_dir());
            assert_eq!(fs::read_dir(&clone).expect("read").count(), 0, "{guest}");
        }
        assert!(elsewhere.join("kept").exists(), "no link is followed");
    }

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
