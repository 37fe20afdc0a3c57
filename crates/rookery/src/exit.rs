//! The exit codes, in one place; `rookery --help` and the README list the same.

use std::{fmt::Display, process::ExitCode};

use rookery_guest::GuestError;
use rookery_lab::LabError;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Code {
    /// Everything that was asked for was done.
    Done = 0,
    /// The command line was wrong (clap uses the same number).
    Usage = 2,
    /// A study file is not valid.
    Study = 3,
    /// This host cannot do it: root, a program, a CPU is missing.
    Host = 4,
    /// Guests failed: some point has no valid trial.
    Guest = 5,
    /// The driver was at fault: some point has no valid trial.
    Driver = 6,
    /// The study ran, but no point ever kept its QoS limits.
    QosNeverMet = 7,
    /// A run could not be read or written.
    Store = 8,
    /// A comparison found that something got worse, or with `--strict` could not say.
    Worse = 9,
    /// A database is not consistent, or does not hold what it said it had committed.
    Inconsistent = 10,
    /// A fault of Rookery itself.
    Internal = 70,
    /// Stopped by Ctrl-C or a termination signal; a run can be resumed.
    Interrupted = 130,
}

/// The list for `--help`.
pub(crate) const TABLE: &str = "\
Exit codes:
  0  done                       5  guests failed
  2  usage                      6  the driver was at fault
  3  study not valid            7  QoS was never met
  4  this host is not ready     8  a run cannot be read or written
  9  a comparison found worse   10 a database is not consistent
  70 internal fault
  130 interrupted (`rookery run --resume` goes on)";

impl From<Code> for ExitCode {
    fn from(code: Code) -> Self {
        Self::from(code as u8)
    }
}

/// A command's failure: what to print, and the exit code.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) code: Code,
    pub(crate) message: String,
}

impl Failure {
    pub(crate) fn new(code: Code, message: impl Display) -> Self {
        Self {
            code,
            message: message.to_string(),
        }
    }
}

impl Failure {
    /// With the word how to go on with the run in `directory`, if one was begun.
    pub(crate) fn with_resumption(mut self, directory: Option<&String>) -> Self {
        if let Some(directory) = directory {
            self.message += &format!(
                "\n  what has ended is kept; go on with: rookery run --resume {directory}"
            );
        }
        self
    }
}

impl From<LabError> for Failure {
    fn from(error: LabError) -> Self {
        let code = match &error {
            LabError::HostNotReady(_) | LabError::Guest(GuestError::HostNotReady { .. }) => {
                Code::Host
            }
            LabError::UnknownProfile { .. } | LabError::Setting { .. } => Code::Study,
            LabError::Guest(_) | LabError::Rehearsal { .. } => Code::Guest,
            LabError::Driver(_) | LabError::Terminals(_) => Code::Driver,
            LabError::Store(_)
            | LabError::File { .. }
            | LabError::NoRun { .. }
            | LabError::Busy { .. } => Code::Store,
            LabError::Internal(_) => Code::Internal,
        };
        Self::new(code, error)
    }
}
