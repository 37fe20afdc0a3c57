//! CPU weights of guests that share a CPU, through the whole laboratory.

use serde_json::Value;

use crate::common::{Place, assert_host_as, host_state, root_tests};

/// Two containers on CPU 0, both of which want all of it: it handles every packet of both ends.
const STUDY: &str = r#"
title = "weights"
seed = 5
workload = { kind = "netstream", answer_bytes = 1048576 }
load = { users = 4, ramp_up = "100ms", settle = "900ms", steady = "3s", ramp_down = "100ms", drain = "2s", repeats = 1 }
stack = { kind = "bundled" }
guest = { kind = "container", memory = "128MiB per guest" }
network = { irq = [0], gro = "off", gso = "off", tso = "off" }
host = { guest_cpus = [0], driver_cpus = [1], overcommit = 2, other_work = 1 }
[[layout]]
name = "unequal"
[[layout.group]]
name = "light"
cpu_weight = 100
[[layout.group]]
name = "heavy"
cpu_weight = 300
"#;

/// Each guest has the weight that was asked for, before the load and after it.
fn weights_are_in_force(run: &Value) {
    let rows = run["tunings"].as_array().expect("settings");
    let mut found: Vec<[&str; 4]> = rows
        .iter()
        .filter(|row| row["name"] == "guest.cpu_weight")
        .map(|row| {
            ["guest", "asked", "effective", "at_end"]
                .map(|key| row[key].as_str().unwrap_or_default())
        })
        .collect();
    // A trial that was void is performed again.
    found.sort_unstable();
    found.dedup();
    assert_eq!(
        found,
        [["g1", "100", "100", "100"], ["g2", "300", "300", "300"]]
    );
}

#[test]
fn a_guest_of_more_weight_gets_more_of_a_shared_cpu() {
    if !root_tests() {
        return;
    }
    let place = Place::new();
    let before = host_state();
    let (_, run) = place.done("weights.toml", STUDY);
    weights_are_in_force(&run);
    let output = place
        .rookery(&["report", "latest", "--json"])
        .output()
        .expect("rookery starts");
    let analysis: Value = serde_json::from_slice(&output.stdout).expect("an analysis");
    let sets = analysis["weights"].as_array().expect("sets of guests");
    let [set] = &sets[..] else {
        panic!("one CPU, one set: {sets:?}");
    };
    let guest = |name: &str| {
        let guests = set["guests"].as_array().expect("guests");
        let found = guests.iter().find(|guest| guest["guest"] == name);
        found.unwrap_or_else(|| panic!("{name} in {set}"))
    };
    let number = |guest: &Value, key: &str| guest[key].as_f64().expect("a number");
    let (light, heavy) = (guest("g1"), guest("g2"));
    assert_eq!(number(light, "asked"), 0.25);
    assert_eq!(number(heavy, "asked"), 0.75);
    assert!(number(heavy, "got") > number(light, "got"), "{set}");
    // The one waits for the other.
    assert!(number(light, "waiting") > 0.0, "{set}");
    let tables = place.tables();
    assert!(tables.contains("asked by weight"), "{tables}");
    assert_host_as(&before);
}
