//! The files of the kernel behind the knobs, below a root that tests may lay elsewhere.

use std::{
    fs::{self, OpenOptions},
    io::{self, Read, Write},
    path::{Path, PathBuf},
};

use super::knob::{Coupling, Knob, Place};

/// Longest text of a setting that is read.
const MAX_TEXT: u64 = 16 * 1024;
/// Devices of memory or of nothing: tuning them tunes no disk. One that a profile names is taken
/// all the same.
const NO_DISKS: &[&str] = &["loop", "ram", "zram", "fd", "sr", "nbd"];
const POLICIES: &str = "sys/devices/system/cpu/cpufreq";
/// Where services have control groups, in version 1 and in version 2.
const SERVICES: [&str; 2] = [
    "sys/fs/cgroup/systemd/system.slice",
    "sys/fs/cgroup/system.slice",
];
/// Where CPUs are listed.
const CPUS: &str = "sys/devices/system/cpu";
/// Where network namespaces have names: those of the lab, and those of everybody else.
const NAMED_NAMESPACES: &[&str] = &["run/rookery/netns", "run/netns"];
const DISKS: &str = "sys/block";

/// The root of the file system that holds `/proc` and `/sys`.
#[derive(Clone, Debug)]
pub struct Root(PathBuf);

/// One file of a knob.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Instance {
    /// Disk or frequency policy; empty for a knob of one file.
    pub(crate) name: String,
    /// Path without the leading slash.
    pub(crate) path: String,
}

impl Root {
    /// That of this machine.
    #[must_use]
    pub fn machine() -> Self {
        Self(PathBuf::from("/"))
    }

    /// Another one; for tests.
    #[must_use]
    pub fn at(path: &Path) -> Self {
        Self(path.to_owned())
    }

    pub(crate) fn path(&self, relative: &str) -> PathBuf {
        self.0.join(relative)
    }

