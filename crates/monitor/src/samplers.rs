//! All that goes on beside the load of a trial: samples of resources, looks at machines, threads
//! and databases, and the watch over the guests.

use std::{io, sync::atomic::AtomicBool, thread};

use rookery_guest::{Guest, ProcessProbe, UsageProbe};
use rookery_host::residence::Residence;
use rookery_stats::{KernelCount, MachineLook, OtherProgram, ResourceSample, checks::Remark};
use serde::{Deserialize, Serialize};

use crate::{
    DatabaseLook, GuestDeath, LoadState, SamplerConfig, StorageLoss,
    clocks::BothClocks,
    databases::watch_databases,
    deaths,
    driver_programs::{DriverPrograms, driver_probe},
    host::host_probe,
    kernel::{memory_sources, watch_kernel},
    machines::Machines,
    placement::watch_placement,
    programs::watch_programs,
    sampler::{Sampled, Sampler},
};

/// What was seen beside the load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Observations {
    /// Use of resources by each guest, the host (`host`) and this process (`driver`).
    pub resources: Vec<ResourceSample>,
    /// Looks at the guests that are machines.
    pub machines: Vec<MachineLook>,
    /// Where the threads of each guest ran.
    pub placement: Vec<Residence>,
    /// Programs that were no part of the trial, the most CPU first.
    pub other_programs: Vec<OtherProgram>,
    /// What the kernel counted inside the window.
    pub kernel: Vec<KernelCount>,
    /// What each database that was asked says of itself.
    pub databases: Vec<DatabaseLook>,
    /// Guests that died under the load, which ended it.
    pub deaths: Vec<GuestDeath>,
    /// Guests whose volume was full or failed under the load, which ended it.
    pub storage: Vec<StorageLoss>,
    /// A wall clock that was set meanwhile.
    pub clock_step: Option<Remark>,
}

/// The samplers of one trial, made but not yet started.
pub struct Samplers<'a> {
    config: &'a SamplerConfig,
    usage: Vec<(String, UsageProbe)>,
    processes: Vec<ProcessProbe>,
    /// The same again, for the watch over what is not theirs.
    others: Vec<ProcessProbe>,
    /// And again, for the networks that they are in.
    networks: Vec<(String, ProcessProbe)>,
    /// And for the control groups that they are in.
    groups: Vec<(String, ProcessProbe)>,
    machines: Option<Machines>,
}

impl<'a> Samplers<'a> {
    /// The samplers of guests that run, with the programs that put the load on beside this process.
    #[must_use]
    pub fn new(
        config: &'a SamplerConfig,
        guests: &[Box<dyn Guest>],
        programs: &[DriverPrograms],
    ) -> Self {
        let mut usage: Vec<_> = guests
            .iter()
            .map(|guest| (guest.name().to_owned(), guest.usage_probe()))
            .collect();
        usage.push((HOST.to_owned(), host_probe()));
        usage.push(("driver".to_owned(), driver_probe(programs)));
        let of_guests = guests.iter().map(|guest| guest.process_probe());
        Self {
            config,
            usage,
            processes: guests.iter().map(|guest| guest.process_probe()).collect(),
            others: of_guests
                .chain(programs.iter().map(DriverPrograms::processes))
                .collect(),
            networks: named_processes(guests),
            groups: named_processes(guests),
            machines: Machines::new(guests),
        }
    }

    /// Put `load` on while sampling and watching the guests. `load` reports its common start to the
    /// [`LoadState`], and ends early when that asks for it: a guest died, or `stop` was set.
    ///
    /// # Errors
    /// When resources cannot be sampled; the load is over then all the same.
    pub fn run<T>(
        self,
        guests: &mut [Box<dyn Guest>],
        stop: &AtomicBool,
        load: impl FnOnce(&LoadState) -> T,
    ) -> io::Result<(T, Observations)> {
        let Self {
            config,
            usage,
            processes,
            others,
            networks,
            groups,
            machines,
        } = self;
        let (state, clocks) = (LoadState::default(), BothClocks::read());
        let state = &state;
        thread::scope(|scope| {
            let resources = scope.spawn(|| sample(config, usage, groups, state));
            let placement = scope.spawn(|| watch_placement(config, processes, state));
            let programs = scope.spawn(|| watch_programs(config, others, state));
            let kernel = scope.spawn(|| watch_kernel(config, networks, state));
            let databases = scope.spawn(|| watch_databases(config, state));
            let machines = machines.map(|machines| scope.spawn(|| machines.watch(config, state)));
            let losses = scope.spawn(|| deaths::watch(guests, state, stop));
            let result = {
                // The threads wait for the end of the load, also where it panics.
                let _finish = FinishOnDrop(state);
                load(state)
            };
            let losses = losses.join().unwrap_or_default();
            let observations = Observations {
                resources: resources
                    .join()
                    .unwrap_or_else(|_| Err(io::Error::other("the sampler panicked")))?,
                machines: machines
                    .map(|machines| machines.join().unwrap_or_default())
                    .unwrap_or_default(),
                placement: placement.join().unwrap_or_default(),
                other_programs: programs.join().unwrap_or_default(),
                kernel: kernel.join().unwrap_or_default(),
                databases: databases.join().unwrap_or_default(),
                deaths: losses.deaths,
                storage: losses.storage,
                clock_step: clocks.check(),
            };
            Ok((result, observations))
        })
    }
}

struct FinishOnDrop<'a>(&'a LoadState);

impl Drop for FinishOnDrop<'_> {
    fn drop(&mut self) {
        self.0.finish();
    }
}

