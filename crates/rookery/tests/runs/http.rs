//! Web workloads as data: the DVD Store by a workload file, against a server that runs and through
//! the whole laboratory.

use std::{
    fs,
    path::Path,
    sync::{Condvar, Mutex},
    thread::sleep,
    time::Duration,
};

use rookery_testkit::{Behaviour, Server, page};
use serde_json::Value;

use crate::{
    common::{Place, code, root_tests, text, went_to_its_end},
    drive::app,
    machines::long_tests as long_machine_tests,
};

/// The workload file of the documentation, for a database of 1MB.
fn shop(place: &Place) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/examples/http/shop.toml");
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
    let small = text
        .replace("1..20000", "1..2000")
        .replace("1..10000", "1..1000")
        .replace("250ms", "5ms");
    assert_ne!(small, text);
    let path = place.dir.path().join("shop.toml");
    fs::write(&path, small).expect("a file");
    path.display().to_string()
}

fn drive(place: &Place, workload: &str, target: &str, more: &[&str]) -> std::process::Output {
    let mut args = vec!["drive", "http", "--workload", workload, "--target", target];
    args.extend([
        "--users",
        "4",
        "--ramp-up",
        "100ms",
        "--settle",
        "200ms",
        "--seconds",
        "1",
    ]);
    args.extend(more);
    place.rookery(&args).output().expect("rookery starts")
}

fn operation<'m>(measurement: &'m Value, name: &str) -> &'m Value {
    let operations = measurement["guests"][0]["operations"]
        .as_array()
        .expect("operations");
    let found = operations
        .iter()
        .find(|operation| operation["name"] == name);
    found.unwrap_or_else(|| panic!("{name} in {operations:?}"))
}

#[test]
fn a_workload_file_drives_a_server_that_runs() {
    let place = Place::among_others();
    let (_app, port) = app(&place, "corrected");
    let workload = shop(&place);
    let target = format!("http://127.0.0.1:{port}");
    let output = drive(&place, &workload, &target, &["--json"]);
    assert!(went_to_its_end(&output), "{}", text(&output.stderr));
    let measurement: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let guest = &measurement["guests"][0];
    // Products run short: such an order is refused by the shop.
    let errors = guest["errors"].as_array().expect("a list");
    assert!(
        errors.iter().all(|error| error["class"] == "content"),
        "{errors:?}"
    );
    for name in ["page", "login", "browse", "purchase"] {
        let completed = operation(&measurement, name)["completed"].as_u64();
        assert!(completed > Some(4), "{name}: {completed:?}");
    }
    assert_eq!(guest["counters"]["workload"], "http");

    let output = drive(&place, &workload, &target, &[]);
    assert!(went_to_its_end(&output), "{}", text(&output.stderr));
    let printed = text(&output.stdout);
    for said in ["pages/min", "new orders: ", "purchase "] {
        assert!(printed.contains(said), "{said}: {printed}");
    }
}

#[test]
fn what_is_wrong_with_a_workload_file_or_its_site_is_told() {
    let place = Place::among_others();
    let (_app, port) = app(&place, "corrected");
    let workload = shop(&place);
    let wrong = place.dir.path().join("wrong.toml");
    let text_of = fs::read_to_string(&workload).expect("a file");
    fs::write(&wrong, text_of.replace("/ds2/", "/nowhere/")).expect("a file");
    let target = format!("http://127.0.0.1:{port}");
    let output = drive(&place, &wrong.display().to_string(), &target, &[]);
    assert_ne!(code(&output), 0);
    let said = text(&output.stderr) + &text(&output.stdout);
    assert!(said.contains("status/404"), "{said}");

    fs::write(
        &wrong,
        text_of.replace("'(?i)customerid[", "'(?i)customerid("),
    )
    .expect("a file");
    let output = drive(&place, &wrong.display().to_string(), &target, &[]);
    assert_eq!(code(&output), 3, "{}", text(&output.stderr));
    let said = text(&output.stderr);
    assert!(said.contains("wrong.toml:31:"), "{said}");
    assert!(said.contains("1 problem in"), "{said}");

    let output = drive(&place, &workload, "http://192.0.2.1", &[]);
    assert_eq!(code(&output), 2, "{}", text(&output.stderr));
}

