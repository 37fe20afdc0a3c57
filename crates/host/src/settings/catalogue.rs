//! All knobs, in the order in which they are turned: what resets others comes before them.

use super::knob::{Coupling, Domain, Knob, Place, Scope};

/// The knob of exactly this name.
#[must_use]
pub fn knob(key: &str) -> Option<&'static Knob> {
    KNOBS.iter().find(|knob| knob.key == key)
}

const SWITCH: Domain = Domain::Numbers(&[(0, 1)]);
const PERCENT: Domain = Domain::Numbers(&[(0, 100)]);
/// The largest that the kernel takes where it counts in signed 32 bits.
const INT: u64 = 2_147_483_647;
const ANY: Domain = Domain::Numbers(&[(1, u64::MAX)]);

/// A knob without coupling and danger.
const fn plain(
    key: &'static str,
    place: Place,
    domain: Domain,
    scope: Scope,
    what: &'static str,
) -> Knob {
    Knob {
        key,
        place,
        domain,
        scope,
        coupling: Coupling::None,
        danger: None,
        what,
    }
}

const fn host(key: &'static str, file: &'static str, domain: Domain, what: &'static str) -> Knob {
    plain(key, Place::File(file), domain, Scope::Host, what)
}

const fn network(
    key: &'static str,
    file: &'static str,
    domain: Domain,
    what: &'static str,
) -> Knob {
    plain(key, Place::File(file), domain, Scope::Network, what)
}

const fn ipc(key: &'static str, file: &'static str, domain: Domain, what: &'static str) -> Knob {
    plain(key, Place::File(file), domain, Scope::Ipc, what)
}

const fn disk(key: &'static str, file: &'static str, domain: Domain, what: &'static str) -> Knob {
    plain(key, Place::EachDisk(file), domain, Scope::Host, what)
}

