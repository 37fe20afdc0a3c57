//! Banking, e-commerce and support through the whole laboratory, as the shipped study asks for
//! them.

use std::{fs, process::Command};

use serde_json::Value;

use crate::common::{Place, lamp_tests, root_tests};

/// The study, with a shorter window and one trial of each workload.
fn study() -> String {
    let shipped = include_str!("../../../../studies/web-quick.toml");
    let shorter = shipped
        .replace("steady = \"12s\"", "steady = \"6s\"")
        .replace("repeats = 2", "repeats = 1")
        .replacen("[[layout]]", "[host]\nother_work = 1\n\n[[layout]]", 1);
    assert_ne!(shorter, shipped);
    shorter
}

#[test]
fn three_web_workloads_are_driven_and_audited() {
    let place = Place::among_others();
    let (_, run) = place.done("web.toml", &study());
    let audits = run["audits"].as_array().expect("audits");
    for audit in audits {
        assert_eq!(audit["found"], audit["acknowledged"], "{audit}");
    }
    // What users paid and transferred is in the ledger of the back-end.
    let written = audits
        .iter()
        .filter_map(|audit| audit["acknowledged"].as_u64());
    assert!(written.sum::<u64>() > 0, "{audits:#?}");
    let metric = |name: &str| -> Vec<f64> {
        let metrics = run["metrics"].as_array().expect("metrics");
        let own = metrics.iter().filter(|row| row["metric"] == name);
        own.filter_map(|row| row["value"].as_f64()).collect()
    };
    // A trial that was void and is run again has its own.
    let errors = metric("validation_error_pct");
    assert!(
        errors.len() >= 3 && errors.iter().all(|share| *share == 0.0),
        "{errors:?}"
    );
    assert!(metric("pages_per_minute").iter().all(|rate| *rate > 100.0));
    let operations = run["operations"].as_array().expect("operations");
    for page in ["post_fund_xfer", "confirm", "download"] {
        let named = |row: &&Value| row["operation"] == page;
        assert!(operations.iter().any(|row| named(&row)), "{page}");
    }
    let told = place
        .rookery(&["report", "latest"])
        .output()
        .expect("rookery starts");
    let told = String::from_utf8_lossy(&told.stdout).into_owned();
    assert!(told.contains("weighted ABR, bytes/s"), "{told}");
    // Their users do different things: neither is a level to be compared with another.
    let words: Vec<&str> = told.split_whitespace().collect();
    let told = words.join(" ");
    assert!(
        told.contains("Points count different units of work"),
        "{told}"
    );
    // The highest of each is told with its own unit.
    assert!(told.matches("pages/min with").count() >= 2, "{told}");
    assert!(!told.contains("against `web-"), "{told}");
}

/// A workload on Apache and PHP.
fn on_lamp(workload: &str, kind: &str, server: &str, layout: &str) -> String {
    format!(
        r#"
title = "pages in PHP"
seed = 7
workload = {{ kind = "{workload}", sessions = "10 per guest", fileset_scale = 0.1, think_time = "150ms", receive_rate = 50000000, min_requests = 0 }}
load = {{ ramp_up = "500ms", settle = "2s", steady = "8s", ramp_down = "300ms", timeout = "20s", repeats = 1, retry_void = 0 }}
qos = {{ page = {{ p95 = "9s" }}, errors = 0.05 }}
stack = {{ kind = "lamp", server = "{server}" }}
guest = {{ kind = "{kind}", memory = "400MiB" }}
host = {{ overcommit = 6, other_work = 1 }}
[[layout]]
name = "one"
{layout}
"#
    )
}

/// One guest with all there is.
const ALONE: &str = "guests = 1\nusers = 10\n";

/// Two web servers before one back-end.
const TIERS: &str = r#"
[[layout.group]]
name = "web"
guests = 2
users = 6
[[layout.group]]
name = "back-end"
tier_of = "web"
"#;

/// Ledgers hold what users were told, and no page was wrong; the guests whose ledger it is.
fn told_the_truth(run: &Value) -> Vec<String> {
    let audits = run["audits"].as_array().expect("audits");
    for audit in audits {
        assert_eq!(audit["found"], audit["acknowledged"], "{audit}");
        assert_eq!(audit["consistent"], true, "{audit}");
    }
    let metrics = run["metrics"].as_array().expect("metrics");
    let of = |name: &'static str| {
        let own = metrics.iter().filter(move |row| row["metric"] == name);
        own.filter_map(|row| row["value"].as_f64())
    };
    assert!(of("pages_per_minute").next().is_some(), "{metrics:#?}");
    assert!(
        of("pages_per_minute").all(|rate| rate > 100.0),
        "{metrics:#?}"
    );
    assert!(
        of("validation_error_pct").all(|errors| errors == 0.0),
        "{metrics:#?}"
    );
    let guests = audits.iter().map(|audit| audit["guest"].to_string());
    guests.collect()
}

#[test]
fn apache_and_php_serve_banking_in_bare_guests() {
    if !lamp_tests() {
        return;
    }
    let place = Place::among_others();
    let study = on_lamp("web-banking", "bare", "prefork", ALONE);
    let (_, run) = place.done("banking.toml", &study);
    assert!(!told_the_truth(&run).is_empty());
    // What is asked of Apache and PHP is in force; of a database, which is not there, nothing is.
    let settings = run["tunings"].as_array().expect("settings");
    assert!(!settings.is_empty());
    for setting in settings {
        assert_ne!(setting["effective"], "", "{setting}");
    }
}

#[test]
fn apache_and_php_fpm_serve_the_shop_and_downloads() {
    if !lamp_tests() {
        return;
    }
    for workload in ["web-ecommerce", "web-support"] {
        let place = Place::among_others();
        let study = on_lamp(workload, "bare", "event", ALONE);
        let (_, run) = place.done("event.toml", &study);
        told_the_truth(&run);
    }
}

