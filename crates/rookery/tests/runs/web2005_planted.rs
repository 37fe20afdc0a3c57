//! What is planted in the embedded pages of banking is found: a serial section by the series of one
//! server, and faults in the band or the class of errors that is theirs.

use std::{
    io::{BufRead, BufReader},
    net::TcpListener,
    process::Stdio,
};

use serde_json::Value;

use crate::{
    common::{Place, code, long_tests, text, went_to_its_end},
    drive::App,
};

/// Share of its time in which a page is alone, as the study plants it.
const PLANTED: f64 = 0.2;

/// Processors of one vCPU, in which the law of the report counts.
const PROCESSORS: f64 = 4.0;

/// What a file set is typed with, which server and users share.
fn fileset(model: &str) -> [&str; 8] {
    [
        "--model",
        model,
        "--sessions",
        "20",
        "--seed",
        "7",
        "--scale",
        "0.04",
    ]
}

/// A line of the report's scaling by what grows.
fn line<'r>(report: &'r Value, grows: &str) -> &'r Value {
    let lines = report["scaling"].as_array().expect("lines");
    let line = lines.iter().find(|line| line["grows"] == grows);
    line.unwrap_or_else(|| panic!("no line of {grows} in {lines:#?}"))
}

/// Throughput of a line at a load.
fn at(line: &Value, load: f64) -> f64 {
    let steps = line["steps"].as_array().expect("steps");
    let step = steps.iter().find(|step| step["load"] == load);
    step.and_then(|step| step["per_minute"]["mean"].as_f64())
        .unwrap_or_else(|| panic!("no throughput at {load} in {line:#?}"))
}

#[test]
fn the_series_of_one_server_finds_its_serial_section_and_small_servers_pass_it() {
    if !long_tests() {
        return;
    }
    let shipped = include_str!("../../../../studies/web-serial.toml");
    // A build for tests is slow: with longer waits its CPU time is as small a part of them.
    let shorter = shipped
        .replace("extra_wait = \"40ms\"", "extra_wait = \"80ms\"")
        .replace("steady = \"12s\"", "steady = \"8s\"")
        .replace("repeats = 2", "repeats = 1")
        .replacen("[[layout]]", "[host]\nother_work = 1\n\n[[layout]]", 1);
    assert_ne!(shorter, shipped);
    let place = Place::new();
    place.done_everywhere("serial.toml", &shorter);
    let output = place.rookery(&["report", "latest", "--json"]).output();
    let output = output.expect("rookery starts");
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let one = line(&report, "vcpus");
    let laws = one["laws"].as_array().expect("laws");
    let amdahl = laws.iter().find(|law| law["law"] == "amdahl");
    let parameters = amdahl.and_then(|law| law["parameters"].as_array());
    let sigma = parameters
        .and_then(|all| all.iter().find(|one| one["name"] == "sigma"))
        .and_then(|sigma| sigma["value"].as_f64())
        .unwrap_or_else(|| panic!("no sigma in {laws:#?}"));
    // X = N / (1 + s (N - 1)) in processors is a law in vCPUs with this share.
    let found = sigma / (PROCESSORS - (PROCESSORS - 1.0) * sigma);
    eprintln!("sigma of vCPUs {sigma}, of processors {found}");
    assert!((found - PLANTED).abs() < 0.03, "{found}: {one:#?}");
    let small = at(line(&report, "guests"), PROCESSORS);
    let ratio = small / at(one, 1.0);
    let expected = 1.0 + PLANTED * (PROCESSORS - 1.0);
    eprintln!(
        "four small servers carry {ratio} times one of four processors, {expected} by the law"
    );
    assert!((ratio / expected - 1.0).abs() < 0.1, "{ratio}");
}

/// A free port.
pub(crate) fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0")
        .and_then(|listener| listener.local_addr())
        .expect("a free port")
        .port()
}

/// A server of a workload with further words, and its port.
pub(crate) fn served(place: &Place, model: &str, words: &[&str]) -> (App, u16) {
    let files = place.dir.path().join("files").display().to_string();
    let mut data = vec!["data", "web2005", "--quiet", "--out", &files];
    data.extend(fileset(model));
    let made = place.rookery(&data).output().expect("rookery starts");
    assert_eq!(code(&made), 0, "{}", text(&made.stderr));
    let port = free_port();
    let listen = format!("127.0.0.1:{port}");
    let mut args = vec!["app", "web2005", "--files", &files, "--listen", &listen];
    args.extend(fileset(model));
    args.extend(words);
    let mut child = place
        .rookery(&args)
        .stderr(Stdio::piped())
        .spawn()
        .expect("rookery starts");
    let mut lines = BufReader::new(child.stderr.take().expect("piped")).lines();
    assert!(
        lines.any(|line| line.is_ok_and(|line| line.starts_with("serving"))),
        "the application says that it serves"
    );
    (App(child), port)
}

