//! Control groups: version 1, version 2, and hosts that mount both.
//!
//! [`Cgroups`] knows where each hierarchy is mounted; a group is named by its path below the mount,
//! such as `rookery/<run>/<guest>`, the same in all hierarchies.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt, fs, io,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use rustix::process::Signal;

use crate::{
    mounts::{Mount, mounts},
    process::Identity,
};

/// Limit on the depth of groups below one of ours; guests have no reason to nest deeper.
const MAX_DEPTH: u32 = 8;

/// How a host mounts its control groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// No control groups.
    None,
    /// Version 1 only.
    V1,
    /// Version 2 only.
    V2,
    /// Version 1 with the controllers, version 2 beside it.
    Hybrid,
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "no cgroups",
            Self::V1 => "cgroup v1",
            Self::V2 => "cgroup v2",
            Self::Hybrid => "cgroup v1 and v2",
        })
    }
}

/// The control-group hierarchies of this host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cgroups {
    /// Mount points of version 1 by controller (`cpu`, `memory`, ..., `name=systemd`).
    v1: BTreeMap<String, PathBuf>,
    /// Mount point of version 2.
    v2: Option<PathBuf>,
}

impl Cgroups {
    /// Find the hierarchies of this host.
    ///
    /// # Errors
    /// When `/proc` is not there.
    pub fn detect() -> io::Result<Self> {
        Ok(Self::from_mounts(&mounts()?))
    }

    /// Find the hierarchies among mounts.
    #[must_use]
    pub fn from_mounts(mounts: &[Mount]) -> Self {
        let mut found = Self::default();
        for mount in mounts {
            match mount.kind.as_str() {
                "cgroup" => {
                    let known = |option: &&str| {
                        !matches!(
                            *option,
                            "rw" | "ro" | "xattr" | "clone_children" | "noprefix"
                        )
                    };
                    for controller in mount.options.split(',').filter(known) {
                        found
                            .v1
                            .entry(controller.to_owned())
                            .or_insert_with(|| mount.point.clone());
                    }
                }
                "cgroup2" if found.v2.is_none() => found.v2 = Some(mount.point.clone()),
                _ => {}
            }
        }
        found
    }

    /// How they are mounted.
    #[must_use]
    pub fn layout(&self) -> Layout {
        match (self.v1.is_empty(), &self.v2) {
            (true, None) => Layout::None,
            (false, None) => Layout::V1,
            (true, Some(_)) => Layout::V2,
            (false, Some(_)) => Layout::Hybrid,
        }
    }

    /// Mount points of all hierarchies, each once.
    #[must_use]
    pub fn hierarchies(&self) -> BTreeSet<&Path> {
        self.v1
            .values()
            .chain(&self.v2)
            .map(PathBuf::as_path)
            .collect()
    }

    /// Directory of a group where a controller is in force; `None` when nothing is mounted for it.
    #[must_use]
    pub fn directory(&self, controller: &str, group: &str) -> Option<PathBuf> {
        Some(self.v1.get(controller).or(self.v2.as_ref())?.join(group))
    }

    /// Directory of a group of version 2, whatever controllers are in force there; `None` when it
    /// is not mounted.
    #[must_use]
    pub fn unified(&self, group: &str) -> Option<PathBuf> {
        Some(self.v2.as_ref()?.join(group))
    }

    /// Whether a controller is mounted as version 1.
    #[must_use]
    pub fn is_v1(&self, controller: &str) -> bool {
        self.v1.contains_key(controller)
    }

    /// How many of a group's processes the kernel killed because its memory limit was reached;
    /// `None` when the group is gone or the kernel does not count.
    #[must_use]
    pub fn memory_kills(&self, group: &str) -> Option<u64> {
        let directory = self.directory("memory", group)?;
        let name = if self.v1.contains_key("memory") {
            "memory.oom_control"
        } else {
            "memory.events"
        };
        let text = fs::read_to_string(directory.join(name)).ok()?;
        text.lines()
            .find_map(|line| line.strip_prefix("oom_kill "))
            .and_then(|count| count.trim().parse().ok())
    }

    /// Processes of a group and of all groups below it, in any hierarchy.
    #[must_use]
    pub fn processes(&self, group: &str) -> BTreeSet<u32> {
        let mut found = BTreeSet::new();
        for directory in self.hierarchies() {
            collect_processes(&directory.join(group), MAX_DEPTH, &mut found);
        }
        found
    }

    /// Names of the groups directly below a group, in any hierarchy.
    #[must_use]
    pub fn children(&self, group: &str) -> BTreeSet<String> {
        let names = self
            .hierarchies()
            .into_iter()
            .flat_map(|directory| subdirectories(&directory.join(group)));
        names
            .filter_map(|path| path.file_name()?.to_str().map(str::to_owned))
            .collect()
    }

    /// Whether any hierarchy has the group.
    #[must_use]
    pub fn exists(&self, group: &str) -> bool {
        self.hierarchies()
            .into_iter()
            .any(|directory| directory.join(group).is_dir())
    }

