//! The workload on the server of SQLite, in this process: load, verify, drive in every style,
//! errors in clear words, and strangers.

use std::{
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    os::unix::net::UnixStream,
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

use rookery_oltp::{
    Database, LoadOptions, OltpError, Target, drive, load,
    sqlite::{
        Durability, SOCKET_FILE, ServeConfig, ServeError, Server, counters, local_target,
        with_server,
    },
    verify,
};
use rookery_workload::orderentry::{Moment, Table, sql::Style};
use tempfile::TempDir;

use crate::support::workload::{
    RUNNING, drive_and_verify, load_mini, options, population, the_broken_warehouse_is_found,
};

/// A server in a directory of its own, as long as `work` needs it.
fn served(work: impl FnOnce(&Target, &Path)) {
    let directory = TempDir::with_prefix("oltp-sqlite-").expect("a directory");
    with_server(&quick(directory.path()), |target| {
        work(target, directory.path())
    })
    .expect("served");
    assert!(
        !directory.path().join(SOCKET_FILE).exists(),
        "the socket goes with its server"
    );
}

/// Without syncing: these tests pull no plug.
fn quick(directory: &Path) -> ServeConfig {
    ServeConfig {
        durability: Durability::Relaxed,
        ..ServeConfig::new(directory)
    }
}

#[test]
fn sqlite_from_load_to_ledger() {
    served(|target, _| {
        assert!(load_mini(target, 2).starts_with("SQLite 3."));
        for style in [Style::Plain, Style::Batched, Style::Pipelined] {
            let before = counters(target).expect("counted");
            let report = drive_and_verify(target, style);
            assert_eq!(report.retries, [0; 5], "{style:?}: writers stand in line");
            assert_eq!(report.isolation.as_deref(), Some("serializable"));
            let cache = counters(target).expect("counted").since(before);
            assert!(
                cache
                    .hit_ratio()
                    .is_some_and(|ratio| ratio > 0.5 && ratio < 1.0),
                "{cache:?}"
            );
        }
        let procedures = drive(
            target,
            &options(Style::Procs, 1, Duration::from_millis(1)),
            &RUNNING,
        )
        .expect_err("SQLite has none");
        assert!(matches!(procedures, OltpError::Style(_)), "{procedures:?}");
        execute(
            target,
            "UPDATE warehouse SET w_ytd = w_ytd + 1 WHERE w_id = 2",
        );
        the_broken_warehouse_is_found(target);
    });
}

fn execute(target: &Target, statement: &str) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    runtime
        .block_on(async { Database::connect(target).await?.execute(statement).await })
        .unwrap_or_else(|error| panic!("{statement}: {error}"));
}

#[test]
fn references_hold_under_load() {
    served(|target, _| {
        let mut options_of_load = LoadOptions::new(population(1), 1);
        options_of_load.schema.foreign_keys = true;
        options_of_load.schema.history_key = false;
        load(target, &options_of_load, &RUNNING, &|_| {}).expect("loaded");
        let report = drive(
            target,
            &options(Style::Plain, 2, Duration::from_millis(300)),
            &RUNNING,
        )
        .expect("driven");
        assert!(report.ledger_holds() && report.told.new_orders > 0);
        let found = verify(target, Moment::AnyTime, &crate::support::NEVER).expect("verified");
        assert!(
            found.holds() && found.schema == options_of_load.schema,
            "{:?}",
            found.checks
        );
    });
}

