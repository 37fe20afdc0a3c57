//! Stored runs against each other: runs of one study show no difference, a slow-down that was
//! planted is found with its sign, and exit codes say so.

use crate::common::{Place, code, long_tests, text, went_to_its_end};

/// One guest under two loads that keep it busy; `stack` goes below `[stack]`.
fn study(repeats: u32, think_time: &str, stack: &str) -> String {
    format!(
        r#"
title = "compared"
seed = 5

[workload]
kind = "dvdstore"
database = "1MB per guest"
think_time = "{think_time}"

[load]
users = [4, 6]
ramp_up = "100ms"
settle = "300ms"
steady = "1s"
ramp_down = "100ms"
drain = "2s"
repeats = {repeats}

[stack]
kind = "embedded"
{stack}

[guest]
kind = "bare"
memory = "128MiB per guest"

[[layout]]
name = "one"
guests = 1
vcpus = 1
"#
    )
}

/// Run a study and return the directory of the run.
fn run(place: &Place, name: &str, study: &str) -> String {
    let study = place.study(name, study);
    let output = place
        .rookery(&["run", &study, "--quiet"])
        .output()
        .expect("rookery starts");
    assert!(went_to_its_end(&output), "{}", text(&output.stderr));
    let report = text(&output.stdout);
    report
        .trim_end()
        .trim_end_matches("/report.html")
        .to_owned()
}

/// The exit code and what was told as JSON.
fn compare(place: &Place, args: &[&str]) -> (i32, serde_json::Value) {
    let all: Vec<&str> = ["compare", "--json"].iter().chain(args).copied().collect();
    let output = place.rookery(&all).output().expect("rookery starts");
    let told = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", text(&output.stderr)));
    (code(&output), told)
}

/// What the overall comparison calls a metric, and its change.
fn overall<'a>(told: &'a serde_json::Value, metric: &str) -> (&'a str, f64) {
    let findings = told["overall"].as_array().expect("findings");
    let finding = findings
        .iter()
        .find(|finding| finding["metric"] == metric)
        .expect("every metric is there");
    let change = finding["change"].as_f64().unwrap_or(f64::NAN);
    (
        finding["verdict"]["is"].as_str().expect("a verdict"),
        change,
    )
}

/// A base, the same again, and one that burns CPU time in every page. A busy machine makes trials
/// void and intervals wide, so that a single attempt may decide nothing: three that all fail are a
/// defect.
#[test]
fn runs_of_one_study_do_not_differ_and_a_planted_slow_down_is_found() {
    if !long_tests() {
        return;
    }
    let mut seen = Vec::new();
    for _ in 0..3 {
        let place = Place::new();
        let plain = study(3, "2ms", "");
        let base = run(&place, "base.toml", &plain);
        let slow = run(
            &place,
            "slow.toml",
            &study(3, "2ms", "extra_cpu = \"300us\""),
        );
        let again = run(&place, "base.toml", &plain);
        let (same, _) = compare(&place, &[&base, &again]);
        let (there, of_slow) = compare(&place, &[&base, &slow]);
        let (back, of_back) = compare(&place, &[&slow, &base]);
        let (orders, cpu) = (
            overall(&of_slow, "throughput"),
            overall(&of_slow, "cpu-per-unit"),
        );
        let voided = of_slow["new"][0]["void"].as_u64();
        seen.push(format!(
            "{same} {there} {back}: {orders:?} {cpu:?}, {voided:?} trials void"
        ));
        // Many things disturb throughput; the CPU time of an order they hardly touch.
        let right = orders.1 < 0.0 && orders.0 != "better" && cpu.0 == "worse" && cpu.1 > 0.1;
        let inverse = overall(&of_back, "cpu-per-unit").0 == "better";
        if (same, there, back) == (0, 9, 0) && right && inverse {
            let differences = of_slow["differences"].to_string();
            assert!(
                differences.contains("extra_cpu"),
                "what was changed is told: {differences}"
            );
            return;
        }
    }
    panic!("three attempts do not show what was planted: {seen:#?}");
}

