//! Long series of resource samples, made shorter while they are read.
//!
//! Neighbouring samples of a subject become one, with the means over their time. None reaches over
//! an edge of the measured window, so that means over the window stay what they are.

use std::collections::BTreeMap;

use rookery_stats::{
    CpuParts, IoRates, MemoryRates, PressureShares, ReclaimRates, ResourceSample, Window,
};

/// Samples of a trial that are kept as they are; more are merged to about so many.
pub(crate) const MOST_SAMPLES: u64 = 50_000;

/// Takes the samples of a trial in order and keeps about [`MOST_SAMPLES`] of them.
pub(crate) struct Reducer {
    window: Option<Window>,
    /// Samples of a subject that become one.
    merged: u64,
    open: BTreeMap<String, Open>,
    kept: Vec<ResourceSample>,
}

/// What is known of a subject: when its last sample was, and the samples that are not kept yet.
struct Open {
    last_s: f64,
    bucket: Option<Bucket>,
}

/// Sums over samples, each weighted by the time since the one before.
struct Bucket {
    samples: u64,
    seconds: f64,
    sums: ResourceSample,
}

impl Reducer {
    /// For a trial of so many samples.
    pub(crate) fn new(samples: u64, window: Option<Window>) -> Self {
        Self {
            window,
            merged: samples.div_ceil(MOST_SAMPLES).max(1),
            open: BTreeMap::new(),
            kept: Vec::new(),
        }
    }

    /// The next sample.
    pub(crate) fn push(&mut self, sample: ResourceSample) {
        if self.merged == 1 {
            self.kept.push(sample);
            return;
        }
        let Some(open) = self.open.get_mut(&sample.subject) else {
            // A first sample has no time of its own.
            let last_s = sample.at_s;
            let subject = sample.subject.clone();
            self.open.insert(
                subject,
                Open {
                    last_s,
                    bucket: None,
                },
            );
            self.kept.push(sample);
            return;
        };
        let seconds = sample.at_s - open.last_s;
        let alone = crosses(self.window.as_ref(), open.last_s, sample.at_s)
            || !sample.cpu_cores.is_finite()
            || seconds <= 0.0;
        open.last_s = sample.at_s;
        let other = |bucket: &Bucket| {
            bucket.sums.io.is_some() != sample.io.is_some()
                || bucket.sums.parts.is_some() != sample.parts.is_some()
                || bucket.sums.throttled_cores.is_some() != sample.throttled_cores.is_some()
                || told(bucket.sums.memory.as_ref()) != told(sample.memory.as_ref())
        };
        if alone || open.bucket.as_ref().is_some_and(other) {
            self.kept.extend(open.bucket.take().map(Bucket::mean));
        }
        if alone {
            self.kept.push(sample);
            return;
        }
        match &mut open.bucket {
            Some(bucket) => bucket.add(&sample, seconds),
            None => open.bucket = Some(Bucket::new(sample, seconds)),
        }
        if open
            .bucket
            .as_ref()
            .is_some_and(|bucket| bucket.samples >= self.merged)
        {
            self.kept.extend(open.bucket.take().map(Bucket::mean));
        }
    }

    /// The samples that are kept; those of a subject are in order.
    pub(crate) fn finish(mut self) -> Vec<ResourceSample> {
        let rest = self.open.into_values().filter_map(|open| open.bucket);
        self.kept.extend(rest.map(Bucket::mean));
        self.kept
    }
}

/// Whether an edge of the window lies between two moments.
fn crosses(window: Option<&Window>, from_s: f64, to_s: f64) -> bool {
    window.is_some_and(|window| {
        [window.start_s, window.end_s]
            .iter()
            .any(|edge| from_s < *edge && *edge < to_s)
    })
}

impl Bucket {
    fn new(mut sample: ResourceSample, seconds: f64) -> Self {
        scale(&mut sample, seconds);
        Self {
            samples: 1,
            seconds,
            sums: sample,
        }
    }

    fn add(&mut self, sample: &ResourceSample, seconds: f64) {
        let mut scaled = sample.clone();
        scale(&mut scaled, seconds);
        let sums = &mut self.sums;
        sums.at_s = sample.at_s;
        sums.cpu_cores += scaled.cpu_cores;
        sums.memory_bytes = sums.memory_bytes.max(sample.memory_bytes);
        if let (Some(sum), Some(own)) = (&mut sums.io, &scaled.io) {
            sum.reads_per_s += own.reads_per_s;
            sum.writes_per_s += own.writes_per_s;
            sum.read_bytes_per_s += own.read_bytes_per_s;
            sum.written_bytes_per_s += own.written_bytes_per_s;
        }
        if let (Some(sum), Some(own)) = (&mut sums.parts, &scaled.parts) {
            sum.user += own.user;
            sum.system += own.system;
            sum.guest += own.guest;
            sum.emulator += own.emulator;
        }
        if let (Some(sum), Some(own)) = (&mut sums.throttled_cores, scaled.throttled_cores) {
            *sum += own;
        }
        if let (Some(sum), Some(own)) = (&mut sums.memory, &scaled.memory) {
            add_memory(sum, own);
        }
        self.samples += 1;
        self.seconds += seconds;
    }

    fn mean(mut self) -> ResourceSample {
        scale(&mut self.sums, 1.0 / self.seconds);
        self.sums
    }
}

