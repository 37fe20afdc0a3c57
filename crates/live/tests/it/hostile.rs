//! Clients, sites and stores that mean harm.

use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
    sync::{Arc, atomic::AtomicBool},
    time::Duration,
};

use rookery_live::{Control, Limits, LiveError, LiveServer, Options};
use rookery_store::Outcome;

use crate::common::{PATIENCE, Place, name_of, record};

const EVERY_PATH: [&str; 21] = [
    "/",
    "/page.js",
    "/library.js",
    "/run.js",
    "/labels.js",
    "/comparison.js",
    "/app.js",
    "/searches.js",
    "/present.js",
    "/charts.js",
    "/live.css",
    "/report.css",
    "/api/session",
    "/api/runs",
    "/api/runs/KEY",
    "/api/runs/KEY/logs",
    "/api/runs/KEY/labels",
    "/runs/KEY/export.json",
    "/api/runs/KEY/trials/1",
    "/runs/KEY/report",
    "/compare?base=KEY&new=KEY",
];

#[test]
fn nothing_is_shown_without_the_token() {
    let place = Place::new();
    place.measured("run-a", "bare");
    let (server, client) = place.serve();
    let key = client.key("run-a");
    let stranger = client.stranger();
    let refused = |path: &str, lines: &str| {
        let answer = stranger.get_with(path, lines);
        assert_eq!(answer.status, 401, "{path} {lines}");
        assert!(answer.header("set-cookie").is_empty(), "{path}");
        assert!(!answer.body.contains("run-a"), "{path}: {}", answer.body);
    };
    let events = "/api/runs/KEY/events";
    for path in EVERY_PATH.into_iter().chain([events]) {
        refused(&path.replace("KEY", &key), "");
        let name = client.cookie.split('=').next().expect("a name");
        refused(&path.replace("KEY", &key), &format!("Cookie: {name}=0\r\n"));
    }
    let token = server.url().split('=').nth(1).expect("a token").to_owned();
    for wrong in [
        "",
        "0",
        &token[1..],
        &token.to_uppercase(),
        &format!("{token}0"),
    ] {
        refused(&format!("/?token={wrong}"), "");
    }
    // The token is for the first look alone: it is no key to anything else.
    refused(&format!("/api/runs?token={token}"), "");
    let post = stranger.post("/api/control", "{}");
    assert_eq!(post.status, 401);
}

#[test]
fn the_cookie_is_out_of_the_reach_of_scripts_and_of_other_sites() {
    let place = Place::new();
    let (server, client) = place.serve();
    let url = server.url();
    let path = url
        .split_once(&server.address().to_string())
        .expect("an address")
        .1;
    let answer = client.stranger().get(path);
    let cookie = answer.header("set-cookie");
    assert!(
        cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"),
        "{cookie}"
    );
    assert_eq!(
        answer.header("location"),
        "/",
        "the token leaves the address bar"
    );
    assert!(
        !cookie.contains(path.split('=').nth(1).expect("a token")),
        "{cookie}"
    );
}

#[test]
fn other_names_and_other_sites_are_refused() {
    let place = Place::new();
    let (_server, client) = place.serve();
    for host in [
        "evil.example",
        "127.0.0.1",
        "[::1]:80",
        "localhost.evil.example",
    ] {
        let answer = client.send(&format!(
            "GET /api/runs HTTP/1.1\r\nHost: {host}\r\nCookie: {}\r\n\r\n",
            client.cookie
        ));
        assert_eq!(answer.status, 421, "{host}");
    }
    let without = client.send(&format!(
        "GET /api/runs HTTP/1.0\r\nCookie: {}\r\n\r\n",
        client.cookie
    ));
    assert_eq!(without.status, 421);
    for lines in [
        "Origin: http://evil.example\r\n",
        "Origin: null\r\n",
        "Sec-Fetch-Site: cross-site\r\n",
    ] {
        assert_eq!(client.get_with("/api/runs", lines).status, 403, "{lines}");
        assert_eq!(client.get_with("/", lines).status, 403, "{lines}");
    }
    let own = format!(
        "Origin: http://{}\r\nSec-Fetch-Site: same-origin\r\n",
        client.address
    );
    assert_eq!(client.get_with("/api/runs", &own).status, 200);
}

