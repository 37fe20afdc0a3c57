//! Dry runs: each operation once, and what is told of it.

use std::sync::atomic::AtomicBool;

use rookery_driver::DriverError;
use rookery_testkit::{Behaviour, Request, Server, page, refusing_address};
use rookery_web::workloads::http::{
    HttpScript, SiteName,
    dry_run::{DryRun, DryRunReport, TriedOperation, dry_run},
};
use rookery_workload::http::HttpWorkload;
use serde_json::json;

use crate::{
    common::ms,
    http::{get, script, with_headers},
};

fn run_at(address: std::net::SocketAddr, workload: HttpWorkload) -> DryRunReport {
    let config = DryRun {
        script: HttpScript {
            workload,
            site: SiteName::at(address),
        },
        name: "the site".to_owned(),
        target: address,
        confirmed: false,
        timeout: ms(2_000),
        seed: 1,
    };
    dry_run(&config, &AtomicBool::new(false)).expect("it runs")
}

/// A shop: the login gives a cookie and leads to the home page, which has a token and two objects.
fn shop(request: &Request) -> Behaviour {
    match request.target.as_str() {
        "/login?user=0&password=hunter22" => Behaviour::Raw(
            b"HTTP/1.1 303 See Other\r\nLocation: /home\r\nSet-Cookie: sid=0123456789\r\n\
              Content-Length: 0\r\n\r\n"
                .to_vec(),
        ),
        "/home" => with_headers(
            "Content-Type: text/html\r\n",
            "<p>hello \u{1b}[2J</p><input name=\"csrf\" value=\"abcdefgh\">\
             <img src=/a.png><img src=/gone.png>",
        ),
        "/a.png" => with_headers("", "png"),
        "/api?t=abcdefgh" => with_headers(
            "Content-Type: application/json\r\n",
            "{\"item\": 42, \"echo\": \"abcdefgh\"}",
        ),
        _ => {
            Behaviour::Raw(b"HTTP/1.1 404 Not Found\r\nContent-Length: 9\r\n\r\nnot there".to_vec())
        }
    }
}

fn shop_workload() -> HttpWorkload {
    let operations = vec![
        get("item", "/item/${id}", json!({})),
        get(
            "api",
            "/api?t=${token}",
            json!({
                "captures": [{"name": "id", "source": {"json": "/item"}}],
                "checks": [
                    {"json": {"pointer": "/echo", "value": "other"}},
                    {"size": {"min": 1, "max": 10}},
                ],
            }),
        ),
        get(
            "login",
            "/login?user=${user}&password=hunter22",
            json!({
                "find_objects": true,
                "captures": [
                    {"name": "token", "source": {"regex": "value=\"([a-z]*)\""}},
                    {"name": "cookie", "source": {"cookie": "sid"}},
                ],
                "checks": [{"contains": "hello"}, {"contains": "Welcome"}],
            }),
        ),
        get(
            "lost",
            "/${never}",
            json!({"captures": [{"name": "never", "source": {"header": "x"}}]}),
        ),
    ];
    let weights = json!({"weights": {"weights": [1.0, 1.0, 0.0, 1.0], "session": null}});
    script(operations, json!({"walk": weights, "login": 2}))
}

fn named<'r>(report: &'r DryRunReport, name: &str) -> &'r TriedOperation {
    let mut all = report.operations.iter();
    all.find(|operation| operation.name == name)
        .unwrap_or_else(|| panic!("{name} in {report:?}"))
}

