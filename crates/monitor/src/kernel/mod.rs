//! What the kernel counts of networks, memory and CPUs, from the begin of the window to its end.

mod cpus;
mod groups;
mod memory;
mod network;
mod series;
mod stacks;
mod text;
mod waits;

use std::{collections::BTreeMap, path::Path};

use rookery_guest::ProcessProbe;
use rookery_host::Cgroups;
use rookery_stats::{KernelCount, KernelCounter};

pub(crate) use self::series::{MemoryReading, MemorySource, memory_sources};
use self::{groups::MemoryGroup, stacks::Stack, text::text};
use crate::{LoadState, SamplerConfig, affinity::stay_on};

/// Counts that are kept: a lab of hundreds of guests has thousands of interfaces.
const MOST_COUNTS: usize = 4096;

/// Counts by what they are for.
type Counts = BTreeMap<(String, KernelCounter), u64>;

/// Count from the begin of the window to its end. Nothing where the load ends before its window,
/// and of networks nothing that appeared within it.
pub(crate) fn watch_kernel(
    config: &SamplerConfig,
    mut guests: Vec<(String, ProcessProbe)>,
    state: &LoadState,
) -> Vec<KernelCount> {
    stay_on(&config.cpus);
    let Some(start) = state.started() else {
        return Vec::new();
    };
    let course = config.schedule.starting(start);
    if !state.wait(course.from) {
        return Vec::new();
    }
    let proc = Path::new("/proc");
    let cgroups = Cgroups::detect().unwrap_or_default();
    let sources = Sources {
        stacks: stacks::find(proc, &mut guests),
        groups: groups::find(proc, &cgroups, &mut guests),
    };
    let before = read(proc, &sources);
    let waited = waits::read(proc, &mut guests);
    if !state.wait(course.until) {
        return Vec::new();
    }
    let mut counts = growth(&before, &read(proc, &sources));
    counts.extend(waits::growth(&waited, &waits::read(proc, &mut guests)));
    counts
}

/// What is read beside the host itself.
struct Sources {
    stacks: Vec<Stack>,
    groups: Vec<MemoryGroup>,
}

fn read(proc: &Path, sources: &Sources) -> Counts {
    let mut counts = Counts::new();
    let mut take = |scope: &str, found: Vec<(KernelCounter, u64)>| {
        let named = found
            .into_iter()
            .map(|(counter, count)| ((scope.to_owned(), counter), count));
        counts.extend(named);
    };
    let text = |name: &str| text(&proc.join(name));
    take("host", memory::parse_vmstat(&text("vmstat")));
    for resource in memory::PRESSURES {
        let of_resource = text(&format!("pressure/{}", resource.file));
        take("host", memory::parse_pressure(&of_resource, resource));
    }
    for (cpu, found) in cpus::parse(&text("stat")) {
        take(&cpu, found);
    }
    for group in &sources.groups {
        let of_group = |name: &str| text::text(&group.place.join(name));
        let counts = groups::parse_memory_stat(&of_group("memory.stat"));
        take(&group.name, counts);
        for resource in memory::PRESSURES {
            let place = group.pressure.iter();
            let files = place.map(|place| place.join(format!("{}.pressure", resource.file)));
            let pressure: String = files.map(|file| text::text(&file)).collect();
            take(&group.name, memory::parse_pressure(&pressure, resource));
        }
    }
    for stack in &sources.stacks {
        let of_stack = |name: &str| text::text(&stack.place.join("net").join(name));
        take(&stack.name, network::parse_tcp(&of_stack("snmp")));
        take(&stack.name, network::parse_tcp(&of_stack("netstat")));
        let mut sockets = network::parse_sockets(&of_stack("sockstat"));
        // Their memory is that of the whole host in every network.
        sockets.retain(|(counter, _)| {
            stack.name == stacks::HOST || *counter != KernelCounter::SocketMemory
        });
        take(&stack.name, sockets);
        for (interface, found) in network::parse_interfaces(&of_stack("dev")) {
            take(&format!("{} {interface}", stack.name), found);
        }
    }
    counts
}

/// By how much counts grew. Zeros of CPUs and interfaces are left out: there are many, and they say
/// nothing. A count that shrank began again with its namespace.
fn growth(before: &Counts, after: &Counts) -> Vec<KernelCount> {
    let grown = after.iter().filter_map(|((scope, counter), now)| {
        let then = before.get(&(scope.clone(), *counter))?;
        let count = match counter.is_gauge() {
            true => *now,
            false => now.checked_sub(*then)?,
        };
        let one_of_many = scope.contains(' ');
        (count > 0 || !one_of_many).then(|| KernelCount {
            scope: scope.clone(),
            counter: *counter,
            count,
        })
    });
    grown.take(MOST_COUNTS).collect()
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;
    use crate::LoadSchedule;

    #[test]
    fn counts_grow_gauges_are_as_they_are_and_zeros_of_many_are_left_out() {
        use KernelCounter::{Refaults, SentBytes, SentPackets, TimeWait, Timeouts};
        let counts = |of: [(&str, KernelCounter, u64); 5]| -> Counts {
            of.into_iter()
                .map(|(scope, counter, count)| ((scope.to_owned(), counter), count))
                .collect()
        };
        let before = counts([
            ("host", Refaults, 5),
            ("lab", TimeWait, 7),
            ("lab", Timeouts, 9),
            ("lab eth0", SentBytes, 100),
            ("lab eth0", SentPackets, 1),
        ]);
        let after = counts([
            ("host", Refaults, 5),
            ("lab", TimeWait, 3),
            ("lab", Timeouts, 1),
            ("lab eth0", SentBytes, 150),
            ("lab eth0", SentPackets, 1),
        ]);
        let grown: Vec<(String, KernelCounter, u64)> = growth(&before, &after)
            .into_iter()
            .map(|count| (count.scope, count.counter, count.count))
            .collect();
        assert_eq!(
            grown,
            [
                ("host".to_owned(), Refaults, 0),
                ("lab".to_owned(), TimeWait, 3),
                ("lab eth0".to_owned(), SentBytes, 50),
            ]
        );
    }

    #[test]
    fn this_host_counts_its_networks_memory_and_cpus() {
        let config = SamplerConfig {
            cpus: Vec::new(),
            interval: Duration::from_secs(1),
            schedule: LoadSchedule {
                window_start: Duration::ZERO,
                window: Duration::from_millis(50),
                end: Duration::from_millis(50),
            },
            databases: Vec::new(),
        };
        let state = LoadState::default();
        state.begin(Instant::now());
        let own = std::process::id();
        let guests: Vec<(String, ProcessProbe)> =
            vec![("g1".to_owned(), Box::new(move || vec![own]))];
        let counts = watch_kernel(&config, guests, &state);
        let has = |scope: &str, counter| {
            counts
                .iter()
                .any(|count| count.scope == scope && count.counter == counter)
        };
        assert!(has("host", KernelCounter::MajorFaults));
        // A guest in the host's own network has none of its own.
        assert!(has("host", KernelCounter::Retransmitted));
        assert!(!has("g1", KernelCounter::Retransmitted));
        assert!(has("g1", KernelCounter::RunDelay));
        let never = LoadState::default();
        never.finish();
        assert_eq!(watch_kernel(&config, Vec::new(), &never), []);
    }
}
