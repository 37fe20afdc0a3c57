//! The files that a study names, such as workload files: read beside it, or built in as it is.

use std::{
    fs::File,
    io::{self, Read},
    path::Path,
};

use rookery_study::{
    Companion, CompanionContent, MOST_COMPANION_BYTES, companion_names, names_in_companion,
};

use crate::studies;

/// The files that a study names, and those that they name in turn. A file that cannot be read is a
/// problem of the study, which is told with its line.
pub(crate) fn of_study(path: &Path, bytes: &[u8]) -> Vec<Companion> {
    let Ok(text) = std::str::from_utf8(bytes) else {
        // The grammar refuses it.
        return Vec::new();
    };
    match studies::is_built_in(path) {
        true => all(companion_names(text), &studies::text_of),
        false => beside(path, companion_names(text)),
    }
}

/// The files of these names, relative to the directory of `path`, and those that they name.
pub(crate) fn beside(path: &Path, names: Vec<String>) -> Vec<Companion> {
    let directory = path.parent().unwrap_or(Path::new(""));
    all(names, &|name| text_of(&directory.join(name)))
}

/// The files of these names, and those that they name.
fn all(mut names: Vec<String>, read: &dyn Fn(&str) -> io::Result<String>) -> Vec<Companion> {
    let mut files: Vec<Companion> = Vec::new();
    while let Some(name) = names.pop() {
        if files.iter().any(|file| file.name == name) {
            continue;
        }
        let content = match read(&name) {
            Ok(text) => {
                names.extend(names_in_companion(&name, &text));
                CompanionContent::Text(text)
            }
            Err(error) => CompanionContent::Unreadable(error.to_string()),
        };
        files.push(Companion { name, content });
    }
    files
}

/// The text of a file; of a long one at most a byte more than may be, so that the grammar can say
/// so.
pub(crate) fn text_of(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    File::open(path)?
        .take(MOST_COMPANION_BYTES as u64 + 1)
        .read_to_string(&mut text)?;
    Ok(text)
}
