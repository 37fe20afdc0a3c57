//! What can go wrong with guests: what happened, where, why, and what to do about it.

use std::{error::Error, fmt, io, net::IpAddr, time::Duration};

use rookery_diagnosis::Diagnosis;
use rookery_host::{CommandError, HostError, help_of};

use crate::{kind::Kind, no_direct_way::NoDirectWay};

/// What can go wrong with guests.
#[derive(Debug, thiserror::Error)]
pub enum GuestError {
    /// The host lacks something.
    #[error("this host cannot run {kind} guests: {what}")]
    HostNotReady {
        /// Kind of guest.
        kind: Kind,
        /// What is missing.
        what: String,
        /// What to do.
        help: String,
    },
    /// A step failed.
    #[error("{subject}: {step} failed: {source}")]
    Step {
        /// What it was done with.
        subject: Subject,
        /// What was attempted.
        step: &'static str,
        /// Why it failed.
        source: StepError,
    },
    /// A guest was not healthy in time, or died.
    #[error("guest {guest}: {reason}\n  its log ends with:\n{log}")]
    NotReady {
        /// Name of the guest.
        guest: String,
        /// What happened.
        reason: NotReadyReason,
        /// Tail of the guest's own log, indented.
        log: String,
    },
    /// A template cannot be used or removed.
    #[error("{what}")]
    Template {
        /// What is wrong.
        what: String,
        /// What to do.
        help: String,
    },
    /// Another host cannot be reached by Ethernet frames.
    #[error("there is no direct way to {there}: {why}")]
    NoDirectWay {
        /// The address of the other host.
        there: IpAddr,
        /// Why there is none.
        why: NoDirectWay,
    },
    /// The caller asked to stop.
    #[error("stopped while {doing}, as asked")]
    Stopped {
        /// What was being done.
        doing: &'static str,
    },
}

/// What a step was done with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// The guest, or the volume, of this name.
    Guest(String),
    /// What the guests of a run share.
    Lab,
    /// A template.
    Template,
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Guest(name) => write!(f, "guest {name}"),
            Self::Lab => f.write_str("the lab"),
            Self::Template => f.write_str("the template"),
        }
    }
}

/// What fills a template may fail in its own way.
pub type FillError = Box<dyn Error + Send + Sync>;

/// Why a step failed.
#[derive(Debug, thiserror::Error)]
pub enum StepError {
    /// The system refused.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A command of the host failed.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// The host refused.
    #[error(transparent)]
    Host(#[from] HostError),
    /// What fills the template failed.
    #[error("{0}")]
    Fill(#[source] FillError),
    /// It cannot be done, by a rule of guests.
    #[error("{0}")]
    Refused(String),
    /// All that is wrong with what was asked for, or all that remained.
    #[error("{}", .0.join("; "))]
    Several(Vec<String>),
}

/// Why a guest did not become healthy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotReadyReason {
    /// It ended, with this reason.
    #[error("ended before it was healthy: {0}")]
    Ended(String),
    /// It did not answer as a healthy one does in time.
    #[error("not healthy within {limit:?}: {answer}")]
    Late {
        /// Time for all guests together.
        limit: Duration,
        /// The last answer.
        answer: String,
    },
}

impl GuestError {
    /// A step with a guest (or a volume) that failed.
    pub(crate) fn in_guest(name: &str, step: &'static str, source: impl Into<StepError>) -> Self {
        Self::Step {
            subject: Subject::Guest(name.to_owned()),
            step,
            source: source.into(),
        }
    }

    /// A step with what guests share that failed.
    pub(crate) fn in_lab(step: &'static str, source: impl Into<StepError>) -> Self {
        Self::Step {
            subject: Subject::Lab,
            step,
            source: source.into(),
        }
    }

    /// A step with a template that failed.
    pub(crate) fn in_template(step: &'static str, source: impl Into<StepError>) -> Self {
        Self::Step {
            subject: Subject::Template,
            step,
            source: source.into(),
        }
    }
}

impl Diagnosis for GuestError {
    fn code(&self) -> &'static str {
        match self {
            Self::HostNotReady { .. } => "guest::host-not-ready",
            Self::Step { .. } => "guest::step-failed",
            Self::NotReady { .. } => "guest::not-ready",
            Self::Template { .. } => "guest::template",
            Self::NoDirectWay { .. } => "guest::no-direct-way",
            Self::Stopped { .. } => "guest::stopped",
        }
    }

    fn help(&self) -> Option<String> {
        match self {
            Self::HostNotReady { help, .. } | Self::Template { help, .. } => Some(help.clone()),
            Self::Step { source, .. } => source.help(),
            Self::NoDirectWay { .. } => Some(
                "leave `way = \"direct\"` out of the hosts file: a tunnel goes through any network"
                    .to_owned(),
            ),
            Self::NotReady { .. } | Self::Stopped { .. } => None,
        }
    }
}

impl StepError {
    /// What to do about it, where the cause says so.
    #[must_use]
    pub fn help(&self) -> Option<String> {
        match self {
            Self::Io(error) => help_of(error),
            Self::Command(error) => error.help(),
            Self::Host(error) => error.help(),
            Self::Fill(error) => help_of(error.as_ref()),
            Self::Refused(_) | Self::Several(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_says_its_cause_once_and_its_help_apart() {
        let refused = HostError::refused("no room", "free some");
        let error = GuestError::in_guest("g1", "making its clone", io::Error::from(refused));
        assert_eq!(
            rookery_diagnosis::ErrorFields::new(&error).to_string(),
            "error[guest::step-failed]: guest g1: making its clone failed: no room\n  help: free \
             some"
        );
    }
}
