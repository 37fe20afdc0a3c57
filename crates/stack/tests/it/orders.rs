//! Orders under concurrency, SIGKILL and SIGTERM: what was acknowledged is in the database,
//! exactly.

use std::{
    collections::BTreeSet,
    io::{BufRead as _, BufReader},
    net::SocketAddr,
    path::Path,
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

use rookery_stack::embedded::{Pages, Server, StopSignal, audit};
use rookery_workload::dvdstore::{PurchaseAnswer, pages::read_purchase};
use rustix::process::{Pid, Signal, kill_process};

use crate::common::{Client, Running, config, database, purchase};

const THREADS: u64 = 8;
const ORDERS_PER_THREAD: u64 = 40;

/// Buy from many threads at once: the same five products, every other thread in the opposite order.
/// Every fourth order also wants product 163, which is out of stock. Returns the ids acknowledged
/// and the number of refusals.
fn contend(address: SocketAddr) -> (BTreeSet<u64>, u64) {
    let buy = move |thread: u64| {
        let products: [u64; 5] = if thread.is_multiple_of(2) {
            [1, 2, 3, 4, 5]
        } else {
            [5, 4, 3, 2, 1]
        };
        let mut client = Client::connect(address).expect("a connection");
        let mut order = |number: u64| {
            let wanted = [&products[..], &[163]].concat();
            let lines = if number % 4 == 3 { 6 } else { 5 };
            let (status, body) = client
                .get(&purchase(thread * 100 + number + 1, &wanted[..lines], 1))
                .expect("an answer");
            assert_eq!(status, 200);
            read_purchase(body.as_bytes()).expect("a purchase page")
        };
        (0..ORDERS_PER_THREAD).map(&mut order).collect::<Vec<_>>()
    };
    let answers: Vec<PurchaseAnswer> = thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|thread| scope.spawn(move || buy(thread)))
            .collect();
        threads
            .into_iter()
            .flat_map(|thread| thread.join().expect("no panic"))
            .collect()
    });
    let ids = answers.iter().filter_map(|answer| {
        if let PurchaseAnswer::Ordered(id) = answer {
            Some(*id)
        } else {
            None
        }
    });
    let refused = answers
        .iter()
        .filter(|answer| **answer == PurchaseAnswer::Shortage)
        .count();
    (ids.collect(), refused as u64)
}

/// The ids in `ORDERS` beyond the loaded 1 200.
fn stored(database: &Path) -> BTreeSet<u64> {
    let connection = rusqlite::Connection::open(database).expect("a database");
    let mut statement = connection
        .prepare("SELECT ORDERID FROM ORDERS WHERE ORDERID > 1200")
        .expect("a statement");
    let rows = statement
        .query_map([], |row| row.get::<_, i64>(0))
        .expect("rows");
    rows.map(|id| id.expect("an id").unsigned_abs()).collect()
}

/// Products 1 to 5 with stock for every order, so that only product 163 runs short.
fn fill_shelves(database: &Path) {
    let sql = "UPDATE INVENTORY SET QUAN_IN_STOCK = 100000 WHERE PROD_ID <= 5";
    rusqlite::Connection::open(database)
        .and_then(|connection| connection.execute_batch(sql))
        .expect("an update");
}

/// Units sold of product 1 beyond the loaded ones must be one per order.
fn sold_of_first(database: &Path) -> i64 {
    let connection = rusqlite::Connection::open(database).expect("a database");
    let sql = "SELECT 100000 - QUAN_IN_STOCK FROM INVENTORY WHERE PROD_ID = 1";
    connection
        .query_row(sql, [], |row| row.get(0))
        .expect("a row")
}

#[test]
fn corrected_orders_lose_no_update() {
    let (_dir, database) = database();
    fill_shelves(&database);
    let server = Running::start(database.clone(), Pages::Corrected);
    let (ids, refused) = contend(server.address);
    server.stop();
    assert_eq!(refused, THREADS * ORDERS_PER_THREAD / 4);
    assert_eq!(stored(&database), ids);
    let audit = audit(&database).expect("an audit");
    assert_eq!(
        (audit.orders, audit.order_lines, audit.orphan_history),
        (ids.len() as u64, 5 * ids.len() as u64, 0)
    );
    assert_eq!(sold_of_first(&database), ids.len() as i64);
}

