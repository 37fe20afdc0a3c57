//! Where the project is.

use std::path::{Path, PathBuf};

/// The project's root directory.
pub(crate) fn directory() -> PathBuf {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().unwrap_or(xtask).to_owned()
}

/// Where cargo puts what it builds.
pub(crate) fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(
        || directory().join("target"),
        |target| directory().join(Path::new(&target)),
    )
}
