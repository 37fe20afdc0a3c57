//! The answer in words. Every sentence follows from numbers of the run; nothing is said that was not measured.

use rookery_stats::qos::{Limited, Qos, RuleResult};
use rookery_store::TrialStatus;

use crate::{PointSummary, Run, format};

/// Throughput above this share of what the users could ask for means that the users, not the guests, set the pace.
const UNSATURATED: f64 = 0.9;

/// The limits in words: `p95 of every request within 250 ms, errors at most 0.1 %`.
pub(crate) fn limits(qos: &Qos) -> Option<String> {
    let mut parts: Vec<String> = qos
        .percentiles
        .iter()
        .map(|limit| {
            let of = limit
                .operation
                .as_deref()
                .map_or("every request".to_owned(), |name| format!("`{name}`"));
            format!(
                "p{} of {of} within {} ms",
                limit.percentile,
                format::trimmed(limit.limit_us as f64 / 1000.0)
            )
        })
        .collect();
    parts.extend(
        qos.error_ratio
            .map(|ratio| format!("errors at most {} %", format::trimmed(100.0 * ratio))),
    );
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// The measured value of a rule with its unit.
pub(crate) fn rule_value(rule: &RuleResult) -> String {
    match (rule.limited, rule.value) {
        (_, None) if rule.load().is_some() => "not finished at the end".to_owned(),
        (_, None) => format::NONE.to_owned(),
        (Limited::Percentile(_), Some(us)) => format::ms(us),
        (Limited::ErrorRatio, Some(share)) => format::percent(share),
    }
}

/// What was found, at best: the most within the limits, layout by layout, then the consolidation efficiencies.
pub(crate) fn answer(run: &Run, points: &[PointSummary]) -> Vec<String> {
    if run.count(TrialStatus::Done) == 0 {
        return vec!["This run gives no answer: no trial ended well.".to_owned()];
    }
    let limits = limits(&run.header.study.qos);
    let mut sentences = vec![match &limits {
        Some(limits) => format!("The limits: {limits}."),
        None => "The study sets no limits.".to_owned(),
    }];
    for layout in &run.header.study.layouts {
        let own: Vec<&PointSummary> = points
            .iter()
            .filter(|summary| summary.point.layouts.contains(&layout.name))
            .collect();
        sentences.push(best_of_layout(&layout.name, &own, limits.is_some()));
    }
    for summary in points {
        sentences.extend(efficiency(points, summary));
    }
    sentences
}

fn best_of_layout(name: &str, points: &[&PointSummary], limits: bool) -> String {
    let measured: Vec<&PointSummary> = points
        .iter()
        .copied()
        .filter(|summary| summary.orders_per_minute.is_some())
        .collect();
    let Some(highest) = highest(&measured) else {
        return format!("{name}: nothing was measured.");
    };
    if !limits {
        return format!("{name}: the highest throughput was {}.", carried(highest));
    }
    let within: Vec<&PointSummary> = measured.iter().copied().filter(|summary| summary.qos.held()).collect();
    match self::highest(&within) {
        Some(best) => format!("{name}: within the limits the most carried was {}.", carried(best)),
        None => {
            let outside = carried(highest);
            format!("{name}: no point kept the limits; the highest throughput, outside them, was {outside}.")
        }
    }
}

fn highest<'a>(points: &[&'a PointSummary]) -> Option<&'a PointSummary> {
    let throughput = |summary: &PointSummary| summary.orders_per_minute.map_or(0.0, |orders| orders.mean);
    points.iter().copied().max_by(|a, b| throughput(a).total_cmp(&throughput(b)))
}

fn carried(summary: &PointSummary) -> String {
    let orders = format::or_none(summary.orders_per_minute.as_ref(), format::summary);
    format!("{orders} orders/min with {}{}", summary.point.label(), repeats(summary))
}

fn repeats(summary: &PointSummary) -> String {
    match summary.done {
        1 => " (a single trial)".to_owned(),
        2 => " (mean and range of 2 trials)".to_owned(),
        n => format!(" (mean and 95 % interval of {n} trials)"),
    }
}

