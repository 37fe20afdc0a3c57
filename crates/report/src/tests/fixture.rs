//! Runs made by formula, for tests: their numbers mean nothing, but are always the same.

use std::{collections::BTreeMap, time::Duration};

use rookery_stats::{
    DriverQuality, ErrorClass, ErrorExample, ErrorTally, GuestMeasurement, Measurement, Mode,
    OperationMeasurement, Pacing, ResourceSample, SecondSample, Window,
    qos::{Qos, judge},
};
use rookery_store::{
    AuditRow, GuestAudit, GuestLog, Outcome, Reason, RunHeader, Store, TrialRecord, Tuning,
    fixture::{self, header_of, host_facts},
};
use rookery_study::{Design, Estimate, GuestGroup, Plan, Point, Study, Trial, Variant, Vcpus};
use rookery_workload::{Counters, dvdstore::ShopCounters};
use tempfile::TempDir;

pub(crate) mod lamp;
pub(crate) mod orderentry;
pub(crate) mod searched;

/// A store in a directory that goes with it.
pub(crate) struct Fixture {
    pub(crate) store: Store,
    _dir: TempDir,
}

/// Guests, thousandths of vCPU, and layouts of the points, in their order.
const POINTS: [(u32, u32, &str); 5] = [
    (1, 250, "scale-up"),
    (1, 500, "scale-up"),
    (1, 1000, "scale-up"),
    (2, 500, "scale-out"),
    (4, 250, "scale-out"),
];
const WINDOW: Window = Window {
    start_s: 4.0,
    end_s: 24.0,
};

const STUDY: &str = r#"
title = "One big guest or many small ones?"
question = "Does one large guest carry more than several small ones on the same CPU?"
seed = 42
[workload]
kind = "dvdstore"
database = "10MB per vcpu"
think_time = "250ms"
new_customers = 0.1
[load]
users = "200 per vcpu"
ramp_up = "2s"
settle = "2s"
steady = "20s"
ramp_down = "1s"
drain = "5s"
timeout = "10s"
order = "interleaved"
[qos]
p95 = "90ms"
errors = 0.001
min_operations = 20
[guest]
kind = "bare"
memory = "640MiB per vcpu"
pin = "spread"
pids = 100
ready_within = "10s"
[host]
overcommit = 1
[[layout]]
name = "scale-up"
guests = 1
vcpus = 1
[[layout]]
name = "scale-out"
guests = [2, 4]
vcpus = 1
"#;

pub(crate) fn header(repeats: u32) -> RunHeader {
    let text = "title = \"One big guest or many small ones?\"\n\n[workload]\nkind = \"dvdstore\"\n";
    let (study, plan) = (study(repeats), plan(repeats));
    let mut header = header_of("studies/fixture.toml", text, study, plan, host_facts());
    header.host.cpu_model = "Example CPU at 2.5 GHz".to_owned();
    let sqlite = ("sqlite".to_owned(), "3.50.4".to_owned());
    header.host.versions.push(sqlite);
    header
}

/// With bare guests that have a part of a CPU, which no study file can have.
fn study(repeats: u32) -> Study {
    let mut study = fixture::study("studies/fixture.toml", STUDY);
    study.load.repeats = repeats;
    study.host.reserve_mib = 0;
    study.layouts[0].vcpus = [250, 500, 1000].map(Vcpus).to_vec();
    study.layouts[1].vcpus = [500, 250].map(Vcpus).to_vec();
    study
}