fn study(place: &Place) -> String {
    shop(place);
    r#"
title = "by a workload file"
seed = 3

[workload]
kind = "http"
file = "shop.toml"
database = "1MB per guest"

[load]
users = [4]
ramp_up = "100ms"
settle = "300ms"
steady = "2s"
ramp_down = "100ms"
drain = "2s"
repeats = 1

[qos]
errors = 0.2

[qos.purchase]
p95 = "5s"

[stack]
kind = "embedded"

[guest]
kind = "bare"
memory = "128MiB per guest"

[host]
overcommit = 2
other_work = 1

[[layout]]
name = "one"
guests = 1
vcpus = 1
"#
    .to_owned()
}

#[test]
fn a_workload_file_goes_through_the_whole_laboratory() {
    let place = Place::among_others();
    let text_of = study(&place);
    let path = place.study("shop-study.toml", &text_of);
    let plan = place
        .rookery(&["plan", &path])
        .output()
        .expect("rookery starts");
    assert_eq!(code(&plan), 0, "{}", text(&plan.stderr));
    assert!(
        text(&plan.stdout).contains("sessions of login, browse"),
        "{}",
        text(&plan.stdout)
    );

    let (_, run) = place.done("shop-study.toml", &text_of);
    let audits = run["audits"].as_array().expect("audits");
    assert!(
        !audits.is_empty() && audits.iter().all(|audit| audit["consistent"] == true),
        "{audits:?}"
    );
    let proofs = run["proofs"].as_array().expect("proofs");
    assert!(
        proofs
            .iter()
            .all(|proof| proof["what"] == "new orders" && proof["acknowledged"].as_u64() > Some(0)),
        "{proofs:?}"
    );
    // It goes on with the same file alone, and is complete without it.
    let file = place.dir.path().join("shop.toml");
    let resumed = || {
        let output = place.rookery(&["run", "--resume", "-q"]).output();
        let output = output.expect("rookery starts");
        (code(&output), text(&output.stderr))
    };
    let before = fs::read_to_string(&file).expect("it is there");
    fs::write(&file, format!("{before}# another\n")).expect("written");
    let (refused, said) = resumed();
    assert_eq!(refused, 3, "{said}");
    assert!(
        said.contains("`shop.toml` has changed since the run began") && said.contains("help: put"),
        "{said}"
    );
    fs::write(&file, before).expect("written");
    assert_eq!(resumed().0, 0);
    fs::remove_file(&file).expect("it is there");
    let page = place.dir.path().join("shop.html").display().to_string();
    let report = place
        .rookery(&["report", "latest", "--html", &page])
        .output()
        .expect("rookery starts");
    assert_eq!(code(&report), 0, "{}", text(&report.stderr));
    let page = fs::read_to_string(page).expect("the page");
    assert!(page.contains("by a workload file") && page.contains("<code>purchase</code>"));
    assert!(place.tables().contains("pages/min"));
}

/// The same on the distribution's Apache, PHP and MariaDB, in containers or machines.
fn on_lamp(kind: &str, memory: &str) {
    let place = Place::among_others();
    let text_of = study(&place)
        .replace("kind = \"embedded\"", "kind = \"lamp\"")
        .replace("kind = \"bare\"", &format!("kind = \"{kind}\""))
        .replace("128MiB", memory)
        .replace("settle = \"300ms\"", "settle = \"3s\"")
        .replace("steady = \"2s\"", "steady = \"6s\"")
        .replace("drain = \"2s\"", "drain = \"20s\"\ntimeout = \"20s\"")
        .replace("[qos.purchase]\np95 = \"5s\"\n", "");
    let (_, run) = place.done("lamp-study.toml", &text_of);
    let audits = run["audits"].as_array().expect("audits");
    assert!(!audits.is_empty());
    for audit in audits {
        assert_eq!(audit["consistent"], true, "{audit}");
    }
    let proofs = run["proofs"].as_array().expect("proofs");
    assert!(!proofs.is_empty());
    for proof in proofs {
        assert_eq!(proof["what"], "new orders");
        assert!(proof["acknowledged"].as_u64() > Some(0), "{proof}");
        assert_eq!(proof["found"], proof["acknowledged"], "{proof}");
    }
}

#[test]
fn a_workload_file_drives_lamp_containers() {
    if root_tests() {
        on_lamp("container", "512MiB");
    }
}

