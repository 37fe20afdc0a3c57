//! What one trial yields: numbers as the driver saw them, before any judgement.

use rookery_workload::{Counters, Window};
use serde::{Deserialize, Serialize};

use crate::{ErrorClass, Latencies};

/// How users pace themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pacing {
    /// Next start = end of the previous order + think time.
    Think,
    /// Next start = start of the previous order + cycle time.
    Cycle,
    /// Starts follow a schedule of arrivals that does not wait for answers: open and partly open
    /// loads. No pacing that a user may ask for.
    Arrivals,
}

/// Loop type, printed beside every response-time figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// A fixed population; each user waits for its answer.
    Closed,
    /// Visitors arrive on a schedule that does not wait for answers, act once and leave.
    Open,
    /// Visitors arrive on such a schedule and stay for several acts, with think times between them.
    PartlyOpen,
}

/// One trial as the driver measured it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// Loop type.
    pub mode: Mode,
    /// Pacing of the users.
    pub pacing: Pacing,
    /// The steady window.
    pub window: Window,
    /// One entry per guest, in the order of the assignments.
    pub guests: Vec<GuestMeasurement>,
    /// The driver's evidence about itself.
    pub driver: DriverQuality,
    /// Set when the load ended early (stop request, abort rule), with the reason.
    pub aborted: Option<String>,
}

/// What the users of one guest saw.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GuestMeasurement {
    /// Name of the guest.
    pub guest: String,
    /// Users that were assigned.
    pub users: u32,
    /// Operations by name; a unit of work that consists of several is one of them.
    pub operations: Vec<OperationMeasurement>,
    /// One sample per second since the common start.
    pub series: Vec<SecondSample>,
    /// Failures by class and sub-class over the whole trial.
    pub errors: Vec<ErrorTally>,
    /// What its workload counts.
    pub counters: Counters,
    /// Sum over users of time spent in operations inside the window, s.
    pub busy_s: f64,
    /// Sum over users of time spent thinking (or waiting for the cycle) inside the window, s.
    pub idle_s: f64,
    /// Mean drawn delay, s, of delays lying wholly inside the window, weighted so that long ones,
    /// which seldom do, count in full; `None` without delays.
    pub drawn_delay_mean_s: Option<f64>,
    /// Mean actual delay of the same delays, s.
    pub actual_delay_mean_s: Option<f64>,
}

/// One operation of one guest. Histograms travel apart as HDR blobs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OperationMeasurement {
    /// Its name, see [`WorkloadInfo::operations`](rookery_workload::WorkloadInfo).
    pub name: String,
    /// Operations started inside the window.
    pub started: u64,
    /// Successful operations completed inside the window (gives the throughput).
    pub completed: u64,
    /// Of the started ones: ended well.
    pub succeeded: u64,
    /// Of the started ones: failed.
    pub failed: u64,
    /// Of the started ones: not finished at the drain deadline.
    pub unfinished: u64,
    /// done - sent, of successful operations started inside the window; of unfinished ones the time
    /// so far, as a lower bound.
    #[serde(skip)]
    pub service: Latencies,
    /// done - intended start, of the same operations.
    #[serde(skip)]
    pub response: Latencies,
}

/// One second of one guest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SecondSample {
    /// Second since the common start (0 = first).
    pub second: u32,
    /// Successful requests completed in it.
    pub requests: u32,
    /// Units of work completed in it.
    pub orders: u32,
    /// Failed requests.
    pub errors: u32,
    /// Median service time of requests completed in it, us; 0 without any.
    pub p50_us: u64,
    /// 95th percentile, us.
    pub p95_us: u64,
    /// 99th percentile, us.
    pub p99_us: u64,
    /// Largest, us.
    pub max_us: u64,
}

/// A class of failures with its count and first examples.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ErrorTally {
    /// Class.
    pub class: ErrorClass,
    /// Sub-class in words: `refused`, `500`, `truncated`, ...
    pub sub_class: String,
    /// How many over the whole trial.
    pub count: u64,
    /// The first few.
    pub examples: Vec<ErrorExample>,
}

/// One failure, as evidence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ErrorExample {
    /// Seconds since the common start.
    pub at_s: f64,
    /// Operation name.
    pub operation: String,
    /// What happened, with up to 512 bytes of the answer, made printable.
    pub detail: String,
}

