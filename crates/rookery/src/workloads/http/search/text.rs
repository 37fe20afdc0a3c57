//! What a search found, for people and as JSON.

use rookery_model::search::{Ending, Outcome};
use rookery_text::{Table, wrapped};
use serde_json::{Value, json};

use super::{
    begin::Begin,
    found::{Found, Probed},
};
use crate::output::printable;

/// One line for a probe that has ended.
pub(super) fn progress(probed: &Probed, begin: Begin, rate: &str) -> String {
    format!(
        "{} {}: {}, {:.0} {rate}",
        load(probed.probe.load),
        begin.unit(),
        outcome(probed),
        probed.per_minute
    )
}

/// What came of a probe, with the value that was nearest to its limit.
fn outcome(probed: &Probed) -> String {
    let binding = match &probed.binding {
        Some((rule, share)) if share.is_finite() => {
            format!(" ({rule}: {:.0} % of it)", 100.0 * share)
        }
        _ => String::new(),
    };
    match &probed.outcome {
        Outcome::Pass => format!("kept{binding}"),
        Outcome::Fail { rule } => match &probed.binding {
            Some((_, share)) if share.is_finite() => format!("broke{binding}"),
            _ => format!("broke {}", printable(rule)),
        },
        Outcome::Invalid { reason } => format!("void: {}", printable(reason)),
    }
}

/// A load with as many digits as matter.
fn load(load: f64) -> String {
    if load.fract() == 0.0 || load >= 1_000.0 {
        format!("{load:.0}")
    } else {
        format!("{load:.2}")
    }
}

/// The summary in lines of `width`.
pub(super) fn text(found: &Found, width: usize) -> String {
    let unit = found.begin.unit();
    let mut lines = vec![format!("limits: {}", found.limits.join(", "))];
    lines.push(largest(found));
    if let Some((broken, rule)) = found.broke() {
        lines.push(format!(
            "smallest that broke one: {} {unit} ({})",
            load(broken),
            printable(rule)
        ));
    }
    let (low, high) = found.answer.interval;
    let end = |end: Option<f64>, open: &str| end.map_or_else(|| open.to_owned(), load);
    if !found.probed.is_empty() {
        lines.push(format!(
            "the edge, which half of the runs keep: {} to {} {unit} (95 %)",
            end(low, "below the range"),
            end(high, "above the range")
        ));
    }
    lines.push(format!(
        "{} runs in {:.0} s; {}",
        found.probed.len(),
        found.took.as_secs_f64(),
        ending(found)
    ));
    let rows = found.probed.iter().map(row);
    let heads = [unit, "for", "outcome", "nearest limit", found.rate];
    let table = Table::new(heads.map(str::to_owned).to_vec(), rows.collect());
    format!(
        "{}\n\n{}",
        wrapped(&lines.join("\n"), width),
        table.render(width)
    )
}

fn row(probed: &Probed) -> Vec<String> {
    let outcome = match &probed.outcome {
        Outcome::Pass => "kept".to_owned(),
        Outcome::Fail { .. } => "broke".to_owned(),
        Outcome::Invalid { .. } => "void".to_owned(),
    };
    let nearest = match (&probed.outcome, &probed.binding) {
        (Outcome::Invalid { reason }, _) => printable(reason),
        (_, Some((rule, share))) if share.is_finite() => {
            format!("{} ({:.0} %)", printable(rule), 100.0 * share)
        }
        (Outcome::Fail { rule }, _) => printable(rule),
        _ => "n/a".to_owned(),
    };
    vec![
        load(probed.probe.load),
        probed.probe.purpose.name().to_owned(),
        outcome,
        nearest,
        format!("{:.0}", probed.per_minute),
    ]
}

/// The largest load that full runs confirmed. Without these it is the largest of a run that kept
/// the limits: what the search guesses beyond its runs was measured by none.
fn largest(found: &Found) -> String {
    let unit = found.begin.unit();
    let with_rate = |rate: Option<f64>| {
        rate.map_or_else(String::new, |rate| format!(", {rate:.0} {}", found.rate))
    };
    if let Some(largest) = found.answer.load.filter(|_| found.answer.confirmed) {
        return format!(
            "largest load that kept them: {} {unit}{} (confirmed by full runs)",
            load(largest),
            with_rate(found.per_minute())
        );
    }
    let kept = found
        .probed
        .iter()
        .filter(|one| one.outcome == Outcome::Pass);
    let Some(largest) = kept.max_by(|a, b| a.probe.load.total_cmp(&b.probe.load)) else {
        return "no load is known to keep them".to_owned();
    };
    format!(
        "largest load of a run that kept them: {} {unit}{} (not confirmed)",
        load(largest.probe.load),
        with_rate(Some(largest.per_minute))
    )
}

