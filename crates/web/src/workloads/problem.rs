//! What is wrong with a script.

use rookery_driver::DriverError;

/// A script that cannot be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ScriptProblem {
    /// What is wrong.
    pub(crate) what: String,
    /// What to write instead.
    pub(crate) help: &'static str,
}

impl ScriptProblem {
    /// Refuses a text that cannot stand in a request line.
    pub(super) fn unless_plain(text: &str) -> Result<(), Self> {
        if text.bytes().all(|byte| byte.is_ascii_graphic()) {
            Ok(())
        } else {
            Err(Self::in_request_line(text))
        }
    }

    /// The text cannot stand in a request line.
    pub(super) fn in_request_line(text: &str) -> Self {
        Self {
            what: format!("{text:?} cannot stand in a request line"),
            help: "write visible ASCII only, percent-encoded, and begin a path with `/`",
        }
    }
}

impl From<ScriptProblem> for DriverError {
    fn from(problem: ScriptProblem) -> Self {
        Self::Config {
            what: problem.what,
            help: problem.help,
        }
    }
}
