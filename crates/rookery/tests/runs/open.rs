//! The whole road of an open load: visitors who arrive on a schedule, on bare guests, without root.

use crate::common::{Place, code, measured, text, tiny_study, went_to_its_end};

const RATE: f64 = 40.0;

fn open_study(load: &str) -> String {
    tiny_study("bare", "1", "").replace("users = \"6 per guest\"", load)
}

#[test]
fn visitors_arrive_order_and_leave() {
    let place = Place::among_others();
    let study = place.study(
        "open.toml",
        &open_study("model = \"open\"\nrate = \"40 per host\"\narrivals = \"uniform\""),
    );
    let output = place
        .rookery(&["run", &study])
        .output()
        .expect("rookery starts");
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert!(went_to_its_end(&output), "stdout:\n{out}\nstderr:\n{err}");
    let tables = place.tables();
    assert!(
        tables.contains("Open loop, uniform arrivals at 40/s"),
        "{tables}"
    );

    let run = place.export();
    let points = run["points"].as_array().expect("points");
    let loads: Vec<_> = points
        .iter()
        .map(|point| (&point["users"], point["rate_per_s"].as_f64()))
        .collect();
    assert_eq!(loads, [(&0.into(), Some(RATE)), (&0.into(), Some(RATE))]);
    assert_eq!(
        points[1]["baseline_point"], 1,
        "one guest carries the same arrivals"
    );
    for trial in run["trials"].as_array().expect("trials") {
        assert!(measured(trial), "{trial}");
    }
    for measurement in run["measurements"].as_array().expect("measurements") {
        assert_eq!(measurement["load_model"], "open");
        let drawn = measurement["arrivals_drawn"].as_f64().expect("a number");
        // The window is one second, and uniform arrivals are all but counted out.
        assert!((drawn - RATE).abs() <= 2.0, "{measurement}");
    }
    for audit in run["audits"].as_array().expect("audits") {
        assert_eq!(audit["found"], audit["acknowledged"], "{audit}");
        assert!(
            audit["acknowledged"]
                .as_u64()
                .is_some_and(|orders| orders > 0),
            "{audit}"
        );
    }
}

#[test]
fn visitors_stay_for_several_orders() {
    let place = Place::among_others();
    let load = "model = \"partly-open\"\nrate = 20\nacts = 3\nprecision = \"batched\"";
    let study = place.study("stay.toml", &open_study(load).replace("[1, 2]", "1"));
    let output = place
        .rookery(&["run", &study])
        .output()
        .expect("rookery starts");
    let out = text(&output.stdout);
    assert!(went_to_its_end(&output), "{out}\n{}", text(&output.stderr));
    let tables = place.tables();
    assert!(
        tables.contains(
            "Partly open loop, Poisson arrivals at 20/s, 3 orders of each visitor on average"
        ),
        "{tables}"
    );
    assert_eq!(
        place.export()["measurements"][0]["load_model"],
        "partly-open"
    );
}

#[test]
fn what_a_loop_type_does_not_know_is_refused_at_its_line() {
    let place = Place::among_others();
    let study = place.study(
        "mixed.toml",
        &open_study("model = \"open\"\nrate = 20\nusers = 5"),
    );
    let output = place
        .rookery(&["check", &study])
        .output()
        .expect("rookery starts");
    assert_eq!(code(&output), 3);
    let err = text(&output.stderr);
    assert!(
        err.contains("`load.users` has no meaning in a load that is open") && err.contains(":13:"),
        "{err}"
    );
}
