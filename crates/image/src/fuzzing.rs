//! What fuzz targets reach of the inside of this crate.

use std::{os::fd::OwnedFd, path::Path};

use crate::{
    documents::parse_all,
    layer::apply_unchecked,
    limits::{Limits, Options, Ownership},
    tree::Tree,
};

/// Applies `layer` to the empty directory `root` as if its digest held; whether it did.
///
/// # Panics
/// When `root` is no directory.
#[must_use]
pub fn apply(layer: &[u8], root: &Path) -> bool {
    let options = Options {
        limits: Limits {
            unpacked_bytes: 1 << 20,
            entries: 1_000,
            ..Limits::default()
        },
        ownership: Ownership::Caller,
        directories: Vec::new(),
    };
    let root = std::fs::File::open(root).unwrap_or_else(|error| panic!("the root: {error}"));
    let mut tree = Tree::new(OwnedFd::from(root), &options);
    let applied = apply_unchecked(layer, &options.limits, &mut tree);
    let finished = tree.finish();
    applied.is_ok() && finished.is_ok()
}

/// Reads `bytes` as every document that images have.
pub fn documents(bytes: &[u8]) {
    parse_all(bytes);
}
