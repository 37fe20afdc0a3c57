//! What the kernel counts of the memory of each guest: that of its control group.

use std::{
    fs,
    path::{Path, PathBuf},
};

use rookery_guest::ProcessProbe;
use rookery_host::Cgroups;
use rookery_stats::KernelCounter;

/// The memory of a guest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MemoryGroup {
    /// The guest.
    pub(crate) name: String,
    /// The directory of the control group that counts its memory.
    pub(crate) place: PathBuf,
    /// That of its group of version 2, which tells how long its tasks wait; of version 1 alone
    /// there is none.
    pub(crate) pressure: Option<PathBuf>,
}

/// The control group of each guest that has one.
pub(super) fn find(
    proc: &Path,
    cgroups: &Cgroups,
    guests: &mut [(String, ProcessProbe)],
) -> Vec<MemoryGroup> {
    let memory_group = |process: &str| {
        let text = fs::read_to_string(proc.join(process).join("cgroup")).ok()?;
        Some((memory_path(&text)?.to_owned(), text))
    };
    let own = memory_group("self").map(|(path, _)| path);
    let group = |(name, processes): &mut (String, ProcessProbe)| {
        let first = processes().first()?.to_string();
        let (path, text) = memory_group(&first)?;
        // All that is not in a group of its own is in the root, or with this very program, beside
        // everything else.
        let path = below_root(&path).filter(|_| own.as_ref() != Some(&path))?;
        let unified = line_of(&text, str::is_empty).and_then(below_root);
        Some(MemoryGroup {
            name: name.clone(),
            place: cgroups.directory("memory", path)?,
            pressure: unified.and_then(|path| cgroups.unified(path)),
        })
    };
    guests.iter_mut().filter_map(group).collect()
}

/// The path of the group that counts memory, from `/proc/<pid>/cgroup`: of version 1 the line
/// `4:memory:/path`, else that of version 2, `0::/path`.
fn memory_path(text: &str) -> Option<&str> {
    line_of(text, |controllers| {
        controllers.split(',').any(|name| name == "memory")
    })
    .or_else(|| line_of(text, str::is_empty))
}

/// The path in the line of the controllers that are wanted.
fn line_of(text: &str, wanted: fn(&str) -> bool) -> Option<&str> {
    text.lines().find_map(|line| {
        let (_, rest) = line.split_once(':')?;
        let (controllers, path) = rest.split_once(':')?;
        wanted(controllers).then_some(path)
    })
}

/// The path of a group below its mount; nothing of the root.
fn below_root(path: &str) -> Option<&str> {
    path.strip_prefix('/').filter(|path| !path.is_empty())
}

/// From `memory.stat`; version 1 tells of the group with those below it in lines `total_NAME`.
pub(super) fn parse_memory_stat(text: &str) -> Vec<(KernelCounter, u64)> {
    let whole = text.lines().any(|line| line.starts_with("total_"));
    let mut counts: Vec<(KernelCounter, u64)> = Vec::new();
    for line in text.lines() {
        let Some((name, count)) = line.split_once(' ') else {
            continue;
        };
        let name = match (whole, name.strip_prefix("total_")) {
            (true, Some(name)) => name,
            (true, None) => continue,
            (false, _) => name,
        };
        let counter = match name {
            "pgmajfault" => KernelCounter::MajorFaults,
            name if name.starts_with("workingset_refault") => KernelCounter::Refaults,
            // Version 1 counts neither.
            "pgscan" => KernelCounter::ScannedPages,
            "pgsteal" => KernelCounter::ReclaimedPages,
            _ => continue,
        };
        let Ok(count) = count.trim().parse::<u64>() else {
            continue;
        };
        match counts.iter_mut().find(|(known, _)| *known == counter) {
            Some((_, sum)) => *sum = sum.saturating_add(count),
            None => counts.push((counter, count)),
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_group_that_counts_memory_is_found_in_both_versions() {
        let first = "9:name=systemd:/\n4:cpu,memory:/rookery/ab/g1\n0::/other\n";
        assert_eq!(memory_path(first), Some("/rookery/ab/g1"));
        assert_eq!(memory_path("0::/rookery/ab/g1\n"), Some("/rookery/ab/g1"));
        assert_eq!(memory_path("1:cpu:/x\n"), None);
    }

    #[test]
    fn groups_below_are_counted_where_the_kernel_tells_of_them() {
        let counts = [
            (KernelCounter::MajorFaults, 7),
            (KernelCounter::Refaults, 30),
        ];
        let second =
            "anon 5\npgmajfault 7\nworkingset_refault_anon 10\nworkingset_refault_file 20\n";
        assert_eq!(parse_memory_stat(second), counts);
        let reclaimed = "pgscan 9\npgsteal 4\npgscan_kswapd 9\n";
        assert_eq!(
            parse_memory_stat(reclaimed),
            [
                (KernelCounter::ScannedPages, 9),
                (KernelCounter::ReclaimedPages, 4),
            ]
        );
        let first = "pgmajfault 1\ntotal_pgmajfault 7\ntotal_workingset_refault 30\n";
        assert_eq!(parse_memory_stat(first), counts);
    }

    #[test]
    fn guests_without_a_group_have_none() {
        let proc = tempfile::tempdir().expect("a directory");
        for (process, text) in [
            ("10", "0::/rookery/g1\n"),
            ("11", "0::/\n"),
            ("13", "0::/session\n"),
            ("self", "0::/session\n"),
        ] {
            fs::create_dir_all(proc.path().join(process)).expect("a directory");
            fs::write(proc.path().join(process).join("cgroup"), text).expect("a file");
        }
        let mount = rookery_host::Mount {
            point: PathBuf::from("/sys/fs/cgroup"),
            device: (0, 1),
            flags: String::new(),
            kind: "cgroup2".to_owned(),
            source: String::new(),
            options: String::new(),
        };
        let cgroups = Cgroups::from_mounts(&[mount]);
        let guest = |name: &str, process: u32| -> (String, ProcessProbe) {
            (name.to_owned(), Box::new(move || vec![process]))
        };
        let mut guests = [
            guest("g1", 10),
            guest("g2", 11),
            guest("g3", 12),
            guest("g4", 13),
        ];
        assert_eq!(
            find(proc.path(), &cgroups, &mut guests),
            [MemoryGroup {
                name: "g1".to_owned(),
                place: PathBuf::from("/sys/fs/cgroup/rookery/g1"),
                pressure: Some(PathBuf::from("/sys/fs/cgroup/rookery/g1")),
            }]
        );
    }
}
