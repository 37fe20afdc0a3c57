//! Layers of runs made in memory: study and plan are real, the costs are planted.

use rookery_stats::{
    DriverQuality, GuestMeasurement, MachineInside, MachineLook, MachineOutside, Measurement, Mode,
    OperationMeasurement, Pacing, ResourceSample, Window,
};
use rookery_store::{
    Outcome, TrialRecord, Tuning,
    fixture::{header, host_facts},
};
use rookery_study::HostFacts;
use rookery_workload::{Counters, dvdstore::ShopCounters};

use super::*;
use crate::fixture;

const STUDY: &str = r#"
title = "layers"
seed = 7
[workload]
kind = "dvdstore"
database = "1MB per guest"
think_time = "1s"
[load]
users = [20, 40]
repeats = 4
[guest]
kind = ["bare", "container", "vm"]
memory = "512MiB per guest"
[[layout]]
name = "one"
guests = 1
vcpus = 1
"#;

/// Core-seconds of the parts of an order: user, system, guest, emulator.
fn planted(kind: GuestKind) -> [f64; 4] {
    match kind {
        GuestKind::Bare => [0.0008, 0.0002, 0.0, 0.0],
        GuestKind::Container => [0.0008, 0.0003, 0.0, 0.0],
        _ => [0.0, 0.0004, 0.009, 0.0016],
    }
}

fn run(study: &str, seed: u64) -> Run {
    let facts = HostFacts {
        memory_mib: 8192,
        disk_free_mib: 50_000,
        root: true,
        ..host_facts()
    };
    let mut header = header("layers.toml", study, facts);
    header.run_id = format!("r{seed}");
    header.created_at = format!("2026-01-02T03:04:{seed:02}Z");
    fixture::run(header, |header, point, trial| {
        // Blocks differ by far more than the layers within them.
        let block = 1.0 + 0.1 * f64::from((trial.block * 7 + seed as u32) % 5);
        let kind = header.plan.study_of(point).guest.kind();
        record(kind, point.total_users(), block)
    })
}

/// A trial of 10 s in which each user places an order every second.
fn record(kind: GuestKind, users: u32, block: f64) -> TrialRecord {
    let window = Window {
        start_s: 2.0,
        end_s: 12.0,
    };
    let slow = if kind == GuestKind::Vm { 4.0 } else { 1.0 };
    let mut order = OperationMeasurement::empty("order");
    for k in 0..200 {
        order
            .service
            .record_us((slow * block * (5_000.0 + 50.0 * f64::from(k))) as u64);
    }
    let count = u64::from(users) * 10;
    (order.started, order.completed, order.succeeded) = (count, count, count);
    let per_s = f64::from(users);
    let parts = planted(kind).map(|part| part * block * per_s);
    let cores: f64 = parts.iter().sum();
    let sample = |subject: &str, second: u32, cores: f64, parts: Option<[f64; 4]>| ResourceSample {
        subject: subject.to_owned(),
        at_s: f64::from(second),
        cpu_cores: cores,
        memory_bytes: 1 << 26,
        io: None,
        parts: parts.map(|[user, system, guest, emulator]| CpuParts {
            user,
            system,
            guest,
            emulator,
        }),
        throttled_cores: None,
        memory: None,
    };
    let of_second = |second| {
        [
            sample("g1", second, cores, Some(parts)),
            sample("driver", second, 0.1, None),
            sample("host", second, cores + 0.1 + 0.0005 * per_s, None),
        ]
    };
    let machine = kind == GuestKind::Vm;
    TrialRecord {
        outcome: Outcome::Done,
        reasons: Vec::new(),
        verdict: None,
        further: Vec::new(),
        measurement: Some(Measurement {
            mode: Mode::Closed,
            pacing: Pacing::Think,
            window,
            guests: vec![GuestMeasurement {
                guest: "g1".to_owned(),
                users,
                operations: vec![order],
                series: Vec::new(),
                errors: Vec::new(),
                counters: Counters::Dvdstore(ShopCounters::default()),
                busy_s: 0.02 * per_s * 10.0,
                idle_s: 0.98 * per_s * 10.0,
                drawn_delay_mean_s: None,
                actual_delay_mean_s: None,
            }],
            driver: DriverQuality::default(),
            aborted: None,
        }),
        resources: (0..14).flat_map(of_second).collect(),
        machines: if machine {
            [0.5, 12.5].map(|at_s| look(at_s, parts[2], cores)).to_vec()
        } else {
            Vec::new()
        },
        other_programs: Vec::new(),
        kernel: Vec::new(),
        audits: Vec::new(),
        logs: Vec::new(),
        outputs: Vec::new(),
        tunings: if machine {
            vec![Tuning {
                guest: "g1".to_owned(),
                name: "vm.accelerator".to_owned(),
                asked: String::new(),
                effective: "TCG: this host has no /dev/kvm".to_owned(),
                at_end: String::new(),
            }]
        } else {
            Vec::new()
        },
        loads: Vec::new(),
        ready_s: 1.0,
    }
}