fn plan(repeats: u32) -> Plan {
    let point = |(index, (guests, vcpus, layout)): (usize, &(u32, u32, &str))| Point {
        id: index as u32 + 1,
        variant: 1,
        levels: Vec::new(),
        layouts: vec![(*layout).to_owned()],
        capacity_cpus: f64::from(guests * vcpus) / 1000.0,
        tiles: 1,
        baseline: (guests * vcpus == 1000).then_some(3),
        search: None,
        groups: vec![GuestGroup {
            name: String::new(),
            guests: *guests,
            vcpus: Vcpus(*vcpus),
            users: vec![vcpus / 5; *guests as usize],
            rate_per_s: None,
            memory_mib: u64::from(*vcpus) * 640 / 1000,
            database: rookery_study::PointData::Dvdstore("10MB".parse().expect("a size")),
            pins: vec![vec![0]; *guests as usize],
            nodes: Vec::new(),
            volumes_mib: rookery_study::VolumeSizes::default(),
            callers: rookery_study::Callers::Users,
            host: None,
        }],
    };
    let trials =
        (0..repeats).flat_map(|repeat| (1..=POINTS.len() as u32).map(move |point| (repeat, point)));
    let trial = |(repeat, point)| Trial {
        id: repeat * POINTS.len() as u32 + point,
        point,
        repeat: repeat + 1,
        block: repeat * POINTS.len() as u32 + point,
        seed: 1000 + u64::from(point) * 10 + u64::from(repeat),
        purpose: rookery_study::Purpose::Study,
    };
    Plan {
        factors: Vec::new(),
        design: Design::Full,
        aliases: Vec::new(),
        variants: vec![Variant {
            id: 1,
            levels: Vec::new(),
            study: study(repeats),
            further: Vec::new(),
        }],
        points: POINTS.iter().enumerate().map(point).collect(),
        trials: trials.map(trial).collect(),
        searches: Vec::new(),
        wish: None,
        driver_cpus: vec![1],
        guest_cpus: vec![0],
        estimate: Estimate {
            duration: Duration::from_secs(600),
            memory_mib: 640,
            disk_mib: 100,
            elsewhere_mib: BTreeMap::new(),
            devices_mib: BTreeMap::new(),
        },
        notes: vec!["bare guests do not enforce their memory limit".to_owned()],
    }
}

/// A store with all trials planned and none begun.
pub(crate) fn planned(header: &RunHeader) -> Fixture {
    let dir = TempDir::new().expect("a temporary directory");
    let store = Store::create(dir.path().join("run.sqlite"), header).expect("a new store");
    Fixture { store, _dir: dir }
}

/// A run of three repeats in which everything went well.
pub(crate) fn complete() -> Fixture {
    let header = header(3);
    let fixture = planned(&header);
    header
        .plan
        .trials
        .iter()
        .for_each(|trial| end(&fixture, trial.id, |_| {}));
    fixture
}

/// Begin and end a trial; `change` may spoil its record.
pub(crate) fn end(fixture: &Fixture, trial: u32, change: impl FnOnce(&mut TrialRecord)) {
    let header = fixture.store.header().expect("a header");
    let planned = header
        .plan
        .trials
        .iter()
        .find(|planned| planned.id == trial)
        .expect("a planned trial");
    let point = header
        .plan
        .points
        .iter()
        .find(|point| point.id == planned.point)
        .expect("a planned point");
    let mut record = record(point, planned.repeat, &header.study.qos);
    if header
        .plan
        .factors
        .iter()
        .any(|factor| factor.key == "stack.tuning")
    {
        lamp::change(&mut record, point, planned.repeat);
    }
    change(&mut record);
    fixture
        .store
        .begin_trial(trial, "2026-01-02T03:05:00Z")
        .expect("not begun");
    fixture
        .store
        .end_trial(trial, "2026-01-02T03:06:00Z", &record)
        .expect("begun");
}

pub(crate) fn record(point: &Point, repeat: u32, qos: &Qos) -> TrialRecord {
    // Many small guests lose a few percent each; repeats wobble by one percent.
    let loss = 1.0 + 0.03 * f64::from(point.guests() - 1) + 0.01 * f64::from(repeat % 3);
    let names: Vec<String> = (1..=point.guests())
        .map(|number| format!("g{number}"))
        .collect();
    let measurement = Measurement {
        mode: Mode::Closed,
        pacing: Pacing::Think,
        window: WINDOW,
        guests: names
            .iter()
            .zip(&point.only_group().users)
            .map(|(name, users)| guest(name, *users, point.only_group().vcpus.cpus(), loss))
            .collect(),
        driver: driver(loss),
        aborted: None,
    };
    let acknowledged = |guest: &GuestMeasurement| GuestAudit {
        guest: guest.guest.clone(),
        rows: as_told(guest),
        killed: false,
        consistent: true,
        detail: "every acknowledged order is there".to_owned(),
    };
    let log = |name: &String| GuestLog {
        guest: name.clone(),
        text: format!("{name}: listening\n{name}: ended\n"),
    };
    let tuning = |name: &String| Tuning {
        guest: name.clone(),
        name: "cpu quota".to_owned(),
        asked: point.only_group().vcpus.to_string(),
        effective: point.only_group().vcpus.to_string(),
        at_end: point.only_group().vcpus.to_string(),
    };
    TrialRecord {
        outcome: Outcome::Done,
        reasons: Vec::new(),
        verdict: Some(judge(qos, &measurement)),
        further: Vec::new(),
        audits: measurement.guests.iter().map(acknowledged).collect(),
        measurement: Some(measurement),
        resources: resources(&names, point.capacity_cpus),
        machines: Vec::new(),
        other_programs: Vec::new(),
        kernel: Vec::new(),
        logs: names.iter().map(log).collect(),
        outputs: Vec::new(),
        tunings: names.iter().map(tuning).collect(),
        loads: Vec::new(),
        ready_s: 0.25 * loss,
    }
}

