//! How far a guest is whose first process is another's child (a container's, a machine's), and how
//! processes end.

use rookery_host::Identity;

use crate::guest::GuestState;

/// From its making to its end.
pub(crate) enum Phase {
    /// Made, not started.
    Created,
    /// Start was tried; its first process, once known.
    Started(Option<Identity>),
    /// Over, and why.
    Ended(String),
}

impl Phase {
    /// What the lab is told.
    pub(crate) fn state(&self) -> GuestState {
        match self {
            Self::Created | Self::Started(None) => GuestState::Created,
            Self::Started(Some(_)) => GuestState::Running,
            Self::Ended(reason) => GuestState::Ended(reason.clone()),
        }
    }
}

/// How a process ended, in words.
pub(crate) fn end_reason(code: Option<i32>, signal: Option<i32>) -> String {
    match (code, signal) {
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => format!("killed by signal {signal}"),
        (None, None) => "ended".to_owned(),
    }
}

/// What is said beside an end that came of a memory limit, MiB.
pub(crate) fn out_of_memory(limit: u64) -> String {
    format!(
        " (out of memory: its limit is {limit} MiB; help: raise `memory` in [guest], or choose a \
         tuning that takes less)"
    )
}