fn ending(found: &Found) -> String {
    match &found.answer.ending {
        _ if found.time_over => "ended as --search-time was over".to_owned(),
        Ending::Found => "found".to_owned(),
        Ending::Budget => "ended as --search-time was over".to_owned(),
        Ending::NothingPasses => "even the smallest load breaks a limit".to_owned(),
        Ending::EverythingPasses => {
            "even the largest load is kept: search further with --most".to_owned()
        }
        Ending::Invalid { load: at, reason } => {
            format!(
                "runs at {} were void again and again: {}",
                load(*at),
                printable(reason)
            )
        }
        Ending::Interrupted => "interrupted".to_owned(),
    }
}

/// The same as JSON.
pub(super) fn json(found: &Found) -> Value {
    let answer = &found.answer;
    let probes = found.probed.iter().map(|probed| {
        let (outcome, why) = match &probed.outcome {
            Outcome::Pass => ("kept", None),
            Outcome::Fail { rule } => ("broke", Some(rule)),
            Outcome::Invalid { reason } => ("void", Some(reason)),
        };
        json!({
            "load": probed.probe.load,
            "purpose": probed.probe.purpose.name(),
            "outcome": outcome,
            "why": why,
            "share_of_limit": probed.binding.as_ref().map(|(_, share)| *share),
            "per_minute": probed.per_minute,
        })
    });
    json!({
        "limits": found.limits,
        "unit": found.begin.unit(),
        "load": answer.load,
        "confirmed": answer.confirmed,
        "per_minute": found.per_minute(),
        "broke": found.broke().map(|(load, rule)| json!({"load": load, "rule": rule})),
        "interval": [answer.interval.0, answer.interval.1],
        "ending": ending(found),
        "seconds": found.took.as_secs_f64(),
        "probes": probes.collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rookery_model::search::{Answer, Goal, Probe, Purpose};

    use super::*;

    fn probed(load: f64, purpose: Purpose, outcome: Outcome, share: f64) -> Probed {
        Probed {
            probe: Probe {
                load,
                purpose,
                attempt: 0,
            },
            outcome,
            per_minute: 60.0 * load,
            binding: Some(("http://127.0.0.1 search p95 <= 200 ms".to_owned(), share)),
        }
    }

    #[test]
    fn a_summary_fits_80_columns() {
        let fail = || Outcome::Fail {
            rule: "search p95 <= 200 ms".to_owned(),
        };
        let all = vec![
            probed(10.0, Purpose::Approach, Outcome::Pass, 0.5),
            probed(40.0, Purpose::Approach, fail(), f64::INFINITY),
            probed(36.0, Purpose::Confirm, Outcome::Pass, 0.97),
            probed(38.0, Purpose::Above, fail(), 1.3),
        ];
        let found = Found {
            begin: Begin::Users(10.0),
            limits: vec!["p95 <= 200 ms".to_owned(), "errors <= 1 %".to_owned()],
            rate: "pages/min",
            answer: Answer {
                goal: Goal::Largest,
                load: Some(36.0),
                confirmed: true,
                knee: 37.0,
                interval: (Some(35.0), None),
                blur: 0.1,
                binding: Some("search p95 <= 200 ms".to_owned()),
                probes: all
                    .iter()
                    .map(|one| (one.probe, one.outcome.clone()))
                    .collect(),
                ending: Ending::Found,
            },
            probed: all,
            took: Duration::from_secs(123),
            time_over: false,
        };
        let text = text(&found, 80);
        assert!(
            text.lines().all(|line| line.chars().count() <= 80),
            "{text}"
        );
        insta::assert_snapshot!(text);
        assert_eq!(json(&found)["broke"]["load"], 38.0);

        // A guess between runs is no load that kept the limits.
        let guessed = Found {
            answer: Answer {
                load: Some(37.4),
                confirmed: false,
                ..found.answer.clone()
            },
            ..found
        };
        let expected = "largest load of a run that kept them: 36 users, 2160 pages/min (not \
                        confirmed)";
        assert_eq!(largest(&guessed), expected);
    }
}
