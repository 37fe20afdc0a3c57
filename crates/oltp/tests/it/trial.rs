//! Trials on private servers: two guests at once of which one is killed, an open load that is too
//! much, deferred deliveries.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use rookery_oltp::{
    LoadOptions, SessionOptions, load,
    trial::{Load, OpenLoad, Phases, Threads, TrialConfig, TrialGuest, run},
    verify,
};
use rookery_stats::{ErrorClass, GuestMeasurement, Measurement};
use rookery_workload::orderentry::{
    DeliveryMode, Isolation, Moment, Population, Scale,
    terminal::{Binding, Mix, Pacing},
};
use rookery_workload::orderentry::{LedgerCounts, OrderEntryCounters, TRANSACTIONS};

use crate::support::{Kind as ServerKind, Server, skipped};

static RUNNING: AtomicBool = AtomicBool::new(false);

fn population() -> Population {
    Population::new(Scale::new(2, 100).expect("valid"), 42)
}

fn guest(name: &str, server: &Server, terminals: u32) -> TrialGuest {
    let target = server.target();
    load(
        &target,
        &LoadOptions::new(population(), 2),
        &RUNNING,
        &|_| {},
    )
    .expect("loaded");
    TrialGuest {
        name: name.to_owned(),
        target,
        terminals,
        population: population(),
    }
}

fn config(guests: Vec<TrialGuest>, steady: Duration) -> TrialConfig {
    TrialConfig {
        guests,
        threads: Threads::Free(2),
        network: None,
        load: Load::Closed,
        phases: Phases {
            ramp_up: Duration::from_millis(200),
            settle: Duration::from_millis(100),
            steady,
            ramp_down: Duration::from_millis(200),
            drain: Duration::from_secs(30),
        },
        session: SessionOptions::default(),
        binding: Binding::Uniform,
        mix: Mix::Deck,
        pacing: Pacing::None,
        think: rookery_workload::DelayDistribution::TruncatedExponential,
        delivery: DeliveryMode::Inline,
        max_retries: 10,
        patience: None,
        seed: 7,
        confirmed: Vec::new(),
    }
}

/// Runs a trial, and checks what must hold of the accounts of every measurement.
fn measured(config: &TrialConfig, stop: &AtomicBool) -> Measurement {
    let measurement = run(config, &Instant::now, stop, &|_| {}).expect("driven");
    for (guest, asked) in measurement.guests.iter().zip(&config.guests) {
        assert_eq!(guest.guest, asked.name);
        for operation in &guest.operations {
            let ended = operation.succeeded + operation.failed + operation.unfinished;
            assert_eq!(
                operation.started, ended,
                "{}: {}",
                guest.guest, operation.name
            );
        }
        let counters = counters(guest);
        // A transaction with a result has the same counts on both ways.
        for (transaction, name) in counters.transactions.iter().zip(TRANSACTIONS) {
            assert_eq!(transaction.name, name);
            let operation = guest.operation(name).expect("all five are listed");
            if config.delivery == DeliveryMode::Inline || name != "delivery" {
                assert_eq!(
                    operation.completed, transaction.completed,
                    "{}: {name}",
                    guest.guest
                );
            }
        }
    }
    assert_eq!(measurement.driver.unconnected_users, 0);
    measurement
}

fn counters(guest: &GuestMeasurement) -> &OrderEntryCounters {
    guest.counters.orderentry().expect("a guest of order entry")
}

/// The conditions hold, and the database has what terminals were told.
fn verified(guest: &GuestMeasurement, at: &TrialGuest) {
    let found = verify(&at.target, Moment::AnyTime, &crate::support::NEVER).expect("verified");
    assert!(found.holds(), "{}: {:?}", guest.guest, found.checks);
    let OrderEntryCounters { told, unknown, .. } = counters(guest);
    let within = |found: i64, told: u64, unknown: u64| {
        (told..=told + unknown).contains(&found.unsigned_abs())
    };
    let ledger = found.ledger;
    assert!(
        within(ledger.new_orders, told.new_orders, unknown.new_orders)
            && within(ledger.payments, told.payments, unknown.payments)
            && within(ledger.delivered, told.delivered, unknown.delivered),
        "{}: told {told:?}, unknown {unknown:?}, found {ledger:?}",
        guest.guest
    );
}

