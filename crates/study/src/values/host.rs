//! Which parts of a machine are used for what.

use serde::{Deserialize, Serialize};

use super::CpuSet;

/// Where the driver of a run is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DriverPlace {
    /// On the host of the guests, on CPUs of its own.
    #[default]
    Here,
    /// On another machine: guests may have all CPUs.
    Elsewhere,
}

impl DriverPlace {
    fn is_here(&self) -> bool {
        *self == Self::Here
    }
}

/// The host section. `None` means: choose from the host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HostUse {
    /// CPUs that guests may use; default: all but the driver's.
    pub guest_cpus: Option<CpuSet>,
    /// CPUs of the driver; default: the last one.
    pub driver_cpus: Option<CpuSet>,
    /// Where the driver runs.
    #[serde(default, skip_serializing_if = "DriverPlace::is_here")]
    pub driver: DriverPlace,
    /// How many vCPUs may share one guest CPU, at least 1.
    pub overcommit: f64,
    /// Memory kept back for the host and the driver, MiB.
    pub reserve_mib: u64,
    /// Profile of host settings that is applied while the study runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings: Option<String>,
    /// Largest share of the host's CPUs that other work may use while none of them is left.
    #[serde(
        default = "HostUse::other_work",
        skip_serializing_if = "HostUse::is_usual_other_work"
    )]
    pub other_work: f64,
}

impl HostUse {
    /// What other work may use unless a study says.
    const OTHER_WORK: f64 = 0.25;

    fn other_work() -> f64 {
        Self::OTHER_WORK
    }

    #[allow(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
    fn is_usual_other_work(share: &f64) -> bool {
        *share == Self::OTHER_WORK
    }
}

impl Default for HostUse {
    fn default() -> Self {
        Self {
            guest_cpus: None,
            driver_cpus: None,
            driver: DriverPlace::default(),
            overcommit: 0.0,
            reserve_mib: 0,
            settings: None,
            other_work: Self::OTHER_WORK,
        }
    }
}
