//! CPU time and memory of a process group, from `/proc`.

use std::{
    collections::HashSet,
    time::{Duration, Instant},
};

use rookery_host::{Usage, UsageProbe, process_numbers, process_stat, procfs::ProcessStat};

use crate::usage_sum::UsageSum;

/// How often new members are looked for; in between only known ones are read, which is cheap.
const RESCAN: Duration = Duration::from_secs(5);

/// A reader of what the processes of a group use together. `None` when no member lives; zombies do
/// not.
pub(super) fn group_usage_probe(group: u32) -> UsageProbe {
    let mut members = Members {
        group,
        known: HashSet::new(),
        scanned: None,
        sum: UsageSum::default(),
    };
    Box::new(move || members.read())
}

struct Members {
    group: u32,
    known: HashSet<u32>,
    scanned: Option<Instant>,
    sum: UsageSum,
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
        if let Some(usage) = self.usage() {
            return Some(usage);
        }
        // All known ones are gone: only now may there be others.
        self.known.extend(process_numbers().unwrap_or_default());
        self.usage()
    }

    /// Sum over the known members; forgets who is none.
    fn usage(&mut self) -> Option<Usage> {
        let group = self.group;
        let mut members = Vec::with_capacity(self.known.len());
        self.known.retain(|pid| {
            let found = process_stat(*pid).filter(|stat| stat.group == group);
            let is_member = found.is_some();
            members.extend(found);
            is_member
        });
        let lives = |stat: &ProcessStat| !matches!(stat.state, 'Z' | 'X');
        let living = members.iter().any(lives);
        let usage = self.sum.read(members);
        living.then_some(usage)
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
