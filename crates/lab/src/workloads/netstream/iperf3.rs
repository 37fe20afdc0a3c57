//! Streams that iperf3 measures: a client of it for each guest, instead of threads of this process.

mod client;
mod live;

use std::{
    io,
    net::IpAddr,
    path::PathBuf,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use rookery_cast::{count_u32, truncate_u32, truncate_u64};
use rookery_driver::{DriverError, Phase, Phases, Progress};
use rookery_host::{
    RealHost,
    iperf::{Received, read_received, version},
    process_read_bytes,
};
use rookery_monitor::DriverPrograms;
use rookery_stats::{
    DriverQuality, ErrorClass, ErrorExample, ErrorTally, GuestMeasurement, Latencies, Measurement,
    Mode, OperationMeasurement, Pacing, SecondSample,
};
use rookery_store::ProgramOutput;
use rookery_study::{CpuSet, NetstreamUse};
use rookery_workload::{
    Counters, Window,
    netstream::{NetstreamCounters, NetstreamOperation},
};

use self::{
    client::{Client, Ended},
    live::{ClientProcess, LiveStreams},
};
use crate::{
    error::{Failure, LabError},
    trial_load::TrialLoad,
    workloads::LoadRequest,
};

/// Between two looks whether all clients have ended.
const LOOK: Duration = Duration::from_millis(20);
/// What one stream may have sent that was not received when it ended: the buffers of both ends, at
/// the most that Linux gives them unless told.
const IN_FLIGHT_BYTES: u64 = 16 << 20;

/// The load of one group of a trial.
pub(super) struct Iperf3Load {
    phases: Phases,
    cpus: CpuSet,
    network: Option<PathBuf>,
    guests: Vec<Streams>,
    block_bytes: u32,
    programs: DriverPrograms,
    outputs: Mutex<Vec<ProgramOutput>>,
}

/// The streams of one guest.
struct Streams {
    guest: String,
    address: IpAddr,
    count: u32,
}

impl Iperf3Load {
    /// The load that a study asks for.
    pub(super) fn new(request: &LoadRequest<'_>, wanted: &NetstreamUse) -> Self {
        let planned = request.point.each_guest();
        let guests = request.targets.guests.iter().zip(planned);
        Self {
            phases: request.phases(),
            cpus: request.driver_cpus.clone(),
            network: request.targets.network.clone(),
            guests: guests
                .map(|(target, planned)| Streams {
                    guest: target.name.clone(),
                    address: target.address.ip(),
                    count: planned.users(),
                })
                .collect(),
            block_bytes: wanted.size.answer_bytes,
            programs: DriverPrograms::default(),
            outputs: Mutex::default(),
        }
    }

    /// The client of a guest; none where it has no streams.
    fn client(&self, own: &Streams) -> Option<Client<'_>> {
        (own.count > 0).then(|| Client {
            phases: &self.phases,
            cpus: &self.cpus,
            network: self.network.as_deref(),
            address: own.address,
            streams: own.count,
            block_bytes: self.block_bytes,
        })
    }

    /// Tell how far the load is until all clients have ended.
    fn tell(
        &self,
        begin: Instant,
        processes: &[ClientProcess],
        progress: &(dyn Fn(Progress) + Sync),
        done: &dyn Fn() -> bool,
    ) {
        let users = self.guests.iter().map(|own| own.count).sum();
        let mut live = LiveStreams::new(processes, self.block_bytes, begin);
        let mut next = begin;
        while !done() {
            thread::sleep(LOOK);
            let now = Instant::now();
            if now < next {
                continue;
            }
            next += Duration::from_secs(1);
            let elapsed = now.saturating_duration_since(begin);
            let whole = truncate_u32(elapsed.as_secs_f64());
            let (second, rate) = live.look(whole.saturating_sub(1), now, &process_read_bytes);
            progress(Progress {
                elapsed,
                phase: self.phase(elapsed),
                requests_per_s: rate,
                errors_per_s: 0.0,
                arrivals_per_s: None,
                active_users: users,
                seconds: if whole > 0 { vec![second] } else { Vec::new() },
            });
        }
    }

    /// All streams begin together and end with the window.
    fn phase(&self, elapsed: Duration) -> Phase {
        if elapsed < self.phases.window_start() {
            Phase::Settle
        } else if elapsed < self.phases.window_end() {
            Phase::Steady
        } else {
            Phase::Drain
        }
    }

    fn window(&self) -> Window {
        Window {
            start_s: self.phases.window_start().as_secs_f64(),
            end_s: self.phases.window_end().as_secs_f64(),
        }
    }

    /// What the streams of a guest received.
    fn received(&self, own: &Streams, received: &Received) -> GuestMeasurement {
        let (window_s, block) = (
            self.phases.steady.as_secs_f64(),
            f64::from(self.block_bytes),
        );
        // What it received in its own time, which may be a little longer, in that of the window.
        let bytes = received.bytes as f64 * window_s / received.seconds;
        let exchanges = truncate_u64(bytes / block);
        let all: u64 = received
            .intervals
            .iter()
            .map(|interval| interval.bytes)
            .sum();
        GuestMeasurement {
            operations: vec![OperationMeasurement {
                name: NetstreamOperation::Exchange.name().to_owned(),
                started: exchanges,
                completed: exchanges,
                succeeded: exchanges,
                failed: 0,
                unfinished: 0,
                service: Latencies::new(),
                response: Latencies::new(),
            }],
            series: series(received, block),
            counters: Counters::Netstream(NetstreamCounters {
                window_s,
                exchanges,
                received_bytes: bytes,
                exchanges_from_start: all / u64::from(self.block_bytes),
                bytes_from_start: all,
                in_flight: in_flight(own) / u64::from(self.block_bytes) + 1,
                in_flight_bytes: in_flight(own),
                ..NetstreamCounters::default()
            }),
            // Each stream is under way all the time.
            busy_s: f64::from(own.count) * window_s,
            ..self.nothing(own)
        }
    }

    /// A client that told nothing.
    fn failed(&self, own: &Streams, reason: &str) -> GuestMeasurement {
        GuestMeasurement {
            errors: vec![ErrorTally {
                class: ErrorClass::Io,
                sub_class: "iperf3".to_owned(),
                count: 1,
                examples: vec![ErrorExample {
                    at_s: 0.0,
                    operation: NetstreamOperation::Exchange.name().to_owned(),
                    detail: reason.to_owned(),
                }],
            }],
            ..self.nothing(own)
        }
    }

    /// A guest without streams.
    fn nothing(&self, own: &Streams) -> GuestMeasurement {
        GuestMeasurement {
            guest: own.guest.clone(),
            users: own.count,
            operations: Vec::new(),
            series: Vec::new(),
            errors: Vec::new(),
            counters: Counters::Netstream(NetstreamCounters {
                window_s: self.phases.steady.as_secs_f64(),
                ..NetstreamCounters::default()
            }),
            busy_s: 0.0,
            idle_s: 0.0,
            drawn_delay_mean_s: None,
            actual_delay_mean_s: None,
        }
    }

    /// What all clients said together.
    fn measurement(&self, ended: Vec<Option<io::Result<Ended>>>, stopped: bool) -> Measurement {
        let program = version(&RealHost).unwrap_or_else(|_| "iperf3".to_owned());
        let mut outputs = Vec::new();
        let (mut guests, mut cpu_us) = (Vec::new(), 0);
        for (own, ended) in self.guests.iter().zip(ended) {
            let Some(ended) = ended else {
                guests.push(self.nothing(own));
                continue;
            };
            let said = ended.and_then(|ended| {
                cpu_us += ended.cpu_us;
                ended.said
            });
            guests.push(match &said {
                Ok(said) => match read_received(said) {
                    Ok(received) => self.received(own, &received),
                    Err(error) => self.failed(own, &error.to_string()),
                },
                Err(error) => self.failed(own, &error.to_string()),
            });
            outputs.extend(said.into_iter().map(|text| ProgramOutput {
                guest: own.guest.clone(),
                program: program.clone(),
                text,
            }));
        }
        *self.outputs.lock().unwrap_or_else(PoisonError::into_inner) = outputs;
        let exchanges: u64 = guests
            .iter()
            .flat_map(|guest| &guest.operations)
            .map(|operation| operation.completed)
            .sum();
        let window_s = self.phases.steady.as_secs_f64();
        let connections = self.guests.iter().map(|own| u64::from(own.count)).sum();
        Measurement {
            mode: Mode::Closed,
            pacing: Pacing::Think,
            window: self.window(),
            guests,
            driver: DriverQuality {
                cpus: self.cpus.clone(),
                cpu_share: cpu_us as f64 / 1e6 / (window_s * self.cpus.len().max(1) as f64),
                cpu_us_per_request: cpu_us as f64 / exchanges.max(1) as f64,
                connections,
                ..DriverQuality::default()
            },
            aborted: stopped.then(|| "stopped on request".to_owned()),
        }
    }
}