/// Counters of a machine that has used so many cores since the start; its kernel sees nine tenths
/// of what its vCPU used.
fn look(at_s: f64, vcpu: f64, cores: f64) -> MachineLook {
    let us = |rate: f64| (rate * at_s * 1e6) as u64;
    MachineLook {
        guest: "g1".to_owned(),
        at_s,
        outside: MachineOutside {
            cpu_us: us(cores),
            vcpu_us: us(vcpu),
            balloon_bytes: 512 << 20,
            resident_bytes: 600 << 20,
            writes: us(20.0) / 1_000_000,
            ..MachineOutside::default()
        },
        inside: Some(MachineInside {
            uptime_us: us(1.0) + 30_000_000,
            user_us: us(0.6 * vcpu),
            system_us: us(0.3 * vcpu),
            memory_bytes: 500 << 20,
            available_bytes: 250 << 20,
            cpu_pressure_us: Some(us(0.25)),
            ..MachineInside::default()
        }),
    }
}

fn near(value: f64, expected: f64) -> bool {
    (value / expected - 1.0).abs() < 1e-3
}

#[test]
fn planted_costs_are_found_within_blocks() {
    let points = across(&[&run(STUDY, 1)]);
    let labels: Vec<&str> = points.iter().map(|point| point.label.as_str()).collect();
    assert_eq!(labels, ["1 x 1 vCPU, 20 users", "1 x 1 vCPU, 40 users"]);
    let [bare, container, vm] = &points[0].layers[..] else {
        panic!("three layers")
    };
    assert_eq!(
        [bare.name(), container.name(), vm.name()],
        ["bare", "container", "vm (TCG)"]
    );
    assert!(vm.translated() && !container.translated());
    // Ratios are free of what blocks share, to the last digit.
    let ratio = |layer: &Layer| {
        layer
            .cpu_ratio
            .map(|ratio| (ratio.value, ratio.interval.expect("four blocks")))
    };
    assert_eq!(ratio(bare), None, "the lowest has nothing below it");
    let (value, (low, high)) = ratio(container).expect("against bare");
    assert!(
        near(value, 1.1) && near(low, 1.1) && near(high, 1.1),
        "{value} {low} {high}"
    );
    assert!(near(ratio(vm).expect("against bare").0, 11.0));
    // The tax of each layer is over the one below, and its parts add up.
    let mean = |layer: &Layer| layer.cpu_us.expect("sampled").mean;
    let tax = |layer: &Layer| layer.tax_us.expect("a layer below");
    assert!(bare.tax_us.is_none() && tax(vm).paired && tax(vm).interval.is_some());
    assert!(
        near(tax(container).value, mean(container) - mean(bare))
            && near(tax(vm).value, mean(vm) - mean(container))
    );
    let parts = vm.parts_us.expect("told");
    assert!(
        near(parts.user + 1.0, 1.0) && near(parts.system + parts.guest + parts.emulator, mean(vm))
    );
    assert!(near(parts.emulator / parts.guest, 0.0016 / 0.009));
    assert!(near(vm.elsewhere_us.expect("sampled").mean, 500.0));
    // Response times are four times longer, throughput is not.
    let p95 = vm.percentiles[1];
    assert!(p95.p == 95.0 && (p95.ratio.expect("against bare").value - 4.0).abs() < 0.02);
    assert!(near(vm.throughput_ratio.expect("against bare").value, 1.0));
}

