//! How far a guest is whose first process is another's child: a container's, a machine's.

use rookery_host::Identity;

use crate::GuestState;

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
