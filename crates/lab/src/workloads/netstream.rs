//! Connections of the netstream workload: what the driver is told, and the CPU time that exchanges
//! took.

mod iperf3;

use std::collections::BTreeSet;

use rookery_cast::index;
use rookery_monitor::Observations;
use rookery_stack::NetstreamStack;
use rookery_stats::{
    KernelCount, KernelCounter, Measurement, OtherWork, ResourceSample, mean_in_window,
};
use rookery_web::{Limits, Script, workloads::netstream::NetstreamScript};
use rookery_workload::{
    Window,
    netstream::{CpuSeconds, CpuTimes, HostTimes, StreamProgram},
};

use self::iperf3::Iperf3Load;
use super::{
    LoadRequest, TrialLoad,
    web_users::{Behaviour, Users, config},
};

/// The load of one group of a trial on guests that answer exchanges.
pub(super) fn load(request: &LoadRequest<'_>, stack: &dyn NetstreamStack) -> Box<dyn TrialLoad> {
    let wanted = stack.wanted();
    match wanted.program {
        StreamProgram::Rookery => Box::new(users(request, stack)),
        StreamProgram::Iperf3 => Box::new(Iperf3Load::new(request, wanted)),
    }
}

/// Users that ask for answers.
fn users(request: &LoadRequest<'_>, stack: &dyn NetstreamStack) -> Users {
    let wanted = stack.wanted();
    let script = |_| {
        Script::Netstream(NetstreamScript {
            size: wanted.size,
            connection: wanted.connection,
            receiver: stack.receiver(),
        })
    };
    let behaviour = Behaviour {
        script: &script,
        pacing: wanted.pacing,
        think_time: wanted.think_time,
        think_distribution: wanted.think_distribution,
    };
    let mut config = config(request, &behaviour);
    let answer = index(wanted.size.answer_bytes.into());
    config.limits = Limits {
        body_bytes: config.limits.body_bytes.max(answer),
        ..config.limits
    };
    Users(config)
}

/// Put CPU time and segments sent again inside the window beside the counters of each guest: its
/// own, of the CPU time of `partners` (the guests that sent what these received) its part by what
/// it received, and of that of driver and host its part of what all groups of the trial did,
/// `received_bytes`. What a hypervisor took of the host's CPUs the host did not spend.
pub(super) fn attach(
    measurement: &mut Measurement,
    partners: &[String],
    received_bytes: f64,
    seen: &Observations,
) {
    attach_resent(measurement, &seen.kernel);
    attach_partners_resent(measurement, partners, &seen.kernel);
    let window = measurement.window;
    let (driver, host) = (
        times(&seen.resources, "driver", &window),
        times(&seen.resources, "host", &window),
    );
    let (Some(driver), Some(busy)) = (driver, host) else {
        return;
    };
    let length_s = window.end_s - window.start_s;
    let host = busy.whole - length_s * taken_cores(seen, &window);
    let partners = together(&seen.resources, partners, &window);
    let host_times = host_times(&seen.kernel, length_s).map(|times| match busy.whole {
        busy if busy > 0.0 => times.scaled(host / busy),
        _ => times,
    });
    let parts = received_parts(measurement);
    let of_group = self::received_bytes(measurement) / received_bytes;
    for (guest, part) in measurement.guests.iter_mut().zip(parts) {
        let part_of_all = part * of_group;
        let own = times(&seen.resources, &guest.guest, &window);
        if let (Some(counters), Some(own)) = (guest.counters.netstream_mut(), own) {
            counters.cpu = Some(CpuSeconds {
                guest: own,
                partner: partners.map(|partners| share(partners, part)),
                driver: share(driver, part_of_all),
                host: part_of_all * host,
                host_times: host_times.map(|times| times.scaled(part_of_all)),
            });
        }
    }
}

/// Cores that a hypervisor took while they were busy. The kernel tells what was taken of all, also
/// of CPUs that were idle and would have begun to work; no more of it was busy time than what
/// guests and driver did not spend themselves.
fn taken_cores(seen: &Observations, window: &Window) -> f64 {
    let others = OtherWork::from_samples(&seen.resources, window);
    others.map_or(0.0, |others| {
        others.cores - others.without_stolen(&seen.kernel, window).cores
    })
}

/// What all guests received, bytes.
pub(super) fn received_bytes(measurement: &Measurement) -> f64 {
    received(measurement).sum()
}

fn received(measurement: &Measurement) -> impl Iterator<Item = f64> {
    measurement.guests.iter().map(|guest| {
        let counters = guest.counters.netstream();
        counters.map_or(0.0, |counters| counters.received_bytes)
    })
}

