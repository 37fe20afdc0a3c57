//! What a study means on a given host: points, pins, memory, trials in their order, time.

use std::time::Duration;

use rookery_workload::dvdstore::Size;
use serde::{Deserialize, Serialize};

use crate::{CpuSet, Vcpus};

/// What the plan must know of a host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HostFacts {
    /// Usable CPUs, ascending.
    pub cpus: CpuSet,
    /// Memory of the host, MiB.
    pub memory_mib: u64,
    /// Free space where runs are kept, MiB.
    pub disk_free_mib: u64,
    /// Whether we are root.
    pub root: bool,
}

/// One choice of factor levels. Equal choices of several layouts are one point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// 1, 2, 3, ... in the order of the file.
    pub id: u32,
    /// The layouts that contain it, at least one.
    pub layouts: Vec<String>,
    /// Number of guests.
    pub guests: u32,
    /// vCPUs of each guest.
    pub vcpus: Vcpus,
    /// Users of each guest (they differ by at most one).
    pub users: Vec<u32>,
    /// Memory limit of each guest, MiB.
    pub memory_mib: u64,
    /// Database of each guest.
    pub database: Size,
    /// CPUs of each guest.
    pub pins: Vec<CpuSet>,
    /// Host CPUs that all its guests together can use at most: the smaller of their vCPUs and the CPUs they are pinned to.
    pub capacity_cpus: f64,
    /// The one-big point of equal capacity and equal total users, if the study has one (may be itself).
    pub baseline: Option<u32>,
}

impl Point {
    /// Users of all guests.
    #[must_use]
    pub fn total_users(&self) -> u32 {
        self.users.iter().sum()
    }

    /// Short name in tables: `4 x 0.25 vCPU, 200 users`.
    #[must_use]
    pub fn label(&self) -> String {
        format!("{} x {} vCPU, {} users", self.guests, self.vcpus, self.total_users())
    }
}

/// One measured execution of a point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// 1, 2, 3, ... in the order of execution.
    pub id: u32,
    /// Its point.
    pub point: u32,
    /// 1-based repeat.
    pub repeat: u32,
    /// Seed of every random stream of this trial.
    pub seed: u64,
}

/// What the run will cost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// Time of all trials, guests' start and removal included.
    pub duration: Duration,
    /// Most memory of all guests of one point, MiB.
    pub memory_mib: u64,
    /// Disk of templates and of the largest point's clones, MiB.
    pub disk_mib: u64,
}

/// The whole plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// All points.
    pub points: Vec<Point>,
    /// All trials in the order of execution.
    pub trials: Vec<Trial>,
    /// CPUs of the driver.
    pub driver_cpus: CpuSet,
    /// CPUs of the guests.
    pub guest_cpus: CpuSet,
    /// Cost.
    pub estimate: Estimate,
    /// What the reader should know: roundings, limits that a guest kind does not enforce, ...
    pub notes: Vec<String>,
}
