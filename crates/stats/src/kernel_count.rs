//! What the kernel counted inside the window of a trial: its networks, memory and interrupts.

use rookery_workload::Window;
use serde::{Deserialize, Serialize};

use crate::checks::Remark;

/// Share of TCP segments sent again from which on it is said.
const RETRANSMITTED: f64 = 0.001;
/// Fewer segments sent again, and fewer packets dropped, are not said.
const FEW: u64 = 10;
/// Share of packets that an interface dropped from which on it is said.
const DROPPED: f64 = 0.001;
/// Pages moved from and to swap from which on it is said: 1 MiB.
const SWAPPED_PAGES: u64 = 256;
/// Share of the window in which nobody went on for want of memory, or of disks, from which on it
/// is said.
const STALLED: f64 = 0.02;
/// Share of a CPU that a hypervisor took from which on it is said.
const STOLEN: f64 = 0.02;

/// One count of the kernel between the begin and the end of the window.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelCount {
    /// What it counts for: `host`, `cpu 3`, a pair of CPUs (`cpus 0 3`), the name of a guest, `lab`
    /// for the network of the lab itself, or an interface of one of them (`g1 eth0`).
    pub scope: String,
    /// What is counted.
    pub counter: KernelCounter,
    /// By how much it grew; of a [gauge](KernelCounter::is_gauge) its value at the end.
    pub count: u64,
}