/// The part of each guest in what all of them received; none where nothing was.
fn received_parts(measurement: &Measurement) -> Vec<f64> {
    let all = received_bytes(measurement);
    if all <= 0.0 {
        return Vec::new();
    }
    received(measurement).map(|own| own / all).collect()
}

/// A part of a CPU time.
fn share(times: CpuTimes, part: f64) -> CpuTimes {
    CpuTimes {
        whole: part * times.whole,
        system: times.system.map(|system| part * system),
    }
}

/// CPU time of several subjects inside the window; `None` without any, and where one of them was
/// not sampled.
fn together(
    resources: &[ResourceSample],
    subjects: &[String],
    window: &Window,
) -> Option<CpuTimes> {
    let all = subjects
        .iter()
        .map(|subject| times(resources, subject, window));
    let all: Vec<CpuTimes> = all.collect::<Option<_>>()?;
    all.into_iter().reduce(|sum, next| CpuTimes {
        whole: sum.whole + next.whole,
        system: sum.system.zip(next.system).map(|(sum, next)| sum + next),
    })
}

/// CPU time of a subject inside the window; `None` where it was not sampled.
fn times(resources: &[ResourceSample], subject: &str, window: &Window) -> Option<CpuTimes> {
    let length_s = window.end_s - window.start_s;
    let own = |of: &dyn Fn(&ResourceSample) -> Option<f64>| {
        mean_in_window(resources, subject, window, of).map(|cores| cores * length_s)
    };
    Some(CpuTimes {
        whole: own(&|sample| Some(sample.cpu_cores))?,
        system: own(&|sample| sample.parts.map(|parts| parts.system)),
    })
}

/// Where the time of all CPUs went in a window of this length, s; `None` where the kernel was not
/// read. What was not idle is shared out as the kernel's samples at its ticks say: most kernels
/// measure idle time alone.
fn host_times(kernel: &[KernelCount], window_s: f64) -> Option<HostTimes> {
    let cpus: BTreeSet<&str> = kernel
        .iter()
        .map(|count| count.scope.as_str())
        .filter(|scope| scope.starts_with("cpu "))
        .collect();
    let of_all = cpus.into_iter().map(|cpu| cpu_times(kernel, cpu, window_s));
    of_all.reduce(HostTimes::plus)
}

/// The same of one CPU.
fn cpu_times(kernel: &[KernelCount], cpu: &str, window_s: f64) -> HostTimes {
    let seconds = |counters: &[KernelCounter]| -> f64 {
        let own = kernel.iter().filter(|count| count.scope == cpu);
        own.filter(|count| counters.contains(&count.counter))
            .map(|count| count.count as f64 / 1e6)
            .sum()
    };
    let sampled = HostTimes {
        user: seconds(&[KernelCounter::User]),
        system: seconds(&[KernelCounter::System]),
        interrupts: seconds(&[KernelCounter::Interrupts, KernelCounter::SoftInterrupts]),
    };
    let busy = (window_s - seconds(&[KernelCounter::Idle])).max(0.0);
    match sampled.whole() {
        whole if whole > 0.0 => sampled.scaled(busy / whole),
        _ => sampled,
    }
}

/// Segments that the network of each guest sent again. Guests on the host's network have none of
/// their own: there the first has those of the host. What machines send again nobody counts here.
fn attach_resent(measurement: &mut Measurement, kernel: &[KernelCount]) {
    let of = |scope: &str| resent(kernel, scope);
    let mut shared = if of("lab").is_none() {
        of("host")
    } else {
        None
    };
    for guest in &mut measurement.guests {
        let resent = of(&guest.guest).or_else(|| shared.take());
        if let Some(counters) = guest.counters.netstream_mut() {
            counters.resent_segments = resent;
        }
    }
}

/// Segments that the networks of `partners` sent again, beside the counters of each guest in parts
/// by what it received; nothing where one of them has no network that is counted.
fn attach_partners_resent(
    measurement: &mut Measurement,
    partners: &[String],
    kernel: &[KernelCount],
) {
    let counts: Option<Vec<u64>> = partners
        .iter()
        .map(|partner| resent(kernel, partner))
        .collect();
    let Some(all) = counts.filter(|counts| !counts.is_empty()) else {
        return;
    };
    let all = all.iter().sum::<u64>() as f64;
    let parts = received_parts(measurement);
    for (guest, part) in measurement.guests.iter_mut().zip(parts) {
        if let Some(counters) = guest.counters.netstream_mut() {
            counters.partner_resent_segments = Some(part * all);
        }
    }
}

