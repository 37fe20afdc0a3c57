//! Whole trials in virtual time: real users, recorders and merge; only the clock and the server are
//! arithmetic.

use std::{
    rc::Rc,
    time::{Duration, Instant},
};

use rookery_driver::{
    ArrivalQueue, Clock, CpuUse, LoadEnd, Nanos, Pause, faults, local_runtime, nanos,
};
use rookery_stats::{Measurement, Pacing, faults::warnings};
use rookery_workload::dvdstore::{ShopperParams, Size};

use crate::{
    check::tests::config_for,
    client::Client,
    config::Config,
    merge,
    register::Row,
    run::recording,
    site::Site,
    thread::{record, worker_settings},
    user::{User, UserScript as _},
    worker::Worker,
    workloads::{
        GuestUsers, Script,
        dvdstore::{DvdstoreScript, SearchWords, Shop, Shopping},
    },
};

const MS: Nanos = 1_000_000;

/// A trial with an infinite server: nobody waits for anybody else.
struct Trial {
    config: Config,
    /// Time of an act, from 0 to 1 for its two ends.
    service: fn(f64) -> Nanos,
    /// Timers are late by less than this.
    tick: Nanos,
    /// A bug: what the driver takes the end of an act for, given its start and its end.
    end_taken_for: fn(Nanos, Nanos) -> Nanos,
    /// A bug: what the driver takes the end of a pause for, given its begin and its end.
    wait_taken_for: fn(Nanos, Nanos) -> Nanos,
}

/// One act as it was: due, begun, ended.
type Act = (Nanos, Nanos, Nanos);

impl Trial {
    /// Users with a mean think time of 250 ms and acts of 50 to 250 ms, for 20 s after 2 s.
    fn new(users: u32, seed: u64) -> Self {
        let mut config = config_for("127.0.0.1:80", "/");
        config.assignments[0].users = users;
        config.assignments[0].script = Script::Dvdstore(script());
        config.think_time = Duration::from_millis(250);
        config.phases.ramp_up = Duration::from_secs(1);
        config.phases.settle = Duration::from_secs(1);
        config.phases.steady = Duration::from_secs(20);
        config.phases.ramp_down = Duration::from_secs(2);
        config.seed = seed;
        Self {
            config,
            service: |share| 50 * MS + (share * 200e6) as Nanos,
            tick: MS,
            end_taken_for: |_, end| end,
            wait_taken_for: |_, end| end,
        }
    }

    /// What was measured, and the acts of each user as they were.
    fn run(&self) -> (Measurement, Vec<Vec<Act>>) {
        let (config, users) = (&self.config, self.config.assignments[0].users);
        let worker = worker(config, users as usize);
        let site = Rc::new(Site::new(config.assignments[0].target));
        let shop = Rc::new(Shop::new(script()));
        let acts = (0..users)
            .map(|number| {
                let (starts, stops) = config.phases.lifetime(number, users);
                let client = Client::new(Rc::clone(&worker), Rc::clone(&site), number as usize, 0);
                let script = Shopping::new(Rc::clone(&shop), config.seed, 0, number);
                self.live(User::new(script, client), starts, stops)
            })
            .collect();
        let end = nanos(config.phases.load_end()) + 3_600_000 * MS;
        let end = LoadEnd {
            now: end,
            cpu: CpuUse::default(),
            counts: worker.sweep(end),
        };
        let recorded = record(&worker, &[GuestUsers::Dvdstore(shop)], end);
        let window = config.phases.window();
        let all = recording(config, window, vec![recorded], None);
        (merge::one(config, all), acts)
    }

    /// The life of one user, as [`User::live`] has it, with a clock of numbers.
    fn live(&self, mut user: User<Shopping>, starts: Nanos, stops: Nanos) -> Vec<Act> {
        let mut acts = Vec::new();
        user.turn(false, starts);
        let (worker, row) = (Rc::clone(&user.client.worker), user.client.row);
        worker.count_connect(row, starts);
        let mut now = starts + MS;
        let mut due = now + user.script.initial_delay(worker.pace.initial_delay());
        let mut pause: Option<Pause> = None;
        while due < stops {
            let in_time = now < due;
            let sent = now.max(due + u64::from(in_time) * (due % self.tick));
            let begun = pause.map_or(sent, |pause| (self.wait_taken_for)(pause.from, sent));
            user.begin(due, begun, in_time, pause);
            let done = sent + (self.service)((due / 1_000 % 1_009) as f64 / 1_009.0);
            user.client.pretend(sent, (self.end_taken_for)(sent, done));
            user.finish(due, sent, true);
            user.ended = Some(done);
            acts.push((due, sent, done));
            now = done;
            (due, pause) = user.next(sent, done);
        }
        acts
    }
}