    /// Kill all processes of a group and wait until they are gone.
    ///
    /// # Errors
    /// When one survives `timeout`, or may not be killed.
    pub fn kill(&self, group: &str, timeout: Duration) -> io::Result<()> {
        let deadline = Instant::now() + timeout;
        loop {
            // One write kills the whole group at once, forks included (version 2 since Linux 5.14);
            // signals do the rest.
            if let Some(v2) = &self.v2 {
                let _ = fs::write(v2.join(group).join("cgroup.kill"), "1");
            }
            let alive: Vec<Identity> = self
                .processes(group)
                .into_iter()
                .filter_map(Identity::read)
                .filter(|p| p.is_alive())
                .collect();
            if alive.is_empty() {
                return Ok(());
            }
            for process in &alive {
                process.signal(Signal::KILL)?;
            }
            if Instant::now() > deadline {
                let pids: Vec<String> = alive
                    .iter()
                    .map(|process| process.pid.to_string())
                    .collect();
                return Err(io::Error::other(format!(
                    "processes {} of cgroup {group} outlive SIGKILL",
                    pids.join(", ")
                )));
            }
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// Remove a group and all groups below it from every hierarchy. Absent is fine. It must be
    /// empty of processes.
    ///
    /// # Errors
    /// When a group stays, with the reason.
    pub fn remove(&self, group: &str) -> io::Result<()> {
        self.hierarchies()
            .into_iter()
            .try_for_each(|directory| remove_tree(&directory.join(group), MAX_DEPTH))
    }

    /// Remove a group that has no groups below it; one that has is left alone.
    pub fn remove_if_empty(&self, group: &str) {
        for directory in self.hierarchies() {
            let path = directory.join(group);
            if subdirectories(&path).is_empty() {
                let _ = fs::remove_dir(path);
            }
        }
    }
}

fn subdirectories(path: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    entries
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .map(|entry| entry.path())
        .collect()
}

fn collect_processes(path: &Path, depth: u32, found: &mut BTreeSet<u32>) {
    found.extend(
        fs::read_to_string(path.join("cgroup.procs"))
            .unwrap_or_default()
            .lines()
            .filter_map(|line| line.parse::<u32>().ok()),
    );
    if depth > 0 {
        for below in subdirectories(path) {
            collect_processes(&below, depth - 1, found);
        }
    }
}

fn remove_tree(path: &Path, depth: u32) -> io::Result<()> {
    if depth > 0 {
        for below in subdirectories(path) {
            remove_tree(&below, depth - 1)?;
        }
    }
    // The kernel lets go of a group a moment after its last process is reaped.
    let deadline = Instant::now() + Duration::from_secs(2);
    loop {
        match fs::remove_dir(path) {
            Ok(()) => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error)
                if error.kind() == io::ErrorKind::ResourceBusy && Instant::now() < deadline =>
            {
                thread::sleep(Duration::from_millis(1))
            }
            Err(error) => {
                return Err(io::Error::new(
                    error.kind(),
                    format!("{}: {error}", path.display()),
                ));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        mounts::parse_mountinfo,
        usage::{CpuSplit, Usage},
    };

    /// A directory tree that looks like the hierarchies of a host.
    struct Tree {
        root: tempfile::TempDir,
        cgroups: Cgroups,
    }

    fn tree(mountinfo: &str) -> Tree {
        let root = tempfile::tempdir().expect("temporary directory");
        let text = mountinfo.replace("ROOT", root.path().to_str().expect("utf-8"));
        Tree {
            root,
            cgroups: Cgroups::from_mounts(&parse_mountinfo(&text)),
        }
    }

    impl Tree {
        fn put(&self, path: &str, text: &str) {
            let path = self.root.path().join(path);
            fs::create_dir_all(path.parent().expect("parent")).expect("directory");
            fs::write(path, text).expect("file");
        }
    }

    const V1: &str = "1 0 0:1 / ROOT/cpu rw - cgroup cgroup rw,cpu,cpuacct\n2 0 0:2 / ROOT/memory \
                      rw - cgroup cgroup rw,memory\n\
                      3 0 0:3 / ROOT/systemd rw - cgroup cgroup rw,xattr,name=systemd\n";
    const V2: &str = "1 0 0:1 / ROOT rw - cgroup2 cgroup2 rw,nsdelegate\n";

    #[test]
    fn version_1() {
        let tree = tree(V1);
        assert_eq!(tree.cgroups.layout(), Layout::V1);
        assert_eq!(
            tree.cgroups.hierarchies().len(),
            3,
            "comounted controllers are one hierarchy"
        );
        let mut probe = tree.cgroups.usage_probe("rookery/r/g1");
        assert_eq!(probe(), None, "no group yet");
        tree.put("cpu/rookery/r/g1/cpuacct.usage", "1234567\n");
        tree.put("memory/rookery/r/g1/memory.usage_in_bytes", "4096\n");
        tree.put(
            "cpu/rookery/r/g1/cpu.stat",
            "nr_periods 9\nnr_throttled 4\nthrottled_time 5678000\n",
        );
        assert_eq!(
            probe(),
            Some(Usage {
                cpu_us: 1234,
                memory_bytes: 4096,
                throttled_us: Some(5678),
                ..Usage::default()
            })
        );
    }

    #[test]
    fn version_2() {
        let tree = tree(V2);
        assert_eq!(tree.cgroups.layout(), Layout::V2);
        tree.put(
            "rookery/r/g1/cpu.stat",
            "usage_usec 77\nuser_usec 70\nsystem_usec 7\n",
        );
        tree.put("rookery/r/g1/memory.current", "8192\n");
        let mut probe = tree.cgroups.usage_probe("rookery/r/g1");
        assert_eq!(
            probe(),
            Some(Usage {
                cpu_us: 77,
                memory_bytes: 8192,
                io: None,
                split: Some(CpuSplit {
                    user_us: 70,
                    system_us: 7,
                    ..CpuSplit::default()
                }),
                throttled_us: None
            })
        );
        tree.put(
            "rookery/r/g1/cpu.stat",
            "usage_usec 99\nuser_usec 70\nthrottled_usec 8\n",
        );
        tree.put(
            "rookery/r/g1/io.stat",
            "254:0 rbytes=4096 wbytes=0 rios=1 wios=0\n",
        );
        let usage = probe().expect("a group");
        assert_eq!(
            (
                usage.cpu_us,
                usage.io.map(|io| io.reads),
                usage.throttled_us
            ),
            (99, Some(1), Some(8)),
            "read anew each time"
        );
    }

    #[test]
    fn kills_for_want_of_memory_are_counted_in_both_versions() {
        let (one, two) = (tree(V1), tree(V2));
        assert_eq!(
            one.cgroups.memory_kills("rookery/r/g1"),
            None,
            "no group yet"
        );
        one.put(
            "memory/rookery/r/g1/memory.oom_control",
            "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n",
        );
        two.put(
            "rookery/r/g1/memory.events",
            "low 0\nhigh 0\nmax 9\noom 1\noom_kill 3\noom_group_kill 0\n",
        );
        assert_eq!(one.cgroups.memory_kills("rookery/r/g1"), Some(2));
        assert_eq!(two.cgroups.memory_kills("rookery/r/g1"), Some(3));
    }

    #[test]
    fn hybrid_prefers_the_version_that_has_the_controller() {
        let tree = tree(&format!(
            "{V1}9 0 0:9 / ROOT/unified rw - cgroup2 cgroup2 rw\n"
        ));
        assert_eq!(tree.cgroups.layout(), Layout::Hybrid);
        assert_eq!(
            tree.cgroups.directory("memory", "a"),
            Some(tree.root.path().join("memory/a"))
        );
        assert_eq!(
            tree.cgroups.directory("pids", "a"),
            Some(tree.root.path().join("unified/a"))
        );
    }

    #[test]
    fn processes_of_nested_groups_are_found_in_all_hierarchies() {
        let tree = tree(V1);
        tree.put("cpu/rookery/r/g1/cgroup.procs", "10\n11\n");
        tree.put("memory/rookery/r/g1/deep/cgroup.procs", "12\n");
        assert_eq!(
            tree.cgroups.processes("rookery/r"),
            BTreeSet::from([10, 11, 12])
        );
        assert_eq!(
            tree.cgroups.children("rookery/r"),
            BTreeSet::from(["g1".to_owned()])
        );
        assert!(tree.cgroups.processes("rookery/other").is_empty());
    }

    #[test]
    fn removal_is_bottom_up_and_idempotent() {
        let tree = tree(V1);
        for group in [
            "cpu/rookery/r/g1/deep",
            "memory/rookery/r/g1",
            "memory/rookery/s",
        ] {
            fs::create_dir_all(tree.root.path().join(group)).expect("directory");
        }
        tree.cgroups.remove("rookery/r").expect("removed");
        tree.cgroups.remove("rookery/r").expect("again");
        assert!(!tree.cgroups.exists("rookery/r"));
        tree.cgroups.remove_if_empty("rookery");
        assert!(
            tree.root.path().join("memory/rookery/s").exists(),
            "another run's group stays"
        );
        assert!(!tree.root.path().join("cpu/rookery").exists());
    }

    #[test]
    fn kill_ends_every_process_of_the_group() {
        let tree = tree(V2);
        let mut child = std::process::Command::new("sleep")
            .arg("60")
            .spawn()
            .expect("sleep");
        tree.put("rookery/r/g1/cgroup.procs", &format!("{}\n", child.id()));
        tree.cgroups
            .kill("rookery/r/g1", Duration::from_secs(10))
            .expect("killed");
        assert!(!child.wait().expect("reap").success());
    }
}