#[test]
fn each_operation_is_done_once_and_what_came_back_is_told() {
    let server = Server::with(shop).expect("a port");
    let report = run_at(server.address(), shop_workload());
    let order: Vec<&str> = report
        .operations
        .iter()
        .map(|operation| operation.name.as_str())
        .collect();
    assert_eq!(order, ["login", "api", "item", "lost"]);
    assert!(!report.is_good());

    let login = named(&report, "login");
    assert_eq!(login.target.as_deref(), Some("/login?user=0&password=***"));
    assert_eq!(
        (
            login.redirects[0].status,
            login.redirects[0].target.as_str()
        ),
        (303, "/home")
    );
    let answer = login.answer.as_ref().expect("one came");
    assert_eq!(
        (answer.status, answer.content_type.as_deref()),
        (200, Some("text/html"))
    );
    let passed: Vec<bool> = login.checks.iter().map(|check| check.passed).collect();
    assert_eq!(passed, [true, true, false]);
    let values: Vec<_> = login
        .captures
        .iter()
        .map(|one| one.value.as_deref())
        .collect();
    assert_eq!(values, [Some("***"), Some("***")]);
    let objects: Vec<_> = login
        .objects
        .iter()
        .map(|object| {
            (
                object.target.as_str(),
                object.status,
                object.fault.is_some(),
            )
        })
        .collect();
    assert_eq!(
        objects,
        [("/a.png", Some(200), false), ("/gone.png", None, true)]
    );

    let api = named(&report, "api");
    assert_eq!(api.target.as_deref(), Some("/api?t=***"));
    assert_eq!(api.captures[0].value.as_deref(), Some("42"));
    let found: Vec<_> = api
        .checks
        .iter()
        .map(|check| check.found.as_deref())
        .collect();
    assert_eq!(found, [None, Some("\"***\""), Some("32 bytes")]);

    let item = named(&report, "item");
    assert_eq!(item.target.as_deref(), Some("/item/42"));
    assert_eq!(item.checks[0].found.as_deref(), Some("404 \"not there\""));
    let lost = named(&report, "lost").fault.as_ref().expect("no value");
    assert_eq!(
        (
            lost.class.as_str(),
            lost.sub_class.as_str(),
            lost.detail.as_str()
        ),
        ("parse", "no-value", "no operation before gave never")
    );
    let text = serde_json::to_string(&report).expect("plain data");
    for secret in ["hunter22", "abcdefgh", "0123456789"] {
        assert!(!text.contains(secret), "{secret}: {text}");
    }
    // Each once, the redirect and two objects.
    assert_eq!(server.requests(), 6, "{:?}", server.log());
}

#[test]
fn a_site_that_misbehaves_is_told_within_bounds() {
    let one = |more| script(vec![get("page", "/", more)], json!({}));
    let fault = |behaviour: Behaviour, more| {
        let server = Server::start(behaviour).expect("a port");
        let report = run_at(server.address(), one(more));
        let fault = report.operations[0].fault.clone().expect("it failed");
        format!("{}/{}", fault.class, fault.sub_class)
    };
    let soon = json!({"timeout": {"secs": 0, "nanos": 200_000_000}});
    assert_eq!(fault(Behaviour::Hang, soon), "io/recv-timeout");
    let huge = Behaviour::Huge {
        bytes: 1 << 40,
        told: false,
    };
    let limit = json!({"body_limit": 100_000});
    assert_eq!(fault(huge, limit), "protocol/body-too-large");
    assert_eq!(
        fault(
            Behaviour::Close(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx".to_vec()),
            json!({})
        ),
        "io/truncated"
    );
    assert_eq!(
        fault(Behaviour::EndlessHeader, json!({})),
        "protocol/header-too-large"
    );
    let report = run_at(refusing_address().expect("a port"), one(json!({})));
    let refused = report.operations[0]
        .fault
        .as_ref()
        .expect("nobody is there");
    assert_eq!(refused.class, "connect");
}

#[test]
fn another_machine_is_not_asked_without_a_word() {
    let server = Server::start(Behaviour::Raw(page("x"))).expect("a port");
    let mut config = DryRun {
        script: HttpScript {
            workload: script(vec![get("page", "/", json!({}))], json!({})),
            site: SiteName::at(server.address()),
        },
        name: "the site".to_owned(),
        target: "192.0.2.1:80".parse().expect("an address"),
        confirmed: false,
        timeout: ms(1_000),
        seed: 1,
    };
    let refused = dry_run(&config, &AtomicBool::new(false));
    assert!(matches!(refused, Err(DriverError::ForeignTarget { .. })));
    config.target = server.address();
    let report = dry_run(&config, &AtomicBool::new(true)).expect("it runs");
    let early = report.ended_early.expect("it was stopped");
    assert_eq!((early.why.as_str(), early.left.len()), ("interrupted", 1));
    assert_eq!(server.requests(), 0);
}
