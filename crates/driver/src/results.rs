//! What the threads of a trial recorded, merged to one measurement.

use rookery_stats::{
    ArrivalCounts, DriverQuality, GuestMeasurement, Latencies, Measurement, Mode, Pacing, Window,
};
use rookery_workload::Counters;
use serde::{Deserialize, Serialize};

use crate::{
    clock::{Nanos, Span, seconds},
    load::OpenLoad,
    record::{ArrivalRecord, GuestLoad, GuestRecord, Population, Recorder, blob, little_error},
    secret::Secrets,
    threads::CpuUse,
};

/// What one thread recorded.
#[derive(Debug)]
pub struct ThreadResults {
    /// By guest.
    pub recorders: Vec<Recorder>,
    /// Scheduling lag.
    pub lag: Latencies,
    /// Inside the window.
    pub cpu: CpuUse,
    /// Requests that ended inside the window.
    pub requests_in_window: u64,
    /// Connections that were opened.
    pub connections: u64,
    /// Requests repeated because an idle connection had been closed.
    pub idle_retries: u64,
    /// Begin of the first and end of the last connect that made a user connected.
    pub connecting: Option<(Nanos, Nanos)>,
    /// Users that never connected.
    pub unconnected: u32,
}

/// What one driver recorded of a trial, all its threads together. It travels as JSON, with its
/// histograms.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DriverRecord {
    /// By guest.
    guests: Vec<GuestRecord>,
    #[serde(with = "blob")]
    lag: Latencies,
    cpu: CpuUse,
    requests_in_window: u64,
    connections: u64,
    idle_retries: u64,
    connecting: Option<(Nanos, Nanos)>,
    unconnected: u32,
}

/// What was driven, as far as the measurement says it.
#[derive(Debug)]
pub struct LoadDescription<'a> {
    /// Loop type.
    pub mode: Mode,
    /// Pacing of the users.
    pub pacing: Pacing,
    /// CPUs of the driver threads; of several drivers those of each, one after the other.
    pub cpus: &'a [u32],
    /// The arrivals of an open load.
    pub open: Option<&'a OpenLoad>,
    /// The guests.
    pub guests: Vec<GuestLoad<'a>>,
}

impl DriverRecord {
    /// Takes secrets out of the examples of failures.
    pub fn mask(&mut self, secrets: &Secrets) {
        self.guests.iter_mut().for_each(|guest| guest.mask(secrets));
    }
}

impl LoadDescription<'_> {
    /// What the threads of one driver recorded, together.
    #[must_use]
    pub fn record(&self, results: Vec<ThreadResults>) -> DriverRecord {
        let mut all = DriverRecord {
            guests: vec![GuestRecord::default(); self.guests.len()],
            lag: Latencies::new(),
            cpu: CpuUse::default(),
            requests_in_window: 0,
            connections: 0,
            idle_retries: 0,
            connecting: None,
            unconnected: 0,
        };
        for thread in results {
            let parts = all.guests.iter_mut().zip(&self.guests);
            for ((record, guest), recorder) in parts.zip(thread.recorders) {
                record.merge(GuestRecord::of_thread(recorder, guest.operations));
            }
            all.lag.merge(&thread.lag);
            all.cpu.add(thread.cpu);
            all.requests_in_window += thread.requests_in_window;
            all.connections += thread.connections;
            all.idle_retries += thread.idle_retries;
            all.connecting = together(all.connecting, thread.connecting);
            all.unconnected += thread.unconnected;
        }
        all
    }

    /// Whether a record that came from elsewhere is of this load, which ends at `end`: what is
    /// computed from it takes no more memory than from one of our own.
    #[must_use]
    pub fn is_of(&self, record: &DriverRecord, end: Nanos) -> bool {
        record.guests.len() == self.guests.len()
            && record
                .guests
                .iter()
                .zip(&self.guests)
                .all(|(record, guest)| record.is_of(guest.operations, end))
    }

    /// Merges what all drivers recorded. `counters` = by guest what its workload counted.
    #[must_use]
    pub fn measurement(
        &self,
        window: Span,
        drivers: Vec<DriverRecord>,
        counters: Vec<Counters>,
        aborted: Option<String>,
    ) -> Measurement {
        let mut driver = quality(self.cpus, &drivers);
        driver.arrivals = self.open.map(|load| arrivals(load, &drivers));
        let mut records = vec![GuestRecord::default(); self.guests.len()];
        for record in drivers {
            for (all, part) in records.iter_mut().zip(record.guests) {
                all.merge(part);
            }
        }
        let merged = self.guests.iter().zip(records).zip(counters);
        let merged = merged.map(|((guest, record), counters)| {
            record.measurement(guest, counters, window, self.pacing)
        });
        let (guests, populations): (Vec<GuestMeasurement>, Vec<Population>) = merged.unzip();
        driver.little_error = little_error(&populations);
        Measurement {
            mode: self.mode,
            pacing: self.pacing,
            window: Window {
                start_s: seconds(window.start),
                end_s: seconds(window.end),
            },
            guests,
            driver,
            aborted,
        }
    }
}

