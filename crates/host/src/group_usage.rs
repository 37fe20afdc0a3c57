//! What a control group used: CPU time, memory and I/O.

use std::{fs, os::unix::fs::FileExt, path::PathBuf};

use crate::{
    cgroup::Cgroups,
    io_usage::IoReader,
    usage::{CpuSplit, Usage, UsageProbe},
    usage_split,
};

impl Cgroups {
    /// A reader of a group's CPU time, memory and I/O. It gives `None` when the group is gone.
    #[must_use]
    pub fn usage_probe(&self, group: &str) -> UsageProbe {
        let file = |controller: &str, v1_name: &str, v2_name: &str| {
            let name = if self.is_v1(controller) {
                v1_name
            } else {
                v2_name
            };
            Reading::new(
                self.directory(controller, group)
                    .map(|directory| directory.join(name)),
            )
        };
        let mut cpu = file("cpuacct", "cpuacct.usage", "cpu.stat");
        let mut memory = file("memory", "memory.usage_in_bytes", "memory.current");
        // Version 2 has the parts beside the sum.
        let mut parts = self.is_v1("cpuacct").then(|| {
            Reading::new(
                self.directory("cpuacct", group)
                    .map(|directory| directory.join("cpuacct.stat")),
            )
        });
        // Version 2 has the throttling beside the sum, too.
        let mut quota = self.is_v1("cpu").then(|| {
            Reading::new(
                self.directory("cpu", group)
                    .map(|directory| directory.join("cpu.stat")),
            )
        });
        let io = IoReader::new(self, group);
        let mut before = CpuSplit::default();
        Box::new(move || {
            let text = cpu.read()?;
            let cpu_us = parse_cpu_us(&text)?;
            let told = match &mut parts {
                Some(parts) => parts.read(),
                None => Some(text.clone()),
            };
            let quota = match &mut quota {
                Some(quota) => quota.read(),
                None => Some(text),
            };
            let split = told
                .and_then(|told| usage_split::split(&told, cpu_us))
                .map(|split| {
                    before = split.at_least(before);
                    before
                });
            Some(Usage {
                cpu_us,
                // A group may be one of the hierarchy of CPU time alone.
                memory_bytes: memory
                    .read()
                    .and_then(|text| text.trim().parse().ok())
                    .unwrap_or_default(),
                io: io.read(),
                split,
                throttled_us: quota.and_then(|text| parse_throttled_us(&text)),
            })
        })
    }
}

/// `cpuacct.usage` is one number in ns; `cpu.stat` has a line `usage_usec`.
fn parse_cpu_us(text: &str) -> Option<u64> {
    match text
        .lines()
        .find_map(|line| line.strip_prefix("usage_usec "))
    {
        Some(us) => us.trim().parse().ok(),
        None => Some(text.trim().parse::<u64>().ok()? / 1000),
    }
}

/// `throttled_time` in ns in version 1, `throttled_usec` in version 2; a group without a quota may
/// say nothing.
fn parse_throttled_us(text: &str) -> Option<u64> {
    text.lines().find_map(|line| {
        let (name, value) = line.split_once(' ')?;
        let value: u64 = value.trim().parse().ok()?;
        match name {
            "throttled_usec" => Some(value),
            "throttled_time" => Some(value / 1000),
            _ => None,
        }
    })
}

/// A small file that is read again and again; opened at the first read, since the probe may be made
/// before the group.
struct Reading {
    path: Option<PathBuf>,
    file: Option<fs::File>,
}

impl Reading {
    fn new(path: Option<PathBuf>) -> Self {
        Self { path, file: None }
    }

    fn read(&mut self) -> Option<String> {
        if self.file.is_none() {
            self.file = fs::File::open(self.path.as_ref()?).ok();
        }
        let mut bytes = [0; 1024];
        let length = self.file.as_ref()?.read_at(&mut bytes, 0).ok()?;
        Some(String::from_utf8_lossy(&bytes[..length]).into_owned())
    }
}
