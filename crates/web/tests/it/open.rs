//! Open loads: who comes is served or counted as dropped, and what a frozen server does to them is
//! seen.

use std::{
    collections::BTreeSet,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
    time::{Duration, Instant},
};

use rookery_driver::{Arrivals, Load, OpenLoad, Precision, Profile, Visit, faults};
use rookery_stats::{ArrivalCounts, ErrorClass, Measurement, Mode, Pacing, faults::FaultCode};
use rookery_testkit::{Behaviour, Freezes, Server, StallingServer, page, refusing_address, truth};
use rookery_web::{
    Config, Script, run,
    workloads::http::{HttpScript, SiteName},
};
use serde_json::json;

use crate::common::{config, measure, ms, operation, page_script, shop, shop_script};

/// Uniform arrivals, each at its own time; no phases but the window.
fn open(rate: f64, max_in_flight: u32) -> OpenLoad {
    OpenLoad {
        arrivals: Arrivals::Uniform,
        profile: Profile::level(rate),
        weights: Vec::new(),
        max_in_flight,
        precision: Precision::Exact,
        visit: Visit::Single,
    }
}

fn trial(target: std::net::SocketAddr, script: Script, load: OpenLoad, steady: Duration) -> Config {
    let mut config = config(target, 1, script);
    config.load = Load::Open(load);
    config.phases.steady = steady;
    config
}

/// The arrivals of a trial; none of them is lost.
fn arrivals(measurement: &Measurement) -> &ArrivalCounts {
    let counts = measurement.driver.arrivals.as_ref().expect("an open load");
    assert_eq!(counts.started + counts.dropped, counts.drawn, "{counts:?}");
    counts
}

#[test]
fn every_arrival_is_started_whatever_the_precision() {
    for precision in [Precision::Exact, Precision::Batched] {
        let server = Server::start(Behaviour::Raw(page("hello"))).expect("a server");
        let load = OpenLoad {
            precision,
            ..open(400.0, 400)
        };
        let measurement = measure(&trial(server.address(), page_script(), load, ms(500)));
        assert_eq!(
            (measurement.mode, measurement.pacing),
            (Mode::Open, Pacing::Arrivals)
        );
        let counts = arrivals(&measurement);
        assert_eq!(
            (counts.drawn, counts.dropped, counts.precision.as_str()),
            (200, 0, precision.name())
        );
        assert_eq!(server.requests(), 200);
        let guest = &measurement.guests[0];
        let page = operation(guest, "page");
        assert_eq!(
            (
                page.started,
                page.succeeded,
                page.response.count(),
                guest.users
            ),
            (200, 200, 200, 0)
        );
        assert!(
            page.response.mean_us() >= page.service.mean_us(),
            "lateness belongs to the response"
        );
        assert!(guest.errors.is_empty() && measurement.driver.unconnected_users == 0);
        assert!(server.connections() < 200, "connections are used again");
        assert_eq!(server.connections(), measurement.driver.connections);
    }
}

#[test]
fn nobody_comes_before_the_time() {
    let server = Server::start(Behaviour::Raw(page("hello"))).expect("a server");
    let mut config = trial(server.address(), page_script(), open(100.0, 50), ms(200));
    config.phases.ramp_up = ms(400);
    let start = Instant::now() + ms(50);
    run(&config, start, &AtomicBool::new(false), &|_| {}).expect("the trial runs");
    // The rate rises to 100/s within 0.4 s: the k-th arrival is due when 125 t^2 reaches k + 0.5.
    let log = server.log();
    assert_eq!(log.len(), 40);
    for (k, request) in log.iter().enumerate().take(20) {
        let due = ((k as f64 + 0.5) / 125.0).sqrt();
        assert!(
            request.at >= start + Duration::from_secs_f64(due),
            "arrival {k}"
        );
    }
}

#[test]
fn who_finds_no_place_is_dropped_and_the_trial_void() {
    let server = Server::start(Behaviour::Late(ms(200), page("hello"))).expect("a server");
    let mut config = trial(server.address(), page_script(), open(200.0, 5), ms(600));
    config.cpus.push(config.cpus[0]);
    let measurement = measure(&config);
    let counts = arrivals(&measurement);
    assert_eq!(counts.drawn, 120);
    assert!(
        counts.dropped >= 100,
        "5 places, each for 0.2 s: {counts:?}"
    );
    assert_eq!(server.requests(), counts.started);
    assert_eq!(measurement.driver.connections, 5);
    let tally = &measurement.guests[0].errors[0];
    assert_eq!(
        (tally.class, tally.sub_class.as_str(), tally.count),
        (ErrorClass::Overload, "dropped", counts.dropped)
    );
    let faults = faults(&measurement);
    assert!(
        faults
            .iter()
            .any(|fault| fault.text.contains("were dropped")),
        "{faults:?}"
    );
}