    /// Text of a file, at most [`MAX_TEXT`] bytes of it.
    pub(crate) fn read(&self, relative: &str) -> io::Result<String> {
        let mut bytes = Vec::new();
        fs::File::open(self.path(relative))?
            .take(MAX_TEXT)
            .read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Write a value in one call, as the kernel wants it; the file is never made.
    pub(crate) fn write(&self, relative: &str, value: &str) -> io::Result<()> {
        let mut file = OpenOptions::new()
            .write(true)
            .truncate(true)
            .open(self.path(relative))?;
        file.write_all(format!("{value}\n").as_bytes())
    }

    /// Why a file cannot be written to; `None` when it can. Opening it changes nothing.
    pub(crate) fn hindrance(&self, relative: &str) -> Option<String> {
        let error = OpenOptions::new()
            .write(true)
            .open(self.path(relative))
            .err()?;
        Some(match error.kind() {
            io::ErrorKind::PermissionDenied if !rustix::process::geteuid().is_root() => {
                "it needs root".to_owned()
            }
            io::ErrorKind::PermissionDenied => "the kernel lets nobody write it".to_owned(),
            io::ErrorKind::ReadOnlyFilesystem => {
                "it is mounted read-only here, as in most containers".to_owned()
            }
            io::ErrorKind::NotFound => "this kernel or device has no such setting".to_owned(),
            _ => error.to_string(),
        })
    }

    /// The files of a knob that exist. `devices`: only those that match; without any, all real
    /// disks.
    pub(crate) fn instances(&self, knob: &Knob, devices: &[String]) -> Vec<Instance> {
        let mut found = match knob.place {
            Place::File(path) => self.single(path),
            Place::ProcessLimit(_) => self.single("proc/self/limits"),
            Place::Swaps => self.single("proc/swaps"),
            Place::EachService => self.services(devices),
            Place::EachIdleState(file) => self.idle_states(file, devices),
            Place::EachPolicy(file) => self.each(POLICIES, file, |name| {
                name.starts_with("policy") && chosen(name, devices)
            }),
            Place::EachDisk(file) => self.each(DISKS, file, |name| {
                if devices.is_empty() {
                    !NO_DISKS.iter().any(|prefix| name.starts_with(prefix))
                } else {
                    chosen(name, devices)
                }
            }),
        };
        found.sort_by(|a, b| a.name.cmp(&b.name));
        found
    }

    /// The services of these names that run; each has a control group with processes.
    fn services(&self, names: &[String]) -> Vec<Instance> {
        if names.is_empty() {
            return Vec::new();
        }
        let of_slice = |slice: &&str| {
            let found = self.each(slice, "cgroup.procs", |name| {
                name.strip_suffix(".service")
                    .is_some_and(|service| chosen(service, names))
            });
            let runs = |instance: &Instance| {
                self.read(&instance.path)
                    .is_ok_and(|text| !text.trim().is_empty())
            };
            found.into_iter().filter(runs).collect::<Vec<_>>()
        };
        let found = SERVICES
            .iter()
            .map(of_slice)
            .find(|found| !found.is_empty());
        found.unwrap_or_default()
    }

    /// The states of all CPUs; the first of each has a CPU poll, and is no saving.
    fn idle_states(&self, file: &str, devices: &[String]) -> Vec<Instance> {
        let cpus = self.names(CPUS).into_iter().filter(|name| {
            let number = name.strip_prefix("cpu");
            number.is_some_and(|number| number.parse::<u32>().is_ok())
        });
        cpus.flat_map(|cpu| {
            let directory = format!("{CPUS}/{cpu}/cpuidle");
            let states = self.each(&directory, file, |state| {
                state.starts_with("state")
                    && state != "state0"
                    && chosen(&format!("{state}/{cpu}"), devices)
            });
            states.into_iter().map(move |state| Instance {
                name: format!("{}/{cpu}", state.name),
                path: state.path,
            })
        })
        .collect()
    }

    fn single(&self, path: &str) -> Vec<Instance> {
        let instance = Instance {
            name: String::new(),
            path: path.to_owned(),
        };
        if self.path(path).exists() {
            vec![instance]
        } else {
            Vec::new()
        }
    }

    fn each(&self, directory: &str, file: &str, wanted: impl Fn(&str) -> bool) -> Vec<Instance> {
        let names = self
            .names(directory)
            .into_iter()
            .filter(|name| wanted(name));
        names
            .map(|name| Instance {
                path: format!("{directory}/{name}/{file}"),
                name,
            })
            .filter(|instance| self.path(&instance.path).exists())
            .collect()
    }

    /// Names in a directory, sorted; none when it is not there.
    fn names(&self, directory: &str) -> Vec<String> {
        let entries = fs::read_dir(self.path(directory))
            .into_iter()
            .flatten()
            .flatten();
        let mut names: Vec<String> = entries
            .filter_map(|entry| entry.file_name().into_string().ok())
            .collect();
        names.sort();
        names
    }

    /// The present value of a knob.
    ///
    /// # Errors
    /// When it cannot be read.
    pub(crate) fn present(&self, knob: &Knob, instance: &Instance) -> io::Result<String> {
        let text = self.read(&instance.path)?;
        match knob.place {
            Place::ProcessLimit(name) => process_limit(&text, name)
                .ok_or_else(|| io::Error::other(format!("/proc/self/limits has no `{name}`"))),
            Place::EachService => Ok("running".to_owned()),
            Place::Swaps => Ok(swaps(&text)),
            _ => Ok(knob.present(&text)),
        }
    }

    /// Why a knob cannot be turned here; `None` when it can.
    pub(crate) fn fixed(&self, knob: &Knob, instance: &Instance, present: &str) -> Option<String> {
        if let Some(means) = knob.place.changed_by() {
            return Some(means.to_owned());
        }
        if knob.key == "cpu.smt" && !["on", "off"].contains(&present) {
            return Some(format!("this machine says `{present}`"));
        }
        self.hindrance(&instance.path)
    }

    /// Files that the kernel changes along with one, in the order in which they are put back after
    /// it.
    pub(crate) fn coupled(&self, knob: &Knob, instance: &Instance) -> Vec<String> {
        match knob.coupling {
            Coupling::None => Vec::new(),
            Coupling::Exclusive(path) | Coupling::Recomputes(path) => vec![path.to_owned()],
            Coupling::Resets(places) => {
                let at = |place: &str| format!("{DISKS}/{}/{place}", instance.name);
                let mut paths = Vec::new();
                for place in places.iter().copied().map(at) {
                    if self.path(&place).is_dir() {
                        paths.extend(
                            self.names(&place)
                                .into_iter()
                                .map(|name| format!("{place}/{name}")),
                        );
                    } else {
                        paths.push(place);
                    }
                }
                paths
            }
        }
    }

    /// What a link such as `/proc/thread-self/ns/net` names; empty when it is not there.
    pub(crate) fn link(&self, relative: &str) -> String {
        let target = fs::read_link(self.path(relative)).unwrap_or_default();
        target.to_string_lossy().into_owned()
    }

    /// Whether a namespace still exists, as a link such as `/proc/self/ns/net` names it: some
    /// process is in it, or it has a name.
    pub(crate) fn namespace_lives(&self, kind: &str, link: &str) -> bool {
        use std::os::unix::fs::MetadataExt;
        let processes = self
            .names("proc")
            .into_iter()
            .filter(|name| name.bytes().all(|b| b.is_ascii_digit()));
        let inhabited = processes
            .into_iter()
            .any(|pid| self.link(&format!("proc/{pid}/ns/{kind}")) == link);
        let mut named = NAMED_NAMESPACES.iter().flat_map(|directory| {
            let names = self.names(directory).into_iter();
            names.map(move |name| format!("{directory}/{name}"))
        });
        inhabited
            || named.any(|path| {
                let data = fs::metadata(self.path(&path));
                data.is_ok_and(|data| format!("{kind}:[{}]", data.ino()) == link)
            })
    }

    /// Identity of this boot; empty when the kernel does not tell.
    pub(crate) fn boot(&self) -> String {
        self.read("proc/sys/kernel/random/boot_id")
            .unwrap_or_default()
            .trim()
            .to_owned()
    }
}

/// Whether a device is meant by a list of names, of which each may end in `*`; an empty list means
/// all.
fn chosen(name: &str, devices: &[String]) -> bool {
    let meant = |device: &String| match device.strip_suffix('*') {
        Some(prefix) => name.starts_with(prefix),
        None => name == device,
    };
    devices.is_empty() || devices.iter().any(meant)
}

/// The names in the text of `/proc/swaps`, whose first line has heads; `none` where there are none.
fn swaps(text: &str) -> String {
    let names: Vec<&str> = text
        .lines()
        .skip(1)
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    if names.is_empty() {
        "none".to_owned()
    } else {
        names.join(" ")
    }
}

/// The soft limit of a name in the text of `/proc/self/limits`.
fn process_limit(text: &str, name: &str) -> Option<String> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next().map(ToOwned::to_owned)
}

