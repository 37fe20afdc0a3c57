//! What the whole host uses.

use std::{fs::File, os::unix::fs::FileExt};

use rookery_host::{
    Usage, UsageProbe,
    procfs::{parse_host_cpu, parse_meminfo},
};

/// A reader of the host's busy CPU time (all CPUs together; idle and waiting for disks do not count) and of its memory in use (total less
/// available).
#[must_use]
pub fn host_probe() -> UsageProbe {
    let mut cpu = ProcFile {
        path: "/proc/stat",
        file: None,
    };
    let mut memory = ProcFile {
        path: "/proc/meminfo",
        file: None,
    };
    Box::new(move || {
        let cpu = parse_host_cpu(&cpu.read()?)?;
        let memory = parse_meminfo(&memory.read()?)?;
        Some(Usage {
            cpu_us: cpu.busy_us,
            memory_bytes: memory.total.saturating_sub(memory.available),
            io: None,
        })
    })
}

/// Kept open; only its beginning is read, since `/proc/stat` grows with the CPUs and interrupts.
struct ProcFile {
    path: &'static str,
    file: Option<File>,
}

impl ProcFile {
    fn read(&mut self) -> Option<String> {
        if self.file.is_none() {
            self.file = File::open(self.path).ok();
        }
        let mut bytes = [0; 512];
        let length = self.file.as_ref()?.read_at(&mut bytes, 0).ok()?;
        Some(String::from_utf8_lossy(&bytes[..length]).into_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_has_used_something() {
        let usage = host_probe()().expect("readable");
        assert!(usage.cpu_us > 0 && usage.memory_bytes > 0);
    }
}
