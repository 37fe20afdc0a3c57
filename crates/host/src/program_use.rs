//! What the programs of this host use: who works beside a run.

use std::{
    collections::{HashMap, HashSet},
    fs,
    path::{Path, PathBuf},
};

use crate::procfs::{ProcessStat, parse_process_io, parse_process_stat, parse_program_name};

/// Most processes that one look reads.
const MOST_PROCESSES: usize = 32_768;
/// The process whose children are threads of the kernel: their work is done for somebody else.
const KERNEL_THREADS: u32 = 2;

/// What all processes of one name used between the first and the last look.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProgramUse {
    /// Name of the program, as the kernel shortens it.
    pub name: String,
    /// CPU time, us.
    pub cpu_us: u64,
    /// Bytes that it read from and wrote to disks, as far as that may be read.
    pub disk_bytes: u64,
    /// Resident memory at the last look that saw it, bytes.
    pub memory_bytes: u64,
}

/// Looks at all processes of a host again and again, and adds up what each program used.
///
/// A process that comes and goes between two looks is not seen.
pub struct ProgramWatch {
    proc: PathBuf,
    page_bytes: u64,
    last: Option<HashMap<(u32, u64), Counters>>,
    used: HashMap<String, ProgramUse>,
}

#[derive(Clone, Copy, Default)]
struct Counters {
    parent: u32,
    cpu_us: u64,
    disk_bytes: u64,
}

struct Seen {
    stat: ProcessStat,
    name: String,
}

impl ProgramWatch {
    /// A watch over the processes below `proc` (`/proc`), with pages of so many bytes.
    #[must_use]
    pub fn new(proc: &Path, page_bytes: u64) -> Self {
        Self {
            proc: proc.to_owned(),
            page_bytes,
            last: None,
            used: HashMap::new(),
        }
    }

    /// Look at all processes but `own` and their descendants. The first look is the base.
    pub fn look(&mut self, own: &HashSet<u32>) {
        let seen = self.processes();
        let mut memory: HashMap<&str, u64> = HashMap::new();
        let mut now = HashMap::new();
        let inherited = self.inherited(&seen);
        for (pid, process) in &seen {
            if is_own(*pid, &seen, own) {
                continue;
            }
            let stat = &process.stat;
            let counters = Counters {
                parent: stat.parent,
                cpu_us: stat.cpu_us,
                disk_bytes: self.disk_bytes(*pid),
            };
            let resident = stat.resident_pages.saturating_mul(self.page_bytes);
            *memory.entry(&process.name).or_default() += resident;
            let key = (*pid, stat.start_ticks);
            if let Some(last) = &self.last {
                let before = last.get(&key).copied().unwrap_or_default();
                let used = self.used.entry(process.name.clone()).or_default();
                let known = inherited.get(pid).copied().unwrap_or(0);
                used.cpu_us += counters.cpu_us.saturating_sub(before.cpu_us + known);
                used.disk_bytes += counters.disk_bytes.saturating_sub(before.disk_bytes);
            }
            now.insert(key, counters);
        }
        for (name, bytes) in memory {
            if let Some(used) = self.used.get_mut(name) {
                used.memory_bytes = bytes;
            }
        }
        self.last = Some(now);
    }

    /// What each program used since the first look, the most CPU time first.
    #[must_use]
    pub fn finish(self) -> Vec<ProgramUse> {
        let named = |(name, used)| ProgramUse { name, ..used };
        let mut all: Vec<ProgramUse> = self.used.into_iter().map(named).collect();
        all.sort_by(|a, b| b.cpu_us.cmp(&a.cpu_us).then_with(|| a.name.cmp(&b.name)));
        all
    }

    /// CPU time of processes that have ended since the last look, by who is charged with it: their
    /// parents, when these wait for them, or where a parent ended as well, the parent of that one.
    /// It was counted already.
    fn inherited(&self, seen: &HashMap<u32, Seen>) -> HashMap<u32, u64> {
        let last = || self.last.iter().flatten();
        let lives = |pid: u32, start: u64| {
            let process = seen.get(&pid);
            process.is_some_and(|process| process.stat.start_ticks == start)
        };
        let ended: HashMap<u32, Counters> = last()
            .filter(|((pid, start), _)| !lives(*pid, *start))
            .map(|((pid, _), counters)| (*pid, *counters))
            .collect();
        let mut inherited = HashMap::new();
        for counters in ended.values() {
            let mut charged = counters.parent;
            // What was read is no snapshot: a chain of parents may be a ring.
            for _ in 0..ended.len() {
                let Some(parent) = ended.get(&charged) else {
                    break;
                };
                charged = parent.parent;
            }
            *inherited.entry(charged).or_default() += counters.cpu_us;
        }
        inherited
    }

