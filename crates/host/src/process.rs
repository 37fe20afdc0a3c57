//! Processes: identity, labels, killing without hitting a stranger.

use std::{fs, io, time::Duration};

use rustix::{
    event::{PollFd, PollFlags, poll},
    process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal},
};
use serde::{Deserialize, Serialize};

use crate::procfs::{ProcessStat, parse_process_io, parse_process_stat};

/// A process for certain: numbers are used again, number and start time together are not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Identity {
    /// Process number.
    pub pid: u32,
    /// Start, clock ticks since boot.
    pub start_ticks: u64,
}

impl Identity {
    /// Identity of the process that now has this number; `None` when there is none.
    #[must_use]
    pub fn read(pid: u32) -> Option<Self> {
        Some(Self {
            pid,
            start_ticks: process_stat(pid)?.start_ticks,
        })
    }

    /// Identity of this process.
    ///
    /// # Errors
    /// When `/proc` is not there.
    pub fn own() -> io::Result<Self> {
        Self::read(std::process::id())
            .ok_or_else(|| io::Error::other("/proc/self/stat cannot be read: is /proc mounted?"))
    }

    /// Whether it still runs; a zombie does not.
    #[must_use]
    pub fn is_alive(self) -> bool {
        process_stat(self.pid).is_some_and(|stat| {
            stat.start_ticks == self.start_ticks && !matches!(stat.state, 'Z' | 'X')
        })
    }

    /// Send a signal to exactly this process. `false` when it is gone.
    ///
    /// # Errors
    /// When the signal may not be sent.
    pub fn signal(self, signal: Signal) -> io::Result<bool> {
        let Some(pid) = i32::try_from(self.pid).ok().and_then(Pid::from_raw) else {
            return Ok(false);
        };
        let handle = match pidfd_open(pid, PidfdFlags::empty()) {
            Ok(handle) => handle,
            Err(rustix::io::Errno::SRCH) => return Ok(false),
            Err(error) => return Err(error.into()),
        };
        // The handle now pins whoever has the number: only then is the comparison of start times
        // safe.
        if Self::read(self.pid) != Some(self) {
            return Ok(false);
        }
        match pidfd_send_signal(&handle, signal) {
            Ok(()) => Ok(true),
            Err(rustix::io::Errno::SRCH) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}

/// What `/proc` tells of a process; `None` when there is none.
#[must_use]
pub fn process_stat(pid: u32) -> Option<ProcessStat> {
    parse_process_stat(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// Bytes that a process has read since its start by `read` and its like, from sockets too; what it
/// took by `recv` is not among them. `None` when there is none, or it is not ours to look at.
#[must_use]
pub fn process_read_bytes(pid: u32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/io")).ok()?;
    parse_process_io(&text, "rchar:")
}

/// Numbers of all processes.
///
/// # Errors
/// When `/proc` is not there.
pub fn process_numbers() -> io::Result<Vec<u32>> {
    Ok(fs::read_dir("/proc")?
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .collect())
}

/// Environment of a process as it was at its start; `None` when it is gone, a zombie, or not ours
/// to read.
#[must_use]
pub fn environ(pid: u32) -> Option<Vec<u8>> {
    fs::read(format!("/proc/{pid}/environ"))
        .ok()
        .filter(|bytes| !bytes.is_empty())
}

/// Wait until a child process ends (it is not reaped), at most `timeout`. `true` when it ended.
///
/// # Errors
/// When the process cannot be watched.
pub fn await_end(pid: u32, timeout: Duration) -> io::Result<bool> {
    let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) else {
        return Ok(true);
    };
    let handle = match pidfd_open(pid, PidfdFlags::empty()) {
        Ok(handle) => handle,
        Err(rustix::io::Errno::SRCH) => return Ok(true),
        Err(error) => return Err(error.into()),
    };
    let deadline = std::time::Instant::now() + timeout;
    loop {
        let left = deadline.saturating_duration_since(std::time::Instant::now());
        let left = rustix::time::Timespec::try_from(left)
            .map_err(|_| io::Error::other("time limit out of range"))?;
        match poll(&mut [PollFd::new(&handle, PollFlags::IN)], Some(&left)) {
            Ok(0) => return Ok(false),
            Ok(_) => return Ok(true),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn another_start_time_is_another_process() {
        let own = Identity::own().expect("own");
        assert!(own.is_alive());
        let stranger = Identity {
            start_ticks: own.start_ticks + 1,
            ..own
        };
        assert!(!stranger.is_alive());
        assert!(
            !stranger.signal(Signal::KILL).expect("no error"),
            "a stranger with our number is not signalled"
        );
    }

    #[test]
    fn what_a_process_reads_is_counted() {
        let own = std::process::id();
        let before = process_read_bytes(own).expect("our own");
        let read = fs::read("/proc/self/stat").expect("there").len() as u64;
        let after = process_read_bytes(own).expect("our own");
        assert!(read > 0 && after - before >= read, "{before} {after}");
        assert_eq!(process_read_bytes(0), None);
    }

    #[test]
    fn a_zombie_is_not_alive() {
        let mut child = Command::new("sleep")
            .arg("60")
            .stdin(Stdio::null())
            .env("PROBE_LABEL", "x")
            .spawn()
            .expect("sleep");
        let identity = Identity::read(child.id()).expect("lives");
        assert!(!await_end(child.id(), Duration::ZERO).expect("watch"));
        assert!(identity.signal(Signal::KILL).expect("kill"));
        assert!(await_end(child.id(), Duration::from_secs(10)).expect("watch"));
        assert!(!identity.is_alive(), "it is a zombie now");
        child.wait().expect("reap");
        assert!(!identity.signal(Signal::KILL).expect("gone"));
    }
}