#[cfg(test)]
mod tests {
    use super::{super::catalogue::knob, *};

    fn names(root: &Root, key: &str, devices: &[&str]) -> Vec<String> {
        let devices: Vec<String> = devices.iter().map(ToString::to_string).collect();
        let instances = root.instances(knob(key).expect("known"), &devices);
        instances
            .into_iter()
            .map(|instance| instance.name)
            .collect()
    }

    #[test]
    fn only_real_disks_unless_others_are_named() {
        let directory = tempfile::tempdir().expect("temporary directory");
        for disk in ["sda", "vda", "loop0", "zram0"] {
            fs::create_dir_all(directory.path().join("sys/block").join(disk).join("queue"))
                .expect("made");
            fs::write(
                directory
                    .path()
                    .join("sys/block")
                    .join(disk)
                    .join("queue/scheduler"),
                "none\n",
            )
            .expect("written");
        }
        let root = Root::at(directory.path());
        assert_eq!(names(&root, "block.scheduler", &[]), ["sda", "vda"]);
        assert_eq!(
            names(&root, "block.scheduler", &["v*", "loop0"]),
            ["loop0", "vda"]
        );
        assert!(
            names(&root, "block.queue_depth", &[]).is_empty(),
            "no such file"
        );
        assert!(names(&root, "cpu.governor", &[]).is_empty());
    }

