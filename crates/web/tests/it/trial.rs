//! Whole trials against a well-behaved server: what is counted, when users act, how a trial ends.

use std::{
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use rookery_driver::{DriverError, Phase, Phases};
use rookery_stats::{ErrorClass, Pacing};
use rookery_testkit::{Behaviour, Server, page};
use rookery_web::{Assignment, Script, run, workloads::dvdstore::SearchWords};
use rookery_workload::dvdstore::WordLists;

use crate::common::{config, measure, ms, operation, page_script, shop, shop_page, shop_script};

#[test]
fn driver_and_server_count_the_same_requests() {
    let server = Server::start(Behaviour::Raw(page("hello"))).expect("a server");
    let measurement = measure(&config(server.address(), 8, page_script()));
    let guest = &measurement.guests[0];
    let counted: u64 = guest
        .series
        .iter()
        .map(|second| u64::from(second.requests))
        .sum();
    assert_eq!(
        counted,
        server.requests(),
        "every request was awaited and counted once"
    );
    assert_eq!(
        (measurement.driver.connections, server.connections()),
        (8, 8),
        "connections are kept alive"
    );
    assert!(guest.errors.is_empty() && measurement.aborted.is_none());
    let page = operation(guest, "page");
    assert!(
        page.completed > 100 && page.completed <= page.started,
        "{page:?}"
    );
    assert_eq!(
        (page.succeeded, page.service.count(), page.response.count()),
        (page.started, page.started, page.started)
    );
}

#[test]
fn the_window_accounts_for_all_time_of_all_users() {
    let server = Server::start(Behaviour::Late(ms(10), page("hello"))).expect("a server");
    let mut config = config(server.address(), 5, page_script());
    config.think_time = ms(20);
    config.phases.settle = ms(200);
    config.phases.steady = ms(600);
    config.phases.ramp_down = ms(100);
    let measurement = measure(&config);
    let guest = &measurement.guests[0];
    assert!(
        (guest.busy_s + guest.idle_s - 5.0 * 0.6).abs() < 0.003,
        "{guest:?}"
    );
    let (drawn, actual) = (guest.drawn_delay_mean_s, guest.actual_delay_mean_s);
    assert!(
        actual >= drawn && drawn.is_some(),
        "a timer never ends early: {drawn:?} {actual:?}"
    );
    let page = operation(guest, "page");
    assert!(
        page.service.min_us() >= Some(9_900),
        "{:?}",
        page.service.min_us()
    );
    assert!(
        page.response.mean_us() >= page.service.mean_us(),
        "lag belongs to the response"
    );
}

#[test]
fn shoppers_shop_and_their_orders_are_counted_as_the_original_does() {
    let server = Server::with(shop).expect("a server");
    let measurement = measure(&config(server.address(), 4, shop_script()));
    let guest = &measurement.guests[0];
    assert!(guest.errors.is_empty(), "{:?}", guest.errors);
    let seen = |name: &str| {
        server
            .log()
            .iter()
            .filter(|request| request.target.contains(name))
            .count() as u64
    };
    assert_eq!(
        seen("index.html"),
        4,
        "each user looks at the index once, first"
    );
    assert!(server.log()[0].target.ends_with("/ds2/index.html"));
    assert_eq!(counted(guest).n_purchase_from_start, seen("dspurchase"));
    assert_eq!(
        (
            counted(guest).n_rollbacks_from_start,
            counted(guest).n_purchase_unanswered
        ),
        (0, 0)
    );
    let counters = *counted(guest);
    assert!(counters.n_overall > 0 && counters.n_overall <= counters.n_purchase_from_start);
    assert_eq!(
        counters.n_overall,
        counters.n_login_overall + counters.n_newcust_overall
    );
    assert_eq!(
        (counters.n_overall, counters.n_overall),
        (
            counters.n_purchase_overall,
            operation(guest, "order").completed
        )
    );
    assert_eq!(
        counters.opm.round() as u64,
        counters.n_overall * 200,
        "a window of 300 ms"
    );
    let order = operation(guest, "order");
    assert!(order.service.mean_us() > operation(guest, "purchase").service.mean_us());
    let orders: u64 = guest
        .series
        .iter()
        .map(|second| u64::from(second.orders))
        .sum();
    assert_eq!(orders, counters.n_purchase_from_start);
}

#[test]
fn the_same_seed_gives_the_same_shopper() {
    let shopped = |seed| {
        let server = Server::with(shop).expect("a server");
        let mut config = config(server.address(), 1, shop_script());
        config.seed = seed;
        measure(&config);
        let targets: Vec<String> = server
            .log()
            .into_iter()
            .map(|request| request.target)
            .take(30)
            .collect();
        assert_eq!(targets.len(), 30);
        targets
    };
    assert_eq!(shopped(1), shopped(1));
    assert_ne!(shopped(1), shopped(2));
}

#[test]
fn shoppers_search_for_the_words_that_they_are_given() {
    let server = Server::with(shop).expect("a server");
    let mut config = config(server.address(), 4, shop_script());
    let Script::Dvdstore(script) = &mut config.assignments[0].script else {
        panic!("shoppers");
    };
    script.words = SearchWords::Lists(WordLists {
        titles: vec!["PENGUIN".to_owned(); 2],
        first_names: vec!["ADELIE".to_owned()],
        last_names: vec!["ROCKHOPPER".to_owned()],
    });
    measure(&config);
    let searched = |word: &str| {
        server
            .log()
            .iter()
            .filter(|request| request.target.contains(word))
            .count()
    };
    let words = ["browse_title=PENGUIN", "browse_actor=ADELIE"].map(searched);
    assert!(words.iter().all(|&count| count > 0), "{words:?}");
    assert_eq!(
        searched("PENGUIN"),
        searched("browsetype=title"),
        "and for no other"
    );
}

#[test]
fn a_purchase_is_never_sent_twice() {
    // Every connection is closed after its answer, without a word.
    let server = Server::with(|request| Behaviour::Close(page(shop_page(&request.target))))
        .expect("a server");
    let mut config = config(server.address(), 2, shop_script());
    config.phases.steady = ms(500);
    let measurement = measure(&config);
    let guest = &measurement.guests[0];
    assert!(measurement.driver.idle_retries > 0);
    assert_eq!(
        operation(guest, "login").failed + operation(guest, "browse").failed,
        0,
        "these are asked again"
    );
    let kinds: Vec<_> = guest
        .errors
        .iter()
        .map(|tally| (tally.class, tally.sub_class.as_str()))
        .collect();
    assert_eq!(kinds, [(ErrorClass::Io, "idle-connection-closed")]);
    // A new customer may not be asked for twice either.
    let failed = operation(guest, "purchase").failed;
    assert!(
        failed > 0 && counted(guest).n_purchase_unanswered >= failed,
        "{:?}",
        counted(guest)
    );
    assert_eq!(counted(guest).n_purchase_from_start, 0);
}

#[test]
fn cookies_stay_with_their_user() {
    let server = Server::with(|request| {
        let set = format!("Set-Cookie: id={}; Path=/\r\n", request.number);
        let set = if request.cookie.is_empty() {
            set
        } else {
            String::new()
        };
        Behaviour::Raw(format!("HTTP/1.1 200 OK\r\n{set}Content-Length: 0\r\n\r\n").into_bytes())
    })
    .expect("a server");
    measure(&config(server.address(), 3, page_script()));
    let log = server.log();
    let fresh: Vec<u64> = log
        .iter()
        .filter(|request| request.cookie.is_empty())
        .map(|request| request.number)
        .collect();
    assert_eq!(fresh.len(), 3, "one cookie for each user");
    for number in fresh {
        let own = format!("id={number}");
        assert!(log.iter().any(|request| request.cookie == own), "{own}");
    }
}

#[test]
fn users_appear_no_earlier_than_their_turn() {
    // A cookie marks those that have been here before.
    let answer = b"HTTP/1.1 200 OK\r\nSet-Cookie: seen=1\r\nContent-Length: 0\r\n\r\n";
    let server = Server::start(Behaviour::Raw(answer.to_vec())).expect("a server");
    let mut config = config(server.address(), 10, page_script());
    config.phases.ramp_up = ms(500);
    config.think_time = Duration::from_secs(1);
    let start = Instant::now() + ms(100);
    run(&config, start, &AtomicBool::new(false), &|_| {}).expect("the trial runs");
    let log = server.log();
    let first: Vec<_> = log
        .iter()
        .filter(|request| request.cookie.is_empty())
        .collect();
    assert_eq!(first.len(), 10);
    for (user, request) in first.iter().enumerate() {
        assert!(
            request.at >= start + ms(50) * user as u32,
            "user {user} came too early"
        );
    }
}

#[test]
fn cycles_keep_their_distance_from_start_to_start() {
    let server = Server::start(Behaviour::Late(ms(20), page("hello"))).expect("a server");
    let mut config = config(server.address(), 1, page_script());
    (config.pacing, config.think_time) = (Pacing::Cycle, ms(50));
    measure(&config);
    let log = server.log();
    assert!(log.len() >= 3, "{}", log.len());
    // A request that is late on a busy machine is nearer to the next: the mean is not.
    let between = log[log.len() - 1].at - log[1].at;
    let pairs = u32::try_from(log.len() - 2).expect("few requests");
    assert!(between > pairs * ms(35), "{between:?} in {pairs} cycles");
}

#[test]
fn a_stop_request_ends_the_load_and_keeps_what_was_measured() {
    stop_early(4);
}

#[test]
fn a_user_alone_on_its_thread_hears_of_a_stop_as_well() {
    stop_early(1);
}

fn stop_early(users: u32) {
    let server = Server::start(Behaviour::Raw(page("hello"))).expect("a server");
    let mut config = config(server.address(), users, page_script());
    (config.phases.settle, config.phases.steady) = (ms(200), Duration::from_secs(600));
    let stop = AtomicBool::new(false);
    let phases = Mutex::new(Vec::new());
    let began = Instant::now();
    let progress = |progress: rookery_driver::Progress| {
        phases.lock().expect("no panic").push(progress.phase);
        assert_eq!(progress.active_users, users);
        stop.store(true, Relaxed);
    };
    let measurement = run(&config, began, &stop, &progress).expect("a partial result");
    assert!(began.elapsed() < Duration::from_secs(60));
    assert_eq!(measurement.aborted.as_deref(), Some("stopped on request"));
    assert!(measurement.window.end_s > 0.2 && measurement.window.end_s < 60.0);
    assert!(operation(&measurement.guests[0], "page").completed > 0);
    assert_eq!(
        phases.lock().expect("no panic")[0],
        Phase::Steady,
        "after the first second"
    );
    let served = server.requests();
    std::thread::sleep(ms(50));
    assert_eq!(server.requests(), served, "nothing goes on");
}

#[test]
fn guests_are_measured_apart() {
    let (fast, slow) = (
        Server::start(Behaviour::Raw(page("hello"))).expect("a server"),
        Server::start(Behaviour::Late(ms(50), page("hello"))).expect("a server"),
    );
    let mut config = config(fast.address(), 2, page_script());
    config.assignments.push(Assignment {
        guest: "g2".to_owned(),
        target: slow.address(),
        users: 3,
        script: page_script(),
    });
    let measurement = measure(&config);
    let names: Vec<_> = measurement
        .guests
        .iter()
        .map(|guest| (guest.guest.as_str(), guest.users))
        .collect();
    assert_eq!(names, [("g1", 2), ("g2", 3)]);
    let requests = |index: usize| {
        measurement.guests[index]
            .series
            .iter()
            .map(|second| u64::from(second.requests))
            .sum::<u64>()
    };
    assert_eq!(
        (requests(0), requests(1)),
        (fast.requests(), slow.requests())
    );
    assert!(requests(0) > requests(1));
}

#[test]
fn several_threads_share_the_users_and_merge_their_counts() {
    let server = Server::with(shop).expect("a server");
    let mut config = config(server.address(), 5, shop_script());
    config.cpus.push(config.cpus[0]);
    config.phases.settle = ms(200);
    let measurement = measure(&config);
    let guest = &measurement.guests[0];
    assert_eq!(measurement.driver.connections, 5);
    assert_eq!(
        server
            .log()
            .iter()
            .filter(|request| request.target.contains("index"))
            .count(),
        5
    );
    assert_eq!(
        guest
            .series
            .iter()
            .map(|second| u64::from(second.requests))
            .sum::<u64>(),
        server.requests()
    );
    assert!(
        (guest.busy_s + guest.idle_s - 5.0 * 0.3).abs() < 0.003,
        "{} {}",
        guest.busy_s,
        guest.idle_s
    );
}

#[test]
fn a_foreign_address_is_refused_before_the_first_packet() {
    let server = Server::start(Behaviour::Raw(page("hello"))).expect("a server");
    let mut config = config(server.address(), 1, page_script());
    let mut foreign = config.assignments[0].clone();
    foreign.target = "192.0.2.1:80".parse().expect("an address");
    config.assignments.push(foreign);
    let refused =
        run(&config, Instant::now(), &AtomicBool::new(false), &|_| {}).expect_err("a refusal");
    assert!(
        matches!(refused, DriverError::ForeignTarget { .. }),
        "{refused}"
    );
    assert_eq!(
        server.connections(),
        0,
        "not even the good target saw anything"
    );
}

#[test]
fn a_thread_that_cannot_start_keeps_all_from_starting() {
    let server = Server::start(Behaviour::Raw(page("hello"))).expect("a server");
    let mut config = config(server.address(), 2, page_script());
    config.cpus.push(1_000_000);
    let refused =
        run(&config, Instant::now(), &AtomicBool::new(false), &|_| {}).expect_err("a refusal");
    assert!(
        matches!(refused, DriverError::Pin { cpu: 1_000_000, .. }),
        "{refused}"
    );
    config.cpus.pop();
    config.network = Some("/nonexistent/namespace".into());
    let refused =
        run(&config, Instant::now(), &AtomicBool::new(false), &|_| {}).expect_err("a refusal");
    assert!(matches!(refused, DriverError::Network { .. }), "{refused}");
    assert_eq!(server.connections(), 0);
}

#[test]
fn ramp_down_keeps_the_load_beyond_the_window() {
    let server = Server::start(Behaviour::Late(ms(5), page("hello"))).expect("a server");
    let mut config = config(server.address(), 2, page_script());
    config.phases = Phases {
        ramp_up: Duration::ZERO,
        settle: ms(100),
        steady: ms(200),
        ramp_down: ms(200),
        drain: ms(1_000),
    };
    let began = Instant::now();
    let measurement =
        run(&config, began, &AtomicBool::new(false), &|_| {}).expect("the trial runs");
    let late = server
        .log()
        .iter()
        .filter(|request| request.at > began + ms(300))
        .count();
    assert!(late > 0, "requests go on after the window");
    let page = operation(&measurement.guests[0], "page");
    assert!(
        page.started < server.requests() - late as u64,
        "settling and ramp-down are not measured: {page:?}"
    );
}

fn counted(guest: &rookery_stats::GuestMeasurement) -> &rookery_workload::dvdstore::ShopCounters {
    guest.counters.dvdstore().expect("a DVD Store")
}