/// What twenty users saw of a server with this wrong.
fn driven(fault: &str, settle: &str) -> Value {
    let place = Place::new();
    let (_app, port) = served(&place, "banking", &["--plant", fault]);
    seen(
        &place,
        "banking",
        port,
        &["--settle", settle, "--steady", "4s"],
    )
}

/// What twenty users see of a server.
pub(crate) fn seen(place: &Place, model: &str, port: u16, words: &[&str]) -> Value {
    let target = format!("http://127.0.0.1:{port}");
    let mut args = vec!["drive", "web2005", "--target", &target];
    for pair in fileset(model).chunks(2) {
        args.push(match pair[0] {
            "--seed" => "--data-seed",
            "--scale" => "--fileset-scale",
            name => name,
        });
        args.push(pair[1]);
    }
    args.extend(["--users", "20", "--think-time", "30ms", "--receive-rate"]);
    args.extend([
        "0",
        "--ramp-up",
        "200ms",
        "--drain",
        "6s",
        "--json",
        "--quiet",
    ]);
    args.extend(words);
    let output = place.rookery(&args).output().expect("rookery starts");
    assert!(
        went_to_its_end(&output),
        "{}\n{}",
        text(&output.stdout),
        text(&output.stderr)
    );
    let told: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    told["guests"][0].clone()
}

/// The counts of a page type.
pub(crate) fn page<'g>(guest: &'g Value, name: &str) -> &'g Value {
    let operations = guest["operations"].as_array().expect("operations");
    let place = operations.iter().position(|one| one["name"] == name);
    // The first stands for any page.
    &guest["counters"]["pages"][place.expect("a page type") - 1]
}

pub(crate) fn number(page: &Value, key: &str) -> u64 {
    page[key]
        .as_u64()
        .unwrap_or_else(|| panic!("{key} of {page}"))
}

/// The sum over all page types.
pub(crate) fn all(guest: &Value, key: &str) -> u64 {
    let pages = guest["counters"]["pages"].as_array().expect("pages");
    pages.iter().map(|page| number(page, key)).sum()
}

#[test]
fn slow_pages_of_one_type_are_in_their_band() {
    for (ms, band) in [("2300ms", "tolerable"), ("4300ms", "fail")] {
        let fault = format!("slow=bill_pay:{ms}");
        let guest = driven(&fault, "5s");
        let late = page(&guest, "bill_pay");
        assert!(number(late, "requests") > 0, "{late}");
        assert_eq!(late[band], late["requests"], "{late}");
        assert_eq!(number(late, "good"), 0, "{late}");
        // Late is not wrong, and no other page type is late by so much.
        assert_eq!(guest["errors"], Value::Array(Vec::new()));
        assert_eq!(all(&guest, band), number(late, band), "{guest}");
    }
}

#[test]
fn wrong_answers_are_validation_errors_of_their_page_and_class() {
    for (fault, broken, class, sub_class) in [
        (
            "wrong=account_summary",
            "account_summary",
            "content",
            "marker",
        ),
        // The one page type that embeds this image.
        (
            "missing=/bank/images/19",
            "check_detail_html",
            "status",
            "404",
        ),
        (
            "session=bill_pay",
            "bill_pay",
            "session-lost",
            "session-lost",
        ),
    ] {
        let guest = driven(fault, "1s");
        let page = page(&guest, broken);
        assert!(number(page, "requests") > 0, "{fault}: {page}");
        assert_eq!(page["invalid"], page["requests"], "{fault}: {page}");
        assert_eq!(all(&guest, "invalid"), number(page, "invalid"), "{fault}");
        assert_eq!(all(&guest, "unanswered"), 0, "{fault}");
        let errors = guest["errors"].as_array().expect("errors");
        assert!(!errors.is_empty(), "{fault}");
        for error in errors {
            assert_eq!(error["class"], class, "{fault}: {error}");
            assert_eq!(error["sub_class"], sub_class, "{fault}: {error}");
        }
    }
}
