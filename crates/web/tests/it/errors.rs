//! Every class of failure is provoked, and every failure lands in its class once, bounded in memory
//! and time.

use std::{
    collections::BTreeSet,
    net::SocketAddr,
    time::{Duration, Instant},
};

use rookery_driver::faults;
use rookery_stats::{ErrorClass, Measurement};
use rookery_testkit::{Behaviour, Server, full_backlog, page, refusing_address};
use rookery_web::Config;

use crate::common::{config, measure, ms, page_script, shop_page, shop_script};

/// The failures of a trial as (class, sub-class); each request that failed must have been counted
/// exactly once.
fn failures(measurement: &Measurement) -> BTreeSet<(ErrorClass, String)> {
    let guest = &measurement.guests[0];
    let failed: u64 = guest
        .series
        .iter()
        .map(|second| u64::from(second.errors))
        .sum();
    let unfinished: u64 = guest
        .operations
        .iter()
        .map(|operation| operation.unfinished)
        .sum();
    let tallied: u64 = guest.errors.iter().map(|tally| tally.count).sum();
    assert_eq!(tallied, failed + unfinished, "{:?}", guest.errors);
    for operation in &guest.operations {
        let ended = operation.succeeded + operation.failed + operation.unfinished;
        assert_eq!(operation.started, ended, "{}", operation.name);
    }
    guest
        .errors
        .iter()
        .map(|tally| (tally.class, tally.sub_class.clone()))
        .collect()
}

fn trial(target: SocketAddr, users: u32) -> Config {
    let mut config = config(target, users, page_script());
    config.timeout = ms(150);
    config
}

/// The failures of a trial, which are the same whether a user has its thread to itself or not.
fn provoke(behaviour: Behaviour) -> BTreeSet<(ErrorClass, String)> {
    let [alone, together] = [1, 2].map(|users| {
        let server = Server::start(behaviour.clone()).expect("a server");
        failures(&measure(&trial(server.address(), users)))
    });
    assert_eq!(alone, together);
    together
}

fn only(class: ErrorClass, sub_class: &str) -> BTreeSet<(ErrorClass, String)> {
    BTreeSet::from([(class, sub_class.to_owned())])
}

fn raw(text: &str) -> Behaviour {
    Behaviour::Raw(text.as_bytes().to_vec())
}

#[test]
fn answers_that_are_not_http_are_protocol_faults() {
    let cases = [
        ("SSH-2.0-OpenSSH_9.2\r\n\r\n", "malformed-header"),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
            "bad-length",
        ),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\nhello",
            "bad-chunk",
        ),
        (
            "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 1\r\n\r\nx",
            "decompression",
        ),
        ("HTTP/1.1 101 Switching Protocols\r\n\r\n", "unexpected-1xx"),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhello",
            "surplus",
        ),
    ];
    for (text, sub_class) in cases {
        assert_eq!(
            provoke(raw(text)),
            only(ErrorClass::Protocol, sub_class),
            "{text}"
        );
    }
    assert_eq!(
        provoke(Behaviour::EndlessHeader),
        only(ErrorClass::Protocol, "header-too-large")
    );
}

#[test]
fn statuses_have_their_own_classes() {
    let cases = [
        (
            "HTTP/1.1 500 Oops\r\nContent-Length: 4\r\n\r\noops",
            ErrorClass::Status,
            "500",
        ),
        (
            "HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n",
            ErrorClass::Status,
            "404",
        ),
        (
            "HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n",
            ErrorClass::Redirect,
            "unexpected",
        ),
        (
            "HTTP/1.1 503 Busy\r\nRetry-After: 1\r\nContent-Length: 0\r\n\r\n",
            ErrorClass::Overload,
            "503",
        ),
    ];
    for (text, class, sub_class) in cases {
        assert_eq!(provoke(raw(text)), only(class, sub_class), "{text}");
    }
}

#[test]
fn broken_transfers_are_io_faults() {
    let half = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf".to_vec();
    assert_eq!(
        provoke(Behaviour::Close(half.clone())),
        only(ErrorClass::Io, "truncated")
    );
    assert_eq!(
        provoke(Behaviour::Close(Vec::new())),
        only(ErrorClass::Io, "truncated")
    );
    assert_eq!(
        provoke(Behaviour::Reset(half.clone())),
        only(ErrorClass::Io, "recv-reset")
    );
    assert_eq!(
        provoke(Behaviour::Reset(Vec::new())),
        only(ErrorClass::Io, "recv-reset")
    );
    assert_eq!(
        provoke(Behaviour::Hang),
        only(ErrorClass::Io, "recv-timeout")
    );
    // Each piece comes in time, the whole does not.
    let pieces = vec![half, vec![b'x'; 10], vec![b'x'; 10], vec![b'x'; 10]];
    assert_eq!(
        provoke(Behaviour::Dribble(ms(100), pieces)),
        only(ErrorClass::Io, "recv-timeout")
    );
}

