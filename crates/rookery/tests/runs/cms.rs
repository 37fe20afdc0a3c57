//! Content management through the whole laboratory, as the shipped study asks for it.

use std::process::Command;

use serde_json::Value;

use crate::common::{Place, lamp_tests, processes_of, root_tests, text};

/// The study, with a shorter window and one trial of one point.
fn study() -> String {
    let shipped = include_str!("../../../../studies/cms-quick.toml");
    let mut short = shipped.to_owned();
    for (from, to) in [
        ("users = [\"5 per guest\", \"20 per guest\"]", "users = 8"),
        ("steady = \"12s\"", "steady = \"6s\""),
        ("repeats = 2", "repeats = 1"),
        ("[[layout]]", "[host]\nother_work = 1\n\n[[layout]]"),
    ] {
        assert!(short.contains(from), "{from}");
        short = short.replacen(from, to, 1);
    }
    short
}

/// Kind, told, found and unanswered of each kind of node that the audit compared.
fn proofs(run: &Value) -> Vec<(String, u64, u64, u64)> {
    let rows = run["proofs"].as_array().expect("proofs");
    let proof = |row: &Value| {
        let number = |key: &str| row[key].as_u64().unwrap_or_else(|| panic!("{key}: {row}"));
        let what = row["what"].as_str().expect("a kind").to_owned();
        (
            what,
            number("acknowledged"),
            number("found"),
            number("unanswered"),
        )
    };
    rows.iter().map(proof).collect()
}

/// What the one guest's audit says.
fn audit(run: &Value) -> &Value {
    let audits = run["audits"].as_array().expect("audits");
    audits.last().expect("an audit")
}

/// Nothing failed, every operation was done, and the site holds exactly what users were told.
fn told_the_truth(run: &Value) {
    assert_eq!(audit(run)["consistent"], true, "{}", run["audits"]);
    let proofs = proofs(run);
    for kind in ["new stories", "new pages"] {
        let own = proofs.iter().filter(|(what, ..)| what == kind);
        assert!(own.clone().count() > 0, "{kind}: {proofs:?}");
        for (_, told, found, _) in own {
            assert!(*told > 0 && told == found, "{kind}: {proofs:?}");
        }
    }
    let metrics = run["metrics"].as_array().expect("metrics");
    let failed = metrics.iter().filter(|row| row["metric"] == "failed_pct");
    for row in failed {
        assert_eq!(row["value"], 0.0, "{row}");
    }
    let operations = run["operations"].as_array().expect("operations");
    for name in OPERATIONS {
        let own = operations.iter().filter(|row| row["operation"] == name);
        let completed = own.filter_map(|row| row["completed"].as_u64());
        assert!(completed.sum::<u64>() > 0, "{name}: {operations:#?}");
    }
}

const OPERATIONS: [&str; 8] = [
    "front-page",
    "random-page",
    "random-node",
    "user-login",
    "admin-login",
    "create-page",
    "create-story",
    "logout",
];

/// The matrix was tested and kept.
fn walked_as_the_matrix_says(place: &Place) {
    let told = place.tables();
    assert!(told.contains("p90, ms"), "{told}");
    assert!(
        told.contains("Operations followed each other as the matrix says"),
        "{told}"
    );
}

#[test]
fn users_of_a_site_are_driven_and_audited() {
    let place = Place::among_others();
    let (_, run) = place.done("cms.toml", &study());
    told_the_truth(&run);
    walked_as_the_matrix_says(&place);
}

/// The functional baseline: 500 nodes, 100 users who can log in, four who do for 30 s with 0.2 s
/// between their operations, and nothing fails.
fn on_lamp(kind: &str, server: &str, settings: &str) -> String {
    format!(
        r#"
title = "a site in PHP"
seed = 7
workload = {{ kind = "cms", nodes = "500 per guest", accounts = "100 per guest", pacing = "think", think_time = "200ms", think_distribution = "fixed" }}
load = {{ users = 4, ramp_up = "500ms", settle = "2s", steady = "30s", ramp_down = "300ms", repeats = 1, retry_void = 0 }}
qos = {{ operation = {{ p90 = "4s" }}, errors = 0.001 }}
stack = {{ kind = "lamp", server = "{server}"{settings} }}
guest = {{ kind = "{kind}", memory = "512MiB" }}
host = {{ overcommit = 4, other_work = 1 }}
[[layout]]
name = "one"
guests = 1
"#
    )
}

#[test]
fn four_users_of_a_site_in_php_fail_nothing_in_a_container() {
    if !(root_tests() && lamp_tests()) {
        return;
    }
    let place = Place::among_others();
    let (_, run) = place.done("cms.toml", &on_lamp("container", "prefork", ""));
    told_the_truth(&run);
    walked_as_the_matrix_says(&place);
}

#[test]
fn switches_of_the_pages_are_in_force_and_lose_nothing() {
    if !lamp_tests() {
        return;
    }
    let switches = ", settings = { \"pages.anonymous_sessions\" = \"on\", \"pages.page_cache\" = \
                    \"on\", \"pages.compression\" = \"on\" }";
    let place = Place::among_others();
    let study = on_lamp("bare", "event", switches).replace("\"30s\"", "\"10s\"");
    let (_, run) = place.done("cms.toml", &study);
    told_the_truth(&run);
    let settings = run["tunings"].as_array().expect("settings");
    for switch in ["anonymous_sessions", "page_cache", "compression"] {
        let name = format!("pages.{switch}");
        let row = settings.iter().find(|row| row["name"] == name);
        let row = row.unwrap_or_else(|| panic!("{name}: {settings:#?}"));
        assert_eq!(row["effective"], "ON", "{row}");
    }
}

