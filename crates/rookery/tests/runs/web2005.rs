//! Banking, e-commerce and support through the whole laboratory, as the shipped study asks for them.

use serde_json::Value;

use crate::common::Place;

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
    let place = Place::new();
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
    assert_eq!(metric("validation_error_pct"), [0.0; 3]);
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
}