/// What is told of memory.
fn told(memory: Option<&MemoryRates>) -> Option<(bool, bool)> {
    memory.map(|memory| (memory.reclaim.is_some(), memory.pressure.is_some()))
}

/// Add rates to a sum of which the same is told; swap is no rate.
fn add_memory(sum: &mut MemoryRates, own: &MemoryRates) {
    sum.swap_bytes = sum.swap_bytes.max(own.swap_bytes);
    sum.major_faults_per_s += own.major_faults_per_s;
    sum.refaults_per_s += own.refaults_per_s;
    if let (Some(sum), Some(own)) = (&mut sum.reclaim, &own.reclaim) {
        sum.scanned_per_s += own.scanned_per_s;
        sum.reclaimed_per_s += own.reclaimed_per_s;
    }
    if let (Some(sum), Some(own)) = (&mut sum.pressure, &own.pressure) {
        sum.some += own.some;
        sum.full += own.full;
    }
}

fn scaled_memory(memory: MemoryRates, factor: f64) -> MemoryRates {
    MemoryRates {
        swap_bytes: memory.swap_bytes,
        major_faults_per_s: memory.major_faults_per_s * factor,
        refaults_per_s: memory.refaults_per_s * factor,
        reclaim: memory.reclaim.map(|reclaim| ReclaimRates {
            scanned_per_s: reclaim.scanned_per_s * factor,
            reclaimed_per_s: reclaim.reclaimed_per_s * factor,
        }),
        pressure: memory.pressure.map(|pressure| PressureShares {
            some: pressure.some * factor,
            full: pressure.full * factor,
        }),
    }
}

/// Multiply every rate of a sample; memory is no rate.
fn scale(sample: &mut ResourceSample, factor: f64) {
    sample.cpu_cores *= factor;
    sample.throttled_cores = sample.throttled_cores.map(|cores| cores * factor);
    sample.io = sample.io.map(|io| IoRates {
        reads_per_s: io.reads_per_s * factor,
        writes_per_s: io.writes_per_s * factor,
        read_bytes_per_s: io.read_bytes_per_s * factor,
        written_bytes_per_s: io.written_bytes_per_s * factor,
    });
    sample.parts = sample.parts.map(|parts| CpuParts {
        user: parts.user * factor,
        system: parts.system * factor,
        guest: parts.guest * factor,
        emulator: parts.emulator * factor,
    });
    sample.memory = sample.memory.map(|memory| scaled_memory(memory, factor));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(subject: &str, at: u32) -> ResourceSample {
        ResourceSample {
            subject: subject.to_owned(),
            at_s: f64::from(at) / 10.0 - 5.0,
            cpu_cores: f64::from(at % 7) / 10.0,
            memory_bytes: u64::from(at),
            io: (!at.is_multiple_of(1000)).then(|| IoRates {
                reads_per_s: f64::from(at % 3),
                ..IoRates::default()
            }),
            parts: None,
            throttled_cores: None,
            memory: Some(MemoryRates {
                refaults_per_s: f64::from(at % 7) / 10.0,
                ..MemoryRates::default()
            }),
        }
    }

    fn refaults(samples: &[ResourceSample], window: Window) -> f64 {
        let as_cores = samples.iter().map(|sample| ResourceSample {
            cpu_cores: sample.memory.expect("told").refaults_per_s,
            ..sample.clone()
        });
        mean(&as_cores.collect::<Vec<_>>(), "g1", window).0
    }

    fn mean(samples: &[ResourceSample], subject: &str, window: Window) -> (f64, usize) {
        let (mut sum, mut time, mut last, mut count) = (0.0, 0.0, None, 0);
        for own in samples.iter().filter(|sample| sample.subject == subject) {
            let from = last.replace(own.at_s).unwrap_or(own.at_s);
            let overlap: f64 = own.at_s.min(window.end_s) - f64::max(from, window.start_s);
            sum += own.cpu_cores * overlap.max(0.0);
            time += overlap.max(0.0);
            count += 1;
        }
        (sum / time, count)
    }

    #[test]
    fn long_series_become_short_and_keep_the_means_of_the_window() {
        let window = Window {
            start_s: 2.75,
            end_s: 9_000.06,
        };
        let all: Vec<ResourceSample> = (0..100_000)
            .flat_map(|at| [sample("g1", at), sample("host", at + 3)])
            .collect();
        let mut reducer = Reducer::new(200_000, Some(window));
        all.iter().cloned().for_each(|sample| reducer.push(sample));
        let kept = reducer.finish();
        assert!((refaults(&all, window) - refaults(&kept, window)).abs() < 1e-9);
        for subject in ["g1", "host"] {
            let (before, _) = mean(&all, subject, window);
            let (after, count) = mean(&kept, subject, window);
            assert!((before - after).abs() < 1e-9, "{before} {after}");
            assert!((25_000..26_000).contains(&count), "{count}");
        }
    }

    #[test]
    fn short_series_stay_as_they_are() {
        let all: Vec<ResourceSample> = (0..1000).map(|at| sample("g1", at)).collect();
        let mut reducer = Reducer::new(1000, None);
        all.iter().cloned().for_each(|sample| reducer.push(sample));
        assert_eq!(reducer.finish(), all);
    }
}