fn driver(loss: f64) -> DriverQuality {
    DriverQuality {
        cpus: vec![1],
        cpu_share: 0.12 * loss,
        cpu_us_per_request: 41.5,
        run_queue_share: 0.002,
        lag_mean_us: 310.0,
        lag_p50_us: 280,
        lag_p99_us: 1_150,
        lag_max_us: 4_200,
        unconnected_users: 0,
        connect_s: 0.4,
        little_error: 0.004,
        connections: 200,
        idle_retries: 0,
        arrivals: None,
    }
}

/// Latencies spread evenly between a half and one and a half of `middle_us`, with a tail of five
/// percent three times as long.
fn operation(name: &str, count: u64, middle_us: f64) -> OperationMeasurement {
    let mut operation = OperationMeasurement::empty(name);
    for k in 0..count {
        let place = (k * 7919 % count) as f64 / count as f64;
        let us = middle_us * (0.5 + place) * if place > 0.95 { 3.0 } else { 1.0 };
        operation.service.record_us(us as u64);
        operation.response.record_us(us as u64 + 400);
    }
    (operation.started, operation.completed, operation.succeeded) = (count, count, count);
    operation
}

fn guest(name: &str, users: u32, vcpus: f64, loss: f64) -> GuestMeasurement {
    guest_at(
        name,
        users,
        320.0 * vcpus / loss,
        9_000.0 * loss / vcpus.sqrt(),
    )
}

/// So many orders per second, of which a typical request takes `middle_us`.
fn guest_at(name: &str, users: u32, orders_per_s: f64, middle_us: f64) -> GuestMeasurement {
    let orders = (orders_per_s * (WINDOW.end_s - WINDOW.start_s)) as u64;
    let purchases = operation("purchase", orders, 2.0 * middle_us);
    let mean_ms =
        |operation: &OperationMeasurement| operation.service.mean_us().unwrap_or(0.0) / 1000.0;
    let (login, browse) = (
        operation("login", orders * 9 / 10, middle_us),
        operation("browse", orders * 3, 1.5 * middle_us),
    );
    let (new, order) = (
        operation("new-customer", orders / 10, 1.2 * middle_us),
        operation("order", orders, 7.5 * middle_us),
    );
    GuestMeasurement {
        guest: name.to_owned(),
        users,
        series: (0..26)
            .map(|second| sample(second, orders_per_s, middle_us))
            .collect(),
        errors: Vec::new(),
        counters: Counters::Dvdstore(ShopCounters {
            n_overall: orders,
            opm: 60.0 * orders as f64 / (WINDOW.end_s - WINDOW.start_s),
            rt_tot_avg_msec: mean_ms(&order),
            rt_tot_lastn_max_msec: mean_ms(&order) * 3.0,
            n_rollbacks_overall: orders / 50,
            rollback_rate: 100.0 * (orders / 50) as f64 / orders as f64,
            n_login_overall: login.completed,
            n_newcust_overall: new.completed,
            n_browse_overall: browse.completed,
            n_purchase_overall: orders,
            rt_login_avg_msec: mean_ms(&login),
            rt_newcust_avg_msec: mean_ms(&new),
            rt_browse_avg_msec: mean_ms(&browse),
            rt_purchase_avg_msec: mean_ms(&purchases),
            n_purchase_from_start: orders + 1000,
            n_rollbacks_from_start: orders / 50 + 20,
            n_purchase_unanswered: 0,
        }),
        busy_s: f64::from(users) * 6.0,
        idle_s: f64::from(users) * 14.0,
        drawn_delay_mean_s: Some(0.25),
        actual_delay_mean_s: Some(0.2503),
        operations: vec![login, new, browse, purchases, order],
    }
}

