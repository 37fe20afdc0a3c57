//! What becomes of the memory of guests and of the host, reading by reading.

use std::path::{Path, PathBuf};

use rookery_guest::ProcessProbe;
use rookery_host::Cgroups;
use rookery_stats::{KernelCounter, MemoryRates, PressureShares, ReclaimRates};

use super::{groups, memory, text::text};

/// Where the kernel tells of the memory of something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum MemorySource {
    /// Of the whole host: its `/proc`.
    Host(PathBuf),
    /// Of a guest: its control groups.
    Group {
        /// The directory of the one that counts its memory.
        place: PathBuf,
        /// That of its group of version 2, if it has one.
        pressure: Option<PathBuf>,
    },
}

/// The sources of guests by their names, and that of the host.
pub(crate) fn memory_sources(
    guests: &mut [(String, ProcessProbe)],
    host: &str,
) -> Vec<(String, MemorySource)> {
    let proc = Path::new("/proc");
    let cgroups = Cgroups::detect().unwrap_or_default();
    let groups = groups::find(proc, &cgroups, guests).into_iter();
    let of_group = |group: groups::MemoryGroup| {
        let source = MemorySource::Group {
            place: group.place,
            pressure: group.pressure,
        };
        (group.name, source)
    };
    let mut sources: Vec<_> = groups.map(of_group).collect();
    sources.push((host.to_owned(), MemorySource::Host(proc.to_owned())));
    sources
}

/// What the kernel has counted of some memory so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MemoryReading {
    swap_bytes: u64,
    counts: Vec<(KernelCounter, u64)>,
}

impl MemorySource {
    /// Look at it; nothing where it is gone.
    pub(crate) fn read(&self) -> Option<MemoryReading> {
        let [_, pressure, _] = memory::PRESSURES;
        let (mut counts, swap_bytes, stalled) = match self {
            Self::Host(proc) => (
                memory::parse_vmstat(&text(&proc.join("vmstat"))),
                swap_of_host(&text(&proc.join("meminfo"))),
                text(&proc.join("pressure/memory")),
            ),
            Self::Group { place, pressure } => {
                let stat = text(&place.join("memory.stat"));
                let of_second = text(&place.join("memory.swap.current"));
                let stalled = pressure.as_ref().map(|place| place.join("memory.pressure"));
                (
                    groups::parse_memory_stat(&stat),
                    swap_of_group(&stat, &of_second),
                    stalled.map_or_else(String::new, |file| text(&file)),
                )
            }
        };
        if counts.is_empty() {
            return None;
        }
        counts.extend(memory::parse_pressure(&stalled, pressure));
        Some(MemoryReading { swap_bytes, counts })
    }
}

impl MemoryReading {
    fn count(&self, counter: KernelCounter) -> Option<u64> {
        let found = self.counts.iter().find(|(known, _)| *known == counter);
        found.map(|(_, count)| *count)
    }

    /// What happened since an earlier reading, `seconds` before.
    pub(crate) fn since(&self, before: &Self, seconds: f64) -> MemoryRates {
        let rate = |counter| {
            let grown = self.count(counter)?.saturating_sub(before.count(counter)?);
            Some(grown as f64 / seconds)
        };
        let share = |counter| rate(counter).map(|us_per_s| (us_per_s / 1e6).min(1.0));
        let reclaim = rate(KernelCounter::ScannedPages).zip(rate(KernelCounter::ReclaimedPages));
        let pressure =
            share(KernelCounter::MemorySomeStalled).zip(share(KernelCounter::MemoryFullStalled));
        MemoryRates {
            swap_bytes: self.swap_bytes,
            major_faults_per_s: rate(KernelCounter::MajorFaults).unwrap_or(0.0),
            refaults_per_s: rate(KernelCounter::Refaults).unwrap_or(0.0),
            reclaim: reclaim.map(|(scanned_per_s, reclaimed_per_s)| ReclaimRates {
                scanned_per_s,
                reclaimed_per_s,
            }),
            pressure: pressure.map(|(some, full)| PressureShares { some, full }),
        }
    }
}

