//! CPU time and memory of a process group, from `/proc`.

use std::{
    collections::HashSet,
    time::{Duration, Instant},
};

use rookery_host::{Usage, UsageProbe, process_numbers, process_stat};

/// How often new members are looked for; in between only known ones are read, which is cheap.
const RESCAN: Duration = Duration::from_secs(5);

/// A reader of the summed CPU time (children that were waited for included, 10 ms steps) and resident memory of a process group. `None`
/// when no member lives; zombies do not.
pub(crate) fn group_usage_probe(group: u32) -> UsageProbe {
    let mut members = Members {
        group,
        known: HashSet::new(),
        scanned: None,
        peak_cpu_us: 0,
    };
    Box::new(move || members.read())
}

struct Members {
    group: u32,
    known: HashSet<u32>,
    scanned: Option<Instant>,
    peak_cpu_us: u64,
}

impl Members {
    fn read(&mut self) -> Option<Usage> {
        if self.scanned.is_none_or(|scanned| scanned.elapsed() > RESCAN) {
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
        let mut usage = Usage::default();
        let mut living = 0;
        self.known.retain(|pid| {
            let Some(stat) = process_stat(*pid).filter(|stat| stat.group == group) else {
                return false;
            };
            usage.cpu_us = usage.cpu_us.saturating_add(stat.cpu_us);
            usage.memory_bytes = usage.memory_bytes.saturating_add(stat.resident_pages.saturating_mul(page));
            living += usize::from(!matches!(stat.state, 'Z' | 'X'));
            true
        });
        // A member that ends takes its time to its parent, or away: the sum must not go back.
        self.peak_cpu_us = self.peak_cpu_us.max(usage.cpu_us);
        (living > 0).then_some(Usage {
            cpu_us: self.peak_cpu_us,
            ..usage
        })
    }
}

#[cfg(test)]
mod tests {
    use std::{
        os::unix::process::CommandExt,
        process::{Command, Stdio},
    };

    use super::*;

    #[test]
    fn a_group_is_seen_until_its_last_member_ends() {
        let mut child = Command::new("cat")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .process_group(0)
            .spawn()
            .expect("cat");
        let mut probe = group_usage_probe(child.id());
        assert!(probe().expect("lives").memory_bytes > 0);
        drop(child.stdin.take());
        rookery_host::await_end(child.id(), Duration::from_secs(10)).expect("ends");
        assert_eq!(probe(), None, "a zombie is nobody");
        child.wait().expect("reaped");
    }
}