#[test]
fn a_huge_body_is_refused_in_little_memory() {
    let before = resident_kib();
    let gigabyte = 1 << 30;
    for told in [true, false] {
        let began = Instant::now();
        assert_eq!(
            provoke(Behaviour::Huge {
                bytes: gigabyte,
                told
            }),
            only(ErrorClass::Content, "size")
        );
        assert!(began.elapsed() < Duration::from_secs(30));
    }
    let grown = resident_kib().saturating_sub(before);
    assert!(grown < 200 * 1024, "grew by {grown} KiB");
}

#[test]
fn connections_that_fail_are_connect_faults() {
    let refusing = refusing_address().expect("a free port");
    let measurement = measure(&trial(refusing, 2));
    assert_eq!(failures(&measurement), only(ErrorClass::Connect, "refused"));
    assert_eq!(measurement.driver.unconnected_users, 2);
    assert!(
        faults(&measurement)
            .iter()
            .any(|fault| fault.text.contains("never connected"))
    );
    let (listener, _waiting) = full_backlog().expect("a full queue");
    let address = listener.local_addr().expect("an address");
    assert_eq!(
        failures(&measure(&trial(address, 2))),
        only(ErrorClass::Connect, "timeout")
    );
}

#[test]
fn what_never_ends_is_unfinished_and_counts_with_its_time() {
    for users in [1, 2] {
        let server = Server::start(Behaviour::Hang).expect("a server");
        let mut config = trial(server.address(), users);
        (config.timeout, config.phases.drain) = (ms(60_000), ms(50));
        let measurement = measure(&config);
        assert_eq!(
            failures(&measurement),
            only(ErrorClass::Overload, "unfinished")
        );
        let page = &measurement.guests[0].operations[0];
        assert_eq!(
            (page.started, page.unfinished, page.service.count()),
            (users.into(), users.into(), users.into())
        );
        assert!(
            page.service.min_us() >= Some(250_000),
            "the time so far is a lower bound"
        );
    }
}

#[test]
fn a_dead_server_is_not_hammered() {
    let server =
        Server::start(raw("HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n")).expect("a server");
    measure(&trial(server.address(), 2));
    // Back-offs of 100 and 200 ms leave room for three orders of each user in 300 ms, and the first
    // page.
    assert!(server.requests() <= 8, "{} requests", server.requests());
}

#[test]
fn pages_without_their_markers_are_parse_and_semantic_faults() {
    let shop_with = |name: &'static str, body: &'static str| {
        let server = Server::with(move |request| {
            let good = shop_page(&request.target);
            Behaviour::Raw(page(if request.target.contains(name) {
                body
            } else {
                good
            }))
        })
        .expect("a server");
        let measurement = measure(&config(server.address(), 2, shop_script()));
        failures(&measurement)
            .into_iter()
            .map(|(class, _)| class)
            .collect::<Vec<_>>()
    };
    assert_eq!(
        shop_with(
            "dslogin",
            "<HTML>Username/password incorrect. Please</HTML>"
        ),
        [ErrorClass::Semantic]
    );
    assert_eq!(
        shop_with("dslogin", "<HTML>customerid VALUE=abc></HTML>"),
        [ErrorClass::Parse]
    );
    assert_eq!(
        shop_with("dsbrowse", "<HTML>nothing at all</HTML>"),
        [ErrorClass::Parse]
    );
    assert_eq!(
        shop_with("dspurchase", "<HTML>nothing at all</HTML>"),
        [ErrorClass::Parse]
    );
    assert_eq!(
        shop_with(
            "dspurchase",
            "<HTML>Insufficient stock - order not processed</HTML>"
        ),
        [ErrorClass::Semantic],
        "a deadlock is no shortage"
    );
    let shortage =
        "<HTML>Insufficient quantity for prod 5 Insufficient stock - order not processed</HTML>";
    assert_eq!(
        shop_with("dspurchase", shortage),
        [],
        "a shortage is an expected outcome"
    );
}

#[test]
fn evidence_is_kept() {
    let server = Server::start(raw(
        "HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n",
    ))
    .expect("a server");
    let measurement = measure(&trial(server.address(), 2));
    let example = &measurement.guests[0].errors[0].examples[0];
    assert_eq!(example.operation, "page");
    assert!(
        example.detail.contains("Location: /elsewhere"),
        "{example:?}"
    );
}

fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("procfs");
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .expect("a VmRSS line");
    line.split_whitespace()
        .next()
        .and_then(|number| number.parse().ok())
        .expect("a number")
}
