//! What the threads of a trial recorded, merged to one measurement.

use rookery_stats::{
    ArrivalCounts, DriverQuality, GuestMeasurement, Latencies, Measurement, Mode, Pacing, Window,
};
use rookery_workload::Counters;

use crate::{
    clock::{Nanos, Span, seconds},
    load::OpenLoad,
    operation::OperationTable,
    record::{self, ArrivalRecord, Population, Recorder, little_error},
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

/// What was driven, as far as the measurement says it.
#[derive(Debug)]
pub struct LoadDescription<'a> {
    /// Loop type.
    pub mode: Mode,
    /// Pacing of the users.
    pub pacing: Pacing,
    /// CPUs of the driver threads.
    pub cpus: &'a [u32],
    /// The arrivals of an open load.
    pub open: Option<&'a OpenLoad>,
    /// The guests.
    pub guests: Vec<GuestLoad<'a>>,
}

/// A guest that was driven.
#[derive(Clone, Copy, Debug)]
pub struct GuestLoad<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its users; 0 in an open load.
    pub users: u32,
    /// The operations of its workload.
    pub operations: OperationTable,
}

impl LoadDescription<'_> {
    /// Merges what all threads recorded. `counters` = by guest what its workload counted.
    #[must_use]
    pub fn measurement(
        &self,
        window: Span,
        results: Vec<ThreadResults>,
        counters: Vec<Counters>,
        aborted: Option<String>,
    ) -> Measurement {
        let mut driver = quality(self.cpus, &results);
        driver.arrivals = self.open.map(|load| arrivals(load, &results));
        let mut by_guest: Vec<Vec<Recorder>> = self.guests.iter().map(|_| Vec::new()).collect();
        for thread in results {
            for (parts, recorder) in by_guest.iter_mut().zip(thread.recorders) {
                parts.push(recorder);
            }
        }
        let merged = self.guests.iter().zip(by_guest).zip(counters);
        let merged = merged.map(|((guest, parts), counters)| {
            record::guest(
                guest.name,
                guest.users,
                counters,
                guest.operations,
                window,
                self.pacing,
                parts,
            )
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

/// What became of the arrivals of all guests.
fn arrivals(load: &OpenLoad, results: &[ThreadResults]) -> ArrivalCounts {
    let mut all = ArrivalRecord::default();
    let recorders = results.iter().flat_map(|thread| &thread.recorders);
    recorders.for_each(|recorder| all.merge(recorder.arrivals));
    ArrivalCounts {
        spacing: load.arrivals.name().to_owned(),
        precision: load.precision.name().to_owned(),
        drawn: all.drawn,
        started: all.started,
        dropped: all.dropped,
    }
}

fn quality(cpus: &[u32], results: &[ThreadResults]) -> DriverQuality {
    let mut lag = Latencies::new();
    results.iter().for_each(|thread| lag.merge(&thread.lag));
    let sum = |of: fn(&ThreadResults) -> u64| results.iter().map(of).sum::<u64>();
    let ran = sum(|thread| thread.cpu.ran);
    let ratio = |part: u64, whole: u64| {
        if whole == 0 {
            0.0
        } else {
            part as f64 / whole as f64
        }
    };
    let first = results
        .iter()
        .filter_map(|thread| thread.connecting)
        .map(|(first, _)| first)
        .min();
    let last = results
        .iter()
        .filter_map(|thread| thread.connecting)
        .map(|(_, last)| last)
        .max();
    DriverQuality {
        cpus: cpus.to_vec(),
        cpu_share: ratio(ran, sum(|thread| thread.cpu.wall)),
        cpu_us_per_request: ratio(ran, sum(|thread| thread.requests_in_window)) / 1e3,
        run_queue_share: ratio(sum(|thread| thread.cpu.waited), ran),
        lag_mean_us: lag.mean_us().unwrap_or(0.0),
        lag_p50_us: lag.percentile_us(50.0).unwrap_or(0),
        lag_p99_us: lag.percentile_us(99.0).unwrap_or(0),
        lag_max_us: lag.max_us().unwrap_or(0),
        unconnected_users: results.iter().map(|thread| thread.unconnected).sum(),
        connect_s: first
            .zip(last)
            .map_or(0.0, |(first, last)| seconds(last - first)),
        little_error: 0.0,
        connections: sum(|thread| thread.connections),
        idle_retries: sum(|thread| thread.idle_retries),
        arrivals: None,
    }
}
