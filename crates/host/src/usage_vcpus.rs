//! What of an emulator's CPU time its guest used, and what the emulator itself.
//!
//! QEMU names the threads of its vCPUs: `CPU 0/KVM`, or `CPU 0/TCG` (`ALL CPUs/TCG` where one
//! thread carries all).

use std::{
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use crate::{CpuSplit, UsageProbe, procfs::parse_process_stat};

/// How often vCPU threads are looked for anew: one may be plugged in.
const RESCAN: Duration = Duration::from_secs(10);
/// A process with more threads than this is no emulator of ours.
const MOST_THREADS: usize = 4096;

/// `group`, with its CPU time split between the vCPUs of the emulator `pid` and all else. Where no
/// vCPU thread is found, nothing is said of parts.
#[must_use]
pub fn machine_usage_probe(mut group: UsageProbe, pid: u32) -> UsageProbe {
    let mut vcpus = Vcpus::new(PathBuf::from(format!("/proc/{pid}/task")));
    let mut before = CpuSplit::default();
    Box::new(move || {
        let mut usage = group()?;
        usage.split = vcpus.read().map(|vcpus| {
            before = split(usage.cpu_us, vcpus).at_least(before);
            before
        });
        Some(usage)
    })
}

/// What the vCPU threads used, us.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct VcpuTime {
    guest: u64,
    system: u64,
}

fn split(total_us: u64, vcpus: VcpuTime) -> CpuSplit {
    CpuSplit {
        user_us: 0,
        system_us: vcpus.system,
        guest_us: vcpus.guest,
        emulator_us: total_us
            .saturating_sub(vcpus.system)
            .saturating_sub(vcpus.guest),
    }
}

struct Vcpus {
    tasks: PathBuf,
    /// Directory of each thread, and whether KVM carries it.
    threads: Vec<(PathBuf, bool)>,
    scanned: Option<Instant>,
}

impl Vcpus {
    fn new(tasks: PathBuf) -> Self {
        Self {
            tasks,
            threads: Vec::new(),
            scanned: None,
        }
    }

    fn read(&mut self) -> Option<VcpuTime> {
        if self.threads.is_empty()
            || self
                .scanned
                .is_none_or(|scanned| scanned.elapsed() > RESCAN)
        {
            self.threads = vcpu_threads(&self.tasks);
            self.scanned = Some(Instant::now());
        }
        let mut sum = VcpuTime::default();
        for (thread, kvm) in &self.threads {
            let stat = parse_process_stat(&fs::read_to_string(thread.join("stat")).ok()?)?;
            let user = stat.cpu_us.saturating_sub(stat.system_us);
            sum.system = sum.system.saturating_add(stat.system_us);
            // Some kernels take guest mode from the timer's samples: it may seem to exceed what it
            // is a part of.
            sum.guest = sum
                .guest
                .saturating_add(if *kvm { stat.guest_us.min(user) } else { user });
        }
        (!self.threads.is_empty()).then_some(sum)
    }
}

fn vcpu_threads(tasks: &Path) -> Vec<(PathBuf, bool)> {
    let entries = fs::read_dir(tasks)
        .into_iter()
        .flatten()
        .flatten()
        .take(MOST_THREADS);
    let vcpu = |path: PathBuf| {
        let name = fs::read_to_string(path.join("comm")).ok()?;
        let kvm = carried_by_kvm(name.trim_end())?;
        Some((path, kvm))
    };
    entries.filter_map(|entry| vcpu(entry.path())).collect()
}

/// Of a thread's name: whether KVM carries the vCPU; `None` when it is none.
fn carried_by_kvm(name: &str) -> Option<bool> {
    let (which, accelerator) = name.rsplit_once('/')?;
    let numbered = which
        .strip_prefix("CPU ")
        .is_some_and(|number| number.parse::<u32>().is_ok());
    match accelerator {
        "KVM" if numbered => Some(true),
        "TCG" if numbered || which == "ALL CPUs" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Usage;

    fn thread(tasks: &Path, id: u32, name: &str, ticks: [u64; 3]) {
        let path = tasks.join(id.to_string());
        fs::create_dir_all(&path).expect("made");
        fs::write(path.join("comm"), format!("{name}\n")).expect("written");
        let [user, system, guest] = ticks;
        // Field 43 is the last but one that is given.
        let between = " 0".repeat(20);
        let stat = format!(
            "{id} ({name}) S 1 1 1 0 -1 0 0 0 0 0 {user} {system} 0 0 20 0 1 0 777{between} \
             {guest} 0\n"
        );
        fs::write(path.join("stat"), stat).expect("written");
    }

    #[test]
    fn under_kvm_the_guest_is_what_ran_in_guest_mode() {
        let tasks = tempfile::tempdir().expect("temporary directory");
        thread(tasks.path(), 10, "qemu-system-x86", [50, 20, 0]);
        thread(tasks.path(), 11, "CPU 0/KVM", [300, 40, 280]);
        thread(tasks.path(), 12, "CPU 1/KVM", [100, 10, 120]);
        thread(tasks.path(), 13, "IO iothread1", [5, 5, 0]);
        let vcpus = Vcpus::new(tasks.path().to_owned()).read().expect("vCPUs");
        assert_eq!(
            vcpus,
            VcpuTime {
                guest: 3_800_000,
                system: 500_000
            },
            "guest mode is part of user time"
        );
        let parts = split(5_300_000, vcpus);
        assert_eq!(
            (
                parts.user_us,
                parts.guest_us,
                parts.system_us,
                parts.emulator_us
            ),
            (0, 3_800_000, 500_000, 1_000_000)
        );
    }

    #[test]
    fn under_tcg_the_guest_is_what_its_threads_ran_in_user_mode() {
        let tasks = tempfile::tempdir().expect("temporary directory");
        thread(tasks.path(), 11, "CPU 0/TCG", [300, 40, 0]);
        let vcpus = Vcpus::new(tasks.path().to_owned()).read().expect("a vCPU");
        assert_eq!((vcpus.guest, vcpus.system), (3_000_000, 400_000));
        assert_eq!(
            split(3_399_000, vcpus).emulator_us,
            0,
            "the group was read a moment before"
        );
    }

    #[test]
    fn names_of_other_threads_are_no_vcpus() {
        let names = [
            "CPU 3/KVM",
            "CPU 0/TCG",
            "ALL CPUs/TCG",
            "CPU x/KVM",
            "ALL CPUs/KVM",
            "worker",
            "CPU 0",
            "",
        ];
        let found = names.map(carried_by_kvm);
        assert_eq!(
            found,
            [
                Some(true),
                Some(false),
                Some(false),
                None,
                None,
                None,
                None,
                None
            ]
        );
    }

    #[test]
    fn a_process_without_vcpus_has_no_parts() {
        let group: UsageProbe = Box::new(|| {
            Some(Usage {
                cpu_us: 7,
                ..Usage::default()
            })
        });
        let usage = machine_usage_probe(group, std::process::id())().expect("lives");
        assert_eq!((usage.cpu_us, usage.split), (7, None));
    }
}
