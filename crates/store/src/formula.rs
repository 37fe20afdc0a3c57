//! A run made by formula, for tests.

use std::{collections::BTreeMap, time::Duration};

use rookery_stats::{
    ArrivalCounts, CpuParts, DatabaseLoad, DriverQuality, ErrorClass, ErrorExample, ErrorTally,
    GuestMeasurement, IoRates, KernelCount, KernelCounter, MachineInside, MachineLook,
    MachineOutside, Measurement, MemoryRates, Mode, OperationMeasurement, OtherProgram, Pacing,
    PressureShares, ReclaimRates, ResourceSample, SecondSample, Window, qos::judge,
};
use rookery_study::{Design, Estimate, GuestGroup, Plan, Point, Study, Trial, Variant, Vcpus};
use rookery_workload::{Counters, ProofRow, dvdstore::ShopCounters};

use crate::{
    AuditRow, GuestAudit, GuestLog, LoadPlace, LoadRecord, Outcome, ProgramOutput, Reason,
    RunHeader, TrialRecord, Tuning, fixture,
};

const STUDY: &str = r#"
title = "One big guest or two small ones?"
[workload]
kind = "dvdstore"
database = "10MB per vcpu"
think_time = "250ms"
new_customers = 0.1
[load]
users = "40 per host"
ramp_up = "1s"
settle = "1s"
steady = "3s"
ramp_down = "0s"
drain = "5s"
timeout = "10s"
repeats = 2
order = "random"
[qos]
p95 = "100ms"
errors = 0.001
min_operations = 20
[guest]
kind = "bare"
memory = "640.1MiB per vcpu"
pin = "spread"
pids = 100
ready_within = "10s"
[host]
overcommit = 1
[[layout]]
name = "scale-out"
guests = [1, 2]
vcpus = 1
"#;

/// Two points, two repeats: one big guest and two small ones.
pub(crate) fn header() -> RunHeader {
    let text = "title = \"One big guest or two small ones?\"\n";
    let facts = fixture::host_facts();
    let mut header = fixture::header_of("studies/fixture.toml", text, study(), plan(), facts);
    header.host.cpu_model = "Test CPU".to_owned();
    header
}

/// With what no study file can have: the largest seed, and bare guests with a part of a CPU.
fn study() -> Study {
    let mut study = fixture::study("studies/fixture.toml", STUDY);
    study.seed = u64::MAX;
    study.layouts[0].vcpus = vec![Vcpus(500)];
    study
}

fn plan() -> Plan {
    let point = |id, guests: u32, vcpus| Point {
        id,
        variant: 1,
        levels: Vec::new(),
        layouts: vec!["scale-out".to_owned()],
        capacity_cpus: 1.0,
        tiles: 1,
        baseline: Some(1),
        search: None,
        groups: vec![GuestGroup {
            name: String::new(),
            guests,
            vcpus: Vcpus(vcpus),
            users: vec![40 / guests; guests as usize],
            rate_per_s: None,
            memory_mib: 320,
            database: rookery_study::PointData::Dvdstore("10MB".parse().expect("a size")),
            pins: vec![vec![0]; guests as usize],
            nodes: Vec::new(),
            volumes_mib: rookery_study::VolumeSizes::default(),
            callers: rookery_study::Callers::Users,
            host: None,
        }],
    };
    let trial = |id, point, repeat| Trial {
        id,
        point,
        repeat,
        block: id,
        seed: u64::MAX - u64::from(id),
        purpose: rookery_study::Purpose::Study,
    };
    Plan {
        factors: Vec::new(),
        design: Design::Full,
        aliases: Vec::new(),
        variants: vec![Variant {
            id: 1,
            levels: Vec::new(),
            study: study(),
            further: Vec::new(),
        }],
        points: vec![point(1, 1, 1000), point(2, 2, 500)],
        trials: vec![
            trial(1, 1, 1),
            trial(2, 2, 1),
            trial(3, 2, 2),
            trial(4, 1, 2),
        ],
        searches: Vec::new(),
        wish: None,
        driver_cpus: vec![1],
        guest_cpus: vec![0],
        estimate: Estimate {
            duration: Duration::from_secs(60),
            memory_mib: 640,
            disk_mib: 100,
            elsewhere_mib: BTreeMap::new(),
            devices_mib: BTreeMap::new(),
        },
        notes: vec!["bare guests do not enforce their memory limit".to_owned()],
    }
}