macro_rules! counters {
    ($($(#[doc = $meaning:literal])+ $variant:ident = $name:literal,)+) => {
        /// What a kernel counts. The unit stands at the end of the name where it is no plain count.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum KernelCounter {
            $($(#[doc = $meaning])+ #[serde(rename = $name)] $variant,)+
        }

        impl KernelCounter {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// Its name in stores and exports.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name),+ }
            }
        }
    };
}

counters! {
    /// Time of a CPU in programs, those of guests of KVM included.
    User = "user_us",
    /// Time of a CPU in the kernel on behalf of programs and in its own threads.
    System = "system_us",
    /// Time of a CPU in hardware interrupts.
    Interrupts = "irq_us",
    /// Time of a CPU in soft interrupts: of a network above all.
    SoftInterrupts = "softirq_us",
    /// Time in which a hypervisor ran something else on a CPU.
    Stolen = "steal_us",
    /// Time in which a CPU had nothing to do, or waited for a disk. Kernels that stop their tick
    /// then tell it exactly, whereas they may tell the times above by what a tick meets.
    Idle = "idle_us",
    /// Time for which the threads of a guest were ready to run and had no CPU, all together; those
    /// that ended before the window did are left out.
    RunDelay = "run_delay_us",
    /// Time in which at least one task waited for a CPU.
    CpuSomeStalled = "cpu_some_us",
    /// Time in which at least one task waited for memory.
    MemorySomeStalled = "memory_some_us",
    /// Time in which no task went on for want of memory.
    MemoryFullStalled = "memory_full_us",
    /// Time in which at least one task waited for a disk.
    DiskSomeStalled = "io_some_us",
    /// Time in which no task went on because of a disk.
    DiskFullStalled = "io_full_us",
    /// Pages read from swap.
    SwappedIn = "swapped_in_pages",
    /// Pages written to swap.
    SwappedOut = "swapped_out_pages",
    /// Faults that waited for a disk.
    MajorFaults = "major_faults",
    /// Pages that were read again soon after they had been dropped.
    Refaults = "refaults",
    /// Allocations that had to free memory first.
    DirectReclaims = "direct_reclaims",
    /// Pages that the kernel looked at to free memory.
    ScannedPages = "scanned_pages",
    /// Pages that it took to free memory.
    ReclaimedPages = "reclaimed_pages",
    /// Processes that were killed for want of memory.
    OutOfMemoryKills = "oom_kills",
    /// TCP segments sent, those sent again included.
    SegmentsSent = "segments_sent",
    /// TCP segments sent again.
    Retransmitted = "segments_retransmitted",
    /// Timeouts after which TCP sent again.
    Timeouts = "tcp_timeouts",
    /// Connections that were opened from here.
    Connected = "connections_opened",
    /// Connections that were accepted here.
    Accepted = "connections_accepted",
    /// Connections that were refused or reset while they were opened.
    FailedConnections = "connections_failed",
    /// Resets that were sent.
    ResetsSent = "resets_sent",
    /// Connections that were dropped because the queue of the listening program was full.
    ListenOverflows = "listen_overflows",
    /// Connections that a listening socket dropped for any reason.
    ListenDrops = "listen_drops",
    /// Segments that were dropped because a socket's queue was full.
    BacklogDrops = "backlog_drops",
    /// Closed connections that still wait for stray segments, at the end.
    TimeWait = "time_wait_sockets",
    /// Memory of all TCP sockets of the host, at the end.
    SocketMemory = "socket_memory_pages",
    /// Bytes that an interface received.
    ReceivedBytes = "received_bytes",
    /// Packets that an interface received.
    ReceivedPackets = "received_packets",
    /// Received packets that were dropped or damaged.
    ReceivedDropped = "received_dropped",
    /// Bytes that an interface sent.
    SentBytes = "sent_bytes",
    /// Packets that an interface sent.
    SentPackets = "sent_packets",
    /// Packets that were dropped or damaged in sending.
    SentDropped = "sent_dropped",
    /// Time of a fixed calculation on a CPU, before the load. Not counted by the kernel: it says
    /// how fast the CPU was.
    FixedWorkBefore = "fixed_work_before_ns",
    /// Time of the same calculation after the load.
    FixedWorkAfter = "fixed_work_after_ns",
    /// Time in which a cache line goes from one CPU of a pair to the other and back, right after
    /// the load. Not counted by the kernel: it says how far apart the CPUs were.
    CacheLine = "cache_line_ns",
}

impl KernelCounter {
    /// The counter of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL
            .iter()
            .copied()
            .find(|counter| counter.name() == name)
    }

    /// What the other end of a link counts of the same packets.
    pub(crate) fn other_end(self) -> Self {
        match self {
            Self::ReceivedBytes => Self::SentBytes,
            Self::SentBytes => Self::ReceivedBytes,
            Self::ReceivedPackets => Self::SentPackets,
            Self::SentPackets => Self::ReceivedPackets,
            same => same,
        }
    }

    /// Whether it is a state at one moment, not a count that only grows.
    #[must_use]
    pub fn is_gauge(self) -> bool {
        matches!(
            self,
            Self::TimeWait
                | Self::SocketMemory
                | Self::FixedWorkBefore
                | Self::FixedWorkAfter
                | Self::CacheLine
        )
    }
}

/// What the kernel's counts say against a trial. Nothing of it makes a trial void.
#[must_use]
pub fn kernel_remarks(counts: &[KernelCount], window: &Window) -> Vec<Remark> {
    let length_us = (window.end_s - window.start_s) * 1e6;
    let mut remarks = Vec::new();
    for scope in scopes(counts) {
        let of = |counter| count(counts, scope, counter);
        remarks.extend(network(scope, &of));
        remarks.extend(interface(scope, &of));
        remarks.extend(memory(scope, &of, length_us));
    }
    remarks.extend(stolen(counts, length_us));
    remarks.into_iter().map(Remark::Warning).collect()
}

fn scopes(counts: &[KernelCount]) -> Vec<&str> {
    let mut scopes: Vec<&str> = Vec::new();
    for count in counts {
        if scopes.last() != Some(&count.scope.as_str()) && !scopes.contains(&count.scope.as_str()) {
            scopes.push(&count.scope);
        }
    }
    scopes
}

fn count(counts: &[KernelCount], scope: &str, counter: KernelCounter) -> u64 {
    let mut found = counts
        .iter()
        .filter(|count| count.scope == scope && count.counter == counter);
    found.next().map_or(0, |count| count.count)
}

/// A part of a whole as a share; 0 of nothing.
fn share(part: u64, whole: u64) -> f64 {
    match whole {
        0 => 0.0,
        whole => part as f64 / whole as f64,
    }
}

fn network(scope: &str, of: &impl Fn(KernelCounter) -> u64) -> Vec<String> {
    let mut said = Vec::new();
    let overflows = of(KernelCounter::ListenOverflows);
    if overflows > 0 {
        said.push(format!(
            "the kernel dropped {overflows} connections to servers in the network of {scope}, \
             because the queue of the listening program was full: a larger backlog of the server \
             and a larger net.core.somaxconn hold more"
        ));
    }
    let again = of(KernelCounter::Retransmitted);
    let part = share(again, of(KernelCounter::SegmentsSent));
    if again >= FEW && part >= RETRANSMITTED {
        let percent = 100.0 * part;
        said.push(format!(
            "{percent:.1} % of the TCP segments in the network of {scope} were sent again ({again})"
        ));
    }
    said
}

fn interface(scope: &str, of: &impl Fn(KernelCounter) -> u64) -> Option<String> {
    let dropped = of(KernelCounter::ReceivedDropped) + of(KernelCounter::SentDropped);
    let packets = of(KernelCounter::ReceivedPackets) + of(KernelCounter::SentPackets);
    (dropped >= FEW && share(dropped, packets) >= DROPPED)
        .then(|| format!("the interface {scope} dropped {dropped} of {packets} packets"))
}

fn memory(scope: &str, of: &impl Fn(KernelCounter) -> u64, length_us: f64) -> Vec<String> {
    let whose = if scope == "host" { "the host" } else { scope };
    let mut said = Vec::new();
    let pages = of(KernelCounter::SwappedIn) + of(KernelCounter::SwappedOut);
    if pages >= SWAPPED_PAGES {
        let mib = pages / 256;
        said.push(format!("{whose} moved {mib} MiB from and to its swap"));
    }
    for (counter, what) in [
        (KernelCounter::MemoryFullStalled, "memory"),
        (KernelCounter::DiskFullStalled, "disks"),
    ] {
        let part = of(counter) as f64 / length_us;
        if part >= STALLED {
            let percent = 100.0 * part;
            said.push(format!(
                "in {percent:.0} % of the window no task of {whose} went on for want of {what}"
            ));
        }
    }
    said
}

/// The CPU that a hypervisor took most of.
fn stolen(counts: &[KernelCount], length_us: f64) -> Option<String> {
    let worst = counts
        .iter()
        .filter(|count| count.counter == KernelCounter::Stolen)
        .max_by_key(|count| count.count)?;
    let part = worst.count as f64 / length_us;
    (part >= STOLEN).then(|| {
        let (percent, cpu) = (100.0 * part, &worst.scope);
        format!("this host is a guest itself: its hypervisor took {percent:.0} % of {cpu}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: Window = Window {
        start_s: 10.0,
        end_s: 20.0,
    };

    fn counts(of: &[(&str, KernelCounter, u64)]) -> Vec<KernelCount> {
        of.iter()
            .map(|(scope, counter, count)| KernelCount {
                scope: (*scope).to_owned(),
                counter: *counter,
                count: *count,
            })
            .collect()
    }

    fn said(of: &[(&str, KernelCounter, u64)]) -> Vec<String> {
        kernel_remarks(&counts(of), &WINDOW)
            .into_iter()
            .map(|remark| match remark {
                Remark::Warning(text) => text,
                Remark::Fault(fault) => panic!("a fault: {}", fault.text),
            })
            .collect()
    }

    #[test]
    fn names_are_unique_and_found_again() {
        for counter in KernelCounter::ALL {
            assert_eq!(KernelCounter::from_name(counter.name()), Some(*counter));
            assert_eq!(
                serde_json::to_value(counter).expect("a name"),
                serde_json::Value::from(counter.name())
            );
        }
        assert_eq!(KernelCounter::from_name("nothing"), None);
    }

    #[test]
    fn what_hinders_a_trial_is_said() {
        use KernelCounter::{
            DiskFullStalled, ListenOverflows, ReceivedDropped, ReceivedPackets, Retransmitted,
            SegmentsSent, Stolen, SwappedIn,
        };
        let said = said(&[
            ("host", SwappedIn, 512),
            ("host", DiskFullStalled, 1_000_000),
            ("g1", ListenOverflows, 3),
            ("g1", SegmentsSent, 1_000),
            ("g1", Retransmitted, 20),
            ("g1 eth0", ReceivedPackets, 900),
            ("g1 eth0", ReceivedDropped, 100),
            ("cpu 0", Stolen, 100_000),
            ("cpu 1", Stolen, 500_000),
        ]);
        insta::assert_snapshot!(said.join("\n"));
    }

    #[test]
    fn what_every_host_does_is_not_worth_a_word() {
        use KernelCounter::{
            MajorFaults, MemoryFullStalled, ReceivedDropped, ReceivedPackets, Retransmitted,
            SegmentsSent, SoftInterrupts, Stolen, SwappedOut,
        };
        assert_eq!(
            said(&[
                ("host", SwappedOut, 10),
                ("host", MajorFaults, 1_000),
                ("host", MemoryFullStalled, 1_000),
                ("lab", SegmentsSent, 1_000_000),
                ("lab", Retransmitted, 20),
                ("g1 eth0", ReceivedPackets, 3),
                ("g1 eth0", ReceivedDropped, 3),
                ("cpu 0", SoftInterrupts, 9_000_000),
                ("cpu 0", Stolen, 1_000),
            ]),
            Vec::<String>::new()
        );
    }
}