    #[test]
    fn the_limit_of_open_files_is_the_soft_one() {
        let text = "Limit   Soft Limit   Hard Limit   Units\nMax open files            \
                    1024                 524288               files     \n";
        assert_eq!(
            process_limit(text, "Max open files").as_deref(),
            Some("1024")
        );
        assert_eq!(process_limit("Max open files", "Max open files"), None);
        assert_eq!(process_limit("", "Max open files"), None);
    }

    #[test]
    fn services_and_swap_are_shown_and_never_changed() {
        let directory = tempfile::tempdir().expect("temporary directory");
        let put = |path: &str, text: &str| {
            let path = directory.path().join(path);
            fs::create_dir_all(path.parent().expect("a directory")).expect("made");
            fs::write(path, text).expect("written");
        };
        for (service, processes) in [("cups", "12\n"), ("atd", "\n"), ("sshd", "7\n")] {
            let slice = "sys/fs/cgroup/system.slice";
            put(
                &format!("{slice}/{service}.service/cgroup.procs"),
                processes,
            );
        }
        put(
            "proc/swaps",
            "Filename Type Size Used Priority\n/dev/sda2 partition 9 0 -2\n",
        );
        let root = Root::at(directory.path());
        let service = super::super::knob("service").expect("a knob");
        let wanted = ["cups", "atd", "acpid"].map(str::to_owned);
        let found = root.instances(service, &wanted);
        let names: Vec<&str> = found.iter().map(|instance| &*instance.name).collect();
        assert_eq!(
            names,
            ["cups.service"],
            "atd has ended, sshd is not asked for"
        );
        assert_eq!(root.present(service, &found[0]).expect("read"), "running");
        assert!(root.instances(service, &[]).is_empty());
        let swap = super::super::knob("swap.devices").expect("a knob");
        let devices = root.instances(swap, &[]);
        assert_eq!(root.present(swap, &devices[0]).expect("read"), "/dev/sda2");
        assert!(root.fixed(swap, &devices[0], "/dev/sda2").is_some());
        assert_eq!(swaps("Filename Type\n"), "none");
    }

    #[test]
    fn idle_states_are_those_that_save_something() {
        let directory = tempfile::tempdir().expect("temporary directory");
        for cpu in ["cpu0", "cpu1", "cpuidle", "cpufreq"] {
            for state in ["state0", "state1", "state2"] {
                let state = directory
                    .path()
                    .join(CPUS)
                    .join(cpu)
                    .join("cpuidle")
                    .join(state);
                fs::create_dir_all(&state).expect("made");
                fs::write(state.join("disable"), "0\n").expect("written");
            }
        }
        let root = Root::at(directory.path());
        assert_eq!(
            names(&root, "cpu.idle_state_off", &[]),
            ["state1/cpu0", "state1/cpu1", "state2/cpu0", "state2/cpu1"]
        );
        assert_eq!(
            names(&root, "cpu.idle_state_off", &["state2*"]),
            ["state2/cpu0", "state2/cpu1"]
        );
    }

    #[test]
    fn nothing_is_made_by_writing() {
        let directory = tempfile::tempdir().expect("temporary directory");
        let root = Root::at(directory.path());
        assert!(root.write("absent", "1").is_err());
        assert!(
            root.hindrance("absent")
                .is_some_and(|why| why.contains("no such setting"))
        );
        assert!(!directory.path().join("absent").exists());
    }
}
