//! Holding a process to CPUs, memory nodes, CPU time and memory, by a control group of its own.
//! (What runs in containers is held by runc.)

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use crate::{Cgroups, format_cpu_list};

/// Controllers that hold and count.
const CONTROLLERS: [&str; 5] = ["cpuset", "cpu", "cpuacct", "memory", "pids"];

/// What a process is held to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GroupLimits {
    /// CPUs; empty = all.
    pub cpus: Vec<u32>,
    /// Memory nodes; empty = all.
    pub nodes: Vec<u32>,
    /// CPU time: quota and period, us; `None` = no limit.
    pub quota: Option<(u64, u64)>,
    /// Share of CPU time beside others, 1024 for each core; `None` = as every group.
    pub shares: Option<u64>,
    /// Most memory, bytes, with none of it in swap; `None` = no limit.
    pub memory_bytes: Option<u64>,
}

impl Cgroups {
    /// Make the group, where it is missing, and put a process with all its threads into it.
    ///
    /// # Errors
    /// When a group cannot be made, or the kernel refuses a value; the path is named.
    pub fn confine(&self, group: &str, pid: u32, limits: &GroupLimits) -> io::Result<()> {
        // Held before it is counted: it never runs in a group that is half made.
        self.make_group(group, limits)?
            .iter()
            .try_for_each(|list| write(list, &pid.to_string()))
    }

    /// Make the group, where it is missing. Gives the files to whose end a process writes its
    /// number, to be in the group with all that it starts.
    ///
    /// # Errors
    /// As [`Cgroups::confine`].
    pub fn make_group(&self, group: &str, limits: &GroupLimits) -> io::Result<Vec<PathBuf>> {
        let mut done: Vec<PathBuf> = Vec::new();
        for controller in CONTROLLERS {
            let (Some(root), Some(directory)) = (
                self.directory(controller, ""),
                self.directory(controller, group),
            ) else {
                continue;
            };
            let v1 = self.is_v1(controller);
            make(&root, group, v1.then_some(controller))?;
            set(&directory, controller, v1, limits)?;
            if !done.contains(&directory) {
                done.push(directory);
            }
        }
        done.iter_mut()
            .for_each(|directory| directory.push("cgroup.procs"));
        Ok(done)
    }

    /// The weight of a group beside others that want CPU time, 1 to 10,000, of which 100 is that of
    /// a group that says nothing; `None` where it cannot be read.
    #[must_use]
    pub fn cpu_weight(&self, group: &str) -> Option<u64> {
        let v1 = self.is_v1("cpu");
        let file = if v1 { "cpu.shares" } else { "cpu.weight" };
        let path = self.directory("cpu", group)?.join(file);
        let number: u64 = fs::read_to_string(path).ok()?.trim().parse().ok()?;
        Some(if v1 { weight_of(number) } else { number })
    }

    /// The memory limit of a group, bytes; `None` where it has none, or it cannot be read.
    #[must_use]
    pub fn memory_limit(&self, group: &str) -> Option<u64> {
        let file = if self.is_v1("memory") {
            "memory.limit_in_bytes"
        } else {
            "memory.max"
        };
        let path = self.directory("memory", group)?.join(file);
        let bytes = fs::read_to_string(path).ok()?.trim().parse().ok()?;
        // Version 1 says "no limit" by a number that no machine has.
        Some(bytes).filter(|bytes| *bytes < NO_LIMIT)
    }

    /// How much of a group may lie in swap. Version 1 limits memory and swap together: the
    /// difference is what may lie there when memory is full.
    #[must_use]
    pub fn swap_limit(&self, group: &str) -> SwapLimit {
        let read = |file: &str| -> Option<u64> {
            let path = self.directory("memory", group)?.join(file);
            fs::read_to_string(path).ok()?.trim().parse().ok()
        };
        let bytes = if self.is_v1("memory") {
            let both = read("memory.memsw.limit_in_bytes").filter(|bytes| *bytes < NO_LIMIT);
            both.zip(self.memory_limit(group))
                .map(|(both, memory)| both.saturating_sub(memory))
        } else {
            read("memory.swap.max")
        };
        bytes.map_or(SwapLimit::Unlimited, SwapLimit::Bytes)
    }
}

/// How much of a group may lie in swap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SwapLimit {
    /// As much as there is room for, or the kernel does not count it.
    Unlimited,
    /// At most so many bytes.
    Bytes(u64),
}