#[test]
fn a_workload_file_drives_lamp_machines() {
    if long_machine_tests() {
        on_lamp("vm", "512MiB");
    }
}

/// A server of two workers that sleep 20 ms for each request: it never answers more than 100 in a
/// second.
fn bounded_server() -> Server {
    let (free, changed) = (Mutex::new(2), Condvar::new());
    Server::with(move |_| {
        let count = free.lock().expect("no worker panicked");
        let mut count = changed
            .wait_while(count, |count| *count == 0)
            .expect("no worker panicked");
        *count -= 1;
        drop(count);
        sleep(Duration::from_millis(20));
        *free.lock().expect("no worker panicked") += 1;
        changed.notify_one();
        Behaviour::Raw(page("served"))
    })
    .expect("a port")
}

/// What a search found on the server of two workers; on a busy machine its runs may be void, and it
/// is begun again.
fn searched(place: &Place, more: &[&str]) -> Value {
    let file = place.dir.path().join("served.toml");
    let text_of =
        "script = [\"get\"]\n[[operation]]\nname = \"get\"\npath = \"/\"\ncontains = \"served\"\n";
    fs::write(&file, text_of).expect("a file");
    let mut said = String::new();
    for _ in 0..3 {
        let server = bounded_server();
        let target = format!("http://{}", server.address());
        let mut args = vec![
            "drive",
            "http",
            "--workload",
            "served.toml",
            "--target",
            &target,
        ];
        args.extend([
            "--ramp-up",
            "100ms",
            "--settle",
            "200ms",
            "--steady",
            "1s",
            "--drain",
            "1s",
        ]);
        args.extend(["--search-time", "30s", "--resolution", "0.1", "--json"]);
        args.extend(more);
        let output = place.rookery(&args).output().expect("rookery starts");
        said = text(&output.stderr);
        if code(&output) == 0 {
            let found: Value = serde_json::from_slice(&output.stdout).expect("JSON");
            if found["broke"].is_object() {
                return found;
            }
        }
    }
    panic!("{said}");
}

#[test]
fn a_search_finds_the_users_that_a_server_carries() {
    let place = Place::overloaded();
    // A user waits 10 ms for each user before it: from 11 users on nobody is answered in 100 ms.
    let found = searched(
        &place,
        &["--users", "4", "--most", "64", "--search", "p95=100ms"],
    );
    let load = found["load"].as_f64().expect("a load");
    assert!((1.0..=13.0).contains(&load), "{found:#}");
    assert!(found["broke"]["load"].as_f64() > Some(load), "{found:#}");
    // Never more than 100 in a second.
    assert!(
        found["per_minute"]
            .as_f64()
            .is_none_or(|rate| rate <= 7_000.0),
        "{found:#}"
    );
    let probes = found["probes"].as_array().expect("probes");
    assert!(probes.len() >= 3, "{found:#}");
}

#[test]
fn a_search_finds_the_rate_that_a_server_carries() {
    let place = Place::overloaded();
    let found = searched(
        &place,
        &["--open", "30", "--most", "1000", "--search", "p95=400ms"],
    );
    assert_eq!(found["unit"], "arrivals/s");
    let load = found["load"].as_f64().expect("a load");
    assert!((1.0..=250.0).contains(&load), "{found:#}");
}

#[test]
fn a_search_that_cannot_be_is_refused() {
    let place = Place::among_others();
    let file = place.dir.path().join("w.toml");
    fs::write(&file, "[[operation]]\nname = \"get\"\npath = \"/\"\n").expect("a file");
    let refused = |more: &[&str], said: &str| {
        let mut args = vec!["drive", "http", "--workload", "w.toml"];
        args.extend(["--target", "http://127.0.0.1:1"]);
        args.extend(more);
        let output = place.rookery(&args).output().expect("rookery starts");
        assert_eq!(code(&output), 2, "{}", text(&output.stderr));
        assert!(
            text(&output.stderr).contains(said),
            "{}",
            text(&output.stderr)
        );
    };
    refused(&["--search", "fast"], "p95=200ms");
    refused(&["--search", "put.p95=1s"], "no such operation");
    refused(
        &["--search", "p95=1s", "--search-time", "10s"],
        "no room for two runs",
    );
    refused(&["--search", "p95=1s", "--open", "10..20"], "level rate");
    refused(&["--open", "10", "--users", "3"], "--users");
}
