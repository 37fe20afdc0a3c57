//! `--try URL`: each operation of a web workload once, and what comes back.

use std::{fs, process::Output};

use rookery_testkit::{Behaviour, Request, Server};
use serde_json::Value;

use crate::common::{Place, code, text};

const SITE: &str = r#"
login = "sign-in"
start = { home = 1 }

[[operation]]
name = "home"
path = "/home?t=${token}"
contains = ["Welcome", "Bienvenue"]
find_objects = true
next = { end = 1 }

[[operation]]
name = "sign-in"
method = "POST"
path = "/login"
form = { name = "ann", password = "open sesame" }
capture = { token = 'token=([a-z]+)' }
capture_json = { id = "/id" }
"#;

fn answer(status: &str, headers: &str, body: &str) -> Behaviour {
    let length = body.len();
    Behaviour::Raw(
        format!("HTTP/1.1 {status}\r\n{headers}Content-Length: {length}\r\n\r\n{body}")
            .into_bytes(),
    )
}

fn site(request: &Request) -> Behaviour {
    match request.target.as_str() {
        "/login" => answer("303 See Other", "Location: /welcome\r\n", ""),
        "/welcome" => answer("200 OK", "Content-Type: text/plain\r\n", "token=sesamsesam"),
        "/home?t=sesamsesam" => answer(
            "200 OK",
            "Content-Type: text/html; charset=utf-8\r\n",
            "<h1>Welcome</h1>\u{1b}]0;owned\u{7}<img src=/a.png><img src=/lost.png>",
        ),
        "/a.png" => answer("200 OK", "", "png"),
        _ => answer("404 Not Found", "", "\u{1b}[2Jnot\there"),
    }
}

/// What was printed, without what differs from run to run.
fn steady(output: &Output, server: &Server) -> String {
    let printed = text(&output.stdout).replace(&server.address().to_string(), "SITE");
    let mut words: Vec<String> = Vec::new();
    for word in printed.split(' ') {
        let time = word
            .strip_prefix("ms")
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('\n'));
        if time && let Some(number) = words.last_mut() {
            *number = "N".to_owned();
        }
        words.push(word.to_owned());
    }
    words.join(" ")
}

#[test]
fn a_workload_file_is_tried_at_a_site() {
    let place = Place::new();
    let server = Server::with(site).expect("a port");
    let url = format!("http://{}", server.address());
    let file = place.dir.path().join("site.toml");
    fs::write(&file, SITE).expect("a file");
    let rookery = |args: &[&str]| {
        let mut command = place.rookery(args);
        command
            .env("COLUMNS", "80")
            .output()
            .expect("rookery starts")
    };

    let tried = rookery(&["workload", "check", "site.toml", "--try", &url]);
    assert_eq!(code(&tried), 5, "{}", text(&tried.stderr));
    let printed = steady(&tried, &server);
    assert!(
        !printed.contains(|c: char| c.is_control() && c != '\n'),
        "{printed:?}"
    );
    insta::assert_snapshot!("try", printed);

    let json = rookery(&["workload", "check", "site.toml", "--try", &url, "--json"]);
    assert_eq!(code(&json), 5);
    let json: Value = serde_json::from_slice(&json.stdout).expect("JSON");
    let operations = &json["tried"]["operations"];
    assert_eq!(operations[0]["name"], "sign-in");
    assert_eq!(operations[0]["captures"][0]["value"], "***");
    assert_eq!(operations[1]["objects"][1]["fault"]["sub_class"], "404");
    assert_eq!(json["problems"], Value::Array(Vec::new()));

    let foreign = rookery(&[
        "workload",
        "check",
        "site.toml",
        "--try",
        "http://192.0.2.1",
    ]);
    assert_eq!(code(&foreign), 2);
    let said = text(&foreign.stderr);
    assert!(said.contains("--confirm-target"), "{said}");

    let alone = rookery(&["workload", "check", "site.toml"]);
    assert_eq!(
        (code(&alone), text(&alone.stdout).as_str()),
        (0, "site.toml: no problems\n")
    );
    fs::write(&file, SITE.replace("end = 1", "end = 2")).expect("a file");
    let wrong = rookery(&["workload", "check", "site.toml", "--try", &url]);
    assert_eq!(code(&wrong), 3);
    assert!(
        text(&wrong.stderr).contains("site.toml:10:"),
        "{}",
        text(&wrong.stderr)
    );
}

