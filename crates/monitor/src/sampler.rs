//! The sampling thread.

use std::{
    io,
    sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    thread::{Builder, JoinHandle},
    time::{Duration, Instant},
};

use rookery_host::{CpuSplit, IoUsage, Usage, UsageProbe};
use rookery_stats::{CpuParts, IoRates, ResourceSample};
use rustix::thread::sched_setaffinity;

use crate::{
    affinity::cpu_mask,
    kernel::{MemoryReading, MemorySource},
    schedule::LatestUsage,
};

/// Most samples that are kept (about 100 bytes each); a day of 20 subjects at one a second.
/// Sampling ends there.
const MAX_SAMPLES: usize = 2_000_000;
/// Least time between samples: CPU times come in steps of 10 ms.
const LEAST_INTERVAL: Duration = Duration::from_millis(20);

/// What is sampled.
pub(crate) struct Sampled {
    /// Its name.
    pub(crate) name: String,
    /// A reader of what it used.
    pub(crate) usage: UsageProbe,
    /// Where the kernel tells of its memory, if it does.
    pub(crate) memory: Option<MemorySource>,
}

/// Reads the use of all subjects again and again until it is stopped.
pub(crate) struct Sampler {
    stop: Sender<()>,
    thread: JoinHandle<Vec<ResourceSample>>,
}

impl Sampler {
    /// Begin to sample `subjects` every `interval` (at least 20 ms), at times
    /// `origin` + k x `interval`. The thread runs on `cpus` only (the driver's, so that it takes
    /// nothing from the guests); empty = anywhere. Times in samples count from `origin`, which may
    /// lie ahead. `latest` always has the newest samples.
    ///
    /// # Errors
    /// When the thread cannot be made or the CPUs not be used.
    pub(crate) fn start(
        subjects: Vec<Sampled>,
        origin: Instant,
        interval: Duration,
        cpus: &[u32],
        latest: &LatestUsage,
    ) -> io::Result<Self> {
        let (stop, stopped) = channel();
        let latest = latest.clone();
        let (report, ready) = channel();
        let mask = cpu_mask(cpus);
        let pinned = !cpus.is_empty();
        let body = move || {
            let placed = if pinned {
                sched_setaffinity(None, &mask)
            } else {
                Ok(())
            };
            let go = placed.is_ok();
            let _ = report.send(placed);
            if go {
                sample(
                    subjects,
                    origin,
                    interval.max(LEAST_INTERVAL),
                    &stopped,
                    &latest,
                )
            } else {
                Vec::new()
            }
        };
        let thread = Builder::new().name("sampler".to_owned()).spawn(body)?;
        ready
            .recv()
            .map_err(|_| io::Error::other("the sampling thread ended at once"))??;
        Ok(Self { stop, thread })
    }

    /// End sampling; gives all samples in the order of time. A subject that is gone has no further
    /// samples.
    #[must_use]
    pub(crate) fn stop(self) -> Vec<ResourceSample> {
        drop(self.stop);
        self.thread.join().unwrap_or_default()
    }
}

/// A subject and what it had used at its last reading.
struct Subject {
    sampled: Sampled,
    last: Option<Reading>,
}

struct Reading {
    at: Instant,
    usage: Usage,
    memory: Option<MemoryReading>,
}

impl Subject {
    /// The use since the last reading; nothing at the first.
    fn sample(&mut self, origin: Instant) -> Option<ResourceSample> {
        let usage = (self.sampled.usage)();
        let now = Instant::now();
        let reading = usage.map(|usage| Reading {
            at: now,
            usage,
            memory: self.sampled.memory.as_ref().and_then(MemorySource::read),
        });
        let last = std::mem::replace(&mut self.last, reading);
        let (last, current) = (last?, self.last.as_ref()?);
        let (before, usage) = (last.usage, current.usage);
        let span = now.duration_since(last.at);
        if span.is_zero() {
            return None;
        }
        let memory = last.memory.zip(current.memory.as_ref());
        let cpu_s = usage.cpu_us.saturating_sub(before.cpu_us) as f64 / 1e6;
        let at_s = signed_seconds(now, origin);
        Some(ResourceSample {
            subject: self.sampled.name.clone(),
            at_s,
            cpu_cores: cpu_s / span.as_secs_f64(),
            memory_bytes: usage.memory_bytes,
            io: before
                .io
                .zip(usage.io)
                .map(|(before, now)| rates(before, now, span.as_secs_f64())),
            parts: before
                .split
                .zip(usage.split)
                .map(|(before, now)| parts(before, now, span.as_secs_f64())),
            throttled_cores: before
                .throttled_us
                .zip(usage.throttled_us)
                .map(|(before, now)| now.saturating_sub(before) as f64 / 1e6 / span.as_secs_f64()),
            memory: memory.map(|(before, now)| now.since(&before, span.as_secs_f64())),
        })
    }
}

/// Counters of two readings as rates.
fn rates(before: IoUsage, now: IoUsage, seconds: f64) -> IoRates {
    let rate = |of: fn(IoUsage) -> u64| of(now).saturating_sub(of(before)) as f64 / seconds;
    IoRates {
        reads_per_s: rate(|usage| usage.reads),
        writes_per_s: rate(|usage| usage.writes),
        read_bytes_per_s: rate(|usage| usage.read_bytes),
        written_bytes_per_s: rate(|usage| usage.written_bytes),
    }
}

