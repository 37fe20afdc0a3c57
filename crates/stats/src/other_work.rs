//! Work on the host that is no part of the trial: what the host used less what the guests and the
//! driver used.

use rookery_workload::Window;
use serde::{Deserialize, Serialize};

use crate::{
    GuestLink, KernelCount, KernelCounter, Measurement, ResourceSample,
    checks::Remark,
    faults::{Fault, FaultCode},
};

/// Cores below which nothing is said: what the kernel does for the guests themselves.
const FLOOR_CORES: f64 = 0.1;
/// The same as a share of the host's CPUs.
const FLOOR_SHARE: f64 = 0.025;
/// From this share of the host's CPUs in use on, other work takes them from the trial.
const FULL: f64 = 0.9;
/// Bytes per second that other programs may move from and to disks before it is said.
const DISK_BYTES_PER_S: f64 = 5.0 * 1024.0 * 1024.0;
/// Less available memory than this share is said.
const LEAST_AVAILABLE: f64 = 0.05;
/// Cores that a hypervisor took that are worth a word beside other work.
const LEAST_STOLEN: f64 = 0.01;
/// Programs that are named.
const NAMED: usize = 3;

/// The machine of a trial.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HostSize {
    /// Its CPUs.
    pub cpus: f64,
    /// Its memory, bytes.
    pub memory_bytes: f64,
}

/// A program that was no part of the trial, all processes of its name together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OtherProgram {
    /// Its name.
    pub name: String,
    /// Cores that it used inside the window.
    pub cpu_cores: f64,
    /// Bytes per second from and to disks, as far as that could be read.
    pub disk_bytes_per_s: f64,
    /// Its resident memory, bytes.
    pub memory_bytes: u64,
}

/// What is known of the machine beside a trial.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Surroundings<'a> {
    /// The machine.
    pub host: HostSize,
    /// Programs that were no part of the trial, the most CPU first.
    pub programs: &'a [OtherProgram],
    /// What the kernel counted inside the window.
    pub kernel: &'a [KernelCount],
    /// The links of guests, as far as they are known.
    pub links: &'a [GuestLink],
}

/// Cores inside the window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OtherWork {
    /// Neither of guests nor of the driver; what a hypervisor took is among them.
    pub cores: f64,
    /// All of the host.
    pub host_cores: f64,
}

impl OtherWork {
    /// Of a trial; `None` where the host, the driver or a guest was not sampled.
    #[must_use]
    pub fn from_samples(resources: &[ResourceSample], window: &Window) -> Option<Self> {
        let mut subjects: Vec<&str> = resources
            .iter()
            .map(|sample| sample.subject.as_str())
            .filter(|subject| *subject != HOST)
            .collect();
        subjects.sort_unstable();
        subjects.dedup();
        let host_cores = mean_cores(resources, HOST, window)?;
        let mut own = 0.0;
        for subject in &subjects {
            own += mean_cores(resources, subject, window)?;
        }
        let known = subjects.len() >= 2 && subjects.contains(&DRIVER);
        known.then_some(Self {
            cores: f64::max(host_cores - own, 0.0),
            host_cores,
        })
    }

    /// The same without what a hypervisor took of the CPUs inside the window: that is no time of
    /// guests and driver, and no other program's either. Kernels built without
    /// `CONFIG_PARAVIRT_TIME_ACCOUNTING` charge it to whoever ran, so that less is left here.
    #[must_use]
    pub fn without_stolen(self, kernel: &[KernelCount], window: &Window) -> Self {
        let stolen = kernel
            .iter()
            .filter(|count| count.counter == KernelCounter::Stolen);
        let us: f64 = stolen.map(|count| count.count as f64).sum();
        let cores = us / 1e6 / (window.end_s - window.start_s);
        Self {
            cores: f64::max(self.cores - cores, 0.0),
            ..self
        }
    }