impl TrialLoad for Iperf3Load {
    fn cpus(&self) -> &[u32] {
        &self.cpus
    }

    fn phases(&self) -> &Phases {
        &self.phases
    }

    fn drive(
        &self,
        start: &(dyn Fn() -> Instant + Sync),
        stop: &AtomicBool,
        progress: &(dyn Fn(Progress) + Sync),
    ) -> Result<Measurement, Failure> {
        let begin = start();
        let processes: Vec<ClientProcess> = self
            .guests
            .iter()
            .map(|_| ClientProcess::default())
            .collect();
        let ended: Vec<Option<io::Result<Ended>>> = thread::scope(|scope| {
            let clients = self.guests.iter().zip(&processes).map(|(own, process)| {
                let client = self.client(own)?;
                Some(scope.spawn(move || client.run(&self.programs, process, begin, stop)))
            });
            let clients: Vec<_> = clients.collect();
            self.tell(begin, &processes, progress, &|| {
                clients.iter().flatten().all(|client| client.is_finished())
            });
            let ended = clients
                .into_iter()
                .map(|client| client.map(|client| client.join()).transpose());
            ended.collect::<Result<_, _>>()
        })
        .map_err(|_| LabError::Driver(DriverError::Panicked))?;
        Ok(self.measurement(ended, stop.load(Ordering::Relaxed)))
    }

