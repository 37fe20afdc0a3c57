//! Web workloads as data against servers good and bad.

use rookery_stats::{ErrorClass, GuestMeasurement};
use rookery_testkit::{Behaviour, Request, Server, page};
use rookery_web::{
    Config, Script,
    workloads::http::{HttpScript, SiteName},
};
use rookery_workload::http::{HttpCounters, HttpWorkload};
use serde_json::{Value as Json, json};

use crate::common::{config, measure, ms, operation, page_script};

/// An operation that is a `GET` of `path`, with `more`.
pub(crate) fn get(name: &str, path: &str, more: Json) -> Json {
    let mut operation = json!({
        "name": name, "method": "GET", "path": path, "follow": true, "body_limit": 8_000_000,
        "delay": {"mean": {"secs": 0, "nanos": 0}, "distribution": "constant"},
    });
    for (key, value) in more.as_object().into_iter().flatten() {
        operation[key] = value.clone();
    }
    operation
}

/// A workload of these operations, one after the other.
pub(crate) fn script(operations: Vec<Json>, more: Json) -> HttpWorkload {
    let list: Vec<usize> = (0..operations.len()).collect();
    let mut workload = json!({
        "operations": operations,
        "walk": {"script": list},
        "browser": {"connections": 2, "cache": true, "gzip": false, "receive_rate": null},
    });
    for (key, value) in more.as_object().into_iter().flatten() {
        workload[key] = value.clone();
    }
    serde_json::from_value(workload).expect("a workload")
}

fn trial(server: &Server, users: u32, workload: HttpWorkload) -> Config {
    let mut config = config(server.address(), users, page_script());
    config.assignments[0].script = Script::Http(Box::new(HttpScript {
        workload,
        site: SiteName::at(server.address()),
    }));
    config
}

fn run_on(server: &Server, workload: HttpWorkload) -> GuestMeasurement {
    measure(&trial(server, 1, workload)).guests.remove(0)
}

fn counters(guest: &GuestMeasurement) -> &HttpCounters {
    HttpCounters::from_counters(&guest.counters).expect("those of the workload")
}

pub(crate) fn with_headers(headers: &str, body: &str) -> Behaviour {
    let length = body.len();
    Behaviour::Raw(
        format!("HTTP/1.1 200 OK\r\n{headers}Content-Length: {length}\r\n\r\n{body}").into_bytes(),
    )
}

fn answer(head: &str) -> Behaviour {
    Behaviour::Raw(format!("{head}\r\nContent-Length: 0\r\n\r\n").into_bytes())
}

