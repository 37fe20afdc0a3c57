//! What an agent finds out about its host.

use std::{collections::BTreeSet, path::Path};

use rookery_diagnosis::Diagnosis as _;
use rookery_lab::LabError;
use rookery_store::HostDescription;
use rookery_study::GuestKind;

use crate::message::KindCheck;

/// What of a host is lent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lent {
    /// CPUs; all where there are none.
    pub cpus: Option<BTreeSet<u32>>,
    /// Memory, MiB; all where there is none.
    pub memory_mib: Option<u64>,
}

/// The host as far as it is lent; `place` is where runs are kept.
///
/// # Errors
/// When the host cannot be read.
pub(crate) fn describe(place: &Path, lent: &Lent) -> Result<HostDescription, LabError> {
    let mut host = rookery_lab::describe_host(place)?;
    if let Some(memory) = lent.memory_mib {
        host.facts.memory_mib = host.facts.memory_mib.min(memory);
    }
    Ok(host)
}

/// Whether each kind of guest can be made here.
pub(crate) fn kinds() -> Vec<KindCheck> {
    [GuestKind::Bare, GuestKind::Container, GuestKind::Vm]
        .into_iter()
        .map(|kind| KindCheck {
            kind: kind.to_string(),
            lacks: rookery_guest::check_host(kind).err().map(|error| {
                let help = error.help().map(|help| format!("; {help}"));
                format!("{error}{}", help.unwrap_or_default())
            }),
        })
        .collect()
}