fn script() -> DvdstoreScript {
    DvdstoreScript {
        directory: "ds2".to_owned(),
        page_type: "php".to_owned(),
        shopper: ShopperParams::new(Size::Mb(10)),
        words: SearchWords::BuiltIn,
    }
}

fn worker(config: &Config, users: usize) -> Rc<Worker> {
    let (_runtime, timer) = local_runtime(1).expect("a runtime");
    Rc::new(Worker::new(
        worker_settings(config),
        Clock::new(Instant::now()),
        timer.timer(),
        &vec![0; users],
        ArrivalQueue::default(),
    ))
}

#[test]
fn a_user_is_small() {
    let config = config_for("127.0.0.1:1", "/");
    let site = Rc::new(Site::new(config.assignments[0].target));
    let client = Client::new(worker(&config, 1), site, 0, 0);
    let shopping = Shopping::new(Rc::new(Shop::new(script())), 1, 0, 0);
    let life = User::new(shopping, client).live(0, 0);
    let bytes = size_of_val(&life) + size_of::<Row>();
    assert!(bytes <= 2_500, "{bytes} bytes");
}

#[test]
fn healthy_trials_are_never_accused() {
    for (users, steady_s) in [(1, 8), (1, 60), (7, 20), (40, 3), (40, 20)] {
        for seed in 0..8 {
            let mut trial = Trial::new(users, seed);
            trial.config.phases.steady = Duration::from_secs(steady_s);
            let (measured, _) = trial.run();
            assert_eq!(
                faults(&measured),
                Vec::new(),
                "{users} users, {steady_s} s, seed {seed}"
            );
            let noise = warnings(&measured)
                .iter()
                .any(|warning| warning.contains("too short to judge"));
            assert_eq!(
                noise,
                (users, steady_s) == (1, 8),
                "{users} users, {steady_s} s, seed {seed}: {:?}",
                warnings(&measured)
            );
        }
    }
}

#[test]
fn little_s_law_is_unbiased_also_in_a_short_window() {
    let mut sum = 0.0;
    for seed in 0..20 {
        let mut trial = Trial::new(50, seed);
        trial.config.phases.steady = Duration::from_secs(3);
        let error = trial.run().0.driver.little_error;
        assert!(error < 0.04, "seed {seed}: {error}");
        sum += error * error;
    }
    // The root mean square of 20 errors; the theory says 0.9 %.
    let typical = (sum / 20.0f64).sqrt();
    assert!(typical < 0.015, "{typical}");
}

#[test]
fn think_time_recorded_too_long_or_too_short_is_found() {
    let bugs: [fn(Nanos, Nanos) -> Nanos; 2] = [
        |from, to| to + (to - from) / 20,
        |from, to| to - (to - from) / 20,
    ];
    for (bug, seed) in bugs
        .into_iter()
        .flat_map(|bug| (0..5).map(move |seed| (bug, seed)))
    {
        let mut trial = Trial::new(60, seed);
        // Mostly thinking: 5 % of the think time is nearly 5 % of the cycle.
        trial.service = |share| MS + (share * 20e6) as Nanos;
        assert!(trial.run().0.driver.little_error < 0.01);
        trial.wait_taken_for = bug;
        let (measured, _) = trial.run();
        assert!(
            (measured.driver.little_error - 0.048).abs() < 0.012,
            "{}",
            measured.driver.little_error
        );
        assert!(
            faults(&measured)
                .iter()
                .any(|fault| fault.text.contains("Little's law")),
            "{:?}",
            faults(&measured)
        );
    }
}

