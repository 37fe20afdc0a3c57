//! Whose the data of guests are.

use std::{fs, io, path::Path};

use rookery_guest::GuestUser;
use rustix::{
    fs::{AtFlags, CWD, Gid, Uid, chownat},
    process::geteuid,
};

use crate::{StackError, service::GUEST};

/// Give the files that guests begin with, and the directory itself, to the guests' user; links are
/// given, not followed. Who is not root makes guests of his own user alone, and keeps them.
///
/// # Errors
/// When the system refuses.
pub(crate) fn give_to_guests(directory: &Path) -> Result<(), StackError> {
    give_to(directory, GUEST)
}

/// The same where guests run as somebody else.
///
/// # Errors
/// When the system refuses.
pub(crate) fn give_to(directory: &Path, owner: GuestUser) -> Result<(), StackError> {
    if !geteuid().is_root() {
        return Ok(());
    }
    give(directory, owner).map_err(|source| StackError::Io {
        what: format!("giving {} to the guests' user", directory.display()),
        source,
    })
}

fn give(path: &Path, owner: GuestUser) -> io::Result<()> {
    let (user, group) = (Uid::from_raw(owner.user), Gid::from_raw(owner.group));
    chownat(
        CWD,
        path,
        Some(user),
        Some(group),
        AtFlags::SYMLINK_NOFOLLOW,
    )?;
    if fs::symlink_metadata(path)?.is_dir() {
        for entry in fs::read_dir(path)? {
            give(&entry?.path(), owner)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{MetadataExt, symlink};

    use super::*;

    #[test]
    fn all_files_below_are_given_and_no_link_is_followed() {
        let place = tempfile::tempdir().expect("temporary directory");
        let (data, other) = (place.path().join("data"), place.path().join("other"));
        fs::create_dir_all(data.join("inner")).expect("made");
        fs::write(data.join("inner/rows"), "1").expect("written");
        fs::write(&other, "precious").expect("written");
        symlink(&other, data.join("link")).expect("linked");
        let before = fs::metadata(&other).expect("there").uid();
        give_to_guests(&data).expect("given");
        let owner = |path: &Path| fs::symlink_metadata(path).expect("there").uid();
        let expected = if geteuid().is_root() {
            GUEST.user
        } else {
            before
        };
        for path in ["", "inner", "inner/rows", "link"] {
            assert_eq!(owner(&data.join(path)), expected, "{path}");
        }
        assert_eq!(owner(&other), before);
    }
}