#[test]
fn faithful_orders_leave_the_history_of_refused_ones() {
    let (_dir, database) = database();
    fill_shelves(&database);
    let server = Running::start(database.clone(), Pages::Faithful);
    let (ids, refused) = contend(server.address);
    server.stop();
    assert_eq!(refused, THREADS * ORDERS_PER_THREAD / 4);
    assert_eq!(stored(&database), ids);
    let audit = audit(&database).expect("an audit");
    assert_eq!(
        (audit.orders, audit.orphan_history),
        (ids.len() as u64, 6 * refused)
    );
    assert!(audit.consistent(Pages::Faithful), "{audit:?}");
    // Updates may be lost, never invented.
    assert!((1..=ids.len() as i64).contains(&sold_of_first(&database)));
}

/// Set in the child process: the database to serve.
const DATABASE_VARIABLE: &str = "ROOKERY_TEST_DATABASE";

/// Not a test of its own: the server process of the tests below, which run this very binary again
/// with the variable set.
#[test]
fn server_process() {
    let Some(database) = std::env::var_os(DATABASE_VARIABLE) else {
        return;
    };
    let stop = StopSignal::on_termination().expect("handlers");
    let server =
        Server::bind(&config(database.into(), Pages::Corrected)).expect("a listening server");
    eprintln!("listening on {}", server.local_addr());
    server.run(&stop).expect("an orderly end");
}

/// A server in a process of its own; killed when dropped.
struct Process {
    child: Child,
    address: SocketAddr,
}

impl Process {
    fn start(database: &Path) -> Self {
        let mut child = Command::new(std::env::current_exe().expect("this binary"))
            .args([
                "--exact",
                "orders::server_process",
                "--nocapture",
                "--test-threads=1",
            ])
            .env(DATABASE_VARIABLE, database)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("a child");
        let mut lines = BufReader::new(child.stderr.take().expect("a pipe")).lines();
        let address = lines.find_map(|line| {
            line.expect("a line")
                .strip_prefix("listening on ")
                .map(|address| address.parse())
        });
        Self {
            child,
            address: address
                .expect("the child tells its address")
                .expect("an address"),
        }
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("the child lives");
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Only a test that failed still has a child here.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Buy from four threads until the server is gone, and send it `signal` after `after` orders.
/// Returns the ids acknowledged.
fn buy_until_signal(server: &Process, signal: Signal, after: usize) -> BTreeSet<u64> {
    let acknowledged = AtomicUsize::new(0);
    let buy = |thread: u64| {
        let mut ids = Vec::new();
        let Ok(mut client) = Client::connect(server.address) else {
            return ids;
        };
        for order in 0..5_000 {
            let target = purchase(
                thread * 400 + order % 400 + 1,
                &[order % 900 + 1, (order + 7) % 900 + 1],
                1,
            );
            let Ok((200, body)) = client.get(&target) else {
                break;
            };
            if let PurchaseAnswer::Ordered(id) =
                read_purchase(body.as_bytes()).expect("a purchase page")
            {
                ids.push(id);
            }
            if acknowledged.fetch_add(1, Ordering::Relaxed) + 1 == after {
                server.signal(signal);
            }
        }
        ids
    };
    thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|thread| scope.spawn(move || buy(thread)))
            .collect();
        threads
            .into_iter()
            .flat_map(|thread| thread.join().expect("no panic"))
            .collect()
    })
}

#[test]
fn sigkill_loses_no_acknowledged_order() {
    let (_dir, database) = database();
    let mut acknowledged = BTreeSet::new();
    for after in [1, 60, 250] {
        let mut server = Process::start(&database);
        let ids = buy_until_signal(&server, Signal::KILL, after);
        assert_eq!(server.child.wait().expect("an end").code(), None, "killed");
        assert!(ids.is_disjoint(&acknowledged), "ids are given once");
        acknowledged.extend(ids);
        let stored = stored(&database);
        assert!(
            acknowledged.is_subset(&stored),
            "lost: {:?}",
            acknowledged.difference(&stored).collect::<Vec<_>>()
        );
        let audit = audit(&database).expect("an audit");
        assert!(audit.consistent(Pages::Corrected), "{audit:?}");
        assert_eq!(audit.orders, stored.len() as u64);
        // Committed, and killed before the answer: at most one per client and life.
        assert!(stored.len() <= acknowledged.len() + 3 * 4);
    }
    assert!(acknowledged.len() > 200);
}

#[test]
fn sigterm_ends_in_order() {
    let (_dir, database) = database();
    let mut server = Process::start(&database);
    let acknowledged = buy_until_signal(&server, Signal::TERM, 100);
    assert_eq!(server.child.wait().expect("an end").code(), Some(0));
    assert_eq!(
        stored(&database),
        acknowledged,
        "what was in flight was answered"
    );
    assert!(
        !database.with_extension("sqlite-wal").exists(),
        "the log is folded in"
    );
    assert!(Client::connect(server.address).is_err(), "nobody listens");
}