/// The driver's evidence about itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DriverQuality {
    /// CPUs that the driver threads were pinned to.
    pub cpus: Vec<u32>,
    /// CPU time of the driver threads inside the window, as a share of the window times the number
    /// of driver CPUs.
    pub cpu_share: f64,
    /// CPU microseconds per completed request inside the window.
    pub cpu_us_per_request: f64,
    /// Time the driver threads waited for a CPU, as a share of their run time.
    pub run_queue_share: f64,
    /// Scheduling lag (sent - intended for users that were idle in time, and for arrivals of an
    /// open load), us: mean, p50, p99, max.
    pub lag_mean_us: f64,
    /// See `lag_mean_us`.
    pub lag_p50_us: u64,
    /// See `lag_mean_us`.
    pub lag_p99_us: u64,
    /// See `lag_mean_us`.
    pub lag_max_us: u64,
    /// Users that never connected.
    pub unconnected_users: u32,
    /// Seconds from the start of the first to the end of the last connect.
    pub connect_s: f64,
    /// |X (R + Z) - N| / N over the window: X = orders (or pages) ended in it per second, R = their mean time, Z = the mean wait between two,
    /// N = users at work. Of an open load |X R - L| / L, L = orders (or pages) under way on
    /// average.
    pub little_error: f64,
    /// Connections opened over the whole trial.
    pub connections: u64,
    /// Requests repeated once because an idle connection had been closed.
    pub idle_retries: u64,
    /// The arrivals of an open load; `None` of a closed one.
    #[serde(default)]
    pub arrivals: Option<ArrivalCounts>,
}

/// What became of the arrivals that an open load intended to start inside the window. How late they
/// were started is the scheduling lag.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ArrivalCounts {
    /// How they were spaced: `poisson` or `uniform`.
    pub spacing: String,
    /// How exactly they were started: `exact` (each at its own time) or `batched` (those of a
    /// millisecond together).
    pub precision: String,
    /// Arrivals that the schedule held.
    pub drawn: u64,
    /// Of these, started.
    pub started: u64,
    /// Of these, never started, because as many visitors as allowed were present.
    pub dropped: u64,
}

/// One sample of what a guest, the host or the driver used.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ResourceSample {
    /// `host`, `driver` or a guest's name.
    pub subject: String,
    /// Seconds since the common start (negative before it).
    pub at_s: f64,
    /// Cores used since the previous sample (1.0 = one core fully).
    pub cpu_cores: f64,
    /// Resident memory, bytes.
    pub memory_bytes: u64,
    /// Requests to block devices since the previous sample; `None` where nobody counts them.
    #[serde(default)]
    pub io: Option<IoRates>,
    /// Where those cores went; `None` where nobody tells.
    #[serde(default)]
    pub parts: Option<CpuParts>,
    /// CPUs of a guest that stood still because it had used up its quota, on average since the
    /// previous sample; `None` where nobody counts them.
    #[serde(default)]
    pub throttled_cores: Option<f64>,
    /// What became of its memory since the previous sample; `None` where nobody counts it.
    #[serde(default)]
    pub memory: Option<MemoryRates>,
}

/// What became of the memory of something, each second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MemoryRates {
    /// How much of it is in swap now, bytes.
    pub swap_bytes: u64,
    /// Faults that waited for a disk, per second.
    pub major_faults_per_s: f64,
    /// Pages that were read again soon after they had been dropped, per second.
    pub refaults_per_s: f64,
    /// What the kernel did to free memory; `None` where it does not count that, as in control
    /// groups of version 1.
    pub reclaim: Option<ReclaimRates>,
    /// How long tasks waited for memory; `None` where the kernel does not tell.
    pub pressure: Option<PressureShares>,
}

/// What the kernel did to free memory, each second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ReclaimRates {
    /// Pages that it looked at, per second.
    pub scanned_per_s: f64,
    /// Pages that it took, per second.
    pub reclaimed_per_s: f64,
}

/// How long tasks waited, as shares of the time since the previous sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PressureShares {
    /// At least one task waited, 0 to 1.
    pub some: f64,
    /// No task went on, 0 to 1.
    pub full: f64,
}

/// Parts of the CPU time that a guest used, in cores; together they are the whole.
///
/// Of processes and containers there are `user` and `system`; of a virtual machine there are
/// `guest`, `system` and `emulator`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CpuParts {
    /// In programs.
    pub user: f64,
    /// In the host's kernel; of a virtual machine: on behalf of its vCPUs.
    pub system: f64,
    /// In the code of a virtual machine, its kernel included; under TCG its translation is part of
    /// it.
    pub guest: f64,
    /// In all else of the emulator.
    pub emulator: f64,
}

/// Requests to block devices, each second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct IoRates {
    /// Reads per second.
    pub reads_per_s: f64,
    /// Writes per second.
    pub writes_per_s: f64,
    /// Bytes read per second.
    pub read_bytes_per_s: f64,
    /// Bytes written per second.
    pub written_bytes_per_s: f64,
}