    fn processes(&self) -> HashMap<u32, Seen> {
        let entries = fs::read_dir(&self.proc).into_iter().flatten().flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        pids.take(MOST_PROCESSES)
            .filter_map(|pid| {
                let text = fs::read(self.proc.join(format!("{pid}/stat"))).ok()?;
                let text = String::from_utf8_lossy(&text);
                let stat = parse_process_stat(&text)?;
                let name = parse_program_name(&text)?;
                Some((pid, Seen { stat, name }))
            })
            .collect()
    }

    /// Bytes that a process had moved from and to disks; 0 where that is not ours to read.
    fn disk_bytes(&self, pid: u32) -> u64 {
        let text = fs::read_to_string(self.proc.join(format!("{pid}/io"))).unwrap_or_default();
        let [read, written] =
            ["read_bytes:", "write_bytes:"].map(|key| parse_process_io(&text, key).unwrap_or(0));
        read.saturating_add(written)
    }
}

/// Whether a process is one of `own`, descends from one, or is a thread of the kernel.
fn is_own(pid: u32, seen: &HashMap<u32, Seen>, own: &HashSet<u32>) -> bool {
    let mut at = pid;
    // What is read is no snapshot: a chain of parents may be a ring.
    for _ in 0..seen.len() {
        if own.contains(&at) || at == KERNEL_THREADS {
            return true;
        }
        match seen.get(&at) {
            Some(process) if process.stat.parent != 0 => at = process.stat.parent,
            _ => return false,
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A `/proc` with processes: number, name, parent, CPU ticks, start, bytes written.
    fn proc(dir: &Path, processes: &[(u32, &str, u32, u64, u64, u64)]) {
        for (pid, name, parent, ticks, start, written) in processes {
            let own = dir.join(pid.to_string());
            fs::create_dir_all(&own).expect("made");
            let stat = format!(
                "{pid} ({name}) R {parent} 1 1 0 -1 0 0 0 0 0 {ticks} 0 0 0 20 0 1 0 {start} 0 3"
            );
            fs::write(own.join("stat"), stat).expect("written");
            let io = format!("rchar: 1\nread_bytes: 0\nwrite_bytes: {written}\n");
            fs::write(own.join("io"), io).expect("written");
        }
    }

    #[test]
    fn programs_outside_of_the_run_are_added_up_by_name() {
        let dir = tempfile::tempdir().expect("a directory");
        let run = HashSet::from([10]);
        proc(
            dir.path(),
            &[
                (2, "kthreadd", 0, 50, 1, 0),
                (3, "kworker", 2, 50, 1, 0),
                (10, "rookery", 1, 100, 5, 0),
                (11, "a guest", 10, 100, 6, 0),
                (20, "make (all)", 1, 100, 7, 1000),
            ],
        );
        let mut watch = ProgramWatch::new(dir.path(), 4096);
        watch.look(&run);
        proc(
            dir.path(),
            &[
                (3, "kworker", 2, 90, 1, 0),
                (11, "a guest", 10, 900, 6, 0),
                (20, "make (all)", 1, 130, 7, 5000),
                // Began since, and one whose number was another's.
                (21, "cc1", 20, 40, 9, 0),
                (22, "cc1", 20, 20, 9, 0),
            ],
        );
        watch.look(&run);
        // One has ended, and its parent is charged with what it used: 5 ticks are new.
        fs::remove_dir_all(dir.path().join("22")).expect("removed");
        proc(dir.path(), &[(20, "make (all)", 1, 155, 7, 5000)]);
        watch.look(&run);
        let used = |name: &str, cpu_us, disk_bytes, memory_bytes| ProgramUse {
            name: name.to_owned(),
            cpu_us,
            disk_bytes,
            memory_bytes,
        };
        assert_eq!(
            watch.finish(),
            [
                used("cc1", 600_000, 0, 3 * 4096),
                used("make (all)", 350_000, 4000, 3 * 4096),
            ]
        );
    }

    #[test]
    fn what_a_whole_family_used_is_counted_once() {
        let dir = tempfile::tempdir().expect("a directory");
        let make = (21, "make", 20, 10, 8, 0);
        let family = [(20, "bash", 1, 1, 7, 0), make, (22, "cc1", 21, 900, 9, 0)];
        proc(dir.path(), &family);
        let mut watch = ProgramWatch::new(dir.path(), 4096);
        watch.look(&HashSet::new());
        // Both have ended: the shell has waited for `make`, which had waited for the compiler.
        for pid in ["21", "22"] {
            fs::remove_dir_all(dir.path().join(pid)).expect("removed");
        }
        proc(dir.path(), &[(20, "bash", 1, 1 + 15 + 930, 7, 0)]);
        watch.look(&HashSet::new());
        let used = watch.finish();
        let of = |name: &str| used.iter().find(|used| used.name == name);
        assert_eq!(of("bash").map(|used| used.cpu_us), Some(350_000));
    }

    #[test]
    fn this_process_is_seen() {
        let mut watch = ProgramWatch::new(Path::new("/proc"), 4096);
        watch.look(&HashSet::new());
        watch.look(&HashSet::new());
        assert!(watch.finish().iter().any(|used| used.memory_bytes > 0));
    }
}
