//! The workload on real servers: load, verify, drive, verify; a server that is killed in between; and errors in clear words.

mod support;

use std::{
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use rookery_oltp::{DriveOptions, LoadOptions, OltpError, Report, SessionOptions, Target, drive, drive_and_tell, load, verify};
use rookery_workload::orderentry::{
    DeliveryMode, Isolation, Kind, Ledger, Moment, Population, Scale, Table,
    sql::Style,
    terminal::{Binding, Mix, Pacing},
};
use support::{Kind as ServerKind, Server, skipped};

static RUNNING: AtomicBool = AtomicBool::new(false);

fn population(warehouses: u32) -> Population {
    Population::new(Scale::new(warehouses, 100).expect("valid"), 42)
}

fn load_mini(target: &Target, warehouses: u32) {
    let options = LoadOptions::new(population(warehouses), 3);
    let sent = std::sync::Mutex::new(0);
    let loaded = load(target, &options, &RUNNING, &|step| *sent.lock().expect("not poisoned") += step.rows).expect("loaded");
    assert!(loaded.broken.is_empty(), "{:?}", loaded.broken);
    assert_eq!(loaded.rows, sent.into_inner().expect("not poisoned"), "progress tells of every row");
    let scale = options.population.scale;
    let exact: u64 = Table::LOADED
        .iter()
        .filter(|&&table| table != Table::OrderLine)
        .map(|&table| scale.rows(table))
        .sum();
    let lines = loaded.rows - exact;
    assert!(
        lines.abs_diff(scale.rows(Table::OrderLine)) < scale.rows(Table::OrderLine) / 10,
        "{lines}"
    );
}

fn options(style: Style, steady: Duration) -> DriveOptions {
    DriveOptions {
        terminals: 6,
        threads: 2,
        session: SessionOptions {
            style,
            isolation: Isolation::Default,
        },
        binding: Binding::Uniform,
        mix: Mix::Deck,
        pacing: Pacing::None,
        delivery: DeliveryMode::Inline,
        max_retries: 10,
        seed: 7,
        ramp_up: Duration::ZERO,
        steady,
        patience: Duration::from_secs(60),
    }
}

/// Drives for a short time, and checks what must hold whatever the machine does meanwhile.
fn drive_and_verify(target: &Target, style: Style) -> Report {
    let report = drive(target, &options(style, Duration::from_millis(1500)), &RUNNING).unwrap_or_else(|error| panic!("{style:?}: {error}"));
    eprintln!(
        "{target} {style:?}: {:?}, retries {:?}, told {:?}",
        report.counts, report.retries, report.told
    );
    assert!(report.ledger_holds(), "{style:?}: told {:?}, found {:?}", report.told, report.found);
    assert_eq!(report.unknown, Ledger::default());
    assert!(
        report.told.new_orders > 0 && report.told.payments > 0,
        "{style:?}: {:?}",
        report.told
    );
    assert_eq!(report.counts.failed, 0, "{style:?}");
    let new_orders = report.counts.completed[Kind::NewOrder] + report.counts.rolled_back;
    // Times are of those that began within the window, counts of those that ended there.
    assert!(report.latencies[Kind::NewOrder].count.abs_diff(new_orders) <= 6, "{style:?}");
    let found = verify(target, Moment::AnyTime).expect("verified");
    let broken: Vec<_> = found.checks.iter().filter(|check| !check.offenders.is_empty()).collect();
    assert!(broken.is_empty(), "{style:?}: {broken:?}");
    report
}

fn whole_road(kind: ServerKind, styles: &[Style]) {
    let server = Server::start(kind);
    let target = server.target();
    load_mini(&target, 2);
    for &style in styles {
        drive_and_verify(&target, style);
    }
    a_broken_condition_is_found(&server);
}

fn a_broken_condition_is_found(server: &Server) {
    let target = server.target();
    server.execute(&target, "UPDATE warehouse SET w_ytd = w_ytd + 0.01 WHERE w_id = 2");
    let found = verify(&target, Moment::AnyTime).expect("verified");
    let broken: Vec<_> = found
        .checks
        .iter()
        .filter(|check| !check.offenders.is_empty())
        .map(|check| check.condition.number())
        .collect();
    assert_eq!(broken, [1, 8], "the sums of a warehouse");
    assert!(!found.holds());
    let first = &found.checks[0].offenders;
    assert!(first.len() == 1 && first[0].starts_with("2, "), "{first:?}");
}

#[test]
fn mariadb_from_load_to_ledger() {
    if skipped() {
        return;
    }
    whole_road(ServerKind::MariaDb, &[Style::Plain, Style::Batched, Style::Pipelined, Style::Procs]);
}

#[test]
fn postgresql_from_load_to_ledger() {
    if skipped() {
        return;
    }
    whole_road(
        ServerKind::Postgres,
        &[Style::Plain, Style::Batched, Style::Pipelined, Style::Procs],
    );
}

/// Waits until a transaction has ended. When none ever does, the drive ends first, and what is checked of it says so.
fn await_work(at_work: &AtomicBool) {
    let until = Instant::now() + Duration::from_secs(60);
    while !at_work.load(Ordering::Relaxed) && Instant::now() < until {
        thread::sleep(Duration::from_millis(50));
    }
}

/// Kills the server while terminals work, starts it again, and compares what they were told with what is there.
fn killed_in_the_middle(kind: ServerKind) {
    let mut server = Server::start(kind);
    let target = server.target();
    load_mini(&target, 1);
    // Long enough for any machine; it is stopped when transactions end again.
    let options = options(Style::Plain, Duration::from_secs(150));
    let (stop, at_work) = (AtomicBool::new(false), AtomicBool::new(false));
    let report = thread::scope(|scope| {
        let running = scope.spawn(|| {
            drive_and_tell(&target, &options, &stop, &|progress| {
                at_work.fetch_or(progress.requests_per_s > 0.0, Ordering::Relaxed);
            })
        });
        for _ in 0..2 {
            await_work(&at_work);
            server.kill();
            server.run();
            at_work.store(false, Ordering::Relaxed);
        }
        await_work(&at_work);
        stop.store(true, Ordering::Relaxed);
        running.join().expect("no panic").expect("the terminals come back")
    });
    eprintln!(
        "{kind:?}: {} reconnections, told {:?}, unknown {:?}, found {:?}",
        report.reconnections, report.told, report.unknown, report.found
    );
    assert!(report.reconnections > 0, "the server was killed under the terminals");
    assert!(report.told.new_orders > 0);
    assert!(
        report.ledger_holds(),
        "told {:?}, unknown {:?}, found {:?}",
        report.told,
        report.unknown,
        report.found
    );
    let found = verify(&target, Moment::AnyTime).expect("verified");
    assert!(found.holds(), "{:?}", found.checks);
}

#[test]
fn mariadb_loses_nothing_when_it_is_killed() {
    if skipped() {
        return;
    }
    killed_in_the_middle(ServerKind::MariaDb);
}

#[test]
fn postgresql_loses_nothing_when_it_is_killed() {
    if skipped() {
        return;
    }
    killed_in_the_middle(ServerKind::Postgres);
}

/// Serialization failures are retried with the same input, and nothing is lost or doubled by it.
#[test]
fn serialization_failures_are_tried_again() {
    if skipped() {
        return;
    }
    let server = Server::start(ServerKind::Postgres);
    let target = server.target();
    load_mini(&target, 1);
    let mut options = options(Style::Batched, Duration::from_secs(2));
    options.session.isolation = Isolation::Serializable;
    options.max_retries = 100;
    let report = drive(&target, &options, &RUNNING).expect("driven");
    assert_eq!(report.isolation.as_deref(), Some("serializable"));
    assert!(
        report.retries[2] > 0,
        "six terminals in one warehouse collide: {:?}",
        report.retries
    );
    assert!(report.ledger_holds(), "told {:?}, found {:?}", report.told, report.found);
    assert!(verify(&target, Moment::AnyTime).expect("verified").holds());
}

fn refusal(url: &str) -> OltpError {
    verify(&url.parse().expect("a target"), Moment::AnyTime).expect_err(url)
}

#[test]
fn mariadb_errors_are_clear() {
    if skipped() {
        return;
    }
    let mut server = Server::start(ServerKind::MariaDb);
    let target = server.target();
    server.execute(&target, "CREATE USER 'web'@'localhost' IDENTIFIED BY 'right'");
    let wrong = refusal(&server.url("web:wrong", "shop"));
    assert!(
        matches!(wrong, OltpError::Account { .. }) && !wrong.to_string().contains("wrong@"),
        "{wrong}"
    );
    common_errors(&mut server, "root");
}

#[test]
fn postgresql_errors_are_clear() {
    if skipped() {
        return;
    }
    let mut server = Server::start(ServerKind::Postgres);
    let target = server.target();
    server.execute(&target, "CREATE USER web PASSWORD 'right'");
    server.demand_passwords();
    for account in ["web:wrong", "web"] {
        let error = refusal(&server.url(account, "shop"));
        assert!(matches!(error, OltpError::Account { .. }), "{account}: {error:?}");
    }
    common_errors(&mut server, "oe");
}

fn common_errors(server: &mut Server, user: &str) {
    let target = server.target();
    let missing = refusal(&server.url(user, "nowhere"));
    assert!(
        matches!(&missing, OltpError::NoDatabase { database, .. } if database == "nowhere"),
        "{missing:?}"
    );
    let empty = refusal(&target_url(server, user));
    assert!(matches!(empty, OltpError::NotLoaded { .. }), "{empty:?}");
    load_mini(&target, 1);
    let again = load(&target, &LoadOptions::new(population(1), 1), &RUNNING, &|_| {}).expect_err("tables are there");
    assert!(matches!(again, OltpError::Exists { table: "item", .. }), "{again:?}");
    server.execute(&target, "UPDATE oe_meta SET v = '2' WHERE k = 'schema_version'");
    let version = refusal(&target_url(server, user)).to_string();
    assert!(version.contains("schema version 2"), "{version}");
    let overwritten = LoadOptions {
        overwrite: true,
        ..LoadOptions::new(population(1), 2)
    };
    load(&target, &overwritten, &RUNNING, &|_| {}).expect("loaded again");
    assert!(verify(&target, Moment::AfterLoad).expect("verified").holds());
    let stopped = load(&target, &overwritten, &AtomicBool::new(true), &|_| {}).expect_err("stopped");
    assert!(matches!(stopped, OltpError::Stopped), "{stopped:?}");
    let half = refusal(&target_url(server, user)).to_string();
    assert!(half.contains("not loaded to its end"), "{half}");
    server.kill();
    let gone = refusal(&target_url(server, user));
    assert!(matches!(gone, OltpError::NoServer { .. }), "{gone:?}");
}

fn target_url(server: &Server, user: &str) -> String {
    server.url(user, "shop")
}
