//! What is wrong with a line of a text file that a user wrote.

use std::{fmt, path::Path};

use crate::exit::{Code, Failure};

/// One mistake in a text file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) struct LineError {
    /// Number of the line, from 1.
    pub(crate) line: usize,
    /// What is wrong.
    pub(crate) what: String,
    /// What the user can do.
    pub(crate) help: String,
}

impl LineError {
    pub(crate) fn new(line: usize, what: impl Into<String>, help: impl Into<String>) -> Self {
        Self {
            line,
            what: what.into(),
            help: help.into(),
        }
    }

    /// The failure of a command that was given the file at `path`.
    pub(crate) fn in_file(self, path: &Path) -> Failure {
        Failure::new(Code::Usage, &self.what)
            .at(format!("{}:{}", path.display(), self.line))
            .help(self.help)
    }
}

impl fmt::Display for LineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.what)
    }
}