fn sample(second: u32, orders_per_s: f64, middle_us: f64) -> SecondSample {
    let ramp = f64::from(second.min(3) + 1) / 4.0 * if second >= 25 { 0.3 } else { 1.0 };
    let wobble = 1.0 + 0.05 * f64::from(second * 7 % 5) / 5.0;
    SecondSample {
        second,
        requests: (5.0 * orders_per_s * ramp * wobble) as u32,
        orders: (orders_per_s * ramp * wobble) as u32,
        errors: 0,
        p50_us: (middle_us * ramp) as u64,
        p95_us: (middle_us * 3.0 * ramp * wobble) as u64,
        p99_us: (middle_us * 4.0 * ramp * wobble) as u64,
        max_us: (middle_us * 5.0 * ramp * wobble) as u64,
    }
}

fn resources(guests: &[String], capacity: f64) -> Vec<ResourceSample> {
    let mut all = Vec::new();
    for second in 0..26 {
        let busy = f64::from(second.min(3)) / 3.0;
        let mut push = |subject: &str, cpu_cores: f64, memory_mib: u64| {
            let at_s = f64::from(second);
            all.push(ResourceSample {
                subject: subject.to_owned(),
                at_s,
                cpu_cores,
                memory_bytes: memory_mib << 20,
                io: None,
                parts: None,
                throttled_cores: None,
                memory: None,
            });
        };
        guests
            .iter()
            .for_each(|guest| push(guest, 0.95 * busy * capacity / guests.len() as f64, 60));
        push("driver", 0.13 * busy, 40);
        push("host", 0.95 * busy * capacity + 0.2 * busy, 900);
    }
    all
}

/// Spoil a record: void, with errors and a log.
pub(crate) fn void(record: &mut TrialRecord) {
    record.outcome = Outcome::Void;
    record.reasons = vec![Reason::new(
        "cpu",
        "the driver used 84 % of its CPU, more than the allowed 70 %",
    )];
}

/// The rows of an audit that finds what users were told.
pub(crate) fn as_told(guest: &GuestMeasurement) -> Vec<AuditRow> {
    let rows = guest.counters.proof().rows.into_iter();
    rows.map(|proof| AuditRow {
        found: Some(proof.acknowledged),
        proof,
    })
    .collect()
}

/// Spoil a record: the guest died and nothing was measured.
pub(crate) fn failed(record: &mut TrialRecord) {
    record.outcome = Outcome::Failed;
    record.reasons = vec![Reason::new(
        "guest-died",
        "guest g1 died: killed by signal 9",
    )];
    (record.measurement, record.verdict) = (None, None);
    for row in &mut record.audits[0].rows {
        row.found = row.found.map(|found| found - 1);
    }
    record.audits[0].consistent = false;
    record.audits[0].killed = true;
}

/// Text that wants to be more than text.
pub(crate) const HOSTILE: &str =
    "</script><script>alert(1)</script><img src=x onerror=alert(2)>\u{1b}[31m\u{202e}'\"&{{ 7*7 }}";

/// Spoil a record: every text in it is hostile.
pub(crate) fn hostile(record: &mut TrialRecord) {
    record.outcome = Outcome::Void;
    record.reasons = vec![Reason::new("", HOSTILE)];
    record.logs[0].text = HOSTILE.to_owned();
    record.tunings[0].asked = HOSTILE.to_owned();
    record.audits[0].detail = HOSTILE.to_owned();
    for guest in record
        .measurement
        .iter_mut()
        .flat_map(|measured| &mut measured.guests)
    {
        guest.guest = format!("{}{HOSTILE}", guest.guest);
        guest.operations[0].name = HOSTILE.to_owned();
        guest.errors = vec![ErrorTally {
            class: ErrorClass::Status,
            sub_class: HOSTILE.to_owned(),
            count: 3,
            examples: vec![ErrorExample {
                at_s: 2.5,
                operation: HOSTILE.to_owned(),
                detail: HOSTILE.to_owned(),
            }],
        }];
    }
}
