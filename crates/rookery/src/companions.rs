//! The files that a study or a workload file names: read beside it, or as the caller reads them.

use std::{
    fs::File,
    io::{self, Read},
    path::Path,
};

use rookery_study::{Companion, CompanionContent, MOST_COMPANION_BYTES, names_in_companion};

/// The files of these names, relative to the directory of `path`, and those that they name.
pub(crate) fn beside(path: &Path, names: Vec<String>) -> Vec<Companion> {
    let directory = path.parent().unwrap_or(Path::new(""));
    read_all(names, &|name| text_of(&directory.join(name)), &|name| {
        let place = directory.join(name).canonicalize().ok()?;
        Some(place.to_str()?.to_owned())
    })
}

/// The files of these names, and those that they name in turn, each read by `read`; `place_of` says
/// where one is, from the root. A file that
/// cannot be read is a problem of what names it, which is told with its line.
pub(crate) fn read_all(
    mut names: Vec<String>,
    read: &dyn Fn(&str) -> io::Result<String>,
    place_of: &dyn Fn(&str) -> Option<String>,
) -> Vec<Companion> {
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
        files.push(Companion {
            place: place_of(&name),
            name,
            content,
        });
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