/// The name of the host among what is sampled.
const HOST: &str = "host";

/// The processes of guests by their names.
fn named_processes(guests: &[Box<dyn Guest>]) -> Vec<(String, ProcessProbe)> {
    let named = guests
        .iter()
        .map(|guest| (guest.name().to_owned(), guest.process_probe()));
    named.collect()
}

fn sample(
    config: &SamplerConfig,
    usage: Vec<(String, UsageProbe)>,
    mut groups: Vec<(String, ProcessProbe)>,
    state: &LoadState,
) -> io::Result<Vec<ResourceSample>> {
    let Some(start) = state.started() else {
        return Ok(Vec::new());
    };
    let sources = memory_sources(&mut groups, HOST);
    let subject = |(name, usage): (String, UsageProbe)| {
        let own = sources.iter().find(|(known, _)| *known == name);
        Sampled {
            memory: own.map(|(_, source)| source.clone()),
            name,
            usage,
        }
    };
    let subjects = usage.into_iter().map(subject).collect();
    let sampler = Sampler::start(
        subjects,
        start,
        config.interval,
        &config.cpus,
        state.usage(),
    )?;
    state.wait_for_end();
    Ok(sampler.stop())
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use proptest::prelude::*;
    use rookery_stats::{
        CpuParts, KernelCounter, MachineInside, MachineOutside, MemoryRates, faults::FaultCode,
    };

    use super::*;
    use crate::LoadSchedule;

    /// One of everything that can be seen.
    fn observations(number: f64, count: u64) -> Observations {
        Observations {
            resources: vec![ResourceSample {
                subject: "g1".to_owned(),
                at_s: number,
                cpu_cores: -number,
                memory_bytes: count,
                io: None,
                parts: Some(CpuParts {
                    user: number,
                    ..CpuParts::default()
                }),
                throttled_cores: Some(number),
                memory: Some(MemoryRates {
                    swap_bytes: count,
                    refaults_per_s: number,
                    ..MemoryRates::default()
                }),
            }],
            machines: vec![MachineLook {
                guest: "g1".to_owned(),
                at_s: number,
                outside: MachineOutside {
                    cpu_us: count,
                    ..MachineOutside::default()
                },
                inside: Some(MachineInside {
                    cpu_pressure_us: Some(count),
                    ..MachineInside::default()
                }),
            }],
            placement: vec![Residence {
                seen: count,
                ran_on: [(3, count)].into(),
                cpus: [1, 3].into(),
                nodes: [0].into(),
                cut: true,
            }],
            other_programs: vec![OtherProgram {
                name: "make".to_owned(),
                cpu_cores: number,
                disk_bytes_per_s: number,
                memory_bytes: count,
            }],
            kernel: vec![KernelCount {
                scope: "host".to_owned(),
                counter: KernelCounter::Refaults,
                count,
            }],
            databases: vec![DatabaseLook::Silent {
                reason: "it is gone".to_owned(),
            }],
            deaths: vec![GuestDeath {
                guest: "g2".to_owned(),
                reason: "killed".to_owned(),
            }],
            storage: vec![StorageLoss {
                guest: "g2".to_owned(),
                fault: rookery_guest::VolumeFault::Full("0 KiB of 64 MiB are free".to_owned()),
            }],
            clock_step: Some(Remark::fault(FaultCode::Clock, "it was set".to_owned())),
        }
    }

    proptest! {
        #[test]
        fn observations_come_back_from_json_as_they_were(
            number in proptest::num::f64::NORMAL | proptest::num::f64::SUBNORMAL,
            count: u64,
        ) {
            let seen = observations(number, count);
            let json = serde_json::to_string(&seen).expect("plain data");
            prop_assert_eq!(serde_json::from_str::<Observations>(&json).expect("read again"), seen);
        }
    }

    #[test]
    fn a_load_without_guests_is_sampled() {
        let config = SamplerConfig {
            cpus: Vec::new(),
            interval: Duration::from_millis(20),
            schedule: LoadSchedule {
                window_start: Duration::ZERO,
                window: Duration::from_millis(100),
                end: Duration::from_millis(100),
            },
            databases: Vec::new(),
        };
        let (answer, seen) = Samplers::new(&config, &[], &[])
            .run(&mut [], &AtomicBool::new(false), |state| {
                state.begin(Instant::now());
                while state.latest_usage().len() < 2 {
                    thread::sleep(Duration::from_millis(10));
                }
                42
            })
            .expect("sampled");
        assert_eq!(answer, 42);
        let subjects: Vec<&str> = seen.resources.iter().map(|s| s.subject.as_str()).collect();
        assert!(subjects.contains(&"host") && subjects.contains(&"driver"));
        assert!(seen.deaths.is_empty() && seen.databases.is_empty());
        let json = serde_json::to_string(&config).expect("plain data");
        assert_eq!(
            serde_json::from_str::<SamplerConfig>(&json).expect("read again"),
            config
        );
    }

    #[test]
    fn a_load_that_never_begins_ends_the_samplers() {
        let config = SamplerConfig {
            cpus: Vec::new(),
            interval: Duration::from_secs(1),
            schedule: LoadSchedule {
                window_start: Duration::from_secs(3600),
                window: Duration::from_secs(1),
                end: Duration::from_secs(3602),
            },
            databases: Vec::new(),
        };
        let ((), seen) = Samplers::new(&config, &[], &[])
            .run(&mut [], &AtomicBool::new(false), |_| ())
            .expect("ended");
        assert!(seen.resources.is_empty());
    }
}
