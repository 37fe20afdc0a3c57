//! Swapping, faults, reclaim, and the time in which tasks stood still for want of something.

use rookery_stats::KernelCounter;

/// A file of `/proc/pressure` and what its lines are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pressure {
    /// Its name.
    pub(super) file: &'static str,
    some: KernelCounter,
    /// `None` where it says nothing of a whole host.
    full: Option<KernelCounter>,
}

/// Every such file.
pub(super) const PRESSURES: [Pressure; 3] = [
    Pressure {
        file: "cpu",
        some: KernelCounter::CpuSomeStalled,
        full: None,
    },
    Pressure {
        file: "memory",
        some: KernelCounter::MemorySomeStalled,
        full: Some(KernelCounter::MemoryFullStalled),
    },
    Pressure {
        file: "io",
        some: KernelCounter::DiskSomeStalled,
        full: Some(KernelCounter::DiskFullStalled),
    },
];

/// From a file of `/proc/pressure`; its totals are in us.
pub(super) fn parse_pressure(text: &str, pressure: Pressure) -> Vec<(KernelCounter, u64)> {
    let total = |kind: &str| {
        let line = text.lines().find(|line| line.starts_with(kind))?;
        line.split_once("total=")?.1.trim().parse::<u64>().ok()
    };
    let some = total("some ").map(|total| (pressure.some, total));
    let full = pressure.full.zip(total("full "));
    some.into_iter().chain(full).collect()
}

/// From `/proc/vmstat`. What a kernel does not count is left out.
pub(super) fn parse_vmstat(text: &str) -> Vec<(KernelCounter, u64)> {
    // Newer kernels tell of anonymous pages and of those of files, and of zones, each by its own.
    let counter = |name: &str| match name {
        "pswpin" => Some(KernelCounter::SwappedIn),
        "pswpout" => Some(KernelCounter::SwappedOut),
        "pgmajfault" => Some(KernelCounter::MajorFaults),
        "oom_kill" => Some(KernelCounter::OutOfMemoryKills),
        name if name.starts_with("workingset_refault") => Some(KernelCounter::Refaults),
        name if name.starts_with("allocstall") => Some(KernelCounter::DirectReclaims),
        // The same pages are counted by kind once more: `pgscan_anon`, `pgscan_file`.
        "pgscan_kswapd" | "pgscan_direct" | "pgscan_khugepaged" | "pgscan_proactive" => {
            Some(KernelCounter::ScannedPages)
        }
        "pgsteal_kswapd" | "pgsteal_direct" | "pgsteal_khugepaged" | "pgsteal_proactive" => {
            Some(KernelCounter::ReclaimedPages)
        }
        _ => None,
    };
    let mut counts: Vec<(KernelCounter, u64)> = Vec::new();
    for line in text.lines() {
        let Some((name, count)) = line.split_once(' ') else {
            continue;
        };
        let (Some(counter), Ok(count)) = (counter(name), count.trim().parse::<u64>()) else {
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
    fn parts_of_a_counter_are_added() {
        let text = "nr_free_pages 5\npswpin 3\nallocstall_dma 1\nallocstall_normal 2\n\
                    workingset_refault_anon 10\nworkingset_refault_file 20\npgmajfault x\n\
                    pgscan_kswapd 100\npgscan_direct 20\npgscan_anon 90\npgscan_file 30\n\
                    pgsteal_direct 11\n";
        assert_eq!(
            parse_vmstat(text),
            [
                (KernelCounter::SwappedIn, 3),
                (KernelCounter::DirectReclaims, 3),
                (KernelCounter::Refaults, 30),
                (KernelCounter::ScannedPages, 120),
                (KernelCounter::ReclaimedPages, 11),
            ]
        );
    }

    #[test]
    fn totals_of_pressure_are_read() {
        let text = "some avg10=0.00 avg60=0.00 avg300=0.00 total=12\n\
                    full avg10=0.00 avg60=0.00 avg300=0.00 total=7\n";
        assert_eq!(
            parse_pressure(text, PRESSURES[1]),
            [
                (KernelCounter::MemorySomeStalled, 12),
                (KernelCounter::MemoryFullStalled, 7)
            ]
        );
        assert_eq!(
            parse_pressure(text, PRESSURES[0]),
            [(KernelCounter::CpuSomeStalled, 12)]
        );
        assert_eq!(parse_pressure("", PRESSURES[2]), []);
    }
}
