//! Whether something failed because a disk is full.

use std::{error::Error, io, path::Path};

use rustix::fs::statvfs;

/// Less free space than this, MiB, is as good as none.
const FULL_MIB: u64 = 16;

/// Whether this error, or what caused it, says that a disk or a quota is used up.
pub(crate) fn says_full(error: &(dyn Error + 'static)) -> bool {
    let mut causes = std::iter::successors(Some(error), |&cause| cause.source());
    causes.any(|cause| {
        cause.downcast_ref::<io::Error>().is_some_and(|error| {
            matches!(
                error.kind(),
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
            )
        })
    })
}

/// Whether the disk of a directory is full; one that cannot be asked is not.
pub(crate) fn is_full(directory: &Path) -> bool {
    statvfs(directory)
        .is_ok_and(|space| space.f_bavail.saturating_mul(space.f_frsize) >> 20 < FULL_MIB)
}

#[cfg(test)]
mod tests {
    use rookery_lab::LabError;

    use super::*;
    use crate::agent::AgentError;

    #[test]
    fn a_full_disk_is_known_by_what_caused_an_error() {
        let of = |kind: io::ErrorKind| {
            AgentError::Lab(LabError::File {
                what: "write",
                path: "/runs".into(),
                source: kind.into(),
            })
        };
        assert!(says_full(&of(io::ErrorKind::StorageFull)));
        assert!(says_full(&of(io::ErrorKind::QuotaExceeded)));
        assert!(!says_full(&of(io::ErrorKind::PermissionDenied)));
    }

    #[test]
    fn a_disk_that_cannot_be_asked_is_not_full() {
        assert!(!is_full(Path::new("/nowhere/at/all")));
    }
}