/// From the first begin to the last end.
fn together(one: Option<(Nanos, Nanos)>, other: Option<(Nanos, Nanos)>) -> Option<(Nanos, Nanos)> {
    match (one, other) {
        (Some((first, last)), Some((begin, end))) => Some((first.min(begin), last.max(end))),
        (one, other) => one.or(other),
    }
}

/// What became of the arrivals of all guests.
fn arrivals(load: &OpenLoad, drivers: &[DriverRecord]) -> ArrivalCounts {
    let mut all = ArrivalRecord::default();
    let guests = drivers.iter().flat_map(|driver| &driver.guests);
    guests.for_each(|guest| all.merge(guest.arrivals));
    ArrivalCounts {
        spacing: load.arrivals.name().to_owned(),
        precision: load.precision.name().to_owned(),
        drawn: all.drawn,
        started: all.started,
        dropped: all.dropped,
    }
}

/// How the drivers did. Of several it is the worst of each figure that a trial is judged by: one at
/// fault spoils the trial, however many do well beside it.
fn quality(cpus: &[u32], drivers: &[DriverRecord]) -> DriverQuality {
    let ratio = |part: u64, whole: u64| {
        if whole == 0 {
            0.0
        } else {
            part as f64 / whole as f64
        }
    };
    let sum = |of: fn(&DriverRecord) -> u64| drivers.iter().map(of).sum::<u64>();
    let worst = |of: &dyn Fn(&DriverRecord) -> f64| drivers.iter().map(of).fold(0.0, f64::max);
    let longest = |of: &dyn Fn(&Latencies) -> Option<u64>| {
        let all = drivers.iter().filter_map(|driver| of(&driver.lag));
        all.max().unwrap_or(0)
    };
    let connecting = drivers
        .iter()
        .fold(None, |all, driver| together(all, driver.connecting));
    DriverQuality {
        cpus: cpus.to_vec(),
        cpu_share: worst(&|driver| ratio(driver.cpu.ran, driver.cpu.wall)),
        cpu_us_per_request: ratio(
            sum(|driver| driver.cpu.ran),
            sum(|driver| driver.requests_in_window),
        ) / 1e3,
        run_queue_share: worst(&|driver| ratio(driver.cpu.waited, driver.cpu.ran)),
        lag_mean_us: worst(&|driver| driver.lag.mean_us().unwrap_or(0.0)),
        lag_p50_us: longest(&|lag| lag.percentile_us(50.0)),
        lag_p99_us: longest(&|lag| lag.percentile_us(99.0)),
        lag_max_us: longest(&Latencies::max_us),
        unconnected_users: drivers.iter().map(|driver| driver.unconnected).sum(),
        connect_s: connecting.map_or(0.0, |(first, last)| seconds(last - first)),
        little_error: 0.0,
        connections: sum(|driver| driver.connections),
        idle_retries: sum(|driver| driver.idle_retries),
        arrivals: None,
    }
}
