//! Where memory of a guest goes that does not fit into its limit.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::names::Named;

/// Where memory of a guest goes that does not fit into its limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Swap {
    /// Nowhere.
    #[default]
    None,
    /// To a device that is made for the trial.
    Device {
        /// What it is.
        kind: SwapKind,
        /// Most of a guest's memory that lies there, MiB; `None` = as much as its limit.
        size_mib: Option<u64>,
    },
}

/// What memory is swapped to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SwapKind {
    /// A file on the disk of the run's directory, which is a disk of a machine.
    File,
    /// Memory of the host, compressed.
    Zram,
}

impl Named for SwapKind {
    const NAMES: &'static [(&'static str, Self, &'static str)] = &[
        (
            "file",
            Self::File,
            "a file on the disk of the run's directory",
        ),
        ("zram", Self::Zram, "memory of the host, compressed"),
    ];
}

impl Swap {
    /// Memory of the host that the swapped pages of a guest may take, MiB: those that cannot be
    /// compressed lie there as they are.
    #[must_use]
    pub fn host_memory_mib(self, memory_mib: u64) -> u64 {
        self.mib_of(SwapKind::Zram, memory_mib)
    }

    /// Disk that the swapped pages of a guest take, MiB.
    #[must_use]
    pub fn disk_mib(self, memory_mib: u64) -> u64 {
        self.mib_of(SwapKind::File, memory_mib)
    }

    fn mib_of(self, kind: SwapKind, memory_mib: u64) -> u64 {
        match self.of_guest(memory_mib) {
            Some((own, mib)) if own == kind => mib,
            _ => 0,
        }
    }

    /// What is swapped to, and how much of a guest whose limit is `memory_mib` at most, MiB.
    #[must_use]
    pub fn of_guest(self, memory_mib: u64) -> Option<(SwapKind, u64)> {
        match self {
            Self::None => None,
            Self::Device { kind, size_mib } => Some((kind, size_mib.unwrap_or(memory_mib))),
        }
    }
}

/// As it is written in a study.
impl fmt::Display for Swap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::Device { kind, size_mib } => {
                f.write_str(kind.name())?;
                size_mib.map_or(Ok(()), |mib| write!(f, " {mib}MiB"))
            }
        }
    }
}