#[test]
fn paths_lead_nowhere_but_to_listed_runs() {
    let place = Place::new();
    place.run("inside", |_| {});
    let outside = Place::new();
    outside.run("outside", |_| {});
    let (_server, client) = place.serve();
    let key = client.key("inside");
    let elsewhere = outside.path().join("outside");
    let encoded = elsewhere.display().to_string().replace('/', "%2F");
    for name in [
        "..",
        "../outside",
        "%2e%2e",
        "inside",
        "run.sqlite",
        &encoded,
        &format!("{key}/../{key}"),
        &format!("{key}%00"),
        &key[1..],
        &key.to_uppercase(),
    ] {
        for path in [
            format!("/api/runs/{name}"),
            format!("/api/runs/{name}/events"),
            format!("/runs/{name}/report"),
            format!("/compare?base={key}&new={name}"),
        ] {
            assert_eq!(client.get(&path).status, 404, "{path}");
        }
    }
    for path in [
        "/../../etc/passwd",
        "/%2e%2e/%2e%2e/etc/passwd",
        "//etc/passwd",
        "/page/index.html",
        "/api",
        "/api/runs/",
        "http://evil.example/etc/passwd",
    ] {
        let answer = client.get(path);
        assert_eq!(answer.status, 404, "{path}: {}", answer.body);
    }
    let compared = client.get(&format!("/compare?base={key}&new={key}"));
    assert_eq!(compared.status, 400, "a run and itself");
}

#[test]
fn a_link_in_the_place_of_a_journal_shows_no_other_file() {
    let place = Place::new();
    let (directory, _store) = place.run("linked", |_| {});
    let secret = place.path().join("secret");
    std::fs::write(
        &secret,
        "{\"id\":1,\"event\":\"remark\",\"text\":\"secret words\"}\n",
    )
    .expect("written");
    std::os::unix::fs::symlink(&secret, directory.join("live.jsonl")).expect("a link");
    let (_server, client) = place.serve();
    let mut events = client.follow(&client.key("linked"), None);
    let text = events.until(|text| text.contains("event: end"));
    assert!(!text.contains("secret words"), "{text}");
}

#[test]
fn markup_of_a_store_stays_text() {
    const EVIL: &str = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\r\n\r\n\
                        data: {}\u{2028}\u{202e}";
    let place = Place::new();
    let (directory, store) = place.run("<b>run", |header| {
        header.title = EVIL.to_owned();
        header.study.title = EVIL.to_owned();
        header.study.question = Some(EVIL.to_owned());
        header.study_file = EVIL.to_owned();
        header.study_text = EVIL.to_owned();
        header.rookery_version = EVIL.to_owned();
        header.created_at = EVIL.to_owned();
        header.host.hostname = EVIL.to_owned();
        header.host.cpu_model = EVIL.to_owned();
        header.plan.notes = vec![EVIL.to_owned()];
        for point in &mut header.plan.points {
            point.layouts = vec![EVIL.to_owned()];
        }
    });
    store.note("2026-01-02T03:04:05Z", EVIL).expect("noted");
    store.begin_trial(1, EVIL).expect("begun");
    store
        .end_trial(1, EVIL, &record(Outcome::Failed, EVIL))
        .expect("ended");
    let event = serde_json::json!({ "id": 1, "event": EVIL, "text": EVIL });
    std::fs::write(directory.join("live.jsonl"), format!("{event}\n")).expect("written");
    let (_server, client) = place.serve();
    let key = client.key("<b>run");
    for path in ["/api/runs".to_owned(), format!("/api/runs/{key}")] {
        let answer = client.get(&path);
        assert_eq!(answer.status, 200, "{path}");
        assert_eq!(answer.header("content-type"), "application/json");
        assert_eq!(answer.header("x-content-type-options"), "nosniff");
        // It is there, as text of JSON.
        assert!(answer.json().to_string().contains("alert(1)"), "{path}");
    }
    let mut events = client.follow(&key, None);
    let text = events.until(|text| text.contains("event: end")).to_owned();
    let fields = ["event: ", "data: ", "id: ", "retry: ", ":"];
    let body = text.split_once("\r\n\r\n").expect("a head").1;
    for line in body.split(['\n', '\r']).filter(|line| !line.is_empty()) {
        let is_length = line.chars().all(|c| c.is_ascii_hexdigit());
        let is_field = fields.iter().any(|field| line.starts_with(field));
        assert!(is_length || is_field, "a text began a line: {line}");
    }
    let report = client.get(&format!("/runs/{key}/report"));
    assert_eq!(report.status, 200, "{}", report.body);
    assert!(
        !report.body.contains("<script>alert(1)"),
        "the report escapes"
    );
    assert!(!report.body.contains("<img src=x"), "the report escapes");
    let policy = report.header("content-security-policy");
    assert!(policy.contains("sandbox allow-scripts"), "{policy}");
    assert!(!policy.contains("allow-same-origin"), "{policy}");
    assert!(policy.contains("script-src 'sha256-"), "{policy}");
}