#[test]
fn response_time_recorded_wrong_is_found() {
    let bugs: [fn(Nanos, Nanos) -> Nanos; 3] = [
        |sent, end| end + (end - sent) / 10,
        |sent, end| end - (end - sent) / 10,
        |sent, _| sent,
    ];
    for bug in bugs {
        let mut trial = Trial::new(60, 3);
        trial.end_taken_for = bug;
        let (measured, _) = trial.run();
        assert!(
            faults(&measured)
                .iter()
                .any(|fault| fault.text.contains("Little's law")),
            "{:?}",
            faults(&measured)
        );
    }
}

#[test]
fn throughput_is_what_the_operational_law_says() {
    let mut trial = Trial::new(100, 1);
    (trial.service, trial.tick) = (|_| 100 * MS, 1);
    trial.config.pacing = Pacing::Cycle;
    trial.config.think_time = Duration::from_millis(250);
    let orders = |trial: &Trial| {
        trial.run().0.guests[0]
            .operations
            .iter()
            .find(|operation| operation.name == "order")
            .map(|order| order.completed)
    };
    assert_eq!(
        orders(&trial),
        Some(100 * 20 * 4),
        "N / C: four orders each second by each of 100 users"
    );
    trial.service = |_| 500 * MS;
    assert_eq!(
        orders(&trial),
        Some(100 * 20 * 2),
        "N / R where cycles cannot be kept"
    );
    trial.config.pacing = Pacing::Think;
    trial.config.think_time = Duration::ZERO;
    trial.service = |_| 200 * MS;
    assert_eq!(
        orders(&trial),
        Some(100 * 20 * 5),
        "N / R without think time"
    );
}

#[test]
fn cycles_keep_their_distance_or_follow_at_once() {
    let mut trial = Trial::new(3, 5);
    (trial.config.pacing, trial.config.think_time) = (Pacing::Cycle, Duration::from_millis(100));
    trial.service = |share| if share < 0.5 { 40 * MS } else { 130 * MS };
    for acts in trial.run().1 {
        assert!(acts.len() > 150);
        for pair in acts.windows(2) {
            let [(_, sent, done), (due, next, _)] = pair else {
                continue;
            };
            assert_eq!(*due, (sent + 100 * MS).max(*done));
            assert!(*next >= *due && next - due < MS);
        }
    }
}

#[test]
fn every_act_is_counted_once_and_none_begins_outside_the_phases() {
    let trial = Trial::new(40, 9);
    let (measured, lives) = trial.run();
    let phases = &trial.config.phases;
    let (start, end) = (nanos(phases.window_start()), nanos(phases.window_end()));
    let inside = |at: &Nanos| (start..end).contains(at);
    let acts: Vec<Act> = lives.concat();
    let order = measured.guests[0]
        .operations
        .iter()
        .find(|operation| operation.name == "order")
        .expect("orders");
    assert_eq!(
        order.started,
        acts.iter().filter(|(_, sent, _)| inside(sent)).count() as u64
    );
    assert_eq!(
        order.completed,
        acts.iter().filter(|(_, _, done)| inside(done)).count() as u64
    );
    assert_eq!(
        order.started,
        order.succeeded + order.failed + order.unfinished
    );
    assert_eq!(order.service.count(), order.started);
    let slots: u64 = measured.guests[0]
        .series
        .iter()
        .map(|second| u64::from(second.orders))
        .sum();
    assert_eq!(slots, acts.len() as u64);
    let half = nanos(phases.ramp_down) / 2;
    for (number, acts) in (0..).zip(&lives) {
        let (starts, stops) = phases.lifetime(number, 40);
        assert!(
            acts.iter()
                .all(|(_, sent, _)| (starts..stops + MS).contains(sent))
        );
        assert!(stops > nanos(phases.load_end()) - half && stops <= nanos(phases.load_end()));
        assert!(
            acts.iter().any(|(_, sent, _)| *sent >= end),
            "the load is kept up beyond the window"
        );
    }
}

#[test]
fn users_appear_at_even_distances() {
    let trial = Trial::new(40, 9);
    let starts: Vec<Nanos> = (0..40)
        .map(|number| trial.config.phases.lifetime(number, 40).0)
        .collect();
    assert!(
        starts.windows(2).all(|pair| pair[1] - pair[0] == 25 * MS),
        "40 users over 1 s"
    );
}