    /// Whether it is more than what is never worth a word, on a host of so many CPUs.
    #[must_use]
    pub fn matters(&self, host_cpus: f64) -> bool {
        self.cores > f64::max(FLOOR_CORES, FLOOR_SHARE * host_cpus)
    }
}

const HOST: &str = "host";
const DRIVER: &str = "driver";

/// What other work did to a trial. It is a fault where it used more than `limit` of the host's CPUs
/// and these were in use nearly all together; else a warning, also for disks and memory.
#[must_use]
pub fn other_work(
    measurement: &Measurement,
    resources: &[ResourceSample],
    limit: f64,
    surroundings: &Surroundings<'_>,
) -> Vec<Remark> {
    let mut remarks = Vec::new();
    remarks.extend(cpu(measurement, resources, limit, surroundings));
    remarks.extend(disk(surroundings.programs));
    remarks.extend(memory(measurement, resources, surroundings));
    remarks
}

fn cpu(
    measurement: &Measurement,
    resources: &[ResourceSample],
    limit: f64,
    surroundings: &Surroundings<'_>,
) -> Option<Remark> {
    let cpus = surroundings.host.cpus;
    let work = OtherWork::from_samples(resources, &measurement.window)?;
    let others = work.without_stolen(surroundings.kernel, &measurement.window);
    let in_the_way = work.cores > limit * cpus && work.host_cores > FULL * cpus;
    if !in_the_way && !others.matters(cpus) {
        return None;
    }
    let names = names(
        surroundings.programs,
        |program| program.cpu_cores,
        cpu_words,
    );
    let hypervisor = match work.cores - others.cores {
        stolen if stolen < LEAST_STOLEN => String::new(),
        stolen => format!(", and the hypervisor took {stolen:.2} of them"),
    };
    let used = others.cores;
    let text = format!("other work used {used:.2} of the host's {cpus:.0} CPUs{names}{hypervisor}");
    Some(if in_the_way {
        let limit = 100.0 * limit;
        Remark::Fault(Fault::new(
            FaultCode::OtherWork,
            format!(
                "{text}, and no CPU was left (limit {limit:.0} % of them): end it, or run when the \
                 host is quiet"
            ),
        ))
    } else {
        Remark::Warning(text)
    })
}

/// What other programs use of a host before anything of a run is there, in words; `None` where that
/// is not worth one.
#[must_use]
pub fn busy_host(programs: &[OtherProgram], host: HostSize) -> Option<String> {
    let cores: f64 = programs.iter().map(|program| program.cpu_cores).sum();
    let work = OtherWork {
        cores,
        host_cores: cores,
    };
    let names = names(programs, |program| program.cpu_cores, cpu_words);
    let cpus = host.cpus;
    work.matters(cpus).then(|| {
        format!(
            "other programs used {cores:.2} of the host's {cpus:.0} CPUs{names}: they will be \
                 in the way of its trials"
        )
    })
}

/// Cores of a program in words, where they are worth one.
fn cpu_words(cores: f64) -> Option<String> {
    (cores >= FLOOR_CORES / 4.0).then(|| format!("{cores:.2}"))
}

fn disk(programs: &[OtherProgram]) -> Option<Remark> {
    let rate: f64 = programs
        .iter()
        .map(|program| program.disk_bytes_per_s)
        .sum();
    let mib = |bytes: f64| format!("{:.0} MiB/s", bytes / (1024.0 * 1024.0));
    (rate > DISK_BYTES_PER_S).then(|| {
        let names = names(
            programs,
            |program| program.disk_bytes_per_s,
            |rate| (rate >= DISK_BYTES_PER_S / 5.0).then(|| mib(rate)),
        );
        Remark::Warning(format!(
            "other programs moved {} from and to the host's disks{names}",
            mib(rate)
        ))
    })
}