#[test]
fn the_page_itself_runs_its_own_script_alone() {
    let place = Place::new();
    let (_server, client) = place.serve();
    let page = client.get("/");
    assert_eq!(page.status, 200);
    let policy = page.header("content-security-policy");
    for part in [
        "default-src 'none'",
        "script-src 'self'",
        "frame-ancestors 'none'",
    ] {
        assert!(policy.contains(part), "{policy}");
    }
    assert!(!policy.contains("unsafe"), "{policy}");
    // Nothing inline, which that policy would refuse.
    assert!(
        !page.body.contains("<script>") && !page.body.contains("<style"),
        "{}",
        page.body
    );
    assert!(!page.body.contains(" style="), "{}", page.body);
    let script = client.get("/app.js");
    for way in [
        "innerHTML",
        "outerHTML",
        "insertAdjacentHTML",
        "document.write",
        "eval(",
    ] {
        assert!(
            !script.body.contains(way),
            "text would become markup: {way}"
        );
    }
}

#[test]
fn nothing_can_be_changed_without_control() {
    let place = Place::new();
    let (_server, client) = place.serve();
    let form = client.get("/api/session").json()["form"]
        .as_str()
        .expect("a form")
        .to_owned();
    let body = serde_json::json!({ "ask": { "stop": "now" }, "form": form }).to_string();
    assert_eq!(client.post("/api/control", &body).status, 403);
    for method in ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT"] {
        let answer = client.send(&format!(
            "{method} /api/runs HTTP/1.1\r\nHost: {}\r\nCookie: {}\r\n\r\n",
            client.address, client.cookie
        ));
        assert!(
            [400, 405].contains(&answer.status),
            "{method}: {}",
            answer.status
        );
    }
    let delete = serde_json::json!({ "ask": { "name": "KEY" }, "form": form }).to_string();
    assert_eq!(client.post("/api/runs/KEY/delete", &delete).status, 403);
    for path in EVERY_PATH {
        // Labels are the one thing that is read and changed at the same path.
        let refused = if path.ends_with("/labels") { 403 } else { 404 };
        assert_eq!(client.post(path, "{}").status, refused, "{path}");
    }
}

#[test]
fn a_run_is_stopped_by_the_page_itself_and_by_nothing_else() {
    let place = Place::new();
    let stop = Arc::new(AtomicBool::new(false));
    let control = Control::new(Arc::clone(&stop));
    let (_server, client) = place.serve_with(|options| options.control = Some(control.clone()));
    let session = client.get("/api/session").json();
    assert_eq!(session["control"], true);
    let form = session["form"].as_str().expect("a form");
    let body = |how: &str, form: &str| {
        serde_json::json!({ "ask": { "stop": how }, "form": form }).to_string()
    };
    let good = body("after-trial", form);
    let foreign = [
        String::new(),
        "Origin: http://evil.example\r\n".to_owned(),
        "Origin: null\r\n".to_owned(),
        format!(
            "Origin: http://{}\r\nSec-Fetch-Site: cross-site\r\n",
            client.address
        ),
    ];
    for lines in &foreign {
        assert_eq!(
            client.post_with("/api/control", &good, lines).status,
            403,
            "{lines}"
        );
    }
    assert_eq!(client.stranger().post("/api/control", &good).status, 401);
    assert_eq!(
        client.post("/api/control", &body("now", "wrong")).status,
        401
    );
    for bad in [
        body("now; rm -rf /", form),
        "{}".to_owned(),
        "[".to_owned(),
        String::new(),
    ] {
        assert_eq!(client.post("/api/control", &bad).status, 400, "{bad}");
    }
    let long = body(&"x".repeat(100_000), form);
    assert_eq!(client.post("/api/control", &long).status, 400);
    assert!(!control.stops_after_trial());
    assert_eq!(client.post("/api/control", &good).status, 200);
    assert!(control.stops_after_trial());
    assert!(!stop.load(std::sync::atomic::Ordering::SeqCst));
    assert_eq!(client.post("/api/control", &body("now", form)).status, 200);
    assert!(stop.load(std::sync::atomic::Ordering::SeqCst));
}