#[test]
fn the_workload_of_a_study_is_tried_with_the_study() {
    let place = Place::new();
    let server = Server::with(|_| answer("200 OK", "", "Welcome")).expect("a port");
    let url = format!("http://{}", server.address());
    let study = place.study(
        "site-study.toml",
        "title = \"a site\"\n[workload]\nkind = \"http\"\nthink_time = [\"1s\", \"2s\"]\n\
         operation = [{name = \"home\", path = \"/\", contains = \"Welcome\"}]\n\
         [load]\nusers = 1\n[stack]\nkind = \"embedded\"\n[[layout]]\nname = \"one\"\n",
    );
    let check = |args: &[&str]| {
        let all = [&["check", "--file-only", &study], args].concat();
        place.rookery(&all).output().expect("rookery starts")
    };
    let tried = check(&["--try", &url]);
    assert_eq!(code(&tried), 0, "{}", text(&tried.stderr));
    assert!(
        text(&tried.stdout).contains("all 1 went as they should"),
        "{}",
        text(&tried.stdout)
    );
    // Pauses make no other workload.
    assert_eq!(server.requests(), 1);
    let json = check(&["--try", &url, "--json"]);
    let json: Value = serde_json::from_slice(&json.stdout).expect("JSON");
    assert_eq!(json["tried"][0]["operations"][0]["answer"]["status"], 200);

    let other = place.study("other.toml", "title = \"o\"\n[workload]\nkind = \"sample\"\n[load]\nusers = 1\n[stack]\nkind = \"bundled\"\n\
         [[layout]]\nname = \"one\"\n");
    let refused = place
        .rookery(&["check", "--file-only", &other, "--try", &url])
        .output()
        .expect("rookery starts");
    assert_eq!(code(&refused), 2, "{}", text(&refused.stderr));
}

#[test]
fn a_har_becomes_a_workload_file_that_can_be_tried() {
    let place = Place::new();
    let server = Server::with(|_| answer("200 OK", "Content-Type: text/html\r\n", "Welcome"))
        .expect("a port");
    let url = format!("http://{}", server.address());
    let har = format!(
        "{{\"log\": {{\"entries\": [{{\"request\": {{\"method\": \"GET\", \"url\": \"{url}/shop\"}}, \
         \"response\": {{\"status\": 200, \"content\": {{\"mimeType\": \"text/html\"}}}}}}]}}}}"
    );
    fs::write(place.dir.path().join("visit.har"), har).expect("a file");
    let rookery = |args: &[&str]| place.rookery(args).output().expect("rookery starts");
    let printed = rookery(&["workload", "from-har", "visit.har"]);
    assert_eq!(code(&printed), 0, "{}", text(&printed.stderr));

    let args = ["workload", "from-har", "visit.har", "--output", "shop.toml"];
    let written = rookery(&args);
    assert_eq!(code(&written), 0, "{}", text(&written.stderr));
    let file = fs::read_to_string(place.dir.path().join("shop.toml")).expect("a file");
    assert_eq!(file.trim_end(), text(&printed.stdout).trim_end());
    let again = rookery(&args);
    assert_eq!(code(&again), 2);
    assert!(
        text(&again.stderr).contains("--overwrite"),
        "{}",
        text(&again.stderr)
    );
    assert_eq!(code(&rookery(&[&args[..], &["--overwrite"]].concat())), 0);

    let tried = rookery(&["workload", "check", "shop.toml", "--try", &url]);
    assert_eq!(code(&tried), 0, "{}", text(&tried.stdout));
    assert_eq!(server.log()[0].target, "/shop");

    let none = rookery(&[
        "workload",
        "from-har",
        "shop.toml",
        "--output",
        "other.toml",
    ]);
    assert_eq!(code(&none), 2);
    assert!(
        text(&none.stderr).contains("har::no-json"),
        "{}",
        text(&none.stderr)
    );
    assert!(!place.dir.path().join("other.toml").exists());
}