/// CPU time of two readings as cores.
fn parts(before: CpuSplit, now: CpuSplit, seconds: f64) -> CpuParts {
    let cores = |of: fn(CpuSplit) -> u64| of(now).saturating_sub(of(before)) as f64 / 1e6 / seconds;
    CpuParts {
        user: cores(|split| split.user_us),
        system: cores(|split| split.system_us),
        guest: cores(|split| split.guest_us),
        emulator: cores(|split| split.emulator_us),
    }
}

fn sample(
    subjects: Vec<Sampled>,
    origin: Instant,
    interval: Duration,
    stopped: &Receiver<()>,
    latest: &LatestUsage,
) -> Vec<ResourceSample> {
    let mut subjects: Vec<Subject> = subjects
        .into_iter()
        .map(|sampled| Subject {
            sampled,
            last: None,
        })
        .collect();
    let mut samples = Vec::new();
    loop {
        let before = samples.len();
        for subject in &mut subjects {
            samples.extend(subject.sample(origin));
        }
        latest.set(&samples[before..]);
        let now = Instant::now();
        let wait = next_deadline(now, origin, interval).saturating_duration_since(now);
        if !matches!(stopped.recv_timeout(wait), Err(RecvTimeoutError::Timeout))
            || samples.len() >= MAX_SAMPLES
        {
            return samples;
        }
    }
}

/// The first instant `origin` + k x `interval` (k of either sign) after `now`; a sampler that was
/// late skips what it missed.
fn next_deadline(now: Instant, origin: Instant, interval: Duration) -> Instant {
    let step = interval.as_nanos();
    let remainder = |nanos: u128| Duration::from_nanos(u64::try_from(nanos % step).unwrap_or(0));
    if now >= origin {
        now + (interval - remainder((now - origin).as_nanos()))
    } else {
        let rest = remainder((origin - now).as_nanos());
        now + if rest.is_zero() { interval } else { rest }
    }
}

fn signed_seconds(at: Instant, origin: Instant) -> f64 {
    at.checked_duration_since(origin)
        .map_or_else(|| -(origin - at).as_secs_f64(), |since| since.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use std::sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    };

    use super::*;

    #[test]
    fn deadlines_are_absolute() {
        let origin = Instant::now() + Duration::from_secs(100);
        let second = Duration::from_secs(1);
        let at = |ms: u64| origin + Duration::from_millis(ms);
        assert_eq!(next_deadline(at(0), origin, second), at(1000));
        assert_eq!(next_deadline(at(2300), origin, second), at(3000));
        assert_eq!(
            next_deadline(origin - Duration::from_millis(2300), origin, second),
            origin - Duration::from_millis(2000)
        );
        assert_eq!(next_deadline(origin - second, origin, second), origin);
    }

    #[test]
    fn the_first_reading_is_the_base_and_the_dead_are_silent() {
        let readings = Arc::new(AtomicU64::new(0));
        let counter = Arc::clone(&readings);
        let probe: UsageProbe = Box::new(move || {
            let n = counter.fetch_add(1, Ordering::Relaxed);
            (n < 3).then_some(Usage {
                cpu_us: n * 1_000_000,
                memory_bytes: 7,
                io: Some(IoUsage {
                    reads: 10 * n,
                    ..IoUsage::default()
                }),
                // Three quarters in the guest, a quarter in its emulator.
                split: Some(CpuSplit {
                    guest_us: n * 750_000,
                    emulator_us: n * 250_000,
                    ..CpuSplit::default()
                }),
                throttled_us: Some(n * 500_000),
            })
        });
        let origin = Instant::now() + Duration::from_secs(3600);
        let latest = LatestUsage::default();
        let subjects = vec![Sampled {
            name: "g1".to_owned(),
            usage: probe,
            memory: Some(MemorySource::Host("/proc".into())),
        }];
        let sampler =
            Sampler::start(subjects, origin, Duration::ZERO, &[], &latest).expect("started");
        while readings.load(Ordering::Relaxed) < 5 {
            std::thread::yield_now();
        }
        let samples = sampler.stop();
        assert_eq!(samples.len(), 2, "{samples:?}");
        assert!(samples.iter().all(|sample| sample.subject == "g1"
            && sample.memory_bytes == 7
            && sample.memory.is_some()
            && sample.cpu_cores > 0.0
            && sample.at_s < 0.0));
        // Ten reads for each second of CPU time.
        let io =
            |sample: &ResourceSample| sample.io.expect("counted").reads_per_s / sample.cpu_cores;
        assert!(
            samples
                .iter()
                .all(|sample| (io(sample) - 10.0).abs() < 1e-6),
            "{samples:?}"
        );
        let shares = |sample: &ResourceSample| {
            let parts = sample.parts.expect("told");
            [parts.user, parts.system, parts.guest, parts.emulator]
                .map(|part| (100.0 * part / sample.cpu_cores).round())
        };
        assert!(
            samples
                .iter()
                .all(|sample| shares(sample) == [0.0, 0.0, 75.0, 25.0]),
            "{samples:?}"
        );
    }

    #[test]
    fn cpus_that_do_not_exist_are_refused() {
        assert!(
            Sampler::start(
                Vec::new(),
                Instant::now(),
                Duration::from_secs(1),
                &[1_000_000],
                &LatestUsage::default(),
            )
            .is_err()
        );
    }
}
