//! Trials against systems whose answers are known.

use std::{sync::atomic::AtomicBool, time::Duration};

use rookery_driver::{Arrivals, Load, OpenLoad, Precision, Profile, Request, Visit};
use rookery_stats::{Measurement, faults::faults};
use rookery_workload::dvdstore::{ShopperParams, Size};

use super::*;
use crate::{
    check::tests::config_for,
    workloads::dvdstore::{DvdstoreScript, SearchWords},
};

const MS: u64 = 1_000_000;

/// Answers every request after the same time, however many there are.
struct Delay {
    time: u64,
    under_way: std::collections::VecDeque<(u64, u32)>,
}

impl System for Delay {
    fn arrive(&mut self, at: u64, request: Request) {
        self.under_way.push_back((at + self.time, request.job));
    }

    fn next(&self) -> Option<u64> {
        self.under_way.front().map(|(at, _)| *at)
    }

    fn depart(&mut self) -> Option<u32> {
        self.under_way.pop_front().map(|(_, job)| job)
    }
}

/// 40 users with a mean think time of 250 ms, one search in every order: 3 pages.
fn config() -> Config {
    let mut config = config_for("127.0.0.1:80", "/");
    config.assignments[0].users = 40;
    config.assignments[0].script = Script::Dvdstore(DvdstoreScript {
        directory: "ds2".to_owned(),
        page_type: "php".to_owned(),
        shopper: ShopperParams {
            searches: 1,
            ..ShopperParams::new(Size::Mb(10))
        },
        words: SearchWords::BuiltIn,
    });
    config.think_time = Duration::from_millis(250);
    config.phases.ramp_up = Duration::from_secs(1);
    config.phases.settle = Duration::from_secs(1);
    config.phases.steady = Duration::from_secs(60);
    config.phases.ramp_down = Duration::from_secs(2);
    config.phases.drain = Duration::from_secs(1);
    config.timeout = Duration::from_secs(5);
    config
}

fn played(config: &Config, time: u64) -> Measurement {
    let mut system = Delay {
        time,
        under_way: std::collections::VecDeque::new(),
    };
    let stop = AtomicBool::new(false);
    play(config, &mut system, Duration::from_micros(50), &stop).expect("a good configuration")
}

fn order(measured: &Measurement) -> &rookery_stats::OperationMeasurement {
    let operations = &measured.guests[0].operations;
    operations
        .iter()
        .find(|operation| operation.name == "order")
        .expect("orders")
}

#[test]
fn users_keep_the_operational_law_and_accuse_nobody() {
    let measured = played(&config(), 10 * MS);
    assert_eq!(faults(&measured), Vec::new());
    // N / (Z + R) = 40 / 0.28 s, over 60 s.
    let expected = 40.0 / 0.28 * 60.0;
    assert!(
        (order(&measured).completed as f64 / expected - 1.0).abs() < 0.01,
        "{}",
        order(&measured).completed
    );
    assert!(order(&measured).service.mean_us().expect("orders") - 30_000.0 < 10.0);
    assert!(
        measured.driver.lag_max_us <= 1,
        "the smallest value that a histogram holds"
    );
    assert!(
        measured.driver.little_error < 0.01,
        "{}",
        measured.driver.little_error
    );
    assert!(
        measured == played(&config(), 10 * MS),
        "same trial, same numbers"
    );
}

#[test]
fn who_waits_too_long_gives_up_and_goes_on() {
    let mut config = config();
    config.timeout = Duration::from_millis(20);
    let measured = played(&config, 25 * MS);
    let logins = measured.guests[0]
        .operations
        .iter()
        .find(|operation| operation.name == "login")
        .expect("logins");
    assert!(logins.failed > 100 && logins.succeeded == 0, "{logins:?}");
    assert_eq!(measured.guests[0].errors[0].sub_class, "recv-timeout");
    assert_eq!(counted(&measured.guests[0]).n_purchase_from_start, 0);
}

#[test]
fn visitors_arrive_act_and_leave() {
    let mut config = config();
    let open = OpenLoad {
        arrivals: Arrivals::Uniform,
        profile: Profile::level(100.0),
        weights: Vec::new(),
        max_in_flight: 3,
        precision: Precision::Exact,
        visit: Visit::Single,
    };
    config.load = Load::Open(open.clone());
    let measured = played(&config, 10 * MS);
    let arrivals = measured.driver.arrivals.as_ref().expect("arrivals");
    assert_eq!(
        (arrivals.drawn, arrivals.started, arrivals.dropped),
        (6_000, 6_000, 0)
    );
    assert_eq!(order(&measured).succeeded, 6_000);
    config.load = Load::Open(OpenLoad {
        max_in_flight: 2,
        ..open
    });
    let crowded = played(&config, 10 * MS).driver.arrivals.expect("arrivals");
    assert_eq!(crowded.started + crowded.dropped, 6_000);
    assert!(
        (1_900..2_100).contains(&crowded.dropped),
        "two places of 30 ms serve 66.7/s: {}",
        crowded.dropped
    );
}

#[test]
fn a_stop_ends_the_load_and_is_told() {
    let mut system = Delay {
        time: MS,
        under_way: std::collections::VecDeque::new(),
    };
    let stop = AtomicBool::new(true);
    let measured =
        play(&config(), &mut system, Duration::ZERO, &stop).expect("a good configuration");
    assert_eq!(measured.aborted.as_deref(), Some("stopped on request"));
    assert!(measured.window.end_s < 62.0);
}

fn counted(guest: &rookery_stats::GuestMeasurement) -> &rookery_workload::dvdstore::ShopCounters {
    guest.counters.dvdstore().expect("a DVD Store")
}