/// Segments that the network of this scope sent again; `None` where it is not counted.
fn resent(kernel: &[KernelCount], scope: &str) -> Option<u64> {
    let mut found = kernel
        .iter()
        .filter(|count| count.counter == KernelCounter::Retransmitted && count.scope == scope);
    found.next().map(|count| count.count)
}

#[cfg(test)]
mod tests {
    use rookery_stats::{DriverQuality, GuestMeasurement, Mode, Pacing};
    use rookery_workload::{Counters, netstream::NetstreamCounters};

    use super::*;

    /// Two guests of a group, which received 1 and 3 GB in 10 s.
    fn measured() -> Measurement {
        let guest = |name: &str, received_bytes: f64| GuestMeasurement {
            guest: name.to_owned(),
            users: 1,
            operations: Vec::new(),
            series: Vec::new(),
            errors: Vec::new(),
            counters: Counters::Netstream(NetstreamCounters {
                received_bytes,
                ..NetstreamCounters::default()
            }),
            busy_s: 0.0,
            idle_s: 0.0,
            drawn_delay_mean_s: None,
            actual_delay_mean_s: None,
        };
        Measurement {
            mode: Mode::Closed,
            pacing: Pacing::Think,
            window: Window {
                start_s: 0.0,
                end_s: 10.0,
            },
            guests: vec![guest("g1", 1e9), guest("g2", 3e9)],
            driver: DriverQuality::default(),
            aborted: None,
        }
    }

    /// CPU time of g1, of the driver and of the host that counts for g1 when all groups received
    /// so much, and a hypervisor took so many seconds of the host's CPUs.
    fn of_first(received_bytes: f64, stolen_s: u64) -> [f64; 3] {
        let sample = |subject: &str, cpu_cores: f64, at_s: f64| ResourceSample {
            subject: subject.to_owned(),
            at_s,
            cpu_cores,
            memory_bytes: 0,
            io: None,
            parts: None,
            throttled_cores: None,
            memory: None,
        };
        let all = [("g1", 0.1), ("g2", 0.3), ("driver", 0.4), ("host", 1.2)];
        let seen = Observations {
            resources: all
                .iter()
                .flat_map(|(subject, cores)| {
                    [1.0, 5.0, 9.0].map(|at_s| sample(subject, *cores, at_s))
                })
                .collect(),
            kernel: vec![KernelCount {
                scope: "cpu 0".to_owned(),
                counter: KernelCounter::Stolen,
                count: stolen_s * 1_000_000,
            }],
            ..Observations::default()
        };
        let mut measurement = measured();
        attach(&mut measurement, &[], received_bytes, &seen);
        let cpu = measurement.guests[0]
            .counters
            .netstream()
            .and_then(|own| own.cpu);
        let cpu = cpu.expect("all were sampled");
        [cpu.guest.whole, cpu.driver.whole, cpu.host]
            .map(|seconds| (seconds * 100.0).round() / 100.0)
    }

    #[test]
    fn a_guest_has_its_part_of_driver_and_host() {
        assert_eq!(of_first(4e9, 0), [1.0, 1.0, 3.0]);
    }

    #[test]
    fn what_a_hypervisor_took_the_host_did_not_spend() {
        assert_eq!(of_first(4e9, 2), [1.0, 1.0, 2.5]);
        // Guests and driver spent 8 s of the 12: no more than 4 can have been taken of them.
        assert_eq!(of_first(4e9, 9), [1.0, 1.0, 2.0]);
    }

    #[test]
    fn what_was_not_idle_is_shared_out_as_ticks_met_it() {
        let count = |cpu: u32, counter, seconds: u64| KernelCount {
            scope: format!("cpu {cpu}"),
            counter,
            count: seconds * 1_000_000,
        };
        // Ticks met half of what CPU 0 did; CPU 1 did nothing.
        let kernel = [
            count(0, KernelCounter::User, 2),
            count(0, KernelCounter::System, 1),
            count(0, KernelCounter::SoftInterrupts, 1),
            count(0, KernelCounter::Idle, 2),
            count(1, KernelCounter::Idle, 10),
        ];
        let times = host_times(&kernel, 10.0).expect("read");
        assert_eq!(
            (times.user, times.system, times.interrupts),
            (4.0, 2.0, 2.0)
        );
        assert_eq!(host_times(&[], 10.0), None);
    }

    #[test]
    fn groups_of_a_trial_share_driver_and_host() {
        assert_eq!(of_first(8e9, 0), [1.0, 0.5, 1.5]);
    }
}