#[test]
fn what_limits_is_told() {
    let points = across(&[&run(STUDY, 1)]);
    let limits = |point: &LayeredPoint| {
        point
            .layers
            .iter()
            .filter_map(|layer| layer.limit)
            .collect::<Vec<Limit>>()
    };
    assert_eq!(limits(&points[0]), [Limit::OfferedLoad; 3]);
    // A hundred users of 11 ms and more of CPU keep one CPU busy.
    let loaded = STUDY.replace("[20, 40]", "100");
    assert_eq!(
        limits(&across(&[&run(&loaded, 1)])[0]),
        [Limit::OfferedLoad, Limit::OfferedLoad, Limit::Cpu]
    );
    let mut waiting = run(STUDY, 1);
    for trial in &mut waiting.trials {
        let measured = trial
            .record
            .as_mut()
            .and_then(|record| record.measurement.as_mut())
            .expect("measured");
        measured.guests[0].idle_s = measured.guests[0].busy_s;
    }
    assert_eq!(limits(&across(&[&waiting])[0]), [Limit::Waiting; 3]);
}

#[test]
fn both_accounts_of_a_machine_are_set_side_by_side() {
    let points = across(&[&run(STUDY, 1)]);
    let vm = &points[0].layers[2];
    let inside = vm.inside.expect("a machine");
    let guest_cores = vm.parts_us.expect("told").guest * 20.0 / 1e6;
    assert!(
        (inside.vcpu_cores / guest_cores - 1.0).abs() < 0.01
            && (inside.inside_cores / inside.vcpu_cores - 0.9).abs() < 0.01
    );
    assert!(inside.emulator_cores > inside.vcpu_cores);
    assert_eq!(
        (
            inside.available_share,
            inside.balloon_mib,
            inside.resident_mib
        ),
        (0.5, 512.0, 600.0)
    );
    assert!(
        (inside.cpu_pressure.expect("counted") - 0.25).abs() < 1e-3 && inside.io_pressure.is_none()
    );
    assert!((inside.disk_requests_per_s - 20.0).abs() < 0.1);
    assert!(points[0].layers[0].inside.is_none());
}

#[test]
fn runs_of_one_kind_each_are_put_together() {
    let one = |kind: &str, seed| {
        run(
            &STUDY.replace(r#"["bare", "container", "vm"]"#, &format!("{kind:?}")),
            seed,
        )
    };
    let (container, vm) = (one("container", 1), one("vm", 2));
    assert!(across(&[&container]).is_empty(), "one kind is no layer");
    let points = across(&[&container, &vm]);
    assert_eq!(points.len(), 2);
    let layer = &points[0].layers[1];
    let tax = layer.tax_us.expect("a layer below");
    assert!(!tax.paired, "they did not run back to back");
    let (low, high) = tax.interval.expect("four trials a side");
    assert!(low < tax.value && tax.value < high && low > 0.0);
    // A run of the study of all kinds and one of a single kind meet as well.
    let all = across(&[&run(STUDY, 3), &vm]);
    assert_eq!(
        all[0]
            .layers
            .iter()
            .map(|layer| layer.trials)
            .collect::<Vec<_>>(),
        [4, 4, 8]
    );
    // Another stack is another thing.
    let other = one("vm", 4);
    let mut other = other;
    for variant in &mut other.header.plan.variants {
        variant.study.stack = rookery_study::StackUse::Sqlite;
    }
    assert!(across(&[&container, &other]).is_empty());
}

#[test]
fn what_did_not_end_well_is_counted_and_left_out() {
    let mut run = run(STUDY, 1);
    let of_vm: Vec<u32> = run
        .header
        .plan
        .points
        .iter()
        .filter(|point| run.header.plan.study_of(point).guest.kind() == GuestKind::Vm)
        .map(|point| point.id)
        .collect();
    for trial in run
        .trials
        .iter_mut()
        .filter(|trial| of_vm.contains(&trial.row.trial.point))
    {
        trial.row.status = TrialStatus::Void;
    }
    let points = across(&[&run]);
    let vm = &points[0].layers[2];
    assert_eq!((vm.trials, vm.left_out), (0, 4));
    assert!(
        vm.cpu_us.is_none() && vm.tax_us.is_none() && vm.limit.is_none() && vm.parts_us.is_none()
    );
    assert_eq!(points[0].layers[1].trials, 4);
}