/// All knobs.
pub static KNOBS: &[Knob] = &[
    host(
        "cpu.smt",
        "sys/devices/system/cpu/smt/control",
        Domain::Words(&["on", "off"]),
        "simultaneous multithreading: whether the second threads of the cores are online. Control \
         groups of version 1 do not give a CPU \
         back to a cpuset that lost it",
    ),
    plain(
        "cpu.governor",
        Place::EachPolicy("scaling_governor"),
        Domain::Words(&[
            "performance",
            "powersave",
            "ondemand",
            "conservative",
            "schedutil",
            "userspace",
        ]),
        Scope::Host,
        "who chooses the CPU frequency: `performance` holds the highest, the others follow the \
         load with some delay",
    ),
    host(
        "cpu.boost",
        "sys/devices/system/cpu/cpufreq/boost",
        SWITCH,
        "whether CPUs may run above their nominal frequency while few of them are busy (turbo); 0 \
         makes trials more alike",
    ),
    host(
        "cpu.no_turbo",
        "sys/devices/system/cpu/intel_pstate/no_turbo",
        SWITCH,
        "the same of Intel's own driver, the other way round: 1 switches turbo off",
    ),
    plain(
        "cpu.idle_state_off",
        Place::EachIdleState("disable"),
        SWITCH,
        Scope::Host,
        "whether an idle state (C-state) of a CPU is not used: the deep ones save power and take \
         up to some 100 us to wake from; `devices` names states, `state2*` on all CPUs",
    ),
    host(
        "kernel.numa_balancing",
        "proc/sys/kernel/numa_balancing",
        Domain::Numbers(&[(0, 3)]),
        "whether the kernel moves memory to the NUMA node that uses it, by faulting pages on \
         purpose; needless where guests are pinned",
    ),
    Knob {
        coupling: Coupling::Resets(&["queue/nr_requests", "queue/wbt_lat_usec", "queue/iosched"]),
        ..disk(
            "block.scheduler",
            "queue/scheduler",
            Domain::Words(&[
                "none",
                "noop",
                "mq-deadline",
                "deadline",
                "kyber",
                "bfq",
                "cfq",
            ]),
            "the order in which requests go to the disk: `none` as they come, `mq-deadline` sorted \
             but none starves, `bfq` fair shares",
        )
    },
    disk(
        "block.nr_requests",
        "queue/nr_requests",
        Domain::Numbers(&[(4, 65_536)]),
        "requests that may wait in the scheduler of a disk: more can be merged and sorted, each \
         may wait longer",
    ),
    disk(
        "block.read_ahead_kb",
        "queue/read_ahead_kb",
        Domain::Numbers(&[(0, 1_048_576)]),
        "KiB that are read beyond a sequential read; too much evicts useful pages under random \
         reads",
    ),
    disk(
        "block.queue_depth",
        "device/queue_depth",
        Domain::Numbers(&[(1, 4096)]),
        "commands that a SCSI disk may hold at once, the `ql2xmaxqdepth` of QLogic adapters among \
         them",
    ),
    Knob {
        danger: Some(
            "with `write through` the kernel asks a disk no more to flush its cache: what was \
             committed is lost at a power failure \
             unless that cache is on battery",
        ),
        ..disk(
            "block.write_cache",
            "queue/write_cache",
            Domain::Words(&["write back", "write through"]),
            "what the kernel believes of the disk's cache: with `write back` it sends flushes \
             (write barriers), with `write through` none",
        )
    },
    host(
        "vm.swappiness",
        "proc/sys/vm/swappiness",
        Domain::Numbers(&[(0, 200)]),
        "how readily memory of processes is swapped out instead of dropping cached files; 0 avoids \
         it as long as it can",
    ),
    Knob {
        coupling: Coupling::Exclusive("proc/sys/vm/dirty_bytes"),
        ..host(
            "vm.dirty_ratio",
            "proc/sys/vm/dirty_ratio",
            PERCENT,
            "percent of memory that may be dirty before writers must write back themselves and \
             stall",
        )
    },
    Knob {
        coupling: Coupling::Exclusive("proc/sys/vm/dirty_background_bytes"),
        ..host(
            "vm.dirty_background_ratio",
            "proc/sys/vm/dirty_background_ratio",
            PERCENT,
            "percent of memory that may be dirty before the kernel begins to write back",
        )
    },
    Knob {
        // The kernel keeps more memory free where huge pages may be made.
        coupling: Coupling::Recomputes("proc/sys/vm/min_free_kbytes"),
        ..host(
            "thp.enabled",
            "sys/kernel/mm/transparent_hugepage/enabled",
            Domain::Words(&["always", "madvise", "never"]),
            "transparent huge pages: for all memory, where a program asks, or never",
        )
    },
    host(
        "vm.nr_hugepages",
        "proc/sys/vm/nr_hugepages",
        Domain::Numbers(&[(0, 1 << 28)]),
        "huge pages that are reserved, for machines and databases that ask for them; the kernel \
         reserves as many as it finds room for, and nothing else can use them",
    ),
    host(
        "zswap.enabled",
        "sys/module/zswap/parameters/enabled",
        Domain::Words(&["Y", "N"]),
        "whether pages that are swapped out are kept compressed in memory first",
    ),
    host(
        "zswap.max_pool_percent",
        "sys/module/zswap/parameters/max_pool_percent",
        PERCENT,
        "percent of memory that compressed pages may take",
    ),
    host(
        "vm.page-cluster",
        "proc/sys/vm/page-cluster",
        Domain::Numbers(&[(0, 16)]),
        "pages that are read together from swap, as a power of two; 0 for one",
    ),
    host(
        "thp.defrag",
        "sys/kernel/mm/transparent_hugepage/defrag",
        Domain::Words(&["always", "defer", "defer+madvise", "madvise", "never"]),
        "whether a page fault waits while memory is compacted for a huge page",
    ),
    host(
        "thp.khugepaged_defrag",
        "sys/kernel/mm/transparent_hugepage/khugepaged/defrag",
        SWITCH,
        "whether the background thread that collapses pages into huge ones compacts memory for it",
    ),
    host(
        "ksm.run",
        "sys/kernel/mm/ksm/run",
        Domain::Numbers(&[(0, 2)]),
        "kernel samepage merging: 1 scans guests for equal pages, 0 stops, 2 stops and undoes all \
         merges; saves memory, costs CPU",
    ),
    host(
        "fs.nr_open",
        "proc/sys/fs/nr_open",
        Domain::Numbers(&[(64, INT)]),
        "highest limit of open files that a process can have",
    ),
    host(
        "fs.file-max",
        "proc/sys/fs/file-max",
        ANY,
        "open files of the whole host",
    ),
    plain(
        "limit.nofile",
        Place::ProcessLimit("Max open files"),
        Domain::Numbers(&[(1, u64::MAX)]),
        Scope::Process,
        "open files that a process may have, soft limit; each process inherits it from the one \
         that started it",
    ),
    plain(
        "limit.nproc",
        Place::ProcessLimit("Max processes"),
        Domain::Numbers(&[(1, u64::MAX)]),
        Scope::Process,
        "processes and threads that a user may have, soft limit; each process inherits it from the \
         one that started it",
    ),
    plain(
        "service",
        Place::EachService,
        Domain::Words(&["stopped", "running"]),
        Scope::Host,
        "services of the system that run, of those that a profile names",
    ),
    plain(
        "swap.devices",
        Place::Swaps,
        Domain::Words(&["none"]),
        Scope::Host,
        "devices and files to which memory is swapped",
    ),
    host(
        "selinux.enforce",
        "sys/fs/selinux/enforce",
        SWITCH,
        "whether SELinux refuses what its rules do not allow, or only logs it",
    ),
    network(
        "net.core.somaxconn",
        "proc/sys/net/core/somaxconn",
        Domain::Numbers(&[(1, INT)]),
        "longest queue of connections that a server has not accepted yet; beyond it clients wait \
         for a retransmission",
    ),
    network(
        "net.core.netdev_max_backlog",
        "proc/sys/net/core/netdev_max_backlog",
        Domain::Numbers(&[(1, INT)]),
        "packets that may wait for each CPU between the network device and the protocols",
    ),
    network(
        "net.ipv4.tcp_max_syn_backlog",
        "proc/sys/net/ipv4/tcp_max_syn_backlog",
        Domain::Numbers(&[(1, INT)]),
        "connections of one listener that may be half open",
    ),
    network(
        "net.ipv4.ip_local_port_range",
        "proc/sys/net/ipv4/ip_local_port_range",
        Domain::Numbers(&[(1, 65_535), (1, 65_535)]),
        "first and last port of outgoing connections; bounds the connections of a driver to one \
         server address",
    ),
    ipc(
        "kernel.sem",
        "proc/sys/kernel/sem",
        Domain::Numbers(&[(1, INT), (1, INT), (1, INT), (1, 32_768)]),
        "System V semaphores: per set, in all, operations per call, sets (SEMMSL SEMMNS SEMOPM \
         SEMMNI)",
    ),
    ipc(
        "kernel.shmmax",
        "proc/sys/kernel/shmmax",
        ANY,
        "largest segment of System V shared memory, bytes",
    ),
    ipc(
        "kernel.shmall",
        "proc/sys/kernel/shmall",
        ANY,
        "System V shared memory in all, pages",
    ),
    ipc(
        "kernel.shmmni",
        "proc/sys/kernel/shmmni",
        Domain::Numbers(&[(1, 32_768)]),
        "segments of System V shared memory in all",
    ),
];
