//! Wishes for intervals, on the simulated lab: pilots choose the times, repeats follow, and the
//! report says where the wish was met.

use std::{
    io::{BufRead, BufReader},
    process::{Command, Stdio},
};

use crate::common::{Place, code, text};
use serde_json::Value;

/// One guest of one vCPU, whose 8 ms of CPU for each order carry about 125 of them a second.
fn study(load: &str, noise: f64) -> String {
    format!(
        r#"
title = "a wish"
seed = 5
workload = {{ kind = "dvdstore", database = "1MB", think_time = "1s" }}
qos = {{ p95 = "2s" }}
stack = {{ kind = "simulated", cpu_demand = "8ms", noise = {noise} }}
guest = {{ kind = "fake" }}
layout = [{{ name = "one", guests = 1, vcpus = 1 }}]

[load]
users = [20, 60, 110]
ramp_up = "2s"
{load}
"#
    )
}

/// A run that went to its end, with what its report says.
fn run(text_of_study: &str) -> (Place, String) {
    let place = Place::computing();
    let path = place.study("wish.toml", text_of_study);
    let output = place
        .rookery(&["run", &path, "-q"])
        .output()
        .expect("rookery starts");
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    let output = place.rookery(&["report", "latest"]).output();
    let told = text(&output.expect("rookery starts").stdout);
    let words: Vec<&str> = told.split_whitespace().collect();
    let told = words.join(" ");
    (place, told)
}

/// What a report says of the wish, for programs.
fn kept(place: &Place) -> Value {
    let output = place
        .rookery(&["report", "latest", "--json"])
        .output()
        .expect("rookery starts");
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    report["wish"].clone()
}

/// Purpose, point and seed of every trial.
fn trials(place: &Place) -> Vec<(String, u64, String)> {
    let run = place.export();
    let word = |value: &Value| value.as_str().expect("a word").to_owned();
    let all = run["trials"].as_array().expect("trials").iter();
    all.map(|trial| {
        (
            word(&trial["purpose"]),
            trial["point"].as_u64().expect("a point"),
            word(&trial["seed"]),
        )
    })
    .collect()
}

fn number(value: &Value) -> f64 {
    value.as_f64().expect("a number")
}

#[test]
fn pilots_choose_the_times_and_the_wish_is_met() {
    let wish = "precision = { throughput = \"3%\", p95 = \"10%\" }";
    let (place, told) = run(&study(wish, 0.005));
    let all = trials(&place);
    let pilots: Vec<u64> = all
        .iter()
        .take_while(|trial| trial.0 == "pilot")
        .map(|trial| trial.1)
        .collect();
    assert_eq!(pilots, [1, 3], "the smallest and the largest load");
    let of_study = all.iter().filter(|trial| trial.0 == "study").count();
    assert!(of_study >= 9, "{all:?}");
    let kept = kept(&place);
    assert_eq!(kept["met"], 3, "{kept}");
    assert!(number(&kept["settle_s"]) >= 5.0 && number(&kept["steady_s"]) >= 10.0);
    assert!(
        number(&kept["spent_s"]) <= number(&kept["budget_s"]),
        "{kept}"
    );
    for point in kept["points"].as_array().expect("points") {
        for (reached, goal) in point["reached"]
            .as_array()
            .expect("parts")
            .iter()
            .zip([0.03, 0.1])
        {
            assert!(number(&reached["half_width"]) <= goal, "{reached}");
        }
    }
    let expected = "throughput within 3 %, p95 within 10 %: met at all 3 points";
    assert!(told.contains(expected), "{told}");
    let results = place.export();
    let pilots_counted = results["points"].as_array().expect("points").len();
    assert_eq!(pilots_counted, 3);
}

#[test]
fn a_budget_that_is_too_small_says_what_was_reached() {
    let wish = "precision = { throughput = \"0.5%\", within = \"15min\" }";
    let (place, told) = run(&study(wish, 0.08));
    let kept = kept(&place);
    assert!(number(&kept["met"]) < 3.0, "{kept}");
    // Trials begin while their time is left.
    assert!(number(&kept["spent_s"]) <= 900.0, "{kept}");
    assert!(
        told.contains("throughput within 0.5 %: met at")
            && told.contains("after the budget of 15 min"),
        "{told}"
    );
    let missed = kept["points"].as_array().expect("points").iter();
    let needed: Vec<f64> = missed
        .filter(|point| point["met"] == false)
        .map(|point| number(&point["reached"][0]["needed"]))
        .collect();
    assert!(needed.iter().all(|needed| *needed > 3.0), "{needed:?}");
}

#[test]
fn written_times_stay_and_need_no_pilots() {
    let wish = "settle = \"4s\"\nsteady = \"20s\"\nprecision = { p50 = \"20%\" }";
    let (place, _) = run(&study(wish, 0.0));
    let all = trials(&place);
    assert!(all.iter().all(|trial| trial.0 == "study"), "{all:?}");
    let kept = kept(&place);
    assert_eq!(
        (number(&kept["settle_s"]), number(&kept["steady_s"])),
        (4.0, 20.0)
    );
    assert_eq!(
        (&kept["chosen"], &kept["met"]),
        (&Value::Bool(false), &Value::from(3))
    );
}

#[test]
fn a_killed_run_goes_on_with_the_times_that_were_chosen() {
    let text_of_study = study("precision = { throughput = \"3%\", p95 = \"10%\" }", 0.02);
    let (whole, _) = run(&text_of_study);
    let place = Place::computing();
    let path = place.study("wish.toml", &text_of_study);
    // In its two pilots, and again among the trials that follow from them.
    let resume = ["run", "--resume", "wish.toml", "--json"];
    for arguments in [&["run", &path, "--json"][..], &resume, &resume] {
        let mut child = place
            .rookery(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("rookery starts");
        let mut lines = BufReader::new(child.stdout.take().expect("piped"))
            .lines()
            .map_while(Result::ok);
        let last = lines.by_ref().find(|line| line.contains("\"trial-ended\""));
        assert!(last.is_some(), "a trial ends");
        let kill = Command::new("kill")
            .args(["-KILL", &child.id().to_string()])
            .status();
        assert!(kill.expect("kill").success());
        lines.for_each(drop);
        child.wait().expect("rookery ends");
    }
    let resumed = place
        .rookery(&["run", "--resume", "wish.toml", "-q"])
        .output()
        .expect("rookery starts");
    assert_eq!(code(&resumed), 0, "{}", text(&resumed.stderr));
    assert_eq!(trials(&place), trials(&whole));
    let (went_on, at_once) = (kept(&place), kept(&whole));
    for key in [
        "settle_s", "steady_s", "wanted_s", "pilots", "points", "met",
    ] {
        assert_eq!(went_on[key], at_once[key], "{key}");
    }
}
