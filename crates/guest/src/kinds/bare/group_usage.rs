//! CPU time and memory of a process group, from `/proc`.

use std::{
    collections::HashSet,
    time::{Duration, Instant},
};

use rookery_host::{CpuSplit, Usage, UsageProbe, process_numbers, process_stat};

/// How often new members are looked for; in between only known ones are read, which is cheap.
const RESCAN: Duration = Duration::from_secs(5);

/// A reader of the summed CPU time (children that were waited for included, 10 ms steps) and
/// resident memory of a process group. `None` when no member lives; zombies do not.
pub(super) fn group_usage_probe(group: u32) -> UsageProbe {
    let mut members = Members {
        group,
        known: HashSet::new(),
        scanned: None,
        peak: CpuSplit::default(),
    };
    Box::new(move || members.read())
}

struct Members {
    group: u32,
    known: HashSet<u32>,
    scanned: Option<Instant>,
    peak: CpuSplit,
}

impl Members {
    fn read(&mut self) -> Option<Usage> {
        if self
            .scanned
            .is_none_or(|scanned| scanned.elapsed() > RESCAN)
        {
            self.known.extend(process_numbers().unwrap_or_default());
            self.scanned = Some(Instant::now());
        }
        if let Some(usage) = self.sum() {
            return Some(usage);
        }
        // All known ones are gone: only now may there be others.
        self.known.extend(process_numbers().unwrap_or_default());
        self.sum()
    }

    /// Sum over the known members; forgets who is none.
    fn sum(&mut self) -> Option<Usage> {
        let page = rustix::param::page_size() as u64;
        let group = self.group;
        let (mut usage, mut split) = (Usage::default(), CpuSplit::default());
        let mut living = 0;
        self.known.retain(|pid| {
            let Some(stat) = process_stat(*pid).filter(|stat| stat.group == group) else {
                return false;
            };
            split.user_us = split
                .user_us
                .saturating_add(stat.cpu_us.saturating_sub(stat.system_us));
            split.system_us = split.system_us.saturating_add(stat.system_us);
            usage.memory_bytes = usage
                .memory_bytes
                .saturating_add(stat.resident_pages.saturating_mul(page));
            living += usize::from(!matches!(stat.state, 'Z' | 'X'));
            true
        });
        // A member that ends takes its time to its parent, or away: the sum must not go back.
        self.peak = split.at_least(self.peak);
        (living > 0).then_some(Usage {
            cpu_us: self.peak.user_us.saturating_add(self.peak.system_us),
            split: Some(self.peak),
            ..usage
        })
    }
}

#[cfg(test)]
mod tests {
    use std::{
        io::{Read, Write},
        os::unix::process::CommandExt,
        process::{Command, Stdio},
    };

    use super::*;

    #[test]
    fn a_group_is_seen_until_its_last_member_ends() {
        let mut child = Command::new("cat")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .process_group(0)
            .spawn()
            .expect("cat");
        // What comes back says that it is over its exec.
        child
            .stdin
            .as_mut()
            .expect("piped")
            .write_all(b"x")
            .expect("written");
        child
            .stdout
            .as_mut()
            .expect("piped")
            .read_exact(&mut [0])
            .expect("read");
        let mut probe = group_usage_probe(child.id());
        assert!(probe().expect("lives").memory_bytes > 0);
        drop(child.stdin.take());
        rookery_host::await_end(child.id(), Duration::from_secs(10)).expect("ends");
        assert_eq!(probe(), None, "a zombie is nobody");
        child.wait().expect("reaped");
    }
}
