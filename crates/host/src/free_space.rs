//! How much space is free on the disk of a directory, and whether it is full.

use std::{error::Error, io, path::Path};

/// Less free space than this, MiB, is as good as none: what fails then may well not say why.
pub const FULL_MIB: u64 = 16;

/// What programs say of a full disk.
const PHRASES: [&str; 2] = ["No space left", "not enough free space"];

/// Free bytes for unprivileged users on the disk of `path`; of one that is not there, on that of
/// its nearest parent.
///
/// # Errors
/// What the kernel answers.
pub fn free_bytes(path: &Path) -> io::Result<u64> {
    let there = path
        .ancestors()
        .find(|path| path.exists())
        // Above a relative path is the directory in which we are.
        .filter(|path| !path.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    let space = rustix::fs::statvfs(there)?;
    Ok(space.f_bavail.saturating_mul(space.f_frsize))
}

/// As [`free_bytes`], whole MiB.
///
/// # Errors
/// What the kernel answers.
pub fn free_mib(path: &Path) -> io::Result<u64> {
    Ok(free_bytes(path)? >> 20)
}

/// Whether the disk of `path` is full; one that cannot be asked is not.
#[must_use]
pub fn is_full(path: &Path) -> bool {
    free_mib(path).is_ok_and(|free_mib| free_mib < FULL_MIB)
}

/// Whether this error, or what caused it, says that a disk or a quota is used up.
#[must_use]
pub fn says_full(error: &(dyn Error + 'static)) -> bool {
    let mut causes = std::iter::successors(Some(error), |&cause| cause.source());
    causes.any(|cause| match cause.downcast_ref::<io::Error>() {
        Some(error) => matches!(
            error.kind(),
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
        ),
        None => words_say_full(&cause.to_string()),
    })
}

/// Whether these words of a program say that a disk is full.
#[must_use]
pub fn words_say_full(words: &str) -> bool {
    PHRASES.iter().any(|phrase| words.contains(phrase))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::HostError;

    #[test]
    fn a_full_disk_is_known_by_what_caused_an_error() {
        let of = |kind: io::ErrorKind| HostError::at(Path::new("/runs"), kind.into());
        assert!(says_full(&of(io::ErrorKind::StorageFull)));
        assert!(says_full(&of(io::ErrorKind::QuotaExceeded)));
        assert!(!says_full(&of(io::ErrorKind::PermissionDenied)));
        let said = HostError::refused("cp: write: No space left on device", "");
        assert!(says_full(&said));
    }

    #[test]
    fn a_directory_that_is_not_there_is_asked_for_at_its_parent() {
        let there = std::env::temp_dir();
        assert!(free_bytes(&there).is_ok());
        assert!(free_bytes(&there.join("not/there")).is_ok());
        assert!(free_bytes(Path::new("relative/and/not/there")).is_ok());
    }
}
