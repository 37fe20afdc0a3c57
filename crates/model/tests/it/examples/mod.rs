//! Every worked example of the specification of models, by its key: closed formulas to 1e-9,
//! iterative ones to 1e-6.

mod demands;
mod fits;
mod hosts;
mod laws;
mod queues;
mod statistics;

use std::{cell::RefCell, collections::BTreeSet};

use rookery_model::queue::ModelError;
use serde_json::Value;

thread_local! {
    /// Examples that this thread has asked for.
    static ASKED: RefCell<BTreeSet<String>> = const { RefCell::new(BTreeSet::new()) };
}

fn examples() -> Value {
    serde_json::from_str(include_str!("models-examples.json")).expect("the examples are JSON")
}

/// The example `key`.
fn example(key: &str) -> Value {
    let all = examples();
    assert!(all.get(key).is_some(), "no example {key}");
    ASKED.with_borrow_mut(|asked| asked.insert(key.to_owned()));
    all[key].clone()
}

/// Whoever adds an example adds a test of it, and names that test here.
#[test]
fn no_example_is_left_out() -> Result<(), ModelError> {
    laws::amdahl();
    laws::gustafson_and_karp_flatt();
    laws::usl_eval();
    laws::usl_jacobian();
    fits::usl_fit();
    fits::usl_fit_goodness_and_rivals();
    fits::usl_f_test();
    fits::usl_nstar_delta_and_predictions();
    fits::usl_bootstrap();
    fits::usl_fit_bound();
    fits::usl_fit_relative();
    fits::closed_bottleneck_fit();
    fits::the_published_examples_are_judged_right();
    fits::mape();
    queues::bounds()?;
    queues::mva_single_by_both_exact_ways()?;
    queues::large_populations()?;
    queues::mva_multiserver()?;
    queues::approximations_of_several_servers()?;
    queues::closed_eval()?;
    queues::several_classes()?;
    queues::approximations_of_one_class()?;
    queues::open_stations()?;
    queues::percentiles()?;
    hosts::water_filling();
    hosts::consolidation_floating()?;
    hosts::consolidation_pinned()?;
    hosts::consolidation_pinned_many()?;
    hosts::cpu_cap()?;
    hosts::throttle_and_overheads();
    demands::operational();
    demands::markov_drupal();
    demands::demand_ols();
    demands::demand_two_class();
    demands::kalman_demand();
    demands::hit_ratio();
    statistics::mser5();
    statistics::batch_means();
    statistics::ratios();
    statistics::ranks();
    statistics::kalibera_jones();
    statistics::multiplicity();
    let all = examples();
    let keys: BTreeSet<String> = all.as_object().expect("a map").keys().cloned().collect();
    let asked = ASKED.with_borrow(BTreeSet::clone);
    let left: Vec<&String> = keys.difference(&asked).collect();
    assert!(left.is_empty(), "no test asks for {left:?}");
    assert_eq!(keys.len(), 62);
    Ok(())
}

fn number(value: &Value) -> f64 {
    value
        .as_f64()
        .unwrap_or_else(|| panic!("not a number: {value}"))
}

fn list(value: &Value) -> Vec<f64> {
    value
        .as_array()
        .expect("a list")
        .iter()
        .map(number)
        .collect()
}

fn rows(value: &Value) -> Vec<Vec<f64>> {
    value
        .as_array()
        .expect("a list of lists")
        .iter()
        .map(list)
        .collect()
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