    fn programs(&self) -> Option<DriverPrograms> {
        Some(self.programs.clone())
    }

    fn outputs(&self) -> Vec<ProgramOutput> {
        self.outputs
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

/// What may be sent and not received when the streams of a guest end, bytes.
fn in_flight(own: &Streams) -> u64 {
    IN_FLIGHT_BYTES * u64::from(own.count)
}

/// Blocks that were received in each second, by what each interval received.
fn series(received: &Received, block: f64) -> Vec<SecondSample> {
    let mut seconds: Vec<SecondSample> = Vec::new();
    let (mut bytes, mut counted) = (0.0, 0.0);
    for interval in &received.intervals {
        // Its end is told a little early or late, its length is meant to be whole.
        let length = interval.seconds.round();
        if length < 1.0 {
            // What is left of the last one.
            continue;
        }
        for _ in 0..truncate_u32(length) {
            bytes += interval.bytes as f64 / length;
            let blocks = (bytes / block).floor();
            let requests = truncate_u32(blocks - counted);
            counted = blocks;
            seconds.push(SecondSample {
                second: count_u32(seconds.len()),
                requests,
                orders: requests,
                ..SecondSample::default()
            });
        }
    }
    seconds
}

#[cfg(test)]
mod tests {
    use rookery_host::iperf::Interval;

    use super::*;

    fn load(count: u32) -> Iperf3Load {
        Iperf3Load {
            phases: Phases {
                ramp_up: Duration::from_millis(500),
                settle: Duration::from_secs(1),
                steady: Duration::from_secs(10),
                ramp_down: Duration::ZERO,
                drain: Duration::ZERO,
            },
            cpus: vec![0],
            network: None,
            guests: vec![Streams {
                guest: "g1".to_owned(),
                address: IpAddr::from([127, 0, 0, 1]),
                count,
            }],
            block_bytes: 1000,
            programs: DriverPrograms::default(),
            outputs: Mutex::default(),
        }
    }

    fn said() -> Received {
        let interval = |bytes| Interval {
            seconds: 1.0003,
            bytes,
        };
        Received {
            bytes: 40_000,
            seconds: 10.0,
            intervals: [2_500, 2_500, 4_000].map(interval).to_vec(),
        }
    }

    #[test]
    fn an_exchange_is_a_block_that_was_received() {
        let load = load(2);
        let guest = load.received(&load.guests[0], &said());
        assert_eq!(guest.operations[0].completed, 40);
        assert_eq!(guest.busy_s, 20.0);
        let counters = guest.counters.netstream().expect("its own");
        assert_eq!(counters.received_bytes, 40_000.0);
        assert_eq!(
            (counters.exchanges_from_start, counters.bytes_from_start),
            (9, 9_000)
        );
        let blocks: Vec<u32> = guest.series.iter().map(|second| second.orders).collect();
        assert_eq!(blocks, [2, 3, 4]);
    }

    #[test]
    fn a_client_that_fails_is_told_with_its_words() {
        let load = load(1);
        let ended = |said: &str| {
            vec![Some(Ok(Ended {
                said: Ok(said.to_owned()),
                cpu_us: 5_000_000,
            }))]
        };
        let measured = load.measurement(ended("{\"error\":\"unable to connect\"}"), false);
        let error = &measured.guests[0].errors[0];
        assert!(error.examples[0].detail.contains("unable to connect"));
        assert!(measured.guests[0].operations.is_empty());
        assert_eq!(measured.driver.cpu_share, 0.5);
        assert_eq!(load.outputs().len(), 1);
        let idle = load.measurement(vec![None], false);
        assert!(idle.guests[0].errors.is_empty() && load.outputs().is_empty());
    }
}