#[test]
fn a_frozen_server_is_seen_by_arrivals_and_hidden_from_a_closed_load() {
    let (service, freeze, window) = (ms(5), ms(400), ms(2_000));
    let server = |start| {
        let freezes = Freezes {
            epoch: start,
            first: ms(800),
            last: freeze,
            every: ms(60_000),
        };
        StallingServer::start(service, Some(freezes), None).expect("a server")
    };
    let start = Instant::now() + ms(50);
    let frozen = server(start);
    let config = trial(frozen.address(), page_script(), open(400.0, 2_000), window);
    let measurement =
        run(&config, start, &AtomicBool::new(false), &|_| {}).expect("the trial runs");
    assert_eq!(arrivals(&measurement).started, 800);
    let page = operation(&measurement.guests[0], "page");
    for p in [85.0, 95.0, 99.0] {
        let (seen, least) = (
            page.response.percentile_us(p),
            truth(service, 1, freeze, window, p).as_micros() as u64,
        );
        assert!(
            seen.is_some_and(|seen| seen * 100 >= least * 97),
            "p{p}: {seen:?} us instead of {least} us"
        );
    }
    let start = Instant::now() + ms(50);
    let frozen = server(start);
    let mut config = crate::common::config(frozen.address(), 8, page_script());
    config.phases.steady = window;
    let closed = run(&config, start, &AtomicBool::new(false), &|_| {}).expect("the trial runs");
    let service = &operation(&closed.guests[0], "page").service;
    assert!(
        service.max_us() >= Some(395_000),
        "somebody waited: {:?}",
        service.max_us()
    );
    assert!(
        service.percentile_us(95.0) < Some(200_000),
        "but few: {:?}",
        service.percentile_us(95.0)
    );
}

#[test]
fn operations_as_data_see_a_server_that_stands_still() {
    let (service, freeze, window) = (ms(5), ms(1_000), ms(4_000));
    let start = Instant::now() + ms(50);
    let freezes = Freezes {
        epoch: start,
        first: ms(1_500),
        last: freeze,
        every: ms(60_000),
    };
    let frozen = StallingServer::start(service, Some(freezes), None).expect("a server");
    let workload = crate::http::script(vec![crate::http::get("home", "/", json!({}))], json!({}));
    let script = Script::Http(Box::new(HttpScript {
        workload,
        site: SiteName::at(frozen.address()),
    }));
    let config = trial(frozen.address(), script, open(200.0, 1_000), window);
    let measurement =
        run(&config, start, &AtomicBool::new(false), &|_| {}).expect("the trial runs");
    assert_eq!(arrivals(&measurement).started, 800);
    for name in ["page", "home"] {
        let response = &operation(&measurement.guests[0], name).response;
        for p in [80.0, 95.0, 99.0] {
            let least = truth(service, 1, freeze, window, p).as_micros() as u64;
            let seen = response.percentile_us(p);
            assert!(
                seen.is_some_and(|seen| seen * 100 >= least * 97),
                "{name}, p{p}: {seen:?} us instead of {least} us"
            );
        }
    }
}

#[test]
fn an_order_is_an_arrival_and_the_visitors_do_not_depend_on_the_threads() {
    let logins = |threads: usize, seed: u64| {
        let server = Server::with(shop).expect("a server");
        let mut config = trial(server.address(), shop_script(), open(100.0, 100), ms(400));
        config.seed = seed;
        config.cpus = vec![config.cpus[0]; threads];
        let measurement = measure(&config);
        let guest = &measurement.guests[0];
        assert!(guest.errors.is_empty(), "{:?}", guest.errors);
        assert_eq!(
            (
                arrivals(&measurement).started,
                operation(guest, "order").started
            ),
            (40, 40)
        );
        assert_eq!(counted(guest).n_purchase_from_start, 40);
        let entries = ["dslogin", "dsnewcustomer"];
        let targets = server.log().into_iter().map(|request| request.target);
        targets
            .filter(|target| entries.iter().any(|entry| target.contains(entry)))
            .collect::<BTreeSet<_>>()
    };
    assert_eq!(logins(1, 7), logins(2, 7));
    assert_ne!(logins(1, 7), logins(1, 8));
}