/// A record in which every field differs from its default.
pub(crate) fn record(guests: u32, pace: u64) -> TrialRecord {
    let measurement = Measurement {
        mode: Mode::Closed,
        pacing: Pacing::Think,
        window: Window {
            start_s: 2.0,
            end_s: 5.0,
        },
        guests: (1..=guests).map(|number| guest(number, pace)).collect(),
        driver: DriverQuality {
            cpus: vec![1, 3],
            cpu_share: 0.25,
            cpu_us_per_request: 42.5,
            run_queue_share: 0.01,
            lag_mean_us: 120.5,
            lag_p50_us: 100,
            lag_p99_us: 900,
            lag_max_us: 2_000,
            unconnected_users: 1,
            connect_s: 0.125,
            little_error: 0.005,
            connections: 41,
            idle_retries: 2,
            arrivals: Some(ArrivalCounts {
                spacing: "poisson".to_owned(),
                precision: "exact".to_owned(),
                drawn: 1000,
                started: 990,
                dropped: 10,
            }),
        },
        aborted: Some("stopped on request".to_owned()),
    };
    let qos = study().qos;
    TrialRecord {
        outcome: Outcome::Done,
        reasons: vec![Reason::new("lag", "a reason, with \"quotes\"\nand lines")],
        verdict: Some(judge(&qos, &measurement)),
        measurement: Some(measurement),
        further: Vec::new(),
        resources: (0..4).map(resource).collect(),
        machines: (1..=2).map(look).collect(),
        other_programs: vec![OtherProgram {
            name: "make (all)".to_owned(),
            cpu_cores: 0.5,
            disk_bytes_per_s: 1e6,
            memory_bytes: 7 << 20,
        }],
        kernel: vec![KernelCount {
            scope: "g1 eth0".to_owned(),
            counter: KernelCounter::ReceivedBytes,
            count: 1 << 40,
        }],
        audits: vec![GuestAudit {
            guest: "g1".to_owned(),
            rows: vec![
                AuditRow {
                    proof: ProofRow::new("new orders", 9, 1),
                    found: Some(10),
                },
                AuditRow {
                    proof: ProofRow::new("payments", 4, 0),
                    found: None,
                },
            ],
            killed: true,
            consistent: true,
            detail: "killed".to_owned(),
        }],
        logs: vec![GuestLog {
            guest: "g1".to_owned(),
            text: "listening\u{1b}[0m".to_owned(),
        }],
        outputs: vec![ProgramOutput {
            guest: "g1".to_owned(),
            program: "iperf 3.12".to_owned(),
            text: "{}".to_owned(),
        }],
        tunings: vec![Tuning {
            guest: "g1".to_owned(),
            name: "cpu quota".to_owned(),
            asked: "0.5".to_owned(),
            effective: "0.5".to_owned(),
            at_end: "0.4".to_owned(),
        }],
        loads: vec![
            LoadRecord {
                place: LoadPlace::Guest("g1".to_owned()),
                database: "10MB".to_owned(),
                load: DatabaseLoad {
                    create_s: 1.5,
                    rows_s: 4.0,
                    index_s: 2.25,
                    check_s: 0.5,
                    close_s: 0.25,
                    rows: 4000,
                    bytes: 1 << 20,
                },
            },
            LoadRecord {
                place: LoadPlace::Template {
                    digest: "ab".repeat(32),
                    built: false,
                },
                database: "20MB".to_owned(),
                load: DatabaseLoad::default(),
            },
        ],
        ready_s: 0.75,
    }
}

