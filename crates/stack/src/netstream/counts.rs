//! What a server sent, as a file.

use std::{fs, io, path::Path};

use crate::http_server::ServerError;

/// What a server sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Answers.
    pub answers: u64,
    /// Their content, and what iperf3 sent beside them, bytes.
    pub bytes: u64,
}

impl Counts {
    /// Write them.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub(super) fn write(&self, path: &Path) -> Result<(), ServerError> {
        fs::write(path, format!("{} {}\n", self.answers, self.bytes))
            .map_err(ServerError::file(path, "writing the counts"))
    }
}

/// What the server that wrote this file had sent at its end.
///
/// # Errors
/// When there is no such file, or it holds no counts.
pub fn read_counts(path: &Path) -> Result<Counts, ServerError> {
    let fail = |error: io::Error| ServerError::file(path, "reading the counts")(error);
    let text = fs::read_to_string(path).map_err(fail)?;
    parse(&text).ok_or_else(|| fail(io::Error::other("it holds no two numbers")))
}

fn parse(text: &str) -> Option<Counts> {
    let mut numbers = text.split_whitespace().map(str::parse::<u64>);
    let counts = Counts {
        answers: numbers.next()?.ok()?,
        bytes: numbers.next()?.ok()?,
    };
    numbers.next().is_none().then_some(counts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_read_as_they_were_written() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let path = dir.path().join("counts.txt");
        assert!(read_counts(&path).is_err());
        let counts = Counts {
            answers: 7,
            bytes: 1 << 40,
        };
        counts.write(&path).expect("written");
        assert_eq!(read_counts(&path).expect("read"), counts);
        for wrong in ["", "1", "1 x", "1 2 3"] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }
}