#[test]
fn visitors_of_a_partly_open_load_stay_and_are_strangers_to_each_other() {
    let server = Server::with(|request| {
        let set = if request.cookie.is_empty() {
            "Set-Cookie: id=1; Path=/\r\n"
        } else {
            ""
        };
        Behaviour::Raw(format!("HTTP/1.1 200 OK\r\n{set}Content-Length: 0\r\n\r\n").into_bytes())
    })
    .expect("a server");
    let load = OpenLoad {
        visit: Visit::Acts(3),
        ..open(50.0, 50)
    };
    let mut config = trial(server.address(), page_script(), load, ms(600));
    config.think_time = ms(10);
    let measurement = measure(&config);
    assert_eq!(measurement.mode, Mode::PartlyOpen);
    assert_eq!(arrivals(&measurement).started, 30);
    let fresh = server
        .log()
        .iter()
        .filter(|request| request.cookie.is_empty())
        .count();
    assert_eq!(
        fresh, 30,
        "each visitor comes without cookies and keeps those that it gets"
    );
    let acts = operation(&measurement.guests[0], "page").started;
    assert!(
        acts > 70 && acts <= 90,
        "{acts}: only the last visitors are interrupted"
    );
    assert_eq!(server.requests(), acts);
    assert!(measurement.guests[0].actual_delay_mean_s >= measurement.guests[0].drawn_delay_mean_s);
}

#[test]
fn guests_have_the_rate_of_their_weight() {
    let (one, two) = (
        Server::start(Behaviour::Raw(page("hello"))).expect("a server"),
        Server::start(Behaviour::Raw(page("hello"))).expect("a server"),
    );
    let load = OpenLoad {
        weights: vec![1.0, 3.0],
        ..open(50.0, 100)
    };
    let mut config = trial(one.address(), page_script(), load, ms(400));
    config.assignments.push(config.assignments[0].clone());
    config.assignments[1].target = two.address();
    assert_eq!(arrivals(&measure(&config)).drawn, 80);
    assert_eq!((one.requests(), two.requests()), (20, 60));
}

#[test]
fn a_stop_request_loses_nobody() {
    let server = Server::start(Behaviour::Late(ms(20), page("hello"))).expect("a server");
    let mut load = open(300.0, 4);
    load.arrivals = Arrivals::Poisson;
    let config = trial(
        server.address(),
        page_script(),
        load,
        Duration::from_secs(600),
    );
    let stop = AtomicBool::new(false);
    let measurement = run(&config, Instant::now(), &stop, &|_| {
        stop.store(true, Relaxed)
    })
    .expect("a partial result");
    assert_eq!(measurement.aborted.as_deref(), Some("stopped on request"));
    let counts = arrivals(&measurement);
    assert!(counts.dropped > 0 && counts.started > 0, "{counts:?}");
    assert_eq!(server.requests(), counts.started);
}

#[test]
fn a_dead_server_fails_arrivals_and_accuses_no_driver() {
    let nowhere = refusing_address().expect("an address");
    let measurement = measure(&trial(nowhere, page_script(), open(100.0, 10), ms(200)));
    assert_eq!(arrivals(&measurement).started, 20);
    let page = operation(&measurement.guests[0], "page");
    assert_eq!((page.failed, measurement.driver.unconnected_users), (20, 0));
    let tally = &measurement.guests[0].errors[0];
    assert_eq!(
        (tally.class, tally.sub_class.as_str(), tally.count),
        (ErrorClass::Connect, "refused", 20)
    );
}

#[test]
fn a_connection_that_the_server_closed_is_replaced() {
    let server = Server::start(Behaviour::Close(page("hello"))).expect("a server");
    let measurement = measure(&trial(
        server.address(),
        page_script(),
        open(50.0, 10),
        ms(400),
    ));
    assert_eq!(arrivals(&measurement).started, 20);
    assert!(
        measurement.guests[0].errors.is_empty(),
        "{:?}",
        measurement.guests[0].errors
    );
    assert_eq!(server.connections(), 20);
}

fn counted(guest: &rookery_stats::GuestMeasurement) -> &rookery_workload::dvdstore::ShopCounters {
    guest.counters.dvdstore().expect("a DVD Store")
}

#[test]
fn a_server_that_stands_still_to_the_end_voids_the_trial() {
    let start = Instant::now() + ms(50);
    let freezes = Freezes {
        epoch: start,
        first: ms(1_500),
        last: ms(60_000),
        every: ms(61_000),
    };
    let frozen = StallingServer::start(ms(5), Some(freezes), None).expect("a server");
    let mut config = crate::common::config(frozen.address(), 8, page_script());
    config.phases.steady = ms(2_000);
    config.phases.drain = ms(500);
    let measurement =
        run(&config, start, &AtomicBool::new(false), &|_| {}).expect("the trial runs");
    let page = operation(&measurement.guests[0], "page");
    assert_eq!(page.unfinished, 8);
    assert!(
        page.service.max_us() >= Some(1_000_000),
        "they count with their time so far"
    );
    let faults = rookery_stats::faults::faults(&measurement);
    let has = |code| faults.iter().any(|fault| fault.code == code);
    assert!(has(FaultCode::Standstill), "{faults:?}");
    assert!(
        has(FaultCode::Little),
        "the law is judged all the same: {faults:?}"
    );
}
