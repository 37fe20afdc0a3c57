//! Memory of a guest that does not fit is swapped, through the whole laboratory.

use serde_json::Value;

use crate::common::{Place, assert_host_as, host_state, root_tests};

/// A server that writes to more memory than its container has, and lives by what it may swap.
const STUDY: &str = r#"
title = "swapped"
seed = 3

[workload]
kind = "sample"
records = 50
think_time = "20ms"
working_set = "48MiB"

[load]
users = 4
ramp_up = "100ms"
settle = "900ms"
steady = "2s"
ramp_down = "100ms"
drain = "1s"
repeats = 1

[stack]
kind = "bundled"

[guest]
kind = "container"
memory = "32MiB"
swap = ["zram 64MiB", "file 64MiB"]

[host]
overcommit = 2
other_work = 1

[[layout]]
name = "one"
guests = 1
vcpus = 1
"#;

/// Asked for, in force before the load, and after it.
fn settings(run: &Value) -> Vec<[&str; 3]> {
    let rows = run["tunings"].as_array().expect("settings").iter();
    let mut found: Vec<[&str; 3]> = rows
        .filter(|row| row["name"] == "guest.swap")
        .map(|row| {
            ["asked", "effective", "at_end"].map(|key| row[key].as_str().unwrap_or_default())
        })
        .collect();
    // A trial that was void is performed again.
    found.sort_unstable();
    found.dedup();
    found
}

#[test]
fn what_does_not_fit_is_swapped_and_nothing_stays_on_the_host() {
    if !root_tests() {
        return;
    }
    let (place, before) = (Place::overloaded(), host_state());
    let (_, run) = place.done("swapped.toml", STUDY);
    let found = settings(&run);
    let lives = |swap: &str| found.contains(&[swap; 3]);
    assert!(lives("zram 64MiB") && lives("file 64MiB"), "{found:?}");
    let swapped = run["resources"].as_array().expect("samples").iter();
    let most = swapped
        .filter(|row| row["subject"] == "g1")
        .filter_map(|row| row["swap_bytes"].as_u64())
        .max();
    assert!(most > Some(8 << 20), "{most:?} bytes in swap");
    assert_host_as(&before);
}