/// From `/proc/meminfo`, whose amounts are in KiB.
fn swap_of_host(meminfo: &str) -> u64 {
    let kib = |name: &str| {
        let line = meminfo.lines().find_map(|line| line.strip_prefix(name));
        let number = line.and_then(|line| line.split_ascii_whitespace().next());
        number.and_then(|number| number.parse::<u64>().ok())
    };
    let used = kib("SwapTotal:").zip(kib("SwapFree:"));
    used.map_or(0, |(total, free)| {
        total.saturating_sub(free).saturating_mul(1024)
    })
}

/// Version 2 has a file of its own, version 1 a line `total_swap` in `memory.stat`, where swap is
/// counted.
fn swap_of_group(stat: &str, of_second: &str) -> u64 {
    let of_first = || {
        stat.lines()
            .find_map(|line| line.strip_prefix("total_swap "))
    };
    let text = Some(of_second)
        .filter(|text| !text.is_empty())
        .or_else(of_first);
    text.and_then(|text| text.trim().parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn directory(files: &[(&str, &str)]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().expect("a directory");
        for (name, text) in files {
            fs::write(dir.path().join(name), text).expect("a file");
        }
        dir
    }

    #[test]
    fn a_group_of_version_2_tells_all() {
        let dir = directory(&[
            (
                "memory.stat",
                "anon 5\npgmajfault 7\nworkingset_refault_anon 1\nworkingset_refault_file 2\n\
                 pgscan 10\npgsteal 4\n",
            ),
            ("memory.swap.current", "8192\n"),
            (
                "memory.pressure",
                "some avg10=0.00 total=100000\nfull avg10=0.00 total=0\n",
            ),
        ]);
        let source = MemorySource::Group {
            place: dir.path().to_owned(),
            pressure: Some(dir.path().to_owned()),
        };
        let before = source.read().expect("there");
        fs::write(
            dir.path().join("memory.stat"),
            "pgmajfault 27\nworkingset_refault_file 13\npgscan 30\npgsteal 6\n",
        )
        .expect("written");
        fs::write(
            dir.path().join("memory.pressure"),
            "some avg10=0.00 total=1100000\nfull avg10=0.00 total=500000\n",
        )
        .expect("written");
        let now = source.read().expect("there");
        assert_eq!(
            now.since(&before, 2.0),
            MemoryRates {
                swap_bytes: 8192,
                major_faults_per_s: 10.0,
                refaults_per_s: 5.0,
                reclaim: Some(ReclaimRates {
                    scanned_per_s: 10.0,
                    reclaimed_per_s: 1.0,
                }),
                pressure: Some(PressureShares {
                    some: 0.5,
                    full: 0.25,
                }),
            }
        );
    }

    #[test]
    fn what_a_kernel_does_not_tell_is_left_out_and_a_group_that_is_gone_says_nothing() {
        let dir = directory(&[(
            "memory.stat",
            "swap 1\npgmajfault 1\ntotal_swap 4096\ntotal_pgmajfault 7\n\
             total_workingset_refault_file 3\n",
        )]);
        let source = MemorySource::Group {
            place: dir.path().to_owned(),
            pressure: None,
        };
        let reading = source.read().expect("there");
        assert_eq!(
            reading.since(&reading, 1.0),
            MemoryRates {
                swap_bytes: 4096,
                ..MemoryRates::default()
            }
        );
        let gone = MemorySource::Group {
            place: dir.path().join("gone"),
            pressure: None,
        };
        assert_eq!(gone.read(), None);
    }

    #[test]
    fn this_host_tells_of_its_memory() {
        let [(name, source)] = &memory_sources(&mut [], "host")[..] else {
            panic!("the host alone");
        };
        let reading = source.read().expect("readable");
        assert_eq!(name, "host");
        assert!(reading.count(KernelCounter::MajorFaults).is_some());
        let swap = "SwapTotal:  2048 kB\nSwapFree:  1024 kB\n";
        assert_eq!(swap_of_host(swap), 1 << 20);
    }
}
