//! A process with its descendants.

use rookery_host::{Identity, UsageProbe, process_stat};

use crate::{guest::ProcessProbe, usage_sum::UsageSum};

/// Most processes of a family that are told.
const MAX_FAMILY: usize = 1024;

/// Tells a process and its descendants; those that lost their parents in between are missing.
pub(crate) fn family_probe(leader: u32) -> ProcessProbe {
    Box::new(move || {
        let mut family = vec![leader];
        let mut next = 0;
        while let Some(pid) = family
            .get(next)
            .copied()
            .filter(|_| family.len() < MAX_FAMILY)
        {
            next += 1;
            for task in std::fs::read_dir(format!("/proc/{pid}/task"))
                .into_iter()
                .flatten()
                .flatten()
            {
                let children =
                    std::fs::read_to_string(task.path().join("children")).unwrap_or_default();
                family.extend(
                    children
                        .split_whitespace()
                        .filter_map(|child| child.parse::<u32>().ok()),
                );
            }
        }
        family
    })
}

/// A reader of what a process and its descendants use together. `None` when it has ended.
pub(crate) fn family_usage_probe(leader: Identity) -> UsageProbe {
    let mut family = family_probe(leader.pid);
    let mut sum = UsageSum::default();
    Box::new(move || {
        leader
            .is_alive()
            .then(|| sum.read(family().into_iter().filter_map(process_stat)))
    })
}

#[cfg(test)]
mod tests {
    use std::{
        io::{Read, Write},
        process::{Command, Stdio},
    };

    use super::*;

    #[test]
    fn a_family_is_told_with_its_grandchildren() {
        let mut child = Command::new("sh")
            .args(["-c", "sh -c 'cat; true'; true"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("sh");
        // What comes back went through the grandchild: it lives.
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
        assert_eq!(family_probe(child.id())().len(), 3);
        drop(child.stdin.take());
        child.wait().expect("reaped");
    }

    #[test]
    fn the_use_of_a_family_is_that_of_all_its_members() {
        let script = "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; echo; cat";
        let mut child = Command::new("sh")
            .args(["-c", &format!("sh -c '{script}'; true")])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("sh");
        let leader = Identity::read(child.id()).expect("it lives");
        let mut probe = family_usage_probe(leader);
        // The grandchild has done its work once it speaks.
        let output = child.stdout.as_mut().expect("piped");
        output.read_exact(&mut [0]).expect("read");
        let usage = probe().expect("it lives");
        assert!(usage.cpu_us > 0 && usage.memory_bytes > 0, "{usage:?}");
        drop(child.stdin.take());
        child.wait().expect("reaped");
        assert_eq!(probe(), None);
    }
}
