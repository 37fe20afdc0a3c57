//! Layouts whose sections differ, and what they are compared with.

use serde_json::Value;

use crate::common::{Place, code, root_tests, text, tiny_study};

/// The tiny study with a bare layout beside its containers.
fn study(kind: &str) -> String {
    let more = "baseline = \"bare metal\"\n[[layout]]\nname = \"bare metal\"\nkind = \"bare\"\n\
                vcpus = 1\nusers = 12\nworkload.think_time = \"10ms\"\nqos.p95 = \"4s\"\n";
    tiny_study(kind, "1", more).replace("retry_void = 0", "retry_void = 2")
}

#[test]
fn bare_metal_is_the_baseline_of_containers() {
    if !root_tests() {
        return;
    }
    let place = Place::among_others();
    let (_, run) = place.done_everywhere("layouts.toml", &study("container"));
    let points = run["points"].as_array().expect("points");
    let labels: Vec<&str> = points
        .iter()
        .filter_map(|point| point["label"].as_str())
        .collect();
    assert_eq!(
        labels,
        [
            "1 x 1 vCPU, 6 users",
            "2 x 1 vCPU, 12 users",
            "1 x 1 vCPU, 12 users, kind=bare, p95=4s, think_time=10ms",
        ]
    );
    let told = place.tables();
    assert!(
        told.contains("Throughput against the baseline bare metal ("),
        "{told}"
    );
    let output = place
        .rookery(&["report", "latest", "--json"])
        .output()
        .expect("rookery starts");
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    let analysis: Value = serde_json::from_slice(&output.stdout).expect("an analysis");
    let ratios = analysis["baselines"].as_array().expect("baselines");
    let bases: Vec<(u64, String)> = ratios
        .iter()
        .map(|ratio| {
            assert_eq!(ratio["baseline_point"], 3);
            assert!(
                ratio["ratio"]["value"]
                    .as_f64()
                    .is_some_and(|value| value > 0.0)
            );
            (
                ratio["point"].as_u64().expect("a point"),
                ratio["bases"].to_string(),
            )
        })
        .collect();
    // Two guests of one CPU have as many as the bare one where this host has but one for guests.
    let cpus = |point: usize| points[point - 1]["capacity_cpus"].as_f64().expect("CPUs");
    let of_two = if cpus(2) == cpus(3) {
        r#"["same-load","same-cpus","best"]"#
    } else {
        r#"["same-load","best"]"#
    };
    assert_eq!(cpus(1), cpus(3), "one guest of one CPU each");
    assert_eq!(
        bases,
        [
            (1, r#"["same-cpus","best"]"#.to_owned()),
            (2, of_two.to_owned()),
        ]
    );
}