#[test]
fn one_of_two_guests_is_killed_and_comes_back() {
    if skipped() {
        return;
    }
    let (sound, mut killed) = (
        Server::start(ServerKind::MariaDb),
        Server::start(ServerKind::Postgres),
    );
    // Long enough for any machine; it is stopped when the server is there again.
    let config = config(
        vec![guest("sound", &sound, 3), guest("killed", &killed, 3)],
        Duration::from_secs(90),
    );
    let stop = AtomicBool::new(false);
    let measurement = thread::scope(|scope| {
        let running = scope.spawn(|| measured(&config, &stop));
        thread::sleep(Duration::from_secs(2));
        killed.kill();
        thread::sleep(Duration::from_millis(700));
        killed.run();
        // A terminal that waits between two attempts does so for a second at most.
        thread::sleep(Duration::from_secs(5));
        stop.store(true, Ordering::Relaxed);
        running.join().expect("no panic")
    });
    assert_eq!(
        measurement.aborted.as_deref(),
        Some("stopped on request"),
        "one dead guest ends nothing"
    );
    let [sound, killed] = &measurement.guests[..] else {
        panic!("two guests were asked for");
    };
    assert!(sound.errors.is_empty(), "{:?}", sound.errors);
    assert_eq!(counters(sound).reconnections, 0);
    assert_eq!(counters(sound).unknown, LedgerCounts::default());
    let words: Vec<_> = killed
        .errors
        .iter()
        .map(|tally| (tally.class, tally.sub_class.as_str(), tally.count))
        .collect();
    eprintln!("{words:?}");
    assert!(
        words.iter().any(|(class, ..)| *class == ErrorClass::Io),
        "{words:?}"
    );
    assert!(
        words
            .iter()
            .any(|(class, ..)| *class == ErrorClass::Connect),
        "{words:?}"
    );
    assert!(
        words
            .iter()
            .all(|(class, ..)| matches!(class, ErrorClass::Io | ErrorClass::Connect)),
        "{words:?}"
    );
    assert!(
        (1..=3).contains(&counters(killed).reconnections),
        "each terminal comes back once"
    );
    for (guest, at) in measurement.guests.iter().zip(&config.guests) {
        assert!(
            counters(guest).told.new_orders > 0 && counters(guest).nopm > 0.0,
            "{}",
            guest.guest
        );
        verified(guest, at);
    }
}

#[test]
fn transactions_that_are_given_up_are_in_the_class_of_their_cause() {
    if skipped() {
        return;
    }
    let server = Server::start(ServerKind::Postgres);
    let mut config = config(vec![guest("g", &server, 6)], Duration::from_millis(1500));
    config.session.isolation = Isolation::Serializable;
    config.max_retries = 0;
    let measurement = measured(&config, &RUNNING);
    let guest = &measurement.guests[0];
    let words: Vec<_> = guest
        .errors
        .iter()
        .map(|tally| (tally.class, tally.sub_class.as_str(), tally.count))
        .collect();
    eprintln!("{words:?}");
    let serialization = words
        .iter()
        .find(|(_, word, _)| *word == "serialization-failure");
    assert!(
        serialization.is_some_and(|(class, ..)| *class == ErrorClass::Semantic),
        "{words:?}"
    );
    // A delivery may also lose a race for an order, or a deadlock end one of two.
    assert!(
        words
            .iter()
            .all(|(class, ..)| *class == ErrorClass::Semantic),
        "{words:?}"
    );
    let failed: u64 = counters(guest)
        .transactions
        .iter()
        .map(|transaction| transaction.failed)
        .sum();
    let counted: u64 = words.iter().map(|(.., count)| count).sum();
    assert!(
        failed > 0 && failed <= counted,
        "{failed} in the window of {counted}"
    );
    assert!(counters(guest).retries.is_empty(), "none was allowed");
    verified(guest, &config.guests[0]);
}

#[test]
fn arrivals_beyond_the_limit_are_dropped_and_counted() {
    if skipped() {
        return;
    }
    let server = Server::start(ServerKind::MariaDb);
    let mut config = config(vec![guest("g", &server, 2)], Duration::from_millis(1500));
    config.load = Load::Open(OpenLoad {
        arrivals: rookery_driver::Arrivals::Poisson,
        // More than two connections ever serve.
        profile: rookery_driver::Profile::level(50_000.0),
        weights: Vec::new(),
        max_in_flight: 10,
        precision: rookery_driver::Precision::Batched,
        visit: rookery_driver::Visit::Single,
    });
    let measurement = measured(&config, &RUNNING);
    let arrivals = measurement
        .driver
        .arrivals
        .clone()
        .expect("an open load has arrivals");
    eprintln!("{arrivals:?}");
    assert_eq!(arrivals.drawn, arrivals.started + arrivals.dropped);
    assert!(
        arrivals.started > 0 && arrivals.dropped > arrivals.started,
        "{arrivals:?}"
    );
    let guest = &measurement.guests[0];
    let begun: u64 = guest
        .operations
        .iter()
        .map(|operation| operation.started)
        .sum();
    assert_eq!(
        begun, arrivals.started,
        "each arrival that was served is one transaction"
    );
    let dropped = guest
        .errors
        .iter()
        .find(|tally| tally.sub_class == "dropped")
        .expect("they are failures");
    assert!(dropped.count >= arrivals.dropped);
    for operation in guest
        .operations
        .iter()
        .filter(|operation| operation.succeeded > 0)
    {
        let (response, service) = (operation.response.mean_us(), operation.service.mean_us());
        assert!(
            response > service,
            "{}: the wait for a connection counts",
            operation.name
        );
    }
    verified(guest, &config.guests[0]);
}

#[test]
fn deferred_deliveries_are_executed_later() {
    if skipped() {
        return;
    }
    let server = Server::start(ServerKind::Postgres);
    let mut config = config(vec![guest("g", &server, 3)], Duration::from_millis(1500));
    config.delivery = DeliveryMode::Deferred;
    let measurement = measured(&config, &RUNNING);
    let guest = &measurement.guests[0];
    let deferred = counters(guest).deferred.expect("deferred");
    eprintln!("{deferred:?}");
    assert!(deferred.queued > 0);
    assert_eq!(
        (deferred.executed, deferred.in_time),
        (deferred.queued, deferred.queued),
        "the trial waits for them"
    );
    let delivery = guest.operation("delivery").expect("listed");
    assert_eq!(
        delivery.completed, deferred.queued,
        "the terminal's part is the queueing"
    );
    assert!(counters(guest).told.delivered > 0);
    verified(guest, &config.guests[0]);
}
