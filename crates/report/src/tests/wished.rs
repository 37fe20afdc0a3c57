//! What is said of a wish where no trial ended well.

use rookery_store::fixture::{header, host_facts};

use super::{analysed, fixture};

const STUDY: &str = r#"
title = "a wish"
workload = { kind = "dvdstore", database = "1MB", think_time = "1s" }
qos = { p95 = "2s" }
stack = { kind = "simulated", cpu_demand = "8ms" }
guest = { kind = "fake" }
layout = [{ name = "one", guests = 1, vcpus = 1 }]

[load]
users = 20
ramp_up = "2s"
settle = "4s"
steady = "20s"
precision = { throughput = "2%", within = "10min" }
"#;

#[test]
fn the_answer_names_the_wish_also_where_no_trial_ended_well() {
    let fixture = fixture::planned(&header("wish.toml", STUDY, host_facts()));
    for trial in 1..=3 {
        fixture::end(&fixture, trial, fixture::void);
    }
    let (_, analysis) = analysed(&fixture);
    let [none, wish] = analysis.answer.as_slice() else {
        panic!("{:?}", analysis.answer);
    };
    assert_eq!(none, "This run gives no answer: no trial ended well.");
    assert!(
        wish.starts_with("Wish: throughput within 2 %: met at 0 of 1 point; ")
            && wish.contains("not known by any good trial")
            && wish.contains(" of the budget of 10 min, ")
            && wish.ends_with("of it on 3 void or failed trials."),
        "{wish}"
    );
}
