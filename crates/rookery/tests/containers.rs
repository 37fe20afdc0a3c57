//! The whole road on containers: root, runc, namespaces.

mod common;

use common::{Place, host_state, root_tests, text, tiny_study, went_to_its_end};

#[test]
fn containers_with_fractional_vcpus_walk_the_whole_road_and_leave_nothing() {
    if !root_tests() {
        return;
    }
    let place = Place::new();
    let before = host_state();
    let study = place.study("tiny.toml", &tiny_study("container", "0.25", ""));
    let output = place
        .rookery(&["run", &study])
        .output()
        .expect("rookery starts");
    assert!(
        went_to_its_end(&output),
        "{}\n{}",
        text(&output.stdout),
        text(&output.stderr)
    );
    let run = place.export();
    for audit in run["audits"].as_array().expect("audits") {
        assert_eq!(
            audit["orders_in_database"], audit["orders_acknowledged"],
            "{audit}"
        );
        assert!(
            audit["orders_acknowledged"]
                .as_u64()
                .is_some_and(|orders| orders > 0),
            "{audit}"
        );
    }
    assert_eq!(before, host_state(), "the host is as before");
}