/// A shop: a login that sets a cookie and shows a token, a list, a form that needs both.
fn shop(request: &Request) -> Behaviour {
    let body = String::from_utf8_lossy(&request.body);
    let logged_in = request.cookie.contains("session=s1");
    match (request.method.as_str(), request.target.as_str()) {
        ("POST", "/login") if body.starts_with("name=user+") => Behaviour::Raw(
            b"HTTP/1.1 303 See\r\nSet-Cookie: session=s1\r\nLocation: /home\r\nContent-Length: \
              0\r\n\r\n"
                .to_vec(),
        ),
        ("GET", "/home") if logged_in => {
            Behaviour::Raw(page("<input name=token value=\"a&b\"> welcome"))
        }
        ("GET", target) if target.starts_with("/list?") && logged_in => {
            Behaviour::Raw(page(r#"{"items": [{"id": 17}], "page": "list"}"#))
        }
        ("POST", "/comment/17") if logged_in && body == "token=a%26b&text=hi" => {
            Behaviour::Raw(page("stored"))
        }
        _ => answer("HTTP/1.1 403 No"),
    }
}

fn shop_workload() -> HttpWorkload {
    let login = get(
        "login",
        "/login",
        json!({
            "method": "POST",
            "body": {"form": [{"name": "name", "value": "user ${user}"}]},
            "captures": [{"name": "token", "source": {"regex": "value=\"([^\"]*)\""}}],
            "checks": [{"contains": "welcome"}],
        }),
    );
    let list = get(
        "list",
        "/list?first=${number}",
        json!({
            "captures": [{"name": "item", "source": {"json": "/items/0/id"}}],
            "checks": [{"json": {"pointer": "/page", "value": "list"}}],
        }),
    );
    let comment = get(
        "comment",
        "/comment/${item}",
        json!({
            "method": "POST", "counts": "comments",
            "body": {"form": [
                {"name": "token", "value": "${token}"}, {"name": "text", "value": "hi"},
            ]},
            "checks": [{"size": {"min": 6, "max": 6}}],
        }),
    );
    let number = json!({
        "name": "number", "source": {"range": {"first": 1, "last": 9}}, "order": "random",
        "per": "operation",
    });
    let more = json!({"login": 0, "walk": {"script": [1, 2, 1]}, "feeders": [number]});
    script(vec![login, list, comment], more)
}

#[test]
fn sessions_log_in_once_capture_and_check() {
    let server = Server::with(shop).expect("a server");
    let guest = run_on(&server, shop_workload());
    assert!(guest.errors.is_empty(), "{:?}", guest.errors);
    let done = |name: &str| operation(&guest, name).completed;
    assert!(done("comment") > 10, "{guest:?}");
    assert!(done("login").abs_diff(done("comment")) <= 1);
    assert!(done("list").abs_diff(2 * done("comment")) <= 2);
    let all = done("login") + done("list") + done("comment");
    // The first operation of a user is its arrival and no page of the loop.
    assert!(all - done("page") <= 1, "{all} of {}", done("page"));
    let counters = counters(&guest);
    assert_eq!(counters.pages, all);
    assert!(counters.redirects.abs_diff(done("login")) <= 1);
    let stored = server
        .log()
        .iter()
        .filter(|request| request.target == "/comment/17")
        .count() as u64;
    let proof = guest.counters.proof();
    assert_eq!(
        proof.rows[0].acknowledged + proof.rows[0].unanswered,
        stored
    );
}

#[test]
fn the_same_seed_sends_the_same_requests() {
    let requests = || {
        let server = Server::with(shop).expect("a server");
        run_on(&server, shop_workload());
        let log = server.log().into_iter().take(50);
        log.map(|request| {
            (
                request.head.split_once("Host").map(|(a, _)| a.to_owned()),
                request.body,
            )
        })
        .collect::<Vec<_>>()
    };
    assert_eq!(requests(), requests());
}

#[test]
fn objects_come_over_two_connections_and_are_asked_again_only_if_they_may_have_changed() {
    let server = Server::with(|request| match request.target.as_str() {
        "/" => Behaviour::Raw(page(
            "<img src=/a.png><script src=b.js></script><img src=//elsewhere/c.png><img src=/d.png>",
        )),
        "/a.png" if request.head.contains("If-None-Match: \"v1\"") => {
            Behaviour::Raw(b"HTTP/1.1 304 Same\r\nETag: \"v1\"\r\n\r\n".to_vec())
        }
        "/a.png" => with_headers("ETag: \"v1\"\r\n", "image"),
        "/b.js" => with_headers("Cache-Control: max-age=600\r\n", "script"),
        "/d.png" => Behaviour::Raw(page("another")),
        _ => answer("HTTP/1.1 404 No"),
    })
    .expect("a server");
    let home = get("home", "/", json!({"find_objects": true}));
    let walk = json!({"walk": {"weights": {"weights": [1.0], "session": null}}});
    let guest = run_on(&server, script(vec![home], walk));
    assert!(guest.errors.is_empty(), "{:?}", guest.errors);
    assert_eq!(server.connections(), 2);
    let asked = |target: &str| {
        server
            .log()
            .iter()
            .filter(|request| request.target == target)
            .count() as u64
    };
    assert_eq!(asked("/b.js"), 1, "it is fresh for ten minutes");
    assert_eq!((asked("/a.png"), asked("/d.png")), (asked("/"), asked("/")));
    let counters = counters(&guest);
    let pages = counters.pages;
    // The page of the arrival lies in the window, the last one may end behind it.
    assert!(
        (1..=2).contains(&(1 + asked("/") - pages)) && pages > 10,
        "{pages}"
    );
    assert_eq!(counters.not_modified, pages - 1);
    assert_eq!(counters.from_cache, pages - 1);
    assert_eq!(counters.objects, 2 * pages + 1);
}

#[test]
fn every_bad_answer_lands_in_its_class_once() {
    let cases = [
        ("/wrong", ErrorClass::Content, "contains"),
        ("/half", ErrorClass::Io, "truncated"),
        ("/huge", ErrorClass::Protocol, "body-too-large"),
        ("/endless", ErrorClass::Protocol, "body-too-large"),
        ("/away", ErrorClass::Redirect, "other-authority"),
        ("/round", ErrorClass::Redirect, "loop"),
        ("/gone", ErrorClass::Status, "404"),
        ("/busy", ErrorClass::Overload, "503"),
        ("/bomb", ErrorClass::Protocol, "decompression"),
        ("/reset", ErrorClass::Io, "recv-reset"),
    ];
    for (path, class, sub_class) in cases {
        let server = Server::with(|request| match request.target.as_str() {
            "/wrong" => Behaviour::Raw(page("something else")),
            "/half" => {
                Behaviour::Close(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\nhalf".to_vec())
            }
            "/huge" => Behaviour::Huge {
                bytes: 1 << 30,
                told: true,
            },
            "/endless" => Behaviour::Huge {
                bytes: 1 << 30,
                told: false,
            },
            "/away" => answer("HTTP/1.1 302 Go\r\nLocation: http://192.0.2.1/"),
            "/round" => answer("HTTP/1.1 302 Go\r\nLocation: /round"),
            "/busy" => answer("HTTP/1.1 503 Busy\r\nRetry-After: 1"),
            "/bomb" => with_headers("Content-Encoding: gzip\r\n", "no gzip at all"),
            "/reset" => {
                Behaviour::Reset(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\nx".to_vec())
            }
            "/good" => Behaviour::Raw(page("good")),
            _ => answer("HTTP/1.1 404 No"),
        })
        .expect("a server");
        let check = json!({"checks": [{"contains": "good"}]});
        let bad = run_on(
            &server,
            script(vec![get("bad", path, check.clone())], json!({})),
        );
        assert_eq!(bad.errors.len(), 1, "{path}: {:?}", bad.errors);
        let error = &bad.errors[0];
        assert_eq!(
            (error.class, error.sub_class.as_str()),
            (class, sub_class),
            "{path}"
        );
        assert_eq!(operation(&bad, "bad").succeeded, 0, "{path}");
        let good = run_on(
            &server,
            script(vec![get("good", "/good", check)], json!({})),
        );
        assert!(good.errors.is_empty(), "others are unharmed after {path}");
    }
}

#[test]
fn a_server_without_tls_is_a_fault_of_tls() {
    let server =
        Server::start(Behaviour::Close(b"HTTP/1.1 400 Bad\r\n\r\n".to_vec())).expect("a server");
    let tls = json!({"tls": {"ca": null, "insecure": true, "version": null}});
    let mut config = trial(&server, 1, script(vec![get("home", "/", json!({}))], tls));
    let Script::Http(http) = &mut config.assignments[0].script else {
        panic!("a workload as data");
    };
    http.site.https = true;
    let guest = measure(&config).guests.remove(0);
    assert!(
        !guest.errors.is_empty() && guest.errors.iter().all(|e| e.class == ErrorClass::Tls),
        "{:?}",
        guest.errors
    );
}

#[test]
fn ten_thousand_cookies_are_bounded_and_the_user_goes_on() {
    let server = Server::with(|request| {
        let cookies: String = (0..40)
            .map(|n| {
                format!(
                    "Set-Cookie: n{}-{n}={}\r\n",
                    request.number,
                    "v".repeat(200)
                )
            })
            .collect();
        with_headers(&cookies, "good")
    })
    .expect("a server");
    let guest = run_on(
        &server,
        script(
            vec![get("home", "/", json!({}))],
            json!({"walk": {"weights": {"weights": [1.0], "session": null}}}),
        ),
    );
    assert!(guest.errors.is_empty(), "{:?}", guest.errors);
    assert!(
        server
            .log()
            .iter()
            .all(|request| request.cookie.len() <= 4096)
    );
}

#[test]
fn a_feeder_that_runs_dry_is_a_counted_failure() {
    let server = Server::start(Behaviour::Raw(page("good"))).expect("a server");
    let once = json!({
        "name": "id", "source": {"range": {"first": 1, "last": 3}}, "order": "once",
        "per": "operation",
    });
    let workload = script(
        vec![get("buy", "/buy/${id}", json!({}))],
        json!({"feeders": [once]}),
    );
    let guest = run_on(&server, workload);
    let mut targets: Vec<String> = server.log().into_iter().map(|r| r.target).collect();
    targets.sort();
    assert_eq!(targets, ["/buy/1", "/buy/2", "/buy/3"]);
    assert_eq!(guest.errors.len(), 1, "{:?}", guest.errors);
    assert_eq!(
        (guest.errors[0].class, guest.errors[0].sub_class.as_str()),
        (ErrorClass::Data, "feeder-dry")
    );
}

#[test]
fn a_user_receives_no_faster_than_its_line() {
    let body = "x".repeat(30_000);
    let server = Server::start(Behaviour::Raw(page(&body))).expect("a server");
    let browser = json!({
        "browser": {"connections": 2, "cache": true, "gzip": false, "receive_rate": 100_000},
    });
    let mut config = trial(
        &server,
        1,
        script(vec![get("file", "/", json!({}))], browser),
    );
    config.phases.steady = ms(1_000);
    let guest = measure(&config).guests.remove(0);
    let file = operation(&guest, "file");
    assert!(file.succeeded >= 1 && guest.errors.is_empty(), "{guest:?}");
    // The last receive of a twentieth of a second is not waited for.
    assert!(
        file.service.min_us() >= Some(240_000),
        "{:?}",
        file.service.min_us()
    );
}

#[test]
fn what_a_workload_lacks_is_refused_before_the_first_packet() {
    let server = Server::start(Behaviour::Raw(page("good"))).expect("a server");
    for (operation, said) in [
        (get("a", "/${nothing}", json!({})), "`${nothing}`"),
        (
            get(
                "a",
                "/",
                json!({"checks": [{"matches": "(a{1000}){1000}"}]}),
            ),
            "size limit",
        ),
    ] {
        let config = trial(&server, 1, script(vec![operation], json!({})));
        let stop = std::sync::atomic::AtomicBool::new(false);
        let error = rookery_web::run(&config, std::time::Instant::now(), &stop, &|_| {})
            .expect_err("it cannot be done");
        assert!(error.to_string().contains(said), "{error}");
    }
    assert_eq!(server.requests(), 0);
}

#[test]
fn headers_and_cookies_are_captured_and_parts_of_forms_are_sent() {
    let server = Server::with(|request| {
        let body = String::from_utf8_lossy(&request.body).into_owned();
        let parts = ["name=\"text\"\r\n\r\nhi 1\r\n", "filename=\"picture.txt\""];
        match request.target.as_str() {
            "/first" => with_headers("X-Version: v7\r\nSet-Cookie: sid=abc; Path=/\r\n", "good"),
            "/v7/abc" if parts.iter().all(|part| body.contains(part)) => {
                // The head, the text, and a file of 1000 letters.
                assert!(body.len() > 1000 && body.len() < 2000, "{}", body.len());
                Behaviour::Raw(page("stored"))
            }
            _ => answer("HTTP/1.1 404 No"),
        }
    })
    .expect("a server");
    let first = json!({"captures": [
        {"name": "version", "source": {"header": "x-version"}},
        {"name": "sid", "source": {"cookie": "sid"}},
    ]});
    let second = json!({
        "method": "POST",
        "body": {"multipart": [
            {"name": "text", "content": {"value": "hi ${session}"}},
            {"name": "picture", "content": {"file": {"name": "picture.txt", "bytes": 1000}}},
        ]},
        "checks": [{"contains": "stored"}],
    });
    let operations = vec![
        get("first", "/first", first),
        get("second", "/${version}/${sid}", second),
    ];
    let guest = run_on(&server, script(operations, json!({})));
    let second = operation(&guest, "second");
    assert!(second.succeeded >= 1, "{:?}", guest.errors);
    // Sessions are numbered: only the first says `hi 1`.
    assert!(
        guest.errors.iter().all(|error| error.sub_class == "404"),
        "{:?}",
        guest.errors
    );
}

/// Nobody looks into these bodies: the kernel throws them away, and each byte counts all the same.
#[test]
fn bodies_that_no_check_needs_are_counted_to_their_last_byte() {
    const BYTES: usize = 300_000;
    const HUGE: u64 = 256 << 20;
    let whole = || page(&"x".repeat(BYTES));
    let server = Server::with(move |request| match request.target.as_str() {
        "/big" => Behaviour::Raw(whole()),
        "/pieces" => {
            let all = whole();
            let pieces = [
                &all[..20],
                &all[20..9_000],
                &all[9_000..100_000],
                &all[100_000..],
            ];
            Behaviour::Dribble(ms(1), pieces.map(<[u8]>::to_vec).to_vec())
        }
        "/half" => Behaviour::Close(whole()[..BYTES / 2].to_vec()),
        "/reset" => Behaviour::Reset(whole()[..BYTES / 2].to_vec()),
        "/more" => Behaviour::Raw([whole(), b"more".to_vec()].concat()),
        _ => Behaviour::Huge {
            bytes: HUGE,
            told: true,
        },
    })
    .expect("a server");
    let run_at = |path: &str, bytes: u64| {
        let checks = json!({
            "checks": [{"size": {"min": bytes, "max": bytes}}], "body_limit": bytes,
        });
        run_on(&server, script(vec![get("file", path, checks)], json!({})))
    };
    for path in ["/big", "/pieces"] {
        let guest = run_at(path, BYTES as u64);
        assert!(guest.errors.is_empty(), "{path}: {:?}", guest.errors);
        let (done, bytes) = (operation(&guest, "file").completed, counters(&guest).bytes);
        assert!(done > 0, "{path}");
        assert_eq!(bytes % BYTES as u64, 0, "{path}");
    }
    let guest = run_at("/huge", HUGE);
    assert!(guest.errors.is_empty(), "{:?}", guest.errors);
    for (path, class) in [
        ("/half", ErrorClass::Io),
        ("/reset", ErrorClass::Io),
        ("/more", ErrorClass::Protocol),
    ] {
        let guest = run_at(path, BYTES as u64);
        assert!(!guest.errors.is_empty(), "{path}");
        let all = guest.errors.iter().all(|error| error.class == class);
        assert!(all, "{path}: {:?}", guest.errors);
    }
}

/// 64 MiB of zeros in less than 100 kB of gzip, where 8 MB are allowed.
#[test]
fn a_compression_bomb_is_bounded() {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    let zeros = vec![0; 1 << 20];
    for _ in 0..64 {
        std::io::Write::write_all(&mut encoder, &zeros).expect("memory");
    }
    let bomb = encoder.finish().expect("memory");
    assert!(bomb.len() < 100_000);
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: {}\r\n\r\n",
        bomb.len()
    );
    let answer = [head.as_bytes(), &bomb].concat();
    let server = Server::start(Behaviour::Raw(answer)).expect("a server");
    let browser = json!({
        "browser": {"connections": 2, "cache": true, "gzip": true, "receive_rate": null},
    });
    let guest = run_on(&server, script(vec![get("bomb", "/", json!({}))], browser));
    assert_eq!(guest.errors.len(), 1, "{:?}", guest.errors);
    assert_eq!(
        (guest.errors[0].class, guest.errors[0].sub_class.as_str()),
        (ErrorClass::Protocol, "body-too-large")
    );
}