fn efficiency(points: &[PointSummary], summary: &PointSummary) -> Option<String> {
    let ratio = summary.efficiency?;
    let baseline = points.iter().find(|other| Some(other.point.id) == summary.point.baseline)?;
    let orders = |summary: &PointSummary| format::or_none(summary.orders_per_minute, |orders| format::number(orders.mean));
    let judgement = match ratio.interval {
        None => "there are too few repeats for an interval",
        Some((_, high)) if high < 1.0 => "less, with 95 % confidence",
        Some((low, _)) if low > 1.0 => "more, with 95 % confidence",
        Some(_) => "no difference can be told at this number of repeats",
    };
    let interval = ratio.interval.map_or_else(String::new, |(low, high)| {
        format!(" (95 % interval {:.1} to {:.1} %)", 100.0 * low, 100.0 * high)
    });
    let unsaturated = [summary, baseline]
        .iter()
        .all(|side| side.demand_met.is_some_and(|met| met >= UNSATURATED));
    let hint = if unsaturated {
        " Both answered so fast that the users set the pace, so this compares them at a load that both carried, not at their capacity."
    } else {
        ""
    };
    Some(format!(
        "Consolidation efficiency: {} carried {}{interval} of the throughput of {}, {} against {} orders/min: {judgement}.{hint}",
        summary.point.label(),
        format::percent(ratio.value),
        baseline.point.label(),
        orders(summary),
        orders(baseline),
    ))
}

/// What did not hold, and what must be known.
pub(crate) fn caveats(run: &Run, points: &[PointSummary]) -> Vec<String> {
    let mut all = Vec::new();
    for summary in points {
        if let Some(broken) = &summary.broken {
            all.push(format!(
                "{}: limits {}; worst: {broken}.",
                summary.point.label(),
                summary.qos.words()
            ));
        }
        if summary.done == 1 {
            all.push(format!(
                "{}: a single good trial; its numbers carry no spread.",
                summary.point.label()
            ));
        }
        if summary.done == 0 {
            all.push(format!("{}: no good trial, so nothing is said of it.", summary.point.label()));
        }
    }
    let counts = [
        (TrialStatus::Void, "void: own checks failed; kept with the reason, in no average"),
        (TrialStatus::Failed, "failed: kept with the reason"),
        (TrialStatus::Running, "unfinished: begun, and never ended"),
        (TrialStatus::Planned, "not run: this report is of a part of the study"),
    ];
    for (status, meaning) in counts {
        match run.count(status) {
            0 => {}
            count => all.push(format!("{} {meaning}.", format::counted(count, "trial"))),
        }
    }
    let interrupted = run
        .attempts
        .iter()
        .filter(|attempt| attempt.end.as_deref() == Some("interrupted"))
        .count();
    if interrupted > 0 {
        all.push(format!(
            "The run was interrupted and resumed: {} repeated.",
            format::counted(interrupted, "attempt")
        ));
    }
    all.extend(audit_caveats(run));
    all.extend(marginal_caveat(run));
    all
}

fn audit_caveats(run: &Run) -> Vec<String> {
    let records = run
        .trials
        .iter()
        .filter_map(|trial| trial.record.as_ref().map(|record| (trial, record)));
    let inconsistent = records.flat_map(|(trial, record)| {
        record
            .audits
            .iter()
            .filter(|audit| !audit.consistent)
            .map(move |audit| (trial, audit))
    });
    inconsistent
        .map(|(trial, audit)| {
            format!(
                "Trial {}, guest {}: {} orders in the database against {} acknowledged.",
                trial.row.trial.id, audit.guest, audit.orders_in_database, audit.orders_acknowledged
            )
        })
        .collect()
}

fn marginal_caveat(run: &Run) -> Option<String> {
    let verdicts = run.trials.iter().filter_map(|trial| trial.valid()?.0.verdict.as_ref());
    let near = verdicts
        .filter(|verdict| verdict.binding_rule().is_some_and(|rule| rule.marginal))
        .count();
    (near > 0).then(|| {
        format!(
            "In {} the deciding value lies so near its limit that chance may have decided.",
            format::counted(near, "trial")
        )
    })
}