fn memory(
    measurement: &Measurement,
    resources: &[ResourceSample],
    surroundings: &Surroundings<'_>,
) -> Option<Remark> {
    let window = &measurement.window;
    let most = resources
        .iter()
        .filter(|sample| sample.subject == HOST)
        .filter(|sample| (window.start_s..=window.end_s).contains(&sample.at_s))
        .map(|sample| sample.memory_bytes)
        .max()?;
    let total = surroundings.host.memory_bytes;
    let available = (total - most as f64) / total;
    (available.is_finite() && available < LEAST_AVAILABLE).then(|| {
        let names = names(
            surroundings.programs,
            |program| program.memory_bytes as f64,
            |bytes| (bytes >= total / 50.0).then(|| format!("{:.0} MiB", bytes / 1_048_576.0)),
        );
        Remark::Warning(format!(
            "only {:.1} % of the host's memory was available{names}",
            100.0 * available.max(0.0)
        ))
    })
}

/// The programs that use the most of something, in brackets.
fn names(
    programs: &[OtherProgram],
    of: impl Fn(&OtherProgram) -> f64,
    show: impl Fn(f64) -> Option<String>,
) -> String {
    let mut sorted: Vec<&OtherProgram> = programs.iter().collect();
    sorted.sort_by(|a, b| of(b).total_cmp(&of(a)));
    let shown: Vec<String> = sorted
        .into_iter()
        .filter_map(|program| Some(format!("{} {}", program.name, show(of(program))?)))
        .take(NAMED)
        .collect();
    if shown.is_empty() {
        String::new()
    } else {
        format!(" ({})", shown.join(", "))
    }
}

fn mean_cores(resources: &[ResourceSample], subject: &str, window: &Window) -> Option<f64> {
    mean_in_window(resources, subject, window, &|sample| Some(sample.cpu_cores))
}

