//! The trend of a study, in words and as a table.

use rookery_analysis::{
    compare::Metric,
    trend::{Trend, TrendChange, TrendRun},
};
use rookery_report::{trend_sentences, trend_terminal};
use rookery_stats::Goal;
use rookery_text::Zone;

fn trend() -> Trend {
    let run = |day: u32, value: f64| TrendRun {
        run_id: format!("run{day}"),
        created_at: format!("2026-01-{day:02}T12:00:00Z"),
        version: "0.1.0".to_owned(),
        value,
    };
    Trend {
        metric: Metric::Throughput,
        name: "orders/min".to_owned(),
        goal: Goal::Higher,
        points: 2,
        runs: (1..=12)
            .map(|day| run(day, if day < 7 { 1000.0 } else { 800.0 }))
            .collect(),
        changes: vec![TrendChange {
            at: 6,
            run_id: "run7".to_owned(),
            before: 1000.0,
            after: 800.0,
            change: -0.2,
            better: false,
            p: 0.002,
        }],
        left_out: 1,
    }
}

#[test]
fn a_change_is_said_with_its_run_its_size_and_its_certainty() {
    let text = trend_terminal("a study", &[trend()], 8, 80, &Zone::utc());
    insta::assert_snapshot!(text);
}

#[test]
fn few_runs_are_said_to_show_nothing() {
    let mut short = trend();
    short.runs.truncate(4);
    short.changes.clear();
    let text = trend_sentences(&[short], &Zone::utc()).join(" ");
    assert!(text.contains("Fewer than 10 runs"), "{text}");
    assert!(!text.contains("No change was found"), "{text}");
}
