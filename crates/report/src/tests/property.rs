//! Reports of generated runs: trials that scatter as much as they like, are void or fail, and
//! limits of any height. Whatever they hold, no report may say what cannot be, or two things that
//! contradict each other.

use rookery_stats::{Latencies, Measurement, qos::judge};
use rookery_workload::random::{RandomSource as _, SplitMix64};

use super::{
    analysed,
    fixture::{self, Fixture, end, failed, lamp, void},
};
use crate::{answer, tables};

/// Runs of each kind.
const RUNS: u64 = 10;
/// No interval is wider than so many times its estimate.
const WIDEST: f64 = 10.0;

/// A run whose trials do by chance between a tenth and ten times of what the formula says, or much
/// alike, with limits anywhere.
fn generated(seed: u64, factors: bool) -> Fixture {
    let mut random = SplitMix64::new(seed);
    let repeats = 1 + u32::try_from(random.below(4)).expect("few");
    let mut header = if factors {
        lamp::header(repeats, false)
    } else {
        fixture::header(repeats)
    };
    let limit_us = 1_000 + random.below(400_000);
    let variants = header
        .plan
        .variants
        .iter_mut()
        .map(|variant| &mut variant.study);
    for study in std::iter::once(&mut header.study).chain(variants) {
        for limit in &mut study.qos.percentiles {
            limit.limit_us = limit_us;
        }
    }
    let wild = random.below(2) == 0;
    let fixture = fixture::planned(&header);
    for trial in &header.plan.trials {
        let fate = random.below(10);
        let spread = if wild { 2.3 } else { 0.05 };
        let factor = (spread * (2.0 * random.fraction() - 1.0)).exp();
        let slower = (spread * (2.0 * random.fraction() - 1.0)).exp();
        end(&fixture, trial.id, |record| {
            if let Some(measurement) = &mut record.measurement {
                scaled(measurement, factor, slower);
                record.verdict = Some(judge(&header.study.qos, measurement));
            }
            match fate {
                0 => void(record),
                1 => failed(record),
                _ => {}
            }
        });
    }
    fixture
}

/// The same trial with so much more done, each request so much slower.
fn scaled(measurement: &mut Measurement, factor: f64, slower: f64) {
    let times = |latencies: &Latencies| {
        let mut all = Latencies::new();
        for (value_us, count) in latencies.buckets_us() {
            let value_us = (value_us as f64 * slower) as u64;
            (0..count).for_each(|_| all.record_us(value_us));
        }
        all
    };
    for guest in &mut measurement.guests {
        for operation in &mut guest.operations {
            operation.completed = ((operation.completed as f64 * factor) as u64).max(1);
            operation.succeeded = operation.completed;
            operation.started = operation.completed;
            operation.service = times(&operation.service);
            operation.response = times(&operation.response);
        }
    }
}

/// The number at the end of a text, its groups of digits taken together.
fn last_number(text: &str) -> Option<f64> {
    let text = text.trim_end();
    let begin = text
        .char_indices()
        .rev()
        .take_while(|(_, c)| c.is_ascii_digit() || matches!(c, '.' | '\u{a0}'))
        .last()?
        .0;
    text[begin..].replace('\u{a0}', "").parse().ok()
}

/// The number at the begin of a text.
fn first_number(text: &str) -> Option<f64> {
    let end = text
        .find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '\u{a0}')))
        .unwrap_or(text.len());
    text[..end].replace('\u{a0}', "").parse().ok()
}

/// Every `12.3 ± 4.5` and `12.3 (9.8 to 14.2)` of a text: the estimate and both ends.
fn intervals(text: &str) -> Vec<(f64, f64, f64)> {
    let mut found = Vec::new();
    for (at, mark) in text.match_indices(" ± ") {
        let half = first_number(&text[at + mark.len()..]);
        if let (Some(mean), Some(half)) = (last_number(&text[..at]), half) {
            found.push((mean, mean - half, mean + half));
        }
    }
    for (at, mark) in text.match_indices(" (") {
        let inside = text[at + mark.len()..]
            .split(')')
            .next()
            .unwrap_or_default();
        let Some((low, high)) = inside.split_once(" to ") else {
            continue;
        };
        let before = text[..at].trim_end_matches(" %");
        let ends = (first_number(low), first_number(high));
        if let (Some(mean), (Some(low), Some(high))) = (last_number(before), ends) {
            found.push((mean, low, high));
        }
    }
    found
}

#[test]
fn intervals_are_found_in_text() {
    let text = "it did 138\u{a0}000 ± 39\u{a0}000 orders/min, 91.8 % (89.9 to 93.7) of 1.00 (0.95 to \
                1.05 within)";
    assert_eq!(
        intervals(text),
        [
            (138_000.0, 99_000.0, 177_000.0),
            (91.8, 89.9, 93.7),
            (1.0, 0.95, 1.05)
        ]
    );
}

#[test]
fn no_report_says_what_cannot_be() {
    for (seed, factors) in (0..RUNS).flat_map(|seed| [(seed, false), (seed, true)]) {
        let text = super::terminal(&generated(seed, factors).store).expect("a report");
        for (mean, low, high) in intervals(&text) {
            assert!(
                low >= 0.0 && high - low <= WIDEST * mean + 0.2,
                "run {seed}: {mean} ({low} to {high})\n\n{text}"
            );
        }
        assert!(
            !text.contains("NaN") && !text.contains("inf"),
            "run {seed}:\n{text}"
        );
    }
}

#[test]
fn no_two_statements_of_a_report_contradict() {
    for seed in 0..RUNS {
        let fixture = generated(seed, false);
        let (run, analysis) = analysed(&fixture);
        let answer = answer::answer(&run, &analysis).join("\n");
        let missed = analysis.points.iter().any(|point| point.limits.failed > 0);
        assert!(
            !(missed && answer.contains("Limits were not reached")),
            "run {seed}: {answer}"
        );
        let rate = |id: u32| {
            let point = analysis.point(id).expect("a point");
            point.per_minute.expect("measured").mean
        };
        if let Some(best) = &analysis.best.within_limits {
            let point = analysis.point(best.point).expect("a point");
            assert!(point.limits.failed == 0 && answer.contains(&point.point.label));
            let better = analysis
                .points
                .iter()
                .filter(|other| other.limits.held() && other.per_minute.is_some())
                .find(|other| rate(other.point.id) > rate(best.point));
            assert!(better.is_none(), "run {seed}: {answer}");
        }
        // What a sentence compares is what the table says, and never beyond the limits.
        let table = tables::summary::throughput(&analysis);
        let column = table
            .heads
            .iter()
            .position(|head| head == "share of one big");
        for (row, point) in table.rows.iter().zip(&analysis.points) {
            let share = column.map_or("", |column| &row[column]);
            let compared =
                !share.is_empty() && answer.contains(&format!("{} {share},", point.point.label));
            assert!(
                !compared || point.limits.failed == 0,
                "run {seed}: {answer}"
            );
            let id = point.point.id;
            let mut others = analysis.points.iter().filter(|other| other.point.id != id);
            let is_baseline = others.any(|other| other.point.baseline == Some(id));
            assert_eq!(share == "baseline", is_baseline, "run {seed}");
        }
    }
}
