//! Where the threads of processes run, and where they may: the audit of pins.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use serde::{Deserialize, Serialize};

use crate::cpulist::parse_cpu_list;

/// Most threads that one look reads; a guest with more is seen in part, which the look says.
const MAX_THREADS: usize = 4096;

/// Where one thread was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadPlace {
    /// The CPU that it ran on last.
    pub ran_on: u32,
    /// The CPUs that it may use.
    pub cpus: BTreeSet<u32>,
    /// The memory nodes that it may use.
    pub nodes: BTreeSet<u32>,
}

/// What several looks at the threads of a guest have seen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Residence {
    /// Looks at a thread, of all looks together.
    pub seen: u64,
    /// How often a thread was found on each CPU.
    pub ran_on: BTreeMap<u32, u64>,
    /// Every CPU that some thread may use.
    pub cpus: BTreeSet<u32>,
    /// Every memory node that some thread may use.
    pub nodes: BTreeSet<u32>,
    /// Whether a guest had more threads than a look reads.
    pub cut: bool,
}

impl Residence {
    /// Add a thread.
    pub fn add(&mut self, thread: &ThreadPlace) {
        self.seen += 1;
        *self.ran_on.entry(thread.ran_on).or_default() += 1;
        self.cpus.extend(&thread.cpus);
        self.nodes.extend(&thread.nodes);
    }

    /// Look at all threads of these processes, below `proc` (`/proc`). Those that end meanwhile are
    /// left out.
    pub fn look(&mut self, proc: &Path, processes: impl IntoIterator<Item = u32>) {
        let mut left = MAX_THREADS;
        for pid in processes {
            for task in fs::read_dir(proc.join(format!("{pid}/task")))
                .into_iter()
                .flatten()
                .flatten()
            {
                if left == 0 {
                    self.cut = true;
                    return;
                }
                left -= 1;
                if let Some(thread) = thread_place(&task.path()) {
                    self.add(&thread);
                }
            }
        }
    }

    /// Looks that found a thread on a CPU other than these.
    #[must_use]
    pub fn strays(&self, pins: &BTreeSet<u32>) -> u64 {
        self.ran_on
            .iter()
            .filter(|(cpu, _)| !pins.contains(cpu))
            .map(|(_, count)| count)
            .sum()
    }
}

fn thread_place(task: &Path) -> Option<ThreadPlace> {
    let ran_on = parse_processor(&fs::read_to_string(task.join("stat")).ok()?)?;
    let (cpus, nodes) = parse_allowed(&fs::read_to_string(task.join("status")).ok()?)?;
    Some(ThreadPlace {
        ran_on,
        cpus,
        nodes,
    })
}

/// Field 39 of a stat file (`proc_pid_stat(5)`), counted behind the name, which may hold anything.
fn parse_processor(stat: &str) -> Option<u32> {
    let (_, rest) = stat.rsplit_once(')')?;
    // The first word behind the name is field 3.
    rest.split_whitespace().nth(39 - 3)?.parse().ok()
}

/// CPUs and memory nodes in the text of a status file.
fn parse_allowed(status: &str) -> Option<(BTreeSet<u32>, BTreeSet<u32>)> {
    let list = |key: &str| parse_cpu_list(status.lines().find_map(|line| line.strip_prefix(key))?);
    // Kernels without memory nodes have no such line.
    Some((
        list("Cpus_allowed_list:")?,
        list("Mems_allowed_list:").unwrap_or_default(),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_sees_every_thread() {
        let proc = tempfile::tempdir().expect("temporary directory");
        for (tid, cpu) in [(7, 0), (8, 2)] {
            let task = proc.path().join(format!("7/task/{tid}"));
            fs::create_dir_all(&task).expect("directory");
            let before = vec!["0"; 35].join(" ");
            fs::write(
                task.join("stat"),
                format!("{tid} (a) b) S {before} {cpu} 0 0\n"),
            )
            .expect("file");
            fs::write(
                task.join("status"),
                "Name:\ta\nCpus_allowed_list:\t0,2\nMems_allowed_list:\t0\n",
            )
            .expect("file");
        }
        fs::create_dir_all(proc.path().join("7/task/9")).expect("one that has ended");
        let mut residence = Residence::default();
        residence.look(proc.path(), [7, 99]);
        assert_eq!(
            (residence.seen, residence.ran_on.clone()),
            (2, BTreeMap::from([(0, 1), (2, 1)]))
        );
        assert_eq!(
            (residence.cpus.clone(), residence.nodes.clone()),
            (BTreeSet::from([0, 2]), BTreeSet::from([0]))
        );
        assert_eq!(residence.strays(&BTreeSet::from([0])), 1);
        assert_eq!(residence.strays(&BTreeSet::from([0, 2])), 0);
    }

    #[test]
    fn this_process_is_where_it_may_be() {
        let mut residence = Residence::default();
        residence.look(Path::new("/proc"), [std::process::id()]);
        assert!(
            residence.seen > 0 && residence.strays(&residence.cpus) == 0,
            "{residence:?}"
        );
        assert!(!residence.cut);
    }
}
