//! This machine: topology, commands, cgroups, /proc.
//!
//! [`Topology`] tells what the machine is; [`Host`] is the means by which it is changed ([`RealHost`], and [`FaultyHost`] that
//! fails on purpose); [`Cgroups`] reads and ends control groups of either version; [`Identity`] names a process for certain.

mod cgroup;
mod command;
mod cpulist;
mod mounts;
mod netns;
mod process;
pub mod procfs;
mod run_id;
mod topology;
mod usage;

pub use cgroup::{Cgroups, Layout};
pub use command::{CommandError, FaultyHost, Host, Invocation, RealHost};
pub use cpulist::{format_cpu_list, parse_cpu_list};
pub use mounts::{Mount, mounts, parse_mountinfo};
pub use netns::{NETNS_DIR, enter_netns, in_netns, make_netns, netns_names, netns_path, remove_netns};
pub use process::{Identity, await_end, environ, process_numbers, process_stat};
pub use run_id::RunId;
pub use topology::{Topology, TopologyError};
pub use usage::{Usage, UsageProbe};