#[test]
fn web_servers_in_containers_share_a_back_end_in_another() {
    if !(root_tests() && lamp_tests()) {
        return;
    }
    let place = Place::among_others();
    let study = on_lamp("web-banking", "container", "prefork", TIERS);
    let (_, run) = place.done("tiers.toml", &study);
    // The back-end is the last guest; its ledger is that of all web servers.
    let of = told_the_truth(&run);
    assert!(
        !of.is_empty() && of.iter().all(|guest| guest == "\"g3\""),
        "{of:?}"
    );
}

#[test]
fn a_container_with_all_servers_serves_banking() {
    if !(root_tests() && lamp_tests()) {
        return;
    }
    let place = Place::among_others();
    let study = on_lamp("web-banking", "container", "event", ALONE);
    let (_, run) = place.done("container.toml", &study);
    assert!(!told_the_truth(&run).is_empty());
}

/// Files of the data of the guests of a run that are their own, below this directory of a clone.
fn own_files(place: &Place, data: &str) -> Vec<String> {
    let clones = fs::read_dir(place.runs())
        .expect("runs")
        .flatten()
        .map(|run| run.path().join("guests/clones"))
        .filter_map(|clones| fs::read_dir(clones).ok())
        .flat_map(Iterator::flatten);
    let data = clones.map(|clone| clone.path().join(data));
    let files = data.filter_map(|data| fs::read_dir(data).ok());
    let names = files.flat_map(Iterator::flatten);
    names
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect()
}

/// Two guests of the embedded stack that stay under load.
fn embedded(kind: &str) -> String {
    format!(
        r#"
title = "one file set"
seed = 7
workload = {{ kind = "web-banking", sessions = "10 per guest", fileset_scale = 0.1, think_time = "200ms", receive_rate = 0, min_requests = 0 }}
load = {{ users = 8, ramp_up = "300ms", settle = "2s", steady = "6s", ramp_down = "300ms", repeats = 1, retry_void = 0 }}
qos = {{ page = {{ p95 = "9s" }}, errors = 0.05 }}
stack = {{ kind = "embedded" }}
guest = {{ kind = "{kind}", memory = "192MiB" }}
host = {{ overcommit = 4, other_work = 1 }}
layout = [{{ name = "two", guests = 2 }}]
"#
    )
}

#[test]
fn guests_read_the_file_set_of_their_template_and_have_no_copy() {
    for (kind, data) in [("bare", "data"), ("container", "upper/data")] {
        if kind == "container" && !root_tests() {
            continue;
        }
        let place = Place::among_others();
        let (mut child, events) = place.under_load(&embedded(kind));
        // What each of them writes: the ledger of its back-end.
        let own = own_files(&place, data);
        assert_eq!(own, ["ledger.txt", "ledger.txt"], "{kind}");
        let told: Vec<String> = events.collect();
        child.wait().expect("rookery ends");
        let run = place.export();
        assert_ne!(run["trials"][0]["status"], "failed", "{told:?}");
        for audit in run["audits"].as_array().expect("audits") {
            assert_eq!(audit["found"], audit["acknowledged"], "{audit}");
        }
    }
}

/// Processes of the run in `place` that were started with this word.
fn processes(place: &Place, word: &str) -> Vec<String> {
    let run = fs::read_dir(place.runs()).expect("runs").flatten().next();
    let run = run
        .expect("a run")
        .file_name()
        .to_string_lossy()
        .into_owned();
    let label = format!("ROOKERY_RUN={}", run.rsplit('-').next().expect("an id"));
    let entries = fs::read_dir("/proc").expect("processes").flatten();
    let own = entries.filter(|entry| {
        let file = |name: &str| fs::read(entry.path().join(name)).unwrap_or_default();
        let has = |text: &[u8], wanted: &str| {
            text.split(|byte| *byte == 0)
                .any(|part| part == wanted.as_bytes())
        };
        has(&file("environ"), &label) && has(&file("cmdline"), word)
    });
    own.map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect()
}

/// Kills pages, back-end, or both under load: the ledger holds what users were told.
fn money_is_where_users_were_told_after_kills(kind: &str) {
    for victims in [&["supervise"][..], &["besim"], &["supervise", "besim"]] {
        let place = Place::among_others();
        let study = on_lamp("web-banking", kind, "prefork", TIERS);
        let (mut child, events) = place.under_load(&study);
        let killed: Vec<String> = victims
            .iter()
            .flat_map(|word| processes(&place, word))
            .collect();
        assert!(killed.len() >= victims.len(), "{killed:?}");
        let status = Command::new("kill").arg("-9").args(&killed).status();
        assert!(status.expect("kill").success());
        let told: Vec<String> = events.collect();
        child.wait().expect("rookery ends");
        let run = place.export();
        assert_eq!(run["trials"][0]["status"], "failed", "{told:?}");
        let audits = run["audits"].as_array().expect("audits");
        assert!(!audits.is_empty(), "{told:?}");
        for audit in audits {
            let number = |key: &str| audit[key].as_u64().expect(key);
            let least = number("acknowledged");
            assert!(
                (least..=least + number("unanswered")).contains(&number("found")),
                "{victims:?}: {audit}"
            );
        }
    }
}

#[test]
fn money_is_where_users_were_told_after_a_kill_of_pages_back_end_or_both() {
    if lamp_tests() {
        money_is_where_users_were_told_after_kills("bare");
    }
}

#[test]
fn money_is_where_users_of_containers_were_told_after_such_kills() {
    if root_tests() && lamp_tests() {
        money_is_where_users_were_told_after_kills("container");
    }
}
