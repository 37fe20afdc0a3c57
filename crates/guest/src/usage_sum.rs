//! What several processes used together.

use rookery_host::{CpuSplit, Usage, procfs::ProcessStat};

/// The summed CPU time (children that were waited for included, 10 ms steps) and resident memory of
/// processes that come and go. What ends takes its time to its parent, or away: the sum of CPU time
/// does not go back.
#[derive(Default)]
pub(crate) struct UsageSum {
    peak: CpuSplit,
}

impl UsageSum {
    /// Of the processes that there are now.
    pub(crate) fn read(&mut self, now: impl IntoIterator<Item = ProcessStat>) -> Usage {
        let page = rustix::param::page_size() as u64;
        let (mut split, mut memory) = (CpuSplit::default(), 0_u64);
        for stat in now {
            let user_us = stat.cpu_us.saturating_sub(stat.system_us);
            split.user_us = split.user_us.saturating_add(user_us);
            split.system_us = split.system_us.saturating_add(stat.system_us);
            memory = memory.saturating_add(stat.resident_pages.saturating_mul(page));
        }
        self.peak = split.at_least(self.peak);
        Usage {
            cpu_us: self.peak.user_us.saturating_add(self.peak.system_us),
            memory_bytes: memory,
            split: Some(self.peak),
            ..Usage::default()
        }
    }
}