#[test]
fn a_switch_that_pages_do_not_have_is_refused_with_the_nearest() {
    let place = Place::among_others();
    let wrong = on_lamp(
        "bare",
        "prefork",
        ", settings = { \"pages.page_cash\" = \"on\" }",
    );
    let study = place.study("wrong.toml", &wrong);
    let refused = place.rookery(&["check", &study]).output();
    let refused = refused.expect("rookery starts");
    let told = format!("{}{}", text(&refused.stdout), text(&refused.stderr));
    assert!(!refused.status.success(), "{told}");
    assert!(told.contains("pages.page_cache"), "{told}");
    // The shop's pages have none of these.
    let shop = wrong
        .replace("page_cash", "page_cache")
        .replace(
            "kind = \"cms\", nodes = \"500 per guest\", accounts = \"100 per guest\"",
            "kind = \"dvdstore\", database = \"1MB per guest\"",
        )
        .replace(", think_distribution = \"fixed\"", "")
        .replace("{ operation = {", "{ order = {");
    let study = place.study("shop.toml", &shop);
    let refused = place.rookery(&["check", &study]).output();
    let refused = refused.expect("rookery starts");
    let told = format!("{}{}", text(&refused.stdout), text(&refused.stderr));
    assert!(told.contains("have no such switch"), "{told}");
}

/// Every login begins with a wrong password, and fifty of them keep everybody out.
#[test]
fn too_many_wrong_passwords_keep_users_out_and_are_told_apart() {
    if !lamp_tests() {
        return;
    }
    let limited = on_lamp(
        "bare",
        "event",
        ", settings = { \"pages.login_limits\" = \"on\" }",
    );
    let mut study = limited;
    for (from, to) in [
        (
            "think_time = \"200ms\"",
            "think_time = \"20ms\", wrong_logins = 1.0, on_error = \"continue\"",
        ),
        // It is so from the begin of the window on.
        ("settle = \"2s\"", "settle = \"40s\""),
        ("\"30s\"", "\"5s\""),
        ("errors = 0.001", "errors = 1.0, min_operations = 5"),
    ] {
        assert!(study.contains(from), "{from}");
        study = study.replacen(from, to, 1);
    }
    let place = Place::among_others();
    let (_, run) = place.done("blocked.toml", &study);
    assert_eq!(audit(&run)["consistent"], true, "{}", run["audits"]);
    let settings = run["tunings"].as_array().expect("settings");
    let switch = settings
        .iter()
        .find(|row| row["name"] == "pages.login_limits");
    assert_eq!(switch.expect("read back")["effective"], "ON");
    let errors = run["errors"].as_array().expect("errors");
    let class = |class: &str, sub_class: &str| {
        let is = |row: &&Value| row["class"] == class && row["sub_class"] == sub_class;
        errors.iter().any(|row| is(&row))
    };
    assert!(class("semantic", "login-blocked"), "{errors:#?}");
    assert!(
        class("status", "403"),
        "what needs a login is refused: {errors:#?}"
    );
    assert!(!class("semantic", "wrong-password-taken"), "{errors:#?}");
}

/// The database is killed in the midst of it.
#[test]
fn no_node_of_a_site_in_php_is_lost_by_a_kill() {
    if !(root_tests() && lamp_tests()) {
        return;
    }
    let place = Place::among_others();
    loses_nothing(&place, &on_lamp("container", "prefork", ""), "mariadbd");
}

/// The site is killed in the midst of it.
#[test]
fn no_node_that_a_user_was_told_of_is_lost_by_a_kill() {
    let place = Place::among_others();
    let study = study().replace("steady = \"6s\"", "steady = \"30s\"");
    loses_nothing(&place, &study, "program");
}

/// Kills the one process of this name in the midst of the load: the trial has failed, and what
/// users were told is there.
fn loses_nothing(place: &Place, study: &str, process: &str) {
    let (mut child, mut events) = place.under_load(study);
    let later = events.find(|event| event.contains("\"load\"") && elapsed(event) > 8.0);
    assert!(later.is_some(), "the load goes on");
    let own = processes_of(&child, process);
    assert_eq!(own.len(), 1, "{process} of the one guest: {own:?}");
    let killed = Command::new("kill")
        .args(["-9", &own[0].to_string()])
        .status();
    assert!(killed.expect("kill").success());
    events.for_each(drop);
    child.wait().expect("rookery ends");
    let run = place.export();
    assert_eq!(run["trials"][0]["status"], "failed", "{}", run["trials"]);
    assert_eq!(audit(&run)["killed"], true, "{}", run["audits"]);
    let proofs = proofs(&run);
    assert_eq!(proofs.len(), 2, "stories and pages: {proofs:?}");
    for (_, told, found, open) in &proofs {
        assert!(*told > 0, "{proofs:?}");
        assert!((*told..=told + open).contains(found), "{proofs:?}");
    }
}

fn elapsed(event: &str) -> f64 {
    let event: Value = serde_json::from_str(event).unwrap_or_default();
    event["elapsed_s"].as_f64().unwrap_or(0.0)
}