/// Mean of a value of a subject inside the window, each sample weighted by the part of the window
/// between it and the one before; `None` where nothing of it was sampled.
#[must_use]
pub fn mean_in_window(
    resources: &[ResourceSample],
    subject: &str,
    window: &Window,
    of: &dyn Fn(&ResourceSample) -> Option<f64>,
) -> Option<f64> {
    let (mut sum, mut time, mut last) = (0.0, 0.0, None);
    for sample in resources.iter().filter(|sample| sample.subject == subject) {
        let value = of(sample).filter(|value| value.is_finite());
        if let (Some(previous), Some(value)) = (last, value) {
            let overlap = sample.at_s.min(window.end_s) - f64::max(previous, window.start_s);
            if overlap > 0.0 {
                sum += value * overlap;
                time += overlap;
            }
        }
        last = Some(sample.at_s);
    }
    (time > 0.0).then(|| sum / time)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::faults::tests::healthy;

    fn samples(cores: &[(&str, f64)], memory_bytes: u64) -> Vec<ResourceSample> {
        let at = |second: u32| {
            cores.iter().map(move |(subject, cores)| ResourceSample {
                subject: (*subject).to_owned(),
                at_s: f64::from(second),
                cpu_cores: *cores,
                memory_bytes,
                io: None,
                parts: None,
                throttled_cores: None,
                memory: None,
            })
        };
        (0..80).flat_map(at).collect()
    }

    fn program(name: &str, cpu_cores: f64, mib_per_s: f64, memory_mib: u64) -> OtherProgram {
        OtherProgram {
            name: name.to_owned(),
            cpu_cores,
            disk_bytes_per_s: mib_per_s * 1_048_576.0,
            memory_bytes: memory_mib << 20,
        }
    }

    fn said(host: f64, guest: f64, memory_mib: u64, programs: &[OtherProgram]) -> String {
        said_beside(host, guest, memory_mib, programs, &[])
    }

    fn said_beside(
        host: f64,
        guest: f64,
        memory_mib: u64,
        programs: &[OtherProgram],
        kernel: &[KernelCount],
    ) -> String {
        let cores = [("host", host), ("g1", guest), ("driver", 0.2)];
        let surroundings = Surroundings {
            host: HostSize {
                cpus: 2.0,
                memory_bytes: f64::from(1u32 << 30),
            },
            programs,
            kernel,
            links: &[],
        };
        let resources = samples(&cores, memory_mib << 20);
        let remarks = other_work(&healthy(), &resources, 0.25, &surroundings);
        remarks
            .iter()
            .map(|remark| format!("{remark:?}\n"))
            .collect()
    }

    #[test]
    fn what_a_hypervisor_took_is_no_other_program() {
        let window = healthy().window;
        let seconds = window.end_s - window.start_s;
        let beside = |host: f64, stolen_cores: f64| {
            let kernel = [KernelCount {
                scope: "cpu 1".to_owned(),
                counter: KernelCounter::Stolen,
                count: rookery_cast::truncate_u64(stolen_cores * seconds * 1e6),
            }];
            said_beside(host, 0.5, 100, &[], &kernel)
        };
        // 0.6 cores of neither guests nor driver.
        assert_eq!(beside(1.3, 0.55), "");
        assert_eq!(
            beside(1.3, 0.4),
            "Warning(\"other work used 0.20 of the host's 2 CPUs, and the hypervisor took 0.40 of \
             them\")\n"
        );
        let full = beside(1.98, 1.27);
        assert!(
            full.starts_with("Fault(")
                && full.contains(
                    "other work used 0.01 of the host's 2 CPUs, \
                and the hypervisor took 1.27 of them, and no CPU was left"
                ),
            "{full}"
        );
    }

    #[test]
    fn other_work_is_named_and_voids_where_no_cpu_is_left() {
        let build = [
            program("rustc", 0.9, 0.0, 10),
            program("cp", 0.1, 40.0, 1),
            program("sh", 0.0, 0.0, 1),
        ];
        let cases = [
            // A quiet host; half a core in use by others while the rest idles; no CPU left.
            said(0.75, 0.5, 100, &[]),
            said(1.3, 0.5, 100, &build[..1]),
            said(1.98, 0.5, 100, &build),
            said(1.98, 1.6, 1000, &build),
        ];
        insta::assert_snapshot!(cases.join("--\n"), @r#"
        --
        Warning("other work used 0.60 of the host's 2 CPUs (rustc 0.90)")
        --
        Fault(Fault { code: OtherWork, text: "other work used 1.28 of the host's 2 CPUs (rustc 0.90, cp 0.10), and no CPU was left (limit 25 % of them): end it, or run when the host is quiet" })
        Warning("other programs moved 40 MiB/s from and to the host's disks (cp 40 MiB/s)")
        --
        Warning("other work used 0.18 of the host's 2 CPUs (rustc 0.90, cp 0.10)")
        Warning("other programs moved 40 MiB/s from and to the host's disks (cp 40 MiB/s)")
        Warning("only 2.3 % of the host's memory was available")
        "#);
    }

    #[test]
    fn a_busy_host_is_said_before_the_start() {
        let host = HostSize {
            cpus: 2.0,
            memory_bytes: 1e9,
        };
        assert_eq!(busy_host(&[program("sh", 0.05, 9.0, 1)], host), None);
        let build = [program("rustc", 0.9, 0.0, 10), program("ld", 0.2, 0.0, 10)];
        assert_eq!(
            busy_host(&build, host).expect("busy"),
            "other programs used 1.10 of the host's 2 CPUs (rustc 0.90, ld 0.20): they will be in \
             the way of its trials"
        );
    }

    #[test]
    fn what_was_not_sampled_accuses_nobody() {
        let window = healthy().window;
        let of = |cores: &[(&str, f64)]| OtherWork::from_samples(&samples(cores, 0), &window);
        assert_eq!(of(&[("host", 2.0), ("driver", 0.2)]), None);
        assert_eq!(of(&[("host", 2.0), ("g1", 0.2)]), None);
        assert_eq!(of(&[("g1", 2.0), ("driver", 0.2)]), None);
    }
}
