//! What machines count of themselves, against what the host counts of them.

use rookery_stats::{MachineInside, MachineLook, Measurement};
use rookery_store::TrialRecord;

use crate::{mean::mean, schema::data};

/// So far from the window's ends a look may lie, s.
const NEAR_S: f64 = 10.0;

data! {
    /// Both accounts over about the measured window, of all machines of a trial together; means
    /// over trials.
    #[derive(Clone, Copy, Debug, Default, PartialEq)]
    pub struct Inside {
        /// Cores that their kernels say they used.
        pub inside_cores: f64,
        /// Cores that the host counts for the threads of their vCPUs.
        pub vcpu_cores: f64,
        /// Cores that the host counts for the whole of their emulators.
        pub emulator_cores: f64,
        /// Cores that their kernels missed: a vCPU was ready, and the host ran something else.
        /// Under TCG nobody tells them, and it is 0.
        pub steal_cores: f64,
        /// Cores' worth of time in which, as the host saw it, a vCPU thread was ready and did not
        /// run.
        pub wait_cores: f64,
        /// Cores' worth of time in which a vCPU waited for its disk.
        pub iowait_cores: f64,
        /// Memory of one machine that its kernel could have given out at the end, as a share of all
        /// it has.
        pub available_share: f64,
        /// Memory that the balloon leaves one machine, MiB.
        pub balloon_mib: f64,
        /// Memory of one emulator on the host, MiB.
        pub resident_mib: f64,
        /// Share of the time in which some task of a machine waited for a CPU; `None` where their
        /// kernels do not count.
        pub cpu_pressure: Option<f64>,
        /// The same of memory.
        pub memory_pressure: Option<f64>,
        /// The same of I/O.
        pub io_pressure: Option<f64>,
        /// Requests to the disks of all machines, each second.
        pub disk_requests_per_s: f64,
        /// Bytes that all machines sent and received, each second.
        pub network_bytes_per_s: f64,
    }
}

impl Inside {
    /// Of a trial in which every machine answered at both ends of the window.
    pub(super) fn from_trial(record: &TrialRecord, measured: &Measurement) -> Option<Self> {
        let mut names: Vec<&str> = record
            .machines
            .iter()
            .map(|look| look.guest.as_str())
            .collect();
        names.sort_unstable();
        names.dedup();
        let machines: Option<Vec<Self>> = names
            .iter()
            .map(|name| of_machine(&record.machines, name, measured))
            .collect();
        let machines = machines.filter(|machines| !machines.is_empty())?;
        let count = machines.len() as f64;
        let sum = |of: fn(&Self) -> f64| machines.iter().map(of).sum::<f64>();
        let share = |of: fn(&Self) -> Option<f64>| {
            mean(&machines.iter().filter_map(of).collect::<Vec<f64>>())
        };
        Some(Self {
            inside_cores: sum(|machine| machine.inside_cores),
            vcpu_cores: sum(|machine| machine.vcpu_cores),
            emulator_cores: sum(|machine| machine.emulator_cores),
            steal_cores: sum(|machine| machine.steal_cores),
            wait_cores: sum(|machine| machine.wait_cores),
            iowait_cores: sum(|machine| machine.iowait_cores),
            available_share: sum(|machine| machine.available_share) / count,
            balloon_mib: sum(|machine| machine.balloon_mib) / count,
            resident_mib: sum(|machine| machine.resident_mib) / count,
            cpu_pressure: share(|machine| machine.cpu_pressure),
            memory_pressure: share(|machine| machine.memory_pressure),
            io_pressure: share(|machine| machine.io_pressure),
            disk_requests_per_s: sum(|machine| machine.disk_requests_per_s),
            network_bytes_per_s: sum(|machine| machine.network_bytes_per_s),
        })
    }
}

