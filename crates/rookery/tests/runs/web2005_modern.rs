//! Browsers of today on the embedded pages: caches, compressed pages, resumed sessions of TLS and
//! resumed downloads.

use crate::common::Place;

const STUDY: &str = r#"
title = "browsers of today"
seed = 7
workload = { kind = "web-support", profile = "modern", returning = 0.8, sessions = "10 per guest", fileset_scale = 0.1, think_time = "100ms", receive_rate = 0, min_requests = 0 }
load = { users = 10, ramp_up = "300ms", settle = "1s", steady = "5s", ramp_down = "300ms", repeats = 1, retry_void = 0 }
qos = { page = { p95 = "9s" }, errors = 0.05 }
stack = { kind = "embedded" }
guest = { kind = "bare", memory = "256MiB" }
host = { other_work = 1 }
layout = [{ name = "one", guests = 1 }]
"#;

#[test]
fn browsers_of_today_keep_files_resume_sessions_and_get_compressed_pages() {
    let place = Place::among_others();
    let (_, run) = place.done("modern.toml", STUDY);
    let metrics = run["metrics"].as_array().expect("metrics");
    let of = |name: &str| {
        let own = metrics.iter().find(|row| row["metric"] == name);
        own.and_then(|row| row["value"].as_f64())
            .unwrap_or_else(|| panic!("no {name} in {metrics:#?}"))
    };
    assert_eq!(of("validation_error_pct"), 0.0);
    assert!(of("pages_per_minute") > 100.0);
    // A session has fifteen pages with much the same files.
    assert!(of("cached_objects") > of("objects"));
    assert!(of("mean_first_byte_ms") > 0.0);
    let told = place.tables();
    assert!(told.contains("begin with a cache"), "{told}");
    assert!(told.contains("TLS"), "{told}");
    let operations = run["operations"].as_array().expect("operations");
    assert!(operations.iter().any(|row| row["operation"] == "download"));
}
