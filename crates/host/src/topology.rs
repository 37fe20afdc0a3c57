//! What this machine is: CPUs that we may use, memory, disk, versions.

use std::{
    collections::BTreeSet,
    fs, io,
    path::{Path, PathBuf},
};

use crate::{
    cgroup::{Cgroups, Layout},
    cpu_places::{CpuPlace, read_places},
    cpulist::parse_cpu_list,
    free_space,
    procfs::{HostMemory, parse_cpu_model, parse_meminfo},
};
use rookery_diagnosis::Diagnosis;

/// Facts of this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topology {
    /// CPUs that the kernel has online.
    pub online_cpus: BTreeSet<u32>,
    /// CPUs that this process may use: online, in its affinity mask, in its cpuset.
    pub usable_cpus: BTreeSet<u32>,
    /// Where each usable CPU sits, in ascending order.
    pub places: Vec<CpuPlace>,
    /// Memory.
    pub memory: HostMemory,
    /// Free space, for this user, where runs are kept, bytes.
    pub disk_free: u64,
    /// Kernel release.
    pub kernel: String,
    /// CPU model, as the kernel names it.
    pub cpu_model: String,
    /// Whether we are root.
    pub root: bool,
    /// How control groups are mounted.
    pub cgroups: Layout,
}

/// This machine cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("cannot read {what} from {}: {source}", path.display())]
pub struct TopologyError {
    what: &'static str,
    path: PathBuf,
    source: io::Error,
}

impl Diagnosis for TopologyError {
    fn code(&self) -> &'static str {
        "host::topology"
    }

    fn help(&self) -> Option<String> {
        Some("mount /proc and /sys, or run outside of the sandbox that hides them".to_owned())
    }
}

impl Topology {
    /// Read the facts; `disk` is where runs will be kept (or the nearest directory above it that
    /// exists).
    ///
    /// # Errors
    /// When `/proc` or `/sys` cannot be read.
    pub fn read(disk: &Path) -> Result<Self, TopologyError> {
        let online = Path::new("/sys/devices/system/cpu/online");
        let online_cpus = parsed("the online CPUs", online, parse_cpu_list)?;
        let cgroups = Cgroups::detect().map_err(|source| TopologyError {
            what: "mounts",
            path: "/proc/self/mountinfo".into(),
            source,
        })?;
        let usable = affinity(&online_cpus);
        let usable = match own_cpuset(&cgroups) {
            Some(cpuset) if !cpuset.is_empty() => usable.intersection(&cpuset).copied().collect(),
            _ => usable,
        };
        Ok(Self {
            places: read_places(Path::new("/sys/devices/system"), &usable),
            usable_cpus: usable,
            online_cpus,
            memory: parsed("the memory", Path::new("/proc/meminfo"), parse_meminfo)?,
            disk_free: disk_free(disk)?,
            kernel: rustix::system::uname()
                .release()
                .to_string_lossy()
                .into_owned(),
            cpu_model: parsed("the CPU model", Path::new("/proc/cpuinfo"), |text| {
                Some(parse_cpu_model(text).unwrap_or_else(|| "unknown".to_owned()))
            })?,
            root: rustix::process::geteuid().is_root(),
            cgroups: cgroups.layout(),
        })
    }
}

fn parsed<T>(
    what: &'static str,
    path: &Path,
    parse: impl FnOnce(&str) -> Option<T>,
) -> Result<T, TopologyError> {
    let text = fs::read_to_string(path);
    let value = text.and_then(|text| {
        parse(&text)
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "text of an unknown shape"))
    });
    value.map_err(|source| TopologyError {
        what,
        path: path.to_owned(),
        source,
    })
}

/// Those of `online` in the affinity mask of this thread.
fn affinity(online: &BTreeSet<u32>) -> BTreeSet<u32> {
    let Ok(mask) = rustix::thread::sched_getaffinity(None) else {
        return online.clone();
    };
    let max = rustix::thread::CpuSet::MAX_CPU;
    online
        .iter()
        .copied()
        .filter(|cpu| (*cpu as usize) < max && mask.is_set(*cpu as usize))
        .collect()
}

/// CPUs of the cpuset that this process is in.
fn own_cpuset(cgroups: &Cgroups) -> Option<BTreeSet<u32>> {
    let own = own_group(&fs::read_to_string("/proc/self/cgroup").ok()?, "cpuset")?;
    let directory = cgroups.directory("cpuset", own.trim_start_matches('/'))?;
    let files = ["cpuset.effective_cpus", "cpuset.cpus.effective"];
    let text = files
        .iter()
        .find_map(|file| fs::read_to_string(directory.join(file)).ok())?;
    parse_cpu_list(&text)
}

/// Path of the group of a controller in the text of `/proc/<pid>/cgroup`; the version 2 group when
/// version 1 has none.
fn own_group(text: &str, controller: &str) -> Option<String> {
    let mut unified = None;
    for line in text.lines() {
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, path) = (fields.next()?, fields.next()?);
        if controllers.is_empty() {
            unified = Some(path.to_owned());
        } else if controllers.split(',').any(|name| name == controller) {
            return Some(path.to_owned());
        }
    }
    unified
}

fn disk_free(path: &Path) -> Result<u64, TopologyError> {
    free_space::free_bytes(path).map_err(|source| TopologyError {
        what: "the free disk space",
        path: path.to_owned(),
        source,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_can_be_read() {
        let host = Topology::read(Path::new("target/not/made/yet")).expect("readable");
        assert!(
            !host.usable_cpus.is_empty() && host.usable_cpus.is_subset(&host.online_cpus),
            "{host:?}"
        );
        assert!(
            host.places
                .iter()
                .map(|place| place.cpu)
                .eq(host.usable_cpus.iter().copied())
        );
        assert!(host.memory.total >= host.memory.available && host.memory.available > 0);
        assert!(!host.kernel.is_empty() && host.disk_free > 0);
    }

    #[test]
    fn the_group_of_a_controller() {
        let hybrid = "9:name=systemd:/\n4:memory:/a/b:c\n3:cpuset,cpu:/d\n0::/e\n";
        assert_eq!(own_group(hybrid, "memory").as_deref(), Some("/a/b:c"));
        assert_eq!(own_group(hybrid, "cpuset").as_deref(), Some("/d"));
        assert_eq!(own_group(hybrid, "pids").as_deref(), Some("/e"));
        assert_eq!(
            own_group("0::/user.slice\n", "cpuset").as_deref(),
            Some("/user.slice")
        );
        assert_eq!(own_group("", "cpuset"), None);
    }
}