#[test]
fn clients_that_say_nothing_do_not_keep_others_out() {
    let place = Place::new();
    place.run("run", |_| {});
    let limits = Limits {
        connections: 8,
        streams: 4,
        head: Duration::from_millis(300),
        ..Limits::default()
    };
    let (_server, client) = place.serve_with(|options| options.limits = limits);
    let silent: Vec<TcpStream> = (0..200)
        .map(|number| {
            // Some say half a head, some nothing.
            let said = if number % 2 == 0 {
                ""
            } else {
                "GET / HTTP/1.1\r\nHost: "
            };
            client.open(said)
        })
        .collect();
    // Each is given up after its time, 8 at once.
    assert_eq!(client.runs().len(), 1);
    for mut stream in silent {
        let mut rest = Vec::new();
        // Closed by the server, whether with an answer or a reset.
        let _ = stream.read_to_end(&mut rest);
    }
}

#[test]
fn only_so_many_pages_follow_at_once() {
    let place = Place::new();
    let (dir, _store) = place.running();
    let limits = Limits {
        streams: 2,
        ..Limits::default()
    };
    let (_server, client) = place.serve_with(|options| options.limits = limits);
    let key = client.key(&name_of(dir.path()));
    let mut followers = [client.follow(&key, None), client.follow(&key, None)];
    for follower in &mut followers {
        follower.until(|text| text.contains("event: overview"));
    }
    let answer = client.get(&format!("/api/runs/{key}/events"));
    assert_eq!(answer.status, 503, "{}", answer.body);
    assert_eq!(
        client.get("/api/runs").status,
        200,
        "everything else goes on"
    );
}

#[test]
fn a_reader_that_takes_nothing_is_dropped() {
    let place = Place::new();
    let text = "x".repeat(200);
    // More than the buffers of a connection take.
    let (_, store) = place.run("long", |_| {});
    for _ in 0..100 {
        store
            .note("2026-01-02T03:04:05Z", &text.repeat(1_000))
            .expect("noted");
    }
    let limits = Limits {
        connections: 1,
        streams: 1,
        stall: Duration::from_millis(300),
        ..Limits::default()
    };
    let (_server, client) = place.serve_with(|options| options.limits = limits);
    let key = client.key("long");
    let slow = client.open(&format!(
        "GET /api/runs/{key} HTTP/1.1\r\nHost: {}\r\nCookie: {}\r\n\r\n",
        client.address, client.cookie
    ));
    // The only connection is free again without its reading a byte.
    assert_eq!(client.get("/api/session").status, 200);
    drop(slow);
}

#[test]
fn heads_without_end_are_refused() {
    let place = Place::new();
    let (_server, client) = place.serve();
    let long = format!("X-Long: {}\r\n", "x".repeat(100_000));
    let mut stream = TcpStream::connect(client.address).expect("a connection");
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    // It may be refused before all of it was sent.
    let _ = stream.write_all(format!("GET / HTTP/1.1\r\n{long}\r\n").as_bytes());
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    let answer = String::from_utf8_lossy(&answer);
    assert!(!answer.contains(" 200 "), "{answer}");
    let many = "X-Header: 1\r\n".repeat(500);
    assert_eq!(client.get_with("/api/runs", &many).status, 431);
    assert_eq!(client.get("/api/runs").status, 200);
}

#[test]
fn other_machines_reach_it_only_by_the_users_word() {
    let options = |confirmed| Options {
        listen: "0.0.0.0:0".parse().expect("an address"),
        plain_http_confirmed: confirmed,
        tls: None,
        runs: Vec::new(),
        control: None,
        limits: Limits::default(),
    };
    let refused = LiveServer::start(options(false));
    assert!(matches!(refused, Err(LiveError::NotLoopback { .. })));
}