/// Version 1 has no larger limits than this, rounded down to pages.
const NO_LIMIT: u64 = i64::MAX as u64 - (1 << 20);

/// Make a group and those above it. Version 1 wants a cpuset to be filled before anything can be in
/// it; version 2 wants controllers to be passed on.
fn make(root: &Path, group: &str, v1: Option<&str>) -> io::Result<()> {
    let mut above = root.to_owned();
    for name in group.split('/') {
        if v1.is_none() {
            for controller in ["cpuset", "cpu", "memory", "pids"] {
                // Absent where the kernel has it not; a value that needs it then fails by its own
                // name.
                let _ = fs::write(
                    above.join("cgroup.subtree_control"),
                    format!("+{controller}"),
                );
            }
        }
        let directory = above.join(name);
        match fs::create_dir(&directory) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(named(&directory, &error));
            }
            _ => {}
        }
        if v1 == Some("cpuset") {
            for file in ["cpuset.cpus", "cpuset.mems"] {
                let own = fs::read_to_string(directory.join(file)).unwrap_or_default();
                if own.trim().is_empty() {
                    let inherited = fs::read_to_string(above.join(file))
                        .map_err(|error| named(&above.join(file), &error))?;
                    write(&directory.join(file), inherited.trim())?;
                }
            }
        }
        above = directory;
    }
    Ok(())
}

fn set(directory: &Path, controller: &str, v1: bool, limits: &GroupLimits) -> io::Result<()> {
    let list = |numbers: &[u32]| format_cpu_list(numbers.iter().copied());
    match controller {
        "cpuset" => {
            if !limits.cpus.is_empty() {
                write(&directory.join("cpuset.cpus"), &list(&limits.cpus))?;
            }
            if !limits.nodes.is_empty() {
                write(&directory.join("cpuset.mems"), &list(&limits.nodes))?;
            }
        }
        "cpu" => {
            if let Some((quota, period)) = limits.quota {
                if v1 {
                    write(&directory.join("cpu.cfs_period_us"), &period.to_string())?;
                    write(&directory.join("cpu.cfs_quota_us"), &quota.to_string())?;
                } else {
                    write(&directory.join("cpu.max"), &format!("{quota} {period}"))?;
                }
            }
            if let Some(shares) = limits.shares {
                if v1 {
                    write(&directory.join("cpu.shares"), &shares.to_string())?;
                } else {
                    write(
                        &directory.join("cpu.weight"),
                        &weight_of(shares).to_string(),
                    )?;
                }
            }
        }
        "memory" => set_memory(directory, v1, limits.memory_bytes)?,
        _ => {}
    }
    Ok(())
}

/// The shares of version 1 as a weight of version 2: 100 for a group that says nothing, as 1024 are
/// in version 1.
fn weight_of(shares: u64) -> u64 {
    (shares.saturating_mul(100) / 1024).clamp(1, 10_000)
}

/// Limits memory. What does not fit must not go to swap, where the kernel counts that.
fn set_memory(directory: &Path, v1: bool, bytes: Option<u64>) -> io::Result<()> {
    let Some(bytes) = bytes else { return Ok(()) };
    let (limit, swap, of_swap) = if v1 {
        (
            "memory.limit_in_bytes",
            "memory.memsw.limit_in_bytes",
            bytes,
        )
    } else {
        ("memory.max", "memory.swap.max", 0)
    };
    write(&directory.join(limit), &bytes.to_string())?;
    let swap = directory.join(swap);
    if swap.exists() {
        write(&swap, &of_swap.to_string())?;
    }
    Ok(())
}

fn write(path: &Path, text: &str) -> io::Result<()> {
    fs::write(path, text).map_err(|error| named(path, &error))
}