/// A host of the simulated lab, where nothing but chance and what was planted makes runs differ.
fn simulated(seed: u32, cpu_demand: &str) -> String {
    format!(
        r#"
title = "simulated"
seed = {seed}

[workload]
kind = "dvdstore"
think_time = "250ms"

[load]
users = ["5 per host", "20 per host", "40 per host"]
ramp_up = "1s"
settle = "4s"
steady = "20s"
repeats = 5

[stack]
kind = "simulated"
host_cpus = 3
cpu_demand = "{cpu_demand}"
lock_demand = "4ms"
disk_demand = "2ms"
noise = 0.01

[guest]
kind = "fake"

[[layout]]
name = "one"
guests = 1
vcpus = 2
"#
    )
}

#[test]
fn on_a_simulated_host_ten_percent_are_ten_percent() {
    let place = Place::computing();
    let (base, again) = (
        run(&place, "base.toml", &simulated(1, "40ms")),
        run(&place, "again.toml", &simulated(2, "40ms")),
    );
    let slow = run(&place, "slow.toml", &simulated(3, "44ms"));
    let (ended, told) = compare(&place, &[&base, &again]);
    assert_eq!(ended, 0, "{}", told["overall"]);
    let (ended, told) = compare(&place, &[&base, &slow]);
    let (verdict, change) = overall(&told, "cpu-per-unit");
    assert_eq!((ended, verdict), (9, "worse"), "{}", told["overall"]);
    assert!((change - 0.1).abs() < 0.03, "{change}");
    let (ended, told) = compare(&place, &[&slow, &base]);
    assert_eq!(
        (ended, overall(&told, "cpu-per-unit").0),
        (0, "better"),
        "{}",
        told["overall"]
    );
}

#[test]
fn what_cannot_be_said_fails_only_where_that_is_asked_for() {
    let place = Place::new();
    let plain = study(1, "20ms", "");
    let (base, new) = (
        run(&place, "one.toml", &plain),
        run(&place, "one.toml", &plain),
    );
    let page = place.dir.path().join("compared.html").display().to_string();
    let output = place
        .rookery(&["compare", &base, &new, "--html", &page])
        .output()
        .expect("rookery starts");
    let told = text(&output.stdout);
    assert_eq!(code(&output), 0, "{told}\n{}", text(&output.stderr));
    assert!(
        told.contains("annot be said"),
        "single repeats carry no interval:\n{told}"
    );
    let html = std::fs::read_to_string(&page).expect("the page is there");
    assert!(html.starts_with("<!doctype html>") && html.contains("annot be said"));
    assert_eq!(compare(&place, &[&base, &new, "--strict"]).0, 9);

    // Other think times mean other response times.
    let other = run(&place, "other.toml", &study(1, "40ms", ""));
    let (ended, told) = compare(&place, &[&base, &other]);
    assert_eq!(
        (ended, told["points"].as_array().map(Vec::len)),
        (11, Some(0)),
        "{told}"
    );
    assert!(
        told["left_out"].to_string().contains("think time"),
        "{told}"
    );
}

#[test]
fn runs_that_are_not_there_or_the_same_are_refused() {
    let place = Place::new();
    let output = place
        .rookery(&["compare", "this", "that"])
        .output()
        .expect("rookery starts");
    assert_eq!(code(&output), 8, "{}", text(&output.stderr));
    let base = run(
        &place,
        "one.toml",
        &study(1, "20ms", "").replace("[4, 6]", "4"),
    );
    let output = place
        .rookery(&["compare", &base, "latest"])
        .output()
        .expect("rookery starts");
    assert_eq!(code(&output), 2);
    assert!(
        text(&output.stderr).contains("named twice"),
        "{}",
        text(&output.stderr)
    );
    let output = place
        .rookery(&["compare", &base, "latest", "--ignore", "much"])
        .output()
        .expect("rookery starts");
    assert_eq!(code(&output), 2);
}
