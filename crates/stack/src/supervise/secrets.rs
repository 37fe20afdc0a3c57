//! Variables whose values stand in files that the guest's user alone reads.

use std::{
    fs::{self, File},
    io::{self, Read as _},
    path::Path,
};

use super::SuperviseError;

/// Most secrets of a guest.
const MOST: usize = 64;
/// Most bytes of one.
const LONGEST: u64 = 64 << 10;

/// Names and values of the secrets in a directory.
///
/// # Errors
/// When one cannot be read, or is longer than a secret is. No value is in the error.
pub(super) fn read(directory: &Path) -> Result<Vec<(String, String)>, SuperviseError> {
    read_all(directory).map_err(|reason| SuperviseError::System {
        what: "read the secrets of its services",
        reason,
    })
}

fn read_all(directory: &Path) -> io::Result<Vec<(String, String)>> {
    let mut secrets = Vec::new();
    for entry in fs::read_dir(directory)?.take(MOST) {
        let entry = entry?;
        let mut value = String::new();
        File::open(entry.path())?
            .take(LONGEST + 1)
            .read_to_string(&mut value)?;
        if value.len() as u64 > LONGEST {
            return Err(io::Error::other("one of them is longer than 64 KiB"));
        }
        let name = entry.file_name().into_string();
        let name = name.map_err(|_| io::Error::other("one of them has a name that is no text"))?;
        secrets.push((name, value));
    }
    Ok(secrets)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_files_and_values_are_not_shown() {
        let place = tempfile::tempdir().expect("a directory");
        fs::write(place.path().join("A"), "x = 1").expect("written");
        let secrets = read(place.path()).expect("read");
        assert_eq!(secrets, [("A".to_owned(), "x = 1".to_owned())]);
        fs::write(place.path().join("B"), "hunter2".repeat(10_000)).expect("written");
        let error = read(place.path()).expect_err("too long").to_string();
        assert!(
            error.contains("64 KiB") && !error.contains("hunter"),
            "{error}"
        );
        assert!(read(&place.path().join("none")).is_err());
    }
}
