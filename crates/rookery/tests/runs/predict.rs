//! `rookery predict` on stored runs: one of the embedded stack on loopback, and one of a simulated
//! host.

use crate::common::{Place, code, text, tiny_study, went_to_its_end};
use serde_json::Value;

/// A ladder of loads on one small guest: seconds, and a few hundred orders.
fn ladder() -> String {
    tiny_study("bare", "1", "")
        .replace("[1, 2]", "1")
        .replace(
            "users = \"6 per guest\"",
            "users = [\"2 per guest\", \"4 per guest\", \"8 per guest\", \"12 per guest\"]",
        )
        .replace("think_time = \"20ms\"", "think_time = \"50ms\"")
}

fn predict(place: &Place, more: &[&str]) -> (i32, String, String) {
    let args: Vec<&str> = ["predict", "latest"].iter().chain(more).copied().collect();
    let output = place.rookery(&args).output().expect("rookery starts");
    (code(&output), text(&output.stdout), text(&output.stderr))
}

fn json(place: &Place, more: &[&str]) -> Value {
    let args: Vec<&str> = more.iter().chain(&["--json"]).copied().collect();
    let (code, out, err) = predict(place, &args);
    assert_eq!(code, 0, "{err}");
    serde_json::from_str(&out).expect("one JSON document")
}

#[test]
fn a_real_ladder_is_fitted_below_and_predicted_above() {
    let place = Place::new();
    let study = place.study("ladder.toml", &ladder());
    let run = place
        .rookery(&["run", &study, "-q"])
        .output()
        .expect("rookery starts");
    assert!(went_to_its_end(&run), "{}", text(&run.stderr));
    let done = place.export()["trials"]
        .as_array()
        .expect("trials")
        .iter()
        .filter(|trial| trial["status"] == "done")
        .count();
    let (code, out, err) = predict(&place, &["--holdout"]);
    if done == 0 {
        // A busy machine: the driver has accused itself of every trial.
        assert!(err.contains("no good trial") && code == 8, "{err}");
        return;
    }
    assert_eq!(code, 0, "{err}");
    if done < 4 {
        return;
    }
    assert!(
        out.contains("Throughput was missed by") && out.contains("last value"),
        "{out}"
    );
    let held = &json(&place, &["--holdout"])[0]["holdout"];
    for point in held["points"].as_array().expect("held-out points") {
        let (error, predicted) = (point["error"].as_f64(), &point["predicted"]);
        assert!(error.is_some_and(f64::is_finite), "{point}");
        assert!(
            predicted["low"].as_f64() < predicted["high"].as_f64(),
            "{point}"
        );
    }
}

/// The demonstration on a simulated host: always the same run, in seconds.
fn demonstration() -> Place {
    let place = Place::computing();
    let output = place
        .rookery(&["demo-lab", "-q"])
        .output()
        .expect("rookery starts");
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    place
}

#[test]
fn a_simulated_host_is_predicted_planned_and_confirmed() {
    let place = demonstration();
    let said = json(
        &place,
        &[
            "--layout",
            "16 x 1",
            "--layout",
            "3x2",
            "--users",
            "60,100000",
        ],
    );
    let variant = &said["variants"][0];
    // The study says 40 ms, and 1 % more for each further guest.
    let demand = variant["calibration"]["demands"][0]["demand_s"]
        .as_f64()
        .expect("a demand");
    assert!((demand / 0.040 - 1.0).abs() < 0.05, "{demand}");
    let growth = variant["calibration"]["growth"]["per_guest"]
        .as_f64()
        .expect("growth");
    assert!((growth - 0.01).abs() < 0.005, "{growth}");
    assert!(
        variant["held_out_error"]
            .as_f64()
            .is_some_and(|error| error < 0.1),
        "{variant}"
    );
    let forecasts = variant["forecasts"].as_array().expect("forecasts");
    let of = |guests: u64, load: f64| {
        let found = forecasts
            .iter()
            .find(|f| f["guests"] == guests && f["load"] == load);
        found.map(|forecast| &forecast["numbers"])
    };
    let near = &of(3, 60.0).expect("3 x 2 fits")["Ok"];
    // 60 users who think for 250 ms, and six cores of 25 orders/s each.
    let orders = near["units_per_minute"]["value"]
        .as_f64()
        .expect("a number");
    assert!((6_000.0..9_000.0).contains(&orders), "{near}");
    assert!(of(3, 100_000.0).is_some_and(|numbers| {
        numbers["Err"]
            .as_str()
            .is_some_and(|reason| reason.contains("F13"))
    }));

    let (code, out, err) = predict(
        &place,
        &["--pack", "--study", "confirm.toml", "--confirm", "2"],
    );
    assert_eq!(code, 0, "{err}");
    assert!(
        out.contains("most users within limits") && out.contains("rookery run confirm.toml"),
        "{out}"
    );
    let run = place
        .rookery(&["run", "confirm.toml", "-q"])
        .output()
        .expect("rookery starts");
    assert!(
        matches!(run.status.code(), Some(0 | 7)),
        "{}",
        text(&run.stderr)
    );
}

#[test]
fn forecasts_read_well_and_have_a_figure() {
    let place = demonstration();
    let (code, out, err) = predict(&place, &["--html", "forecast.html"]);
    assert_eq!(code, 0, "{err}");
    for words in [
        "one order takes",
        "Model: queueing",
        "misses the upper half by",
        "Not modelled",
        "Figure: forecast.html",
    ] {
        assert!(out.contains(words), "`{words}` is missing in:\n{out}");
    }
    let page = std::fs::read_to_string(place.dir.path().join("forecast.html")).expect("the page");
    assert!(page.contains("Plotly.react") && !page.contains("<script src"));
}

#[test]
fn wrong_questions_get_an_answer_with_help() {
    let place = demonstration();
    let cases: [(&[&str], i32, &str); 6] = [
        (&["--layout", "8"], 2, "is no layout"),
        (&["--users", "0"], 2, "above 0"),
        (&["--rate", "5"], 2, "use --users"),
        (&["--variant", "7"], 2, "no such variant"),
        (&["--pack", "--users", "5,6"], 2, "takes one load"),
        (
            &["--html", "no/such/dir.html"],
            8,
            "cannot write the figure",
        ),
    ];
    for (more, expected, words) in cases {
        let (code, _, err) = predict(&place, more);
        assert_eq!(code, expected, "{more:?}: {err}");
        assert!(err.contains(words), "`{words}` is missing in:\n{err}");
    }
    let output = Place::new()
        .rookery(&["predict"])
        .output()
        .expect("rookery starts");
    assert_eq!(code(&output), 8, "there is no run");
}
