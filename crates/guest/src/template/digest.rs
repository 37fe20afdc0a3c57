//! The address of a template.

use std::{io, path::Path, time::SystemTime};

use sha2::{Digest, Sha256};

use super::{
    known,
    recipe::{Fill, Recipe},
};

/// Part of every digest; raised when the layout of templates changes.
const LAYOUT: &str = "rookery template 3";

/// Digest of everything that decides the content.
///
/// # Errors
/// When a program that belongs to the layer cannot be read.
pub(super) fn digest(recipe: &Recipe<'_>) -> io::Result<String> {
    let base = recipe.base.map_or("", |base| base.digest.as_str());
    let (kind, program) = match recipe.fill {
        Fill::Data(_) => ("data", digest_of_file(&recipe.program)?),
        Fill::DataOnly(_) => ("data only", Vec::new()),
        Fill::Program => ("program", digest_of_file(&recipe.program)?),
        Fill::Root(_) => ("root", Vec::new()),
        Fill::Files(_) => ("files", Vec::new()),
    };
    let mut whole = Sha256::new();
    for part in [
        LAYOUT,
        std::env::consts::ARCH,
        kind,
        base,
        &recipe.description,
    ]
    .map(str::as_bytes)
    {
        whole.update((part.len() as u64).to_le_bytes());
        whole.update(part);
    }
    whole.update(program);
    Ok(hex(&whole.finalize()))
}

/// Digest of a file's content, 64 hexadecimal digits.
///
/// # Errors
/// When it cannot be read.
pub fn content_digest(path: &Path) -> io::Result<String> {
    digest_of_file(path).map(|digest| hex(&digest))
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Digest of one file. A file that was read before is not read again while it is the same.
///
/// # Errors
/// When it cannot be read.
pub(super) fn digest_of_file(path: &Path) -> io::Result<Vec<u8>> {
    known::digest(path, &known::OF_PROCESS, SystemTime::now())
}