fn resource(second: u32) -> ResourceSample {
    ResourceSample {
        subject: "host".to_owned(),
        at_s: f64::from(second) - 1.5,
        cpu_cores: 0.5,
        memory_bytes: 1 << 30,
        io: (second > 1).then_some(IoRates {
            reads_per_s: 12.5,
            writes_per_s: 100.0,
            read_bytes_per_s: 204_800.0,
            written_bytes_per_s: 0.0,
        }),
        parts: (second > 2).then_some(CpuParts {
            user: 0.0,
            system: 0.0625,
            guest: 0.375,
            emulator: 0.0625,
        }),
        throttled_cores: (second > 2).then_some(0.25),
        memory: (second > 1).then(|| MemoryRates {
            swap_bytes: 4096,
            major_faults_per_s: 0.5,
            refaults_per_s: 2.0,
            reclaim: (second > 2).then_some(ReclaimRates {
                scanned_per_s: 8.0,
                reclaimed_per_s: 4.0,
            }),
            pressure: (second > 2).then_some(PressureShares {
                some: 0.125,
                full: 0.0625,
            }),
        }),
    }
}

/// A look at a machine; only the second one was answered by its kernel.
fn look(number: u64) -> MachineLook {
    let count = |n: u64| 100 * number + n;
    MachineLook {
        guest: "g1".to_owned(),
        at_s: number as f64 + 0.25,
        outside: MachineOutside {
            cpu_us: count(1),
            vcpu_us: count(2),
            vcpu_wait_us: count(3),
            balloon_bytes: count(4),
            resident_bytes: count(5),
            reads: count(6),
            read_bytes: count(7),
            writes: count(8),
            written_bytes: count(9),
            flushes: count(10),
            disk_us: count(11),
            received_bytes: count(12),
            sent_bytes: count(13),
            dropped: count(14),
        },
        inside: (number == 2).then_some(MachineInside {
            uptime_us: count(15),
            user_us: count(16),
            system_us: count(17),
            idle_us: count(18),
            iowait_us: count(19),
            steal_us: count(20),
            memory_bytes: count(21),
            available_bytes: count(22),
            cpu_pressure_us: Some(count(23)),
            memory_pressure_us: Some(count(24)),
            io_pressure_us: None,
        }),
    }
}

fn guest(number: u32, pace: u64) -> GuestMeasurement {
    let operation = |name: &str, count: u64| {
        let mut operation = OperationMeasurement::empty(name);
        for k in 0..count {
            operation.service.record_us(pace * (1 + k * 7 % 100));
            operation.response.record_us(pace * (1 + k * 7 % 100) + 50);
        }
        (operation.started, operation.completed, operation.succeeded) =
            (count + 2, count - 1, count);
        (operation.failed, operation.unfinished) = (1, 1);
        operation
    };
    let example = ErrorExample {
        at_s: 2.5,
        operation: "login".to_owned(),
        detail: "<script>".to_owned(),
    };
    GuestMeasurement {
        guest: format!("g{number}"),
        users: 20,
        operations: vec![operation("login", 200), operation("order", 150)],
        series: (0..5).map(|second| sample(second, pace)).collect(),
        errors: vec![ErrorTally {
            class: ErrorClass::Status,
            sub_class: "500".to_owned(),
            count: 3,
            examples: vec![example],
        }],
        counters: Counters::Dvdstore(ShopCounters {
            n_overall: 150,
            opm: 3000.0,
            rollback_rate: 2.0,
            ..ShopCounters::default()
        }),
        busy_s: 10.0,
        idle_s: 50.0,
        drawn_delay_mean_s: Some(0.25),
        actual_delay_mean_s: None,
    }
}

fn sample(second: u32, pace: u64) -> SecondSample {
    SecondSample {
        second,
        requests: 50,
        orders: 10,
        errors: 1,
        p50_us: 50 * pace,
        p95_us: 95 * pace,
        p99_us: 99 * pace,
        max_us: 100 * pace,
    }
}
