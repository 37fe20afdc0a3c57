//! The process that is measured: the driver and nothing else, and how to start and weigh such a
//! process.

use std::{
    net::SocketAddr,
    process::{Command, Stdio},
    sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    time::{Duration, Instant},
};

use rookery_driver::{Load as LoopType, Phases, faults};
use rookery_stats::{Measurement, Pacing};
use rookery_web::{Assignment, Config, Limits, Script, run as drive, workloads::page::PageScript};
use serde_json::{Value, json};

/// What the driver is to do.
pub(super) struct Load<'a> {
    pub(super) address: SocketAddr,
    pub(super) path: &'a str,
    pub(super) users: u32,
    pub(super) think: Duration,
    pub(super) ramp_up: Duration,
    pub(super) settle: Duration,
    pub(super) steady: Duration,
}

/// CPU time of a process that has ended, and what it wrote.
pub(in crate::bench) struct Weighed {
    pub(in crate::bench) cpu: Duration,
    pub(in crate::bench) output: String,
}

/// Run a command to its end and weigh it.
pub(in crate::bench) fn weigh(command: &mut Command) -> Result<Weighed, String> {
    let before = children_cpu();
    let output = command
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("cannot start {command:?}: {error}"))?;
    if !output.status.success() {
        return Err(format!("{command:?} ended with {}", output.status));
    }
    Ok(Weighed {
        cpu: children_cpu().saturating_sub(before),
        output: String::from_utf8_lossy(&output.stdout).into_owned(),
    })
}

/// User and system time of all children that have been waited for.
fn children_cpu() -> Duration {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the pointer is to a rusage of our own, which is all zeros, a valid value, should the
    // call write nothing.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_CHILDREN, usage.as_mut_ptr());
        usage.assume_init()
    };
    let time = |value: libc::timeval| {
        Duration::from_micros(
            value.tv_sec.cast_unsigned() * 1_000_000 + value.tv_usec.cast_unsigned(),
        )
    };
    time(usage.ru_utime) + time(usage.ru_stime)
}

/// Run the driver in a process of its own: its CPU time and what it found.
pub(super) fn driver(load: &Load<'_>) -> Result<(Duration, Value), String> {
    let own =
        std::env::current_exe().map_err(|error| format!("cannot find this program: {error}"))?;
    let ms = |duration: Duration| duration.as_millis().to_string();
    let weighed = weigh(
        Command::new("taskset")
            .args(["-c", &super::CLIENT_CPU.to_string()])
            .arg(own)
            .args([
                "bench",
                "driver",
                "client",
                &load.address.to_string(),
                load.path,
                &load.users.to_string(),
            ])
            .args([
                ms(load.think),
                ms(load.ramp_up),
                ms(load.settle),
                ms(load.steady),
            ]),
    )?;
    let found = serde_json::from_str(&weighed.output)
        .map_err(|error| format!("the client wrote no result: {error}"))?;
    Ok((weighed.cpu, found))
}

/// The process itself.
pub(super) fn run(words: &[&str]) -> Result<(), String> {
    let [address, path, users, times @ ..] = words else {
        return Err("the client is started by the benchmark".to_owned());
    };
    let times: Vec<Duration> = times
        .iter()
        .map(|text| {
            text.parse()
                .map(Duration::from_millis)
                .map_err(|_| format!("`{text}` is no time"))
        })
        .collect::<Result<_, _>>()?;
    let [think_time, ramp_up, settle, steady] = times[..] else {
        return Err("the client takes four times".to_owned());
    };
    let config = Config {
        assignments: vec![Assignment {
            guest: "nginx".to_owned(),
            target: address
                .parse()
                .map_err(|_| format!("`{address}` is no address"))?,
            users: super::parse(users)?,
            script: Script::Page(PageScript {
                path: (*path).to_owned(),
            }),
        }],
        network: None,
        cpus: vec![super::CLIENT_CPU],
        phases: Phases {
            ramp_up,
            settle,
            steady,
            ramp_down: Duration::ZERO,
            drain: Duration::from_secs(1),
        },
        load: LoopType::Closed,
        pacing: Pacing::Think,
        think_time,
        think_distribution: rookery_workload::DelayDistribution::Uniform,
        timeout: Duration::from_secs(10),
        limits: Limits::default(),
        seed: 1,
        confirmed_targets: Vec::new(),
    };
    let rss_kib = AtomicU64::new(0);
    let look = |_| rss_kib.store(resident_kib(), Relaxed);
    let measurement = drive(
        &config,
        Instant::now() + Duration::from_millis(50),
        &AtomicBool::new(false),
        &look,
    )
    .map_err(|error| error.to_string())?;
    super::say(&result(&measurement, rss_kib.load(Relaxed)).to_string())
}

/// What the process prints.
pub(in crate::bench) fn result(measurement: &Measurement, rss_kib: u64) -> Value {
    let guest = &measurement.guests[0];
    json!({
        "requests": guest.series.iter().map(|second| u64::from(second.requests + second.errors)).sum::<u64>(),
        "failed": guest.errors.iter().map(|tally| tally.count).sum::<u64>(),
        "completed": guest.operations[0].completed,
        "p50_us": guest.operations[0].service.percentile_us(50.0),
        "p99_us": guest.operations[0].service.percentile_us(99.0),
        "rss_kib": rss_kib,
        "driver": measurement.driver,
        "faults": faults(measurement).into_iter().map(|fault| fault.text).collect::<Vec<_>>(),
        "aborted": measurement.aborted,
    })
}

/// Resident memory of this process; 0 where the kernel does not tell.
pub(in crate::bench) fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok())
        .unwrap_or(0)
}

/// CPU time of one request, us.
pub(in crate::bench) fn per_request(cpu: Duration, requests: u64) -> f64 {
    cpu.as_secs_f64() * 1e6 / requests as f64
}
