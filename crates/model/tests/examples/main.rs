//! Every worked example of the specification of models, by its key: closed formulas to 1e-9, iterative ones to 1e-6.

mod demands;
mod fits;
mod hosts;
mod laws;
mod queues;

use serde_json::Value;

/// The example `key`.
fn example(key: &str) -> Value {
    let all: Value = serde_json::from_str(include_str!("models-examples.json")).expect("the examples are JSON");
    assert!(all.get(key).is_some(), "no example {key}");
    all[key].clone()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("not a number: {value}"))
}

fn list(value: &Value) -> Vec<f64> {
    value.as_array().expect("a list").iter().map(number).collect()
}

fn rows(value: &Value) -> Vec<Vec<f64>> {
    value.as_array().expect("a list of lists").iter().map(list).collect()
}

#[track_caller]
fn close(what: &str, found: f64, expected: f64, tolerance: f64) {
    let difference = (found - expected).abs();
    assert!(
        difference <= tolerance * expected.abs().max(1e-12),
        "{what}: found {found}, expected {expected}"
    );
}

#[track_caller]
fn all_close(what: &str, found: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (place, (found, expected)) in found.iter().zip(expected).enumerate() {
        close(&format!("{what}[{place}]"), *found, *expected, tolerance);
    }
}

const CLOSED: f64 = 1e-9;
const ITERATED: f64 = 1e-6;
