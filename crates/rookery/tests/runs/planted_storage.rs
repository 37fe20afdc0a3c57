//! Slower storage is found where it was planted: limits on writes that a site reaches cost
//! throughput, with an interval; one that it never reaches costs nothing.

use serde_json::Value;

use crate::common::{Place, long_tests, text};

/// Attempts: a busy machine makes trials void and intervals wide.
const ATTEMPTS: u32 = 3;

/// A limit that nothing here reaches, writes/s.
const PLACEBO: &str = "50000";

/// The shipped study with the placebo among its storages, at one load and with a short window.
fn study() -> String {
    let shipped = include_str!("../../../../studies/cms-storage.toml");
    let mut short = shipped.to_owned();
    for (from, to) in [
        (
            "write_iops = [\"none\", 400, 100]".to_owned(),
            format!("write_iops = [\"none\", {PLACEBO}, 400, 100]"),
        ),
        (
            "users = [\"8 per guest\", \"16 per guest\", \"32 per guest\"]".to_owned(),
            "users = \"24 per guest\"".to_owned(),
        ),
        (
            "think_time = \"200ms\"".to_owned(),
            "think_time = \"20ms\"".to_owned(),
        ),
        ("settle = \"4s\"".to_owned(), "settle = \"1s\"".to_owned()),
        ("steady = \"15s\"".to_owned(), "steady = \"4s\"".to_owned()),
        // Of six blocks an interval is less than half as wide as of three: 2.57 standard errors of
        // a sixth of the variance, not 4.30 of a third.
        ("repeats = 3".to_owned(), "repeats = 6".to_owned()),
        ("p90 = \"1s\"".to_owned(), "p90 = \"20s\"".to_owned()),
        (
            "[[layout]]".to_owned(),
            "[host]\nother_work = 1\n\n[[layout]]".to_owned(),
        ),
    ] {
        assert!(short.contains(&from), "{from}");
        short = short.replacen(&from, &to, 1);
    }
    short
}

/// What a level is worth in throughput.
#[derive(Debug)]
struct Found {
    ratio: f64,
    /// Ends of the interval.
    interval: Option<(f64, f64)>,
    verdict: String,
}

fn found(report: &Value, level: &str) -> Found {
    let all = report["effects"]["overall"].as_array().expect("effects");
    let own = all.iter().find(|worth| worth["level"]["value"] == level);
    let throughput = &own.unwrap_or_else(|| panic!("{level}: {all:#?}"))["compared"][0];
    let effect = &throughput["effect"];
    let ends = effect["interval"].as_array();
    Found {
        ratio: effect["ratio"].as_f64().unwrap_or(f64::NAN),
        interval: ends.and_then(|ends| Some((ends[0].as_f64()?, ends[1].as_f64()?))),
        verdict: throughput["change"].to_string(),
    }
}

impl Found {
    /// Worse, and the interval holds no ratio above this one.
    fn is_below(&self, most: f64) -> bool {
        self.interval.is_some_and(|(_, high)| high < most)
    }

    fn is_seen(&self) -> bool {
        self.verdict.contains("better") || self.verdict.contains("worse")
    }
}

#[test]
fn limits_on_writes_are_found_and_one_that_is_never_reached_is_not() {
    if !long_tests() {
        return;
    }
    let place = Place::new();
    let study = place.study("storages.toml", &study());
    let mut seen = Vec::new();
    for _ in 0..ATTEMPTS {
        let run = place.rookery(&["run", &study, "-q"]).output();
        let run = run.expect("rookery starts");
        eprintln!("{}{}", text(&run.stdout), text(&run.stderr));
        let report = place.rookery(&["report", "latest", "--json"]).output();
        let report = report.expect("rookery starts").stdout;
        let report: Value = serde_json::from_slice(&report).expect("JSON");
        let [placebo, moderate, severe] =
            [PLACEBO, "400", "100"].map(|level| found(&report, level));
        let planted =
            severe.is_below(0.9) && moderate.is_below(1.0) && moderate.ratio > severe.ratio;
        if planted && !placebo.is_seen() {
            return;
        }
        seen.push((placebo, moderate, severe));
    }
    panic!("{ATTEMPTS} runs do not show what was planted: {seen:#?}");
}