/// The mean over the trials that have it; `None` where none has.
pub(super) fn mean_of(all: &[Inside]) -> Option<Inside> {
    let over = |of: fn(&Inside) -> f64| mean(&all.iter().map(of).collect::<Vec<f64>>());
    let share =
        |of: fn(&Inside) -> Option<f64>| mean(&all.iter().filter_map(of).collect::<Vec<f64>>());
    Some(Inside {
        inside_cores: over(|inside| inside.inside_cores)?,
        vcpu_cores: over(|inside| inside.vcpu_cores)?,
        emulator_cores: over(|inside| inside.emulator_cores)?,
        steal_cores: over(|inside| inside.steal_cores)?,
        wait_cores: over(|inside| inside.wait_cores)?,
        iowait_cores: over(|inside| inside.iowait_cores)?,
        available_share: over(|inside| inside.available_share)?,
        balloon_mib: over(|inside| inside.balloon_mib)?,
        resident_mib: over(|inside| inside.resident_mib)?,
        cpu_pressure: share(|inside| inside.cpu_pressure),
        memory_pressure: share(|inside| inside.memory_pressure),
        io_pressure: share(|inside| inside.io_pressure),
        disk_requests_per_s: over(|inside| inside.disk_requests_per_s)?,
        network_bytes_per_s: over(|inside| inside.network_bytes_per_s)?,
    })
}

/// Of one machine, between its look nearest to the begin of the window and that nearest to its end.
fn of_machine(looks: &[MachineLook], name: &str, measured: &Measurement) -> Option<Inside> {
    let near = |moment: f64| {
        let distance = |look: &&MachineLook| (look.at_s - moment).abs();
        let own = looks
            .iter()
            .filter(|look| look.guest == name && distance(look) <= NEAR_S);
        own.min_by(|a, b| distance(a).total_cmp(&distance(b)))
    };
    let (first, last) = (near(measured.window.start_s)?, near(measured.window.end_s)?);
    let (before, after) = (first.inside?, last.inside?);
    // Each account by its own clock.
    let outside_s = last.at_s - first.at_s;
    let inside_s = after.uptime_us.saturating_sub(before.uptime_us) as f64 / 1e6;
    if !(outside_s > 0.0 && inside_s > 0.0) {
        return None;
    }
    let inside = |of: fn(&MachineInside) -> u64| {
        of(&after).saturating_sub(of(&before)) as f64 / 1e6 / inside_s
    };
    let pressure = |of: fn(&MachineInside) -> Option<u64>| {
        let us = of(&after)?.saturating_sub(of(&before)?);
        Some((us as f64 / 1e6 / inside_s).min(1.0))
    };
    let (begin, end) = (&first.outside, &last.outside);
    let per_s = |begin: u64, end: u64| end.saturating_sub(begin) as f64 / outside_s;
    let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    Some(Inside {
        inside_cores: inside(|counters| counters.user_us.saturating_add(counters.system_us)),
        vcpu_cores: per_s(begin.vcpu_us, end.vcpu_us) / 1e6,
        emulator_cores: per_s(begin.cpu_us, end.cpu_us) / 1e6,
        steal_cores: inside(|counters| counters.steal_us),
        wait_cores: per_s(begin.vcpu_wait_us, end.vcpu_wait_us) / 1e6,
        iowait_cores: inside(|counters| counters.iowait_us),
        available_share: if after.memory_bytes > 0 {
            after.available_bytes as f64 / after.memory_bytes as f64
        } else {
            0.0
        },
        balloon_mib: mib(end.balloon_bytes),
        resident_mib: mib(end.resident_bytes),
        cpu_pressure: pressure(|counters| counters.cpu_pressure_us),
        memory_pressure: pressure(|counters| counters.memory_pressure_us),
        io_pressure: pressure(|counters| counters.io_pressure_us),
        disk_requests_per_s: per_s(
            begin.reads.saturating_add(begin.writes),
            end.reads.saturating_add(end.writes),
        ),
        network_bytes_per_s: per_s(
            begin.received_bytes.saturating_add(begin.sent_bytes),
            end.received_bytes.saturating_add(end.sent_bytes),
        ),
    })
}