#[test]
fn errors_are_clear() {
    let gone = TempDir::new().expect("a directory");
    served(|target, directory| {
        let empty =
            verify(target, Moment::AnyTime, &crate::support::NEVER).expect_err("nothing is loaded");
        assert!(matches!(empty, OltpError::NotLoaded { .. }), "{empty:?}");
        load_mini(target, 1);
        let again = load(
            target,
            &LoadOptions::new(population(1), 1),
            &RUNNING,
            &|_| {},
        )
        .expect_err("tables are there");
        assert!(
            matches!(again, OltpError::Exists { table: "item", .. }),
            "{again:?}"
        );
        let overwritten = LoadOptions {
            overwrite: true,
            ..LoadOptions::new(population(2), 2)
        };
        let stopped =
            load(target, &overwritten, &AtomicBool::new(true), &|_| {}).expect_err("stopped");
        assert!(matches!(stopped, OltpError::Stopped), "{stopped:?}");
        wait_until_idle(target, &overwritten);
        assert_eq!(
            verify(target, Moment::AfterLoad, &crate::support::NEVER)
                .expect("verified")
                .population
                .scale
                .rows(Table::Warehouse),
            2,
            "the load replaced the database"
        );
        execute(
            target,
            "UPDATE oe_meta SET v = '2' WHERE k = 'schema_version'",
        );
        let version = verify(target, Moment::AnyTime, &crate::support::NEVER)
            .expect_err("another version")
            .to_string();
        assert!(version.contains("schema version 2"), "{version}");
        let second = Server::bind(&quick(directory)).expect_err("taken");
        assert!(matches!(second, ServeError::Taken(_)), "{second:?}");
    });
    let nobody = verify(
        &local_target(gone.path()),
        Moment::AnyTime,
        &crate::support::NEVER,
    )
    .expect_err("no server");
    assert!(matches!(nobody, OltpError::NoServer { .. }), "{nobody:?}");
    std::fs::write(
        gone.path().join("orderentry.sqlite"),
        "no database, but long enough to look like one".repeat(100),
    )
    .expect("written");
    let damaged = Server::bind(&quick(gone.path())).expect_err("no database");
    assert!(
        matches!(damaged, ServeError::Database { .. }),
        "{damaged:?}"
    );
}

/// The server finds out that a load has no client any more when it next tells of its progress.
fn wait_until_idle(target: &Target, options: &LoadOptions) {
    for _ in 0..600 {
        match load(target, options, &RUNNING, &|_| {}) {
            Err(error) if error.to_string().contains("other sessions") => {
                thread::sleep(Duration::from_millis(50))
            }
            loaded => {
                assert!(loaded.expect("loaded").broken.is_empty());
                return;
            }
        }
    }
    panic!("a stopped load goes on");
}

/// A client that goes away in the middle of a transaction changes nothing and holds nobody up.
#[test]
fn an_open_transaction_ends_with_its_client() {
    served(|target, _| {
        load_mini(target, 1);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime");
        runtime.block_on(async {
            let mut database = Database::connect(target).await.expect("connected");
            database.execute("BEGIN IMMEDIATE").await.expect("begun");
            database
                .execute("DELETE FROM history")
                .await
                .expect("deleted");
        });
        let report = drive(
            target,
            &options(Style::Plain, 2, Duration::from_millis(300)),
            &RUNNING,
        )
        .expect("driven");
        assert!(report.ledger_holds() && report.told.payments > 0);
        assert!(
            verify(target, Moment::AnyTime, &crate::support::NEVER)
                .expect("verified")
                .holds()
        );
    });
}

/// While one transaction writes, others wait for 5 s, are told that the database is busy, and try
/// again.
#[test]
fn a_busy_database_is_tried_again() {
    served(|target, _| {
        load_mini(target, 1);
        let blocking = AtomicBool::new(true);
        thread::scope(|scope| {
            scope.spawn(|| {
                let runtime = tokio::runtime::Builder::new_current_thread()
                    .enable_all()
                    .build()
                    .expect("a runtime");
                runtime.block_on(async {
                    let mut database = Database::connect(target).await.expect("connected");
                    database.execute("BEGIN IMMEDIATE").await.expect("begun");
                    blocking.store(false, Ordering::Relaxed);
                    tokio::time::sleep(Duration::from_millis(6500)).await;
                    database.execute("ROLLBACK").await.expect("rolled back");
                });
            });
            while blocking.load(Ordering::Relaxed) {
                thread::yield_now();
            }
            let report = drive(
                target,
                &options(Style::Plain, 3, Duration::from_secs(8)),
                &RUNNING,
            )
            .expect("driven");
            eprintln!("retries {:?}, counts {:?}", report.retries, report.counts);
            assert!(report.retries[3] > 0, "busy: {:?}", report.retries);
            assert_eq!(report.counts.failed, 0);
            assert!(report.ledger_holds() && report.told.new_orders > 0);
        });
    });
}

