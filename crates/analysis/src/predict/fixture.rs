//! Runs of systems whose truth is known, for tests: every trial is a simulation of a queueing
//! network.

use rookery_model::{
    queue::Capacity,
    simulate::{Discipline, Network, Outcome, Population, SimulatedStation, Times, simulate},
};
use rookery_stats::{
    DriverQuality, GuestMeasurement, Measurement, Mode, OperationMeasurement, Pacing,
    ResourceSample, Window, qos::judge,
};
use rookery_store::{
    Outcome as Ended, TrialRecord,
    fixture::{header, host_facts},
};
use rookery_study::{HostFacts, Point, Study};
use rookery_workload::{Counters, dvdstore::ShopCounters};

use crate::{Run, fixture};

/// The measured window of every trial, s.
const WINDOW_S: f64 = 20.0;

/// A system.
#[derive(Clone, Copy, Debug)]
pub(crate) struct World {
    /// Core-seconds of an order in one guest.
    pub(crate) demand_s: f64,
    /// Its growth with each further guest, a share.
    pub(crate) growth: f64,
    /// Demand at a lock of each guest that no counter shows, s.
    pub(crate) lock_s: f64,
    /// What does not queue, s.
    pub(crate) delay_s: f64,
    /// Cores that each guest uses without load.
    pub(crate) background: f64,
    /// Whether busy cores are counted.
    pub(crate) counters: bool,
    /// CPUs that guests share.
    pub(crate) cores: u32,
}

impl World {
    /// One core, 5 ms of CPU for each order.
    pub(crate) const PLAIN: Self = Self {
        demand_s: 0.005,
        growth: 0.0,
        lock_s: 0.0,
        delay_s: 0.004,
        background: 0.0,
        counters: true,
        cores: 1,
    };

    /// Core-seconds of an order with so many guests.
    pub(crate) fn demand(&self, guests: u32) -> f64 {
        self.demand_s * (1.0 + self.growth * (f64::from(guests) - 1.0))
    }

    /// The simulation of guests without quota that share all cores: users of all guests together.
    pub(crate) fn play(&self, guests: u32, users: u32, seed: u64, orders: u64) -> Outcome {
        let station = |service: f64, capacity: Capacity| SimulatedStation {
            service,
            times: Times::Exponential,
            discipline: Discipline::Shared(capacity),
        };
        let free = f64::from(self.cores) - f64::from(guests) * self.background;
        let cpu = Capacity::Limited {
            servers: self.cores,
            limit: free,
        };
        let mut stations = vec![
            station(self.demand(guests), cpu),
            station(self.delay_s.max(1e-9), Capacity::Delay),
        ];
        if self.lock_s > 0.0 {
            stations.push(station(self.lock_s, Capacity::Servers(1)));
        }
        let network = Network {
            population: Population::Closed {
                users,
                think: 0.25,
                times: Times::Exponential,
            },
            stations,
        };
        simulate(&network, seed, 0, 10 * u64::from(users), orders).expect("a valid network")
    }
}

/// A study of one-vCPU guests on one core with these loads on all guests together.
pub(crate) fn study(guests: &str, users: &[u32], repeats: u32) -> String {
    let users: Vec<String> = users
        .iter()
        .map(|users| format!("\"{users} per host\""))
        .collect();
    format!(
        r#"
title = "A ladder"
seed = 3
[workload]
kind = "dvdstore"
database = "1MB per guest"
think_time = "250ms"
[load]
users = [{}]
steady = "20s"
repeats = {repeats}
[qos]
p95 = "200ms"
errors = 0.01
[stack]
kind = "embedded"
[guest]
kind = "bare"
memory = "128MiB per guest"
pin = "pack"
[host]
overcommit = 64
[[layout]]
name = "ladder"
guests = {guests}
vcpus = 1
"#,
        users.join(", ")
    )
}

/// The run of a study in a world.
pub(crate) fn run(text: &str, world: &World, seed: u64) -> Run {
    let facts = HostFacts {
        cpus: (0..=world.cores).collect(),
        root: true,
        ..host_facts()
    };
    fixture::run(
        header("ladder.toml", text, facts),
        |header, point, trial| {
            let seed = seed * 1000 + u64::from(trial.id);
            record(point, &header.study, world, seed)
        },
    )
}

fn record(point: &Point, study: &Study, world: &World, seed: u64) -> TrialRecord {
    let users = point.total_users();
    let expected =
        (f64::from(users) / 0.26).min(f64::from(world.cores) / world.demand(point.guests()));
    let outcome = world.play(point.guests(), users, seed, (expected * WINDOW_S) as u64);
    let guests: Vec<String> = (1..=point.guests())
        .map(|number| format!("g{number}"))
        .collect();
    let measurement = Measurement {
        mode: Mode::Closed,
        pacing: Pacing::Think,
        window: Window {
            start_s: 0.0,
            end_s: WINDOW_S,
        },
        guests: guests
            .iter()
            .zip(&point.only_group().users)
            .map(|(name, users)| guest(name, *users, point.guests(), &outcome))
            .collect(),
        driver: DriverQuality::default(),
        aborted: None,
    };
    let busy =
        outcome.x * world.demand(point.guests()) / f64::from(point.guests()) + world.background;
    let sample = |name: &String, at_s: f64| ResourceSample {
        subject: name.clone(),
        at_s,
        cpu_cores: busy,
        memory_bytes: 1 << 26,
        io: None,
        parts: None,
        throttled_cores: None,
        memory: None,
    };
    TrialRecord {
        outcome: Ended::Done,
        reasons: Vec::new(),
        verdict: Some(judge(&study.qos, &measurement)),
        further: Vec::new(),
        machines: Vec::new(),
        other_programs: Vec::new(),
        kernel: Vec::new(),
        resources: if world.counters {
            guests
                .iter()
                .flat_map(|name| [sample(name, 0.0), sample(name, WINDOW_S)])
                .collect()
        } else {
            Vec::new()
        },
        measurement: Some(measurement),
        audits: Vec::new(),
        logs: Vec::new(),
        outputs: Vec::new(),
        tunings: Vec::new(),
        loads: Vec::new(),
        ready_s: 0.1,
    }
}

/// A guest's share of the orders, of which each is one purchase.
fn guest(name: &str, users: u32, guests: u32, outcome: &Outcome) -> GuestMeasurement {
    let orders = (outcome.x * WINDOW_S / f64::from(guests)).round() as u64;
    let operation = |name: &str, share: f64| {
        let mut operation = OperationMeasurement::empty(name);
        for k in 0..1000 {
            let seconds = outcome
                .times
                .quantile((f64::from(k) + 0.5) / 1000.0)
                .expect("orders were played");
            operation.service.record_us((seconds * share * 1e6) as u64);
            operation.response.record_us((seconds * share * 1e6) as u64);
        }
        (operation.started, operation.completed, operation.succeeded) = (orders, orders, orders);
        operation
    };
    GuestMeasurement {
        guest: name.to_owned(),
        users,
        operations: vec![operation("purchase", 0.9), operation("order", 1.0)],
        series: Vec::new(),
        errors: Vec::new(),
        counters: Counters::Dvdstore(ShopCounters::default()),
        busy_s: 0.0,
        idle_s: 0.0,
        drawn_delay_mean_s: None,
        actual_delay_mean_s: None,
    }
}
