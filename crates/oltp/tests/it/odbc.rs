//! The workload over ODBC, with the open drivers against private servers and a file: load, verify,
//! drive, verify.
//!
//! Needs the packages odbc-mariadb, odbc-postgresql and libsqliteodbc beside those of the servers.

use std::{sync::atomic::AtomicBool, time::Duration};

use rookery_diagnosis::Diagnosis as _;
use rookery_oltp::{
    DriveOptions, LoadOptions, OltpError, SessionOptions, Target, acid, drive, load, verify,
};
use rookery_workload::orderentry::{
    DeliveryMode, Isolation, Ledger, Moment, Population, Scale,
    sql::Style,
    terminal::{Binding, Mix, Pacing},
};

use crate::support::{Kind as ServerKind, Server, skipped};

static RUNNING: AtomicBool = AtomicBool::new(false);

fn target(dialect: &str, connection: &str) -> Target {
    format!("odbc://?dialect={dialect}&connection={connection}")
        .parse()
        .expect("a valid target")
}

/// What follows `key=` in the address of a server.
fn place(server: &Server, key: &str) -> String {
    let url = server.target().to_string();
    let (_, rest) = url.split_once(&format!("{key}=")).expect("a socket");
    rest.split('&').next().unwrap_or(rest).to_owned()
}

fn options(style: Style, terminals: u32) -> DriveOptions {
    DriveOptions {
        terminals,
        threads: 1,
        session: SessionOptions {
            style,
            isolation: Isolation::Default,
        },
        binding: Binding::Uniform,
        mix: Mix::Deck,
        pacing: Pacing::None,
        delivery: DeliveryMode::Inline,
        max_retries: 50,
        seed: 7,
        ramp_up: Duration::ZERO,
        steady: Duration::from_secs(2),
        patience: Duration::from_secs(30),
    }
}

fn whole_road(target: &Target, terminals: u32) {
    let empty =
        verify(target, Moment::AnyTime, &crate::support::NEVER).expect_err("nothing is loaded");
    assert!(matches!(empty, OltpError::NotLoaded { .. }), "{empty:?}");
    let mut loading = LoadOptions::new(Population::new(Scale::new(1, 100).expect("valid"), 42), 1);
    let loaded = load(target, &loading, &RUNNING, &|_| {})
        .unwrap_or_else(|error| panic!("{target}: {error}"));
    assert!(loaded.broken.is_empty(), "{:?}", loaded.broken);
    let again = load(target, &loading, &RUNNING, &|_| {}).expect_err("tables are there");
    assert!(
        matches!(again, OltpError::Exists { table: "item", .. }),
        "{again:?}"
    );
    loading.overwrite = true;
    load(target, &loading, &RUNNING, &|_| {}).unwrap_or_else(|error| panic!("{target}: {error}"));
    let report = drive(target, &options(Style::Plain, terminals), &RUNNING)
        .unwrap_or_else(|error| panic!("{target}: {error}"));
    eprintln!(
        "{}: {:?}, retries {:?}, told {:?}",
        report.version, report.counts, report.retries, report.told
    );
    assert!(
        report.ledger_holds(),
        "told {:?}, found {:?}",
        report.told,
        report.found
    );
    assert_eq!(report.unknown, Ledger::default());
    assert!(
        report.told.new_orders > 0 && report.told.payments > 0,
        "{:?}",
        report.told
    );
    assert!(
        report.counts.rolled_back > 0 || report.told.new_orders < 300,
        "one order in a hundred is rolled back"
    );
    let found = verify(target, Moment::AnyTime, &crate::support::NEVER).expect("verified");
    assert!(found.holds(), "{:?}", found.checks);
    let batched = drive(target, &options(Style::Batched, 1), &RUNNING).expect_err("plain alone");
    assert!(batched.to_string().contains("use plain"), "{batched}");
}

#[test]
fn postgresql_over_odbc() {
    if skipped() {
        return;
    }
    let server = Server::start(ServerKind::Postgres);
    // Without these three the driver wraps every statement in a savepoint.
    let keys = "UpdatableCursors=0;Protocol=7.4-0;UseServerSidePrepare=1";
    let connection = format!(
        "DRIVER={{PostgreSQL ANSI}};SERVER={};PORT=5432;DATABASE=shop;UID=oe;{keys}",
        place(&server, "host")
    );
    whole_road(&target("postgresql", &connection), 3);
}

#[test]
fn mariadb_over_odbc() {
    if skipped() {
        return;
    }
    let server = Server::start(ServerKind::MariaDb);
    let socket = place(&server, "socket");
    // The third bit lets an UPDATE answer with the rows that it found.
    let connection = format!(
        "DRIVER={{MariaDB Unicode}};SOCKET={};DATABASE=shop;UID=root;OPTION=2",
        socket
    );
    whole_road(&target("mariadb", &connection), 3);
}

#[test]
fn sqlite_over_odbc() {
    if skipped() {
        return;
    }
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("oe.sqlite");
    let connection = format!(
        "DRIVER={{SQLite3}};Database={};Timeout=5000;SyncPragma=OFF;JournalMode=WAL",
        file.display()
    );
    // The driver begins every transaction as a reader: two writers would mostly get into each
    // other's way.
    let target = target("sqlite", &connection);
    whole_road(&target, 1);
    let refused = acid(&target, Isolation::Default, &crate::support::NEVER)
        .expect_err("its writers stand in no line");
    let help = refused.help().unwrap_or_default();
    assert!(
        refused.to_string().contains("the server of SQLite")
            && help.contains("rookery app orderentry"),
        "{refused} {help}"
    );
}

#[test]
fn errors_are_clear() {
    if skipped() {
        return;
    }
    let nobody = verify(
        &target(
            "postgresql",
            "DRIVER={PostgreSQL ANSI};SERVER=127.0.0.1;PORT=1;DATABASE=d;UID=u",
        ),
        Moment::AnyTime,
        &crate::support::NEVER,
    );
    let nobody = nobody.expect_err("no server");
    assert!(matches!(nobody, OltpError::NoServer { .. }), "{nobody:?}");
    let driver = verify(
        &target("db2", "DRIVER={No such driver};DATABASE=d"),
        Moment::AnyTime,
        &crate::support::NEVER,
    )
    .expect_err("no driver");
    assert!(
        driver.to_string().contains("No such driver") || driver.to_string().contains("driver"),
        "{driver}"
    );
}
