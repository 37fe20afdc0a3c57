//! Connections of the netstream workload: what the driver is told, and the CPU time that exchanges
//! took.

use rookery_cast::index;
use rookery_monitor::Observations;
use rookery_stack::NetstreamStack;
use rookery_stats::{KernelCount, KernelCounter, Measurement, ResourceSample, mean_in_window};
use rookery_web::{Limits, Script, workloads::netstream::NetstreamScript};
use rookery_workload::{
    Window,
    netstream::{CpuSeconds, CpuTimes, HostTimes},
};

use super::{
    LoadRequest,
    web_users::{Behaviour, Users, config},
};

/// The load of one group of a trial on guests that answer exchanges.
pub(super) fn load(request: &LoadRequest<'_>, stack: &dyn NetstreamStack) -> Users {
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
/// own, and of the CPU time of `partners` (the guests that sent what these received), driver and
/// host its part by what it received.
pub(super) fn attach(measurement: &mut Measurement, partners: &[String], seen: &Observations) {
    attach_resent(measurement, &seen.kernel);
    attach_partners_resent(measurement, partners, &seen.kernel);
    let window = measurement.window;
    let (driver, host) = (
        times(&seen.resources, "driver", &window),
        times(&seen.resources, "host", &window),
    );
    let (Some(driver), Some(host)) = (driver, host) else {
        return;
    };
    let partners = together(&seen.resources, partners, &window);
    let host_times = host_times(&seen.kernel);
    let parts = received_parts(measurement);
    for (guest, part) in measurement.guests.iter_mut().zip(parts) {
        let own = times(&seen.resources, &guest.guest, &window);
        if let (Some(counters), Some(own)) = (guest.counters.netstream_mut(), own) {
            counters.cpu = Some(CpuSeconds {
                guest: own,
                partner: partners.map(|partners| share(partners, part)),
                driver: share(driver, part),
                host: part * host.whole,
                host_times: host_times.map(|times| HostTimes {
                    user: part * times.user,
                    system: part * times.system,
                    interrupts: part * times.interrupts,
                }),
            });
        }
    }
}

/// The part of each guest in what all of them received; none where nothing was.
fn received_parts(measurement: &mut Measurement) -> Vec<f64> {
    let received: Vec<f64> = measurement
        .guests
        .iter_mut()
        .map(|guest| {
            let counters = guest.counters.netstream_mut();
            counters.map_or(0.0, |counters| counters.received_bytes)
        })
        .collect();
    let all: f64 = received.iter().sum();
    if all <= 0.0 {
        return Vec::new();
    }
    received.into_iter().map(|own| own / all).collect()
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

/// Where the time of all CPUs went, s; `None` where the kernel was not read.
fn host_times(kernel: &[KernelCount]) -> Option<HostTimes> {
    let cpus = || {
        kernel
            .iter()
            .filter(|count| count.scope.starts_with("cpu "))
    };
    cpus().next()?;
    let seconds = |counters: &[KernelCounter]| {
        let own = cpus().filter(|count| counters.contains(&count.counter));
        own.map(|count| count.count as f64 / 1e6).sum()
    };
    Some(HostTimes {
        user: seconds(&[KernelCounter::User]),
        system: seconds(&[KernelCounter::System]),
        interrupts: seconds(&[KernelCounter::Interrupts, KernelCounter::SoftInterrupts]),
    })
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

/// Segments that the networks of `partners` sent again, beside the counters of each guest in parts by
/// what it received; nothing where one of them has no network that is counted.
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
