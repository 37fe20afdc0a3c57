//! Content management through the whole laboratory, as the shipped study asks for it.

use std::process::Command;

use serde_json::Value;

use crate::common::{Place, processes_of};

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

#[test]
fn users_of_a_site_are_driven_and_audited() {
    let place = Place::new();
    let (_, run) = place.done("cms.toml", &study());
    assert_eq!(audit(&run)["consistent"], true, "{}", run["audits"]);
    let proofs = proofs(&run);
    for kind in ["new stories", "new pages"] {
        let own = proofs.iter().filter(|(what, ..)| what == kind);
        assert!(own.clone().count() > 0, "{kind}: {proofs:?}");
        for (_, told, found, _) in own {
            assert!(*told > 0 && told == found, "{kind}: {proofs:?}");
        }
    }
    let metric = |name: &str| {
        let metrics = run["metrics"].as_array().expect("metrics");
        let row = metrics.iter().find(|row| row["metric"] == name);
        row.and_then(|row| row["value"].as_f64())
    };
    assert_eq!(metric("failed_pct"), Some(0.0));
    assert!(metric("operations_per_s").is_some_and(|rate| rate > 10.0));
    let operations = run["operations"].as_array().expect("operations");
    for name in ["front-page", "admin-login", "create-page", "logout"] {
        let row = operations.iter().find(|row| row["operation"] == name);
        let completed = row.and_then(|row| row["completed"].as_u64());
        assert!(completed > Some(0), "{name}: {operations:#?}");
    }
    let told = place
        .rookery(&["report", "latest"])
        .output()
        .expect("rookery starts");
    let told = String::from_utf8_lossy(&told.stdout).into_owned();
    assert!(told.contains("p90, ms"), "{told}");
    assert!(
        told.contains("Operations followed each other as the matrix says"),
        "{told}"
    );
}

/// The site is killed in the midst of it.
#[test]
fn no_node_that_a_user_was_told_of_is_lost_by_a_kill() {
    let place = Place::new();
    let (mut child, mut events) =
        place.under_load(&study().replace("steady = \"6s\"", "steady = \"30s\""));
    let later = events.find(|event| event.contains("\"load\"") && elapsed(event) > 4.0);
    assert!(later.is_some(), "the load goes on");
    let sites = processes_of(&child, "program");
    assert_eq!(sites.len(), 1, "the site of the one guest: {sites:?}");
    let killed = Command::new("kill")
        .args(["-9", &sites[0].to_string()])
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
