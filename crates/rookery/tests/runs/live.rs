//! The page beside a run: what it shows while the run goes on, and that it can stop it.

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    process::Stdio,
};

use serde_json::Value;

use crate::common::{Place, assert_host_as, code, host_state, text, tiny_study};

#[test]
fn a_run_is_watched_and_stopped_after_its_trial_by_its_page() {
    let place = Place::new();
    let before = host_state();
    let study = place.study("tiny.toml", &tiny_study("bare", "1", ""));
    let mut child = place
        .rookery(&["run", &study, "--json", "--live", "--control"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("rookery starts");
    let mut lines = BufReader::new(child.stdout.take().expect("piped"))
        .lines()
        .map_while(Result::ok);
    let first: Value = serde_json::from_str(&lines.next().expect("a line")).expect("JSON");
    let url = first["url"].as_str().expect("the address").to_owned();
    let client = Client::admitted(&url);
    assert!(
        lines.by_ref().any(|line| line.contains("\"load\"")),
        "the first trial is under load"
    );
    let session = client.get("/api/session");
    let key = session["own"].as_str().expect("the run that is conducted");
    let run = loop {
        let listed = client.get("/api/runs");
        if listed["runs"]
            .as_array()
            .is_some_and(|runs| !runs.is_empty())
        {
            break client.get(&format!("/api/runs/{key}"));
        }
    };
    assert_eq!(run["state"], "running", "{run}");
    assert_eq!(run["trials"][0]["status"], "running", "{run}");
    let body = serde_json::json!({ "ask": { "stop": "after-trial" }, "form": session["form"] });
    assert_eq!(client.post("/api/control", &body)["stop"], "after-trial");
    lines.for_each(drop);
    let output = child.wait_with_output().expect("rookery ends");
    let err = text(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{err}");
    assert!(err.contains("trials left"), "{err}");
    assert_host_as(&before);
    let run = place.export();
    let ended = |trial: &Value| trial["status"] != "planned";
    let trials = run["trials"].as_array().expect("trials");
    let (before, after): (Vec<&Value>, Vec<&Value>) = trials.iter().partition(|trial| ended(trial));
    assert!(before.len() == 1 && !after.is_empty(), "{trials:?}");
    let runs = fs::read_dir(place.runs()).expect("runs");
    let run = runs.flatten().next().expect("a run").path();
    let journal = fs::read_to_string(run.join("live.jsonl")).expect("the journal");
    let ids: Vec<u64> = journal
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).expect("JSON")["id"].as_u64())
        .collect();
    assert_eq!(ids, (1..=ids.len() as u64).collect::<Vec<u64>>());
    assert!(
        journal.contains("\"steady\"") && journal.contains("\"run-ended\""),
        "{journal}"
    );
    let events: Vec<Value> = journal
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect();
    assert_seconds_told(&events);
    let trend = place
        .rookery(&["trend", &study])
        .output()
        .expect("rookery starts");
    assert_eq!(code(&trend), 0, "{}", text(&trend.stderr));
    assert!(
        text(&trend.stdout).contains("Fewer than 10 runs"),
        "{}",
        text(&trend.stdout)
    );
}

/// Each whole second of the load was told once, with what its users and its host did.
fn assert_seconds_told(events: &[Value]) {
    let started = events
        .iter()
        .find(|event| event["event"] == "load-started")
        .expect("the load was announced");
    let guests = started["groups"][0]["guests"].as_array().expect("guests");
    // Which layout comes first is drawn.
    assert!([1, 2].contains(&guests.len()), "{started}");
    let details: Vec<&Value> = events
        .iter()
        .map(|event| &event["detail"])
        .filter(|detail| !detail.is_null())
        .collect();
    let seconds: Vec<u64> = details
        .iter()
        .filter_map(|detail| detail["second"].as_u64())
        .collect();
    let expected: Vec<u64> = (seconds[0]..seconds[0] + seconds.len() as u64).collect();
    assert_eq!(seconds, expected, "each once, in order");
    let sum = |of: &dyn Fn(&Value) -> Option<u64>| -> u64 {
        details.iter().filter_map(|detail| of(detail)).sum()
    };
    let requests = sum(&|detail| detail["groups"][0]["requests"].as_u64());
    assert!(requests > 0, "{details:?}");
    let of_guests = sum(&|detail| {
        let told = detail["groups"][0]["guests"].as_array()?;
        assert_eq!(told.len(), guests.len(), "{detail}");
        told.iter().map(|guest| guest[0].as_u64()).sum()
    });
    assert_eq!(of_guests, requests, "the guests are the whole group");
    let known = |name: &str| {
        details
            .iter()
            .any(|detail| detail[name].as_f64().is_some_and(|value| value > 0.0))
    };
    assert!(known("host_cores") && known("driver_cores"), "{details:?}");
    let timed = |detail: &&&Value| detail["groups"][0]["p95_ms"].as_f64() > Some(0.0);
    assert!(details.iter().any(|detail| timed(&detail)), "{details:?}");
}

struct Client {
    authority: String,
    cookie: String,
}

impl Client {
    fn admitted(url: &str) -> Self {
        let rest = url.strip_prefix("http://").expect("plain HTTP");
        let (authority, path) = rest.split_once('/').expect("a path");
        let mut client = Self {
            authority: authority.to_owned(),
            cookie: String::new(),
        };
        let answer = client.ask("GET", &format!("/{path}"), "");
        let set = answer.split("set-cookie: ").nth(1).expect("a cookie");
        client.cookie = set.split(';').next().expect("a pair").to_owned();
        client
    }

    fn get(&self, path: &str) -> Value {
        json(&self.ask("GET", path, ""))
    }

    fn post(&self, path: &str, body: &Value) -> Value {
        json(&self.ask("POST", path, &body.to_string()))
    }

    fn ask(&self, method: &str, path: &str, body: &str) -> String {
        let mut stream = TcpStream::connect(&self.authority).expect("a connection");
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: {0}\r\nOrigin: http://{0}\r\nCookie: {1}\r\n\
             Content-Length: {2}\r\n\r\n{body}",
            self.authority,
            self.cookie,
            body.len()
        );
        stream.write_all(request.as_bytes()).expect("sent");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        answer
    }
}

fn json(answer: &str) -> Value {
    let body = answer.split("\r\n\r\n").nth(1).expect("a body");
    serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {answer}"))
}
