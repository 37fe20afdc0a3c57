//! What a layer held when it was whole, as one digest, so that a change since is found out.
//!
//! Of every entry of the tree its place, kind, mode, owner, size and time of last change go into
//! the digest, and where a link leads. Contents do not: a database of gigabytes would have to be
//! read before every trial. Who writes to a file changes its time; who sets that back on purpose
//! may write to the template as its owner, and owners are trusted.

use std::{
    fs, io,
    os::unix::{
        ffi::OsStrExt,
        fs::{FileTypeExt, MetadataExt},
    },
    path::Path,
};

use sha2::{Digest, Sha256};

use super::digest::hex;

/// Limit on the depth of a tree.
const MAX_DEPTH: u32 = 64;

/// The digest of the tree below `root`.
///
/// # Errors
/// When it cannot be walked, or is too deep.
pub(super) fn seal(root: &Path) -> io::Result<String> {
    let mut whole = Sha256::new();
    add_directory(&mut whole, root, MAX_DEPTH)?;
    Ok(hex(&whole.finalize()))
}

fn add_directory(whole: &mut Sha256, directory: &Path, depth: u32) -> io::Result<()> {
    if depth == 0 {
        return Err(io::Error::other(format!(
            "{} lies too deep",
            directory.display()
        )));
    }
    let mut entries = fs::read_dir(directory)?.collect::<io::Result<Vec<_>>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    whole.update((entries.len() as u64).to_le_bytes());
    for entry in entries {
        let data = entry.metadata()?;
        add_text(whole, entry.file_name().as_bytes());
        for number in [
            u64::from(data.mode()),
            u64::from(data.uid()),
            u64::from(data.gid()),
        ] {
            whole.update(number.to_le_bytes());
        }
        let kind = data.file_type();
        if kind.is_dir() {
            add_directory(whole, &entry.path(), depth - 1)?;
        } else if kind.is_symlink() {
            add_text(whole, fs::read_link(entry.path())?.as_os_str().as_bytes());
        } else if kind.is_block_device() || kind.is_char_device() {
            whole.update(data.rdev().to_le_bytes());
        } else {
            whole.update(data.len().to_le_bytes());
            whole.update(data.mtime().to_le_bytes());
            whole.update(data.mtime_nsec().to_le_bytes());
        }
    }
    Ok(())
}

fn add_text(whole: &mut Sha256, text: &[u8]) {
    whole.update((text.len() as u64).to_le_bytes());
    whole.update(text);
}
