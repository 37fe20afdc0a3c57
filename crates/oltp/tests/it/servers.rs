//! The workload on real servers: load, verify, drive, verify; a server that is killed in between;
//! and errors in clear words.

use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use rookery_oltp::{LoadOptions, OltpError, drive, drive_and_tell, load, verify};
use rookery_workload::orderentry::{
    Isolation, Moment, Table,
    population::{Part, TextFormat},
    sql::Style,
};

use crate::support::{
    Kind as ServerKind, Server, skipped,
    workload::{
        RUNNING, drive_and_verify, load_mini, options, population, the_broken_warehouse_is_found,
    },
};

fn whole_road(kind: ServerKind, styles: &[Style]) {
    let server = Server::start(kind);
    let target = server.target();
    load_mini(&target, 2);
    the_rows_are_those_of_the_population(&server);
    for &style in styles {
        drive_and_verify(&target, style);
    }
    server.execute(
        &target,
        "UPDATE warehouse SET w_ytd = w_ytd + 0.01 WHERE w_id = 2",
    );
    the_broken_warehouse_is_found(&target);
}

/// Whatever the road of the load, every field reads as the population says.
fn the_rows_are_those_of_the_population(server: &Server) {
    let mut expected: BTreeMap<Table, Vec<String>> = BTreeMap::new();
    let population = population(2);
    for part in Part::all(&population) {
        let mut text = Vec::new();
        let (_, more) = part
            .rows(&population)
            .fill_text(&mut text, TextFormat::Copy, usize::MAX);
        assert!(!more);
        let text = String::from_utf8(text).expect("ASCII");
        expected
            .entry(part.table)
            .or_default()
            .extend(text.lines().map(str::to_owned));
    }
    assert_eq!(expected.len(), Table::LOADED.len());
    for (table, mut rows) in expected {
        let names: Vec<&str> = table
            .loaded_columns()
            .iter()
            .map(|column| column.name)
            .collect();
        let stored = server.rows(&format!(
            "SELECT {} FROM {}",
            names.join(", "),
            table.name()
        ));
        let field = |field: Option<String>| field.unwrap_or_else(|| "\\N".to_owned());
        let line =
            |row: Vec<Option<String>>| row.into_iter().map(field).collect::<Vec<_>>().join("\t");
        let mut stored: Vec<String> = stored.into_iter().map(line).collect();
        stored.sort_unstable();
        rows.sort_unstable();
        assert!(
            stored == rows,
            "{}: {:?} instead of {:?}",
            table.name(),
            stored.first(),
            rows.first()
        );
    }
}

#[test]
fn mariadb_from_load_to_ledger() {
    if skipped() {
        return;
    }
    whole_road(
        ServerKind::MariaDb,
        &[Style::Plain, Style::Batched, Style::Pipelined, Style::Procs],
    );
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

/// Waits until a transaction has ended. When none ever does, the drive ends first, and what is
/// checked of it says so.
fn await_work(at_work: &AtomicBool) {
    let until = Instant::now() + Duration::from_secs(60);
    while !at_work.load(Ordering::Relaxed) && Instant::now() < until {
        thread::sleep(Duration::from_millis(50));
    }
}

/// Kills the server while terminals work, starts it again, and compares what they were told with
/// what is there.
fn killed_in_the_middle(kind: ServerKind) {
    let mut server = Server::start(kind);
    let target = server.target();
    load_mini(&target, 1);
    // Long enough for any machine; it is stopped when transactions end again.
    let options = options(Style::Plain, 6, Duration::from_secs(150));
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
        running
            .join()
            .expect("no panic")
            .expect("the terminals come back")
    });
    eprintln!(
        "{kind:?}: {} reconnections, told {:?}, unknown {:?}, found {:?}",
        report.reconnections, report.told, report.unknown, report.found
    );
    assert!(
        report.reconnections > 0,
        "the server was killed under the terminals"
    );
    assert!(report.told.new_orders > 0);
    assert!(
        report.ledger_holds(),
        "told {:?}, unknown {:?}, found {:?}",
        report.told,
        report.unknown,
        report.found
    );
    let found = verify(&target, Moment::AnyTime, &crate::support::NEVER).expect("verified");
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
    let mut options = options(Style::Batched, 6, Duration::from_secs(2));
    options.session.isolation = Isolation::Serializable;
    options.max_retries = 100;
    let report = drive(&target, &options, &RUNNING).expect("driven");
    assert_eq!(report.isolation.as_deref(), Some("serializable"));
    assert!(
        report.retries[2] > 0,
        "six terminals in one warehouse collide: {:?}",
        report.retries
    );
    assert!(
        report.ledger_holds(),
        "told {:?}, found {:?}",
        report.told,
        report.found
    );
    assert!(
        verify(&target, Moment::AnyTime, &crate::support::NEVER)
            .expect("verified")
            .holds()
    );
}

fn refusal(url: &str) -> OltpError {
    verify(
        &url.parse().expect("a target"),
        Moment::AnyTime,
        &crate::support::NEVER,
    )
    .expect_err(url)
}

#[test]
fn mariadb_errors_are_clear() {
    if skipped() {
        return;
    }
    let mut server = Server::start(ServerKind::MariaDb);
    let target = server.target();
    server.execute(
        &target,
        "CREATE USER 'web'@'localhost' IDENTIFIED BY 'right'",
    );
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
        assert!(
            matches!(error, OltpError::Account { .. }),
            "{account}: {error:?}"
        );
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
    let again = load(
        &target,
        &LoadOptions::new(population(1), 1),
        &RUNNING,
        &|_| {},
    )
    .expect_err("tables are there");
    assert!(
        matches!(again, OltpError::Exists { table: "item", .. }),
        "{again:?}"
    );
    server.execute(
        &target,
        "UPDATE oe_meta SET v = '2' WHERE k = 'schema_version'",
    );
    let version = refusal(&target_url(server, user)).to_string();
    assert!(version.contains("schema version 2"), "{version}");
    let overwritten = LoadOptions {
        overwrite: true,
        ..LoadOptions::new(population(1), 2)
    };
    load(&target, &overwritten, &RUNNING, &|_| {}).expect("loaded again");
    assert!(
        verify(&target, Moment::AfterLoad, &crate::support::NEVER)
            .expect("verified")
            .holds()
    );
    let stop = AtomicBool::new(false);
    let stopped = load(&target, &overwritten, &stop, &|_| {
        stop.store(true, Ordering::Relaxed);
    })
    .expect_err("stopped at its first rows");
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
