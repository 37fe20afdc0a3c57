//! Where the project is.

use std::path::{Path, PathBuf};

/// The project's root directory.
pub(crate) fn directory() -> PathBuf {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().unwrap_or(xtask).to_owned()
}
