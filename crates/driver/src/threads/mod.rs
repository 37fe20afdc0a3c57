//! The threads of a driver: in the lab's network, pinned, and begun together or not at all.
//!
//! [`run_together`] starts the threads, [`supervise`] carries one of them through the phases of a
//! trial, [`TrialMonitor`] looks at all from outside.

mod board;
mod control;
mod cpu;
mod monitor;
mod supervise;

use std::{fs::File, io, os::fd::AsFd, path::Path, sync::mpsc, thread};

use rookery_cast::count_u32;
use rustix::thread::{CpuSet, LinkNameSpaceType, move_into_link_name_space, sched_setaffinity};
use tokio::runtime::{Builder, LocalOptions, LocalRuntime};

pub use board::SecondBoard;
pub use control::{SWEEP, ThreadStatus, TrialControl};
pub use cpu::CpuUse;
pub use monitor::TrialMonitor;
pub use supervise::{LoadEnd, ThreadUsers, UserCounts, supervise};

use crate::{alarm::AlarmClock, clock::Clock, error::DriverError};

/// How many events one look at the kernel's queue may bring.
const EVENTS: usize = 1024;

/// Where the threads of a driver run.
#[derive(Clone, Copy, Debug)]
pub struct Placement<'a> {
    /// One thread for each, pinned to this CPU, or nowhere.
    pub cpus: &'a [Option<u32>],
    /// Network namespace that the threads enter.
    pub network: Option<&'a Path>,
}

impl Placement<'_> {
    /// Pins the calling thread and lets it enter the network namespace.
    fn apply(&self, index: usize) -> Result<(), DriverError> {
        if let Some(cpu) = self.cpus[index] {
            pin(cpu).map_err(|source| DriverError::Pin { cpu, source })?;
        }
        if let Some(path) = self.network {
            let path = path.to_owned();
            enter(&path).map_err(|source| DriverError::Network { path, source })?;
        }
        Ok(())
    }
}

fn pin(cpu: u32) -> io::Result<()> {
    let mut set = CpuSet::new();
    if cpu as usize >= CpuSet::MAX_CPU {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    set.set(cpu as usize);
    Ok(sched_setaffinity(None, &set)?)
}

fn enter(path: &Path) -> io::Result<()> {
    let namespace = File::open(path)?;
    Ok(move_into_link_name_space(
        namespace.as_fd(),
        Some(LinkNameSpaceType::Network),
    )?)
}

/// The runtime of one thread and the timer that wakes its users. `event_interval` = tasks that run
/// between two looks at the kernel's queue.
///
/// # Errors
/// When the kernel refuses an event queue or a timer.
pub fn local_runtime(event_interval: u32) -> io::Result<(LocalRuntime, AlarmClock)> {
    let runtime = Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .max_io_events_per_tick(EVENTS)
        .event_interval(event_interval)
        .build_local(LocalOptions::default())?;
    let timer = {
        let _context = runtime.enter();
        AlarmClock::new()?
    };
    Ok((runtime, timer))
}

/// What the threads of a driver do.
pub trait ThreadTask: Sync {
    /// What a thread keeps from its preparation.
    type Ready;
    /// What it reports of the preparation.
    type Report: Send;
    /// What it recorded.
    type Output: Send;
    /// Why nothing was done.
    type Error: From<DriverError> + Send;

    /// Prepares thread `index`, on its CPU and in its network.
    ///
    /// # Errors
    /// When no thread shall begin.
    fn prepare(&self, index: usize) -> Result<(Self::Ready, Self::Report), Self::Error>;

    /// Works to the end. The clock tells the common start.
    fn work(&self, index: usize, ready: Self::Ready, clock: Clock) -> Self::Output;
}

/// Runs threads that begin together, or none does. When all are prepared `start` gives the common
/// start; `watch` then runs on the calling thread, and learns from its function when all threads
/// are done.
///
/// # Errors
/// The first error of a preparation or of `start`; [`DriverError::Panicked`].
pub fn run_together<T: ThreadTask, S>(
    placement: Placement<'_>,
    task: &T,
    start: impl FnOnce(Vec<T::Report>) -> Result<Clock, T::Error>,
    watch: impl FnOnce(Clock, &dyn Fn() -> bool) -> S,
) -> Result<(Vec<T::Output>, S), T::Error> {
    thread::scope(|scope| {
        let (ready, prepared) = mpsc::channel();
        let mut threads = Vec::new();
        for (index, cpu) in placement.cpus.iter().enumerate() {
            let (go, started) = mpsc::channel::<Clock>();
            let ready = ready.clone();
            let body = move || {
                let prepared = placement
                    .apply(index)
                    .map_err(T::Error::from)
                    .and_then(|()| task.prepare(index));
                let (prepared, report) = match prepared {
                    Ok((prepared, report)) => (Some(prepared), Ok(report)),
                    Err(error) => (None, Err(error)),
                };
                // When no one listens any more, no start comes either.
                let _ = ready.send(report);
                let clock = started.recv().ok()?;
                Some(task.work(index, prepared?, clock))
            };
            let name = format!("driver-{}", cpu.unwrap_or(count_u32(index)));
            let spawned = thread::Builder::new().name(name).spawn_scoped(scope, body);
            threads.push((spawned.map_err(DriverError::Start)?, go));
        }
        // A thread that panics while it prepares never reports: without this sender the channel
        // then ends.
        drop(ready);
        // Leaving early drops every `go`: no thread begins unless all are ready.
        let reports = threads
            .iter()
            .map(|_| {
                prepared
                    .recv()
                    .map_err(|_| T::Error::from(DriverError::Panicked))?
            })
            .collect::<Result<Vec<_>, _>>()?;
        let clock = start(reports)?;
        let threads: Vec<_> = threads
            .into_iter()
            .map(|(thread, go)| {
                let _ = go.send(clock);
                thread
            })
            .collect();
        let seen = watch(clock, &|| {
            threads.iter().all(thread::ScopedJoinHandle::is_finished)
        });
        let outputs: Option<Vec<_>> = threads
            .into_iter()
            .map(|thread| thread.join().ok().flatten())
            .collect();
        Ok((outputs.ok_or(DriverError::Panicked)?, seen))
    })
}

#[cfg(test)]
mod tests;
