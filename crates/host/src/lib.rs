//! This machine: topology, commands, cgroups, /proc, settings.
//!
//! [`Topology`] tells what the machine is; [`Host`] is the means by which it is changed
//! ([`RealHost`], and [`FaultyHost`] that fails on purpose); [`Cgroups`] reads and ends control
//! groups of either version; [`Identity`] names a process for certain; [`settings`] audits and
//! changes what the kernel lets one set, and puts it back.

mod bound_command;
mod busy_time;
mod cgroup;
mod command;
mod controller;
mod cpu_places;
mod cpulist;
mod error;
pub mod fio;
pub mod free_space;
mod group_limits;
mod group_usage;
mod http_get;
pub mod io;
mod io_usage;
pub mod iperf;
mod mounts;
mod netns;
mod process;
pub mod procfs;
mod program_use;
mod programs;
pub mod residence;
mod run_id;
pub mod settings;
mod state_dir;
pub mod swap;
mod sysfs;
mod topology;
mod usage;
mod usage_split;
mod usage_vcpus;
pub mod volume;
pub mod without_links;

pub use bound_command::{ENCLOSED, bound_command};
pub use busy_time::BusyTime;
pub use cgroup::{Cgroups, Layout};
pub use command::{CommandError, FaultyHost, Host, Invocation, RealHost, Told, run_told};
pub use controller::{Controller, Presence, announced};
pub use cpu_places::CpuPlace;
pub use cpulist::{format_cpu_list, parse_cpu_list};
pub use error::{HostError, help_of};
pub use group_limits::{GroupLimits, SwapLimit};
pub use http_get::{HttpAnswer, HttpGetError, http_get};
pub use mounts::{Mount, detach, mounts, parse_mountinfo};
pub use netns::{
    enter_netns, in_netns, in_unnamed_netns, make_netns, netns_names, netns_path,
    remove_empty_netns_dirs, remove_netns,
};
pub use process::{
    Identity, await_end, environ, process_numbers, process_read_bytes, process_stat,
};
pub use program_use::{ProgramUse, ProgramWatch};
pub use programs::find_program;
pub use run_id::RunId;
pub use state_dir::{StateDir, StateLock};
pub use sysfs::NamespaceSysfs;
pub use topology::{Topology, TopologyError};
pub use usage::{CpuSplit, IoUsage, Usage, UsageProbe};
pub use usage_vcpus::machine_usage_probe;
