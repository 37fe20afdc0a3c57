//! Files in which the kernel tells of itself.

use std::{fs::File, io::Read, path::Path};

/// More of a file of `/proc` is not read.
const MOST_BYTES: u64 = 1 << 20;

/// The text of a file; nothing where it is not there.
pub(super) fn text(path: &Path) -> String {
    let mut bytes = Vec::new();
    match File::open(path) {
        // What could be read before an error counts: some kernels end pressure files with one.
        Ok(file) => drop(file.take(MOST_BYTES).read_to_end(&mut bytes)),
        Err(_) => return String::new(),
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
