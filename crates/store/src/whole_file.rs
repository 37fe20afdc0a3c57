//! Files that have their name only when they are whole.

use std::{
    fs::{self, File},
    io,
    path::Path,
};

/// Give a file that is whole its name, for good.
///
/// # Errors
/// When the disk refuses.
pub(crate) fn give_name(part: &Path, path: &Path) -> io::Result<()> {
    File::open(part)?.sync_all()?;
    fs::rename(part, path)?;
    // The name is on the disk when its directory is.
    match path.parent().filter(|dir| !dir.as_os_str().is_empty()) {
        Some(dir) => File::open(dir)?.sync_all(),
        None => Ok(()),
    }
}
