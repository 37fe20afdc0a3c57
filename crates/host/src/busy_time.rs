//! How long the CPUs of this host were busy.

use std::{
    fs::{self, File},
    io,
    os::unix::fs::FileExt,
    time::Instant,
};

use crate::{cpulist::parse_cpu_list, procfs::parse_idle_us};

/// Busy time of all online CPUs since this was made: their wall-clock time less the time in which
/// they were idle or waited for a disk. Interrupts count, and so does what a hypervisor took.
///
/// The times that the kernel tells of programs and of itself are samples at each tick where it is
/// built with `CONFIG_TICK_CPU_ACCOUNTING`, as most are: work that begins with a tick and ends
/// before the next is not met, or met too often. Idle time it measures.
#[derive(Debug)]
pub struct BusyTime {
    stat: File,
    cpus: u64,
    started: Instant,
    idle_at_start_us: u64,
}

impl BusyTime {
    /// Begin to count.
    ///
    /// # Errors
    /// When the kernel does not tell its CPUs or their idle time.
    pub fn start() -> io::Result<Self> {
        let online = fs::read_to_string("/sys/devices/system/cpu/online")?;
        let cpus = parse_cpu_list(&online).ok_or(io::ErrorKind::InvalidData)?;
        let stat = File::open("/proc/stat")?;
        let idle_at_start_us = idle_us(&stat)?;
        Ok(Self {
            stat,
            cpus: cpus.len() as u64,
            started: Instant::now(),
            idle_at_start_us,
        })
    }

    /// Busy time of all CPUs since the start, us. Idle time comes in steps of 10 ms, so that a
    /// later answer may be up to 10 ms less than an earlier one.
    ///
    /// # Errors
    /// When the kernel does not tell idle time any more.
    pub fn us(&self) -> io::Result<u64> {
        let idle_us = idle_us(&self.stat)?.saturating_sub(self.idle_at_start_us);
        let wall_us = u64::try_from(self.started.elapsed().as_micros()).unwrap_or(u64::MAX);
        Ok(wall_us.saturating_mul(self.cpus).saturating_sub(idle_us))
    }
}

/// Only the beginning is read: the file grows with CPUs and interrupts.
fn idle_us(stat: &File) -> io::Result<u64> {
    let mut bytes = [0; 512];
    let length = stat.read_at(&mut bytes, 0)?;
    let text = String::from_utf8_lossy(&bytes[..length]);
    parse_idle_us(&text).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_work_of_this_test_is_busy_time() {
        let busy = BusyTime::start().expect("readable");
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_millis(60) {
            std::hint::spin_loop();
        }
        let us = busy.us().expect("readable");
        let most = busy.cpus * u64::try_from(busy.started.elapsed().as_micros()).expect("short");
        // One CPU all the time, less the step in which idle time is told.
        assert!((40_000..=most).contains(&us), "{us} of {most}");
    }
}