fn named(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse_mountinfo;

    fn limits() -> GroupLimits {
        GroupLimits {
            cpus: vec![0, 1],
            nodes: vec![0],
            quota: Some((5_000, 20_000)),
            shares: Some(512),
            memory_bytes: Some(64 << 20),
        }
    }

    #[test]
    fn version_1_fills_cpusets_from_above() {
        let base = tempfile::tempdir().expect("temporary directory");
        let at = |path: &str| base.path().join(path);
        for controller in ["cpu", "cpuset", "memory"] {
            fs::create_dir(at(controller)).expect("made");
        }
        fs::write(at("cpuset/cpuset.cpus"), "0-3\n").expect("written");
        fs::write(at("cpuset/cpuset.mems"), "0\n").expect("written");
        let line = |name: &str| {
            format!(
                "1 1 0:1 / {}/{name} rw - cgroup cgroup rw,{name}\n",
                base.path().display()
            )
        };
        let lines = ["cpu", "cpuset", "memory"].map(line).concat();
        let groups = Cgroups::from_mounts(&parse_mountinfo(&lines));
        groups
            .confine("rookery/ab/g1", 42, &limits())
            .expect("held");
        let read = |path: &str| fs::read_to_string(at(path)).expect("read");
        assert_eq!(
            (
                read("cpuset/rookery/cpuset.cpus").as_str(),
                read("cpuset/rookery/ab/cpuset.mems").as_str()
            ),
            ("0-3", "0")
        );
        assert_eq!(read("cpuset/rookery/ab/g1/cpuset.cpus"), "0-1");
        assert_eq!(
            (
                read("cpu/rookery/ab/g1/cpu.cfs_quota_us").as_str(),
                read("cpu/rookery/ab/g1/cpu.cfs_period_us").as_str()
            ),
            ("5000", "20000")
        );
        assert_eq!(groups.memory_limit("rookery/ab/g1"), Some(64 << 20));
        assert_eq!(groups.memory_limit("rookery/ab"), None, "never written");
        assert_eq!(read("cpu/rookery/ab/g1/cpu.shares"), "512");
        assert_eq!(groups.cpu_weight("rookery/ab/g1"), Some(50));
        assert_eq!(groups.cpu_weight("rookery/ab"), None, "never written");
        assert_eq!(
            (
                read("cpu/rookery/ab/g1/cgroup.procs"),
                read("cpuset/rookery/ab/g1/cgroup.procs")
            ),
            ("42".into(), "42".into())
        );
    }

    #[test]
    fn swap_is_limited_alone_or_together_with_memory() {
        let base = tempfile::tempdir().expect("temporary directory");
        let put = |file: &str, text: &str| {
            fs::write(base.path().join(file), format!("{text}\n")).expect("written");
        };
        let at = base.path().display();
        let groups = |line: &str| Cgroups::from_mounts(&parse_mountinfo(line));
        let first = groups(&format!("1 1 0:1 / {at} rw - cgroup cgroup rw,memory\n"));
        let second = groups(&format!("1 1 0:1 / {at} rw - cgroup2 cgroup rw\n"));
        assert_eq!(first.swap_limit(""), SwapLimit::Unlimited, "not counted");
        put("memory.limit_in_bytes", "4096");
        put("memory.memsw.limit_in_bytes", "12288");
        assert_eq!(first.swap_limit(""), SwapLimit::Bytes(8192));
        put("memory.memsw.limit_in_bytes", "9223372036854771712");
        assert_eq!(first.swap_limit(""), SwapLimit::Unlimited);
        put("memory.swap.max", "max");
        assert_eq!(second.swap_limit(""), SwapLimit::Unlimited);
        put("memory.swap.max", "0");
        assert_eq!(second.swap_limit(""), SwapLimit::Bytes(0));
    }

    #[test]
    fn version_2_passes_controllers_on() {
        let base = tempfile::tempdir().expect("temporary directory");
        let line = format!(
            "1 1 0:1 / {} rw - cgroup2 cgroup rw\n",
            base.path().display()
        );
        let groups = Cgroups::from_mounts(&parse_mountinfo(&line));
        groups
            .confine("rookery/ab/g1", 42, &limits())
            .expect("held");
        let read = |path: &str| fs::read_to_string(base.path().join(path)).expect("read");
        assert_eq!(read("rookery/ab/g1/cpu.max"), "5000 20000");
        assert_eq!(read("rookery/ab/g1/cpu.weight"), "50");
        assert_eq!(groups.cpu_weight("rookery/ab/g1"), Some(50));
        assert_eq!(groups.memory_limit("rookery/ab/g1"), Some(64 << 20));
        assert_eq!(read("rookery/ab/g1/cpuset.cpus"), "0-1");
        assert!(read("rookery/cgroup.subtree_control").starts_with('+'));
        assert_eq!(read("rookery/ab/g1/cgroup.procs"), "42");
    }
}