/// Starts a server that listens on TCP too.
fn with_tcp(most: usize, work: impl FnOnce(SocketAddr)) {
    let directory = TempDir::new().expect("a directory");
    let server = Server::bind(&ServeConfig {
        listen: Some("127.0.0.1:0".parse().expect("an address")),
        max_sessions: most,
        ..quick(directory.path())
    })
    .expect("bound");
    let address = server.local_addr().expect("TCP");
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let serving = scope.spawn(|| server.run(&stop));
        work(address);
        stop.store(true, Ordering::Relaxed);
        serving.join().expect("no panic").expect("served");
    });
}

#[test]
fn strangers_are_told_and_shown_out() {
    with_tcp(4, |address| {
        for words in [
            &b"POST / HTTP/1.1\r\nHost: x\r\n\r\n"[..],
            &[3, 0, 0, 0, 9, 9, 9],
            &[0, 0, 0, 0],
            &[2, 0, 0, 0, 1, 2],
        ] {
            let mut stranger = TcpStream::connect(address).expect("connected");
            stranger
                .set_read_timeout(Some(Duration::from_secs(30)))
                .expect("set");
            stranger.write_all(words).expect("written");
            let mut answer = Vec::new();
            // What was not read when the server closes may come back as a reset, behind the answer.
            let _ = stranger.read_to_end(&mut answer);
            assert!(
                answer.len() > 20 && answer[4] == 134,
                "an error: {answer:?}"
            );
        }
        let mut asking = TcpStream::connect(address).expect("connected");
        asking
            .write_all(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
            .expect("written");
        let mut answer = String::new();
        asking.read_to_string(&mut answer).expect("an answer");
        assert!(
            answer.starts_with("HTTP/1.0 200 OK") && answer.ends_with("\r\n\r\nup\n"),
            "{answer}"
        );
        // Those that say nothing take room until they are asked to leave, or go.
        let silent: Vec<_> = (0..4)
            .map(|_| TcpStream::connect(address).expect("connected"))
            .collect();
        let target: Target = format!("sqlite+oe://{address}/").parse().expect("valid");
        let mut told = String::new();
        for _ in 0..100 {
            told = verify(&target, Moment::AnyTime, &crate::support::NEVER)
                .expect_err("nothing is loaded")
                .to_string();
            if told.contains("4 sessions are open") {
                break;
            }
            thread::sleep(Duration::from_millis(20));
        }
        assert!(told.contains("4 sessions are open"), "{told}");
        drop(silent);
    });
}

/// The end of the server does not wait for clients.
#[test]
fn silent_clients_do_not_hold_up_the_end() {
    let directory = TempDir::new().expect("a directory");
    let silent = with_server(&quick(directory.path()), |target| {
        let silent = UnixStream::connect(directory.path().join(SOCKET_FILE)).expect("connected");
        // Clients come in one after another: when the next is answered, this one is in.
        assert!(matches!(
            verify(target, Moment::AnyTime, &crate::support::NEVER),
            Err(OltpError::NotLoaded { .. })
        ));
        silent
    });
    let mut silent = silent.expect("served");
    silent
        .set_read_timeout(Some(Duration::from_secs(30)))
        .expect("set");
    assert_eq!(
        silent.read(&mut [0; 16]).expect("read"),
        0,
        "the server has closed the line"
    );
}
