//! The answer in words. Every sentence follows from numbers of the run; nothing is said that was
//! not measured.

use rookery_analysis::{
    Analysis, Run,
    best::{LayoutBest, Leader},
    effects::{Compared, EffectMetric, Effects, Worth},
    layers::Limit,
    points::PointSummary,
};
use rookery_stats::Change;
use rookery_store::TrialStatus;

use super::{
    MOST_SENTENCES, baselines,
    effects::{name, verdict},
    format, layers, limits, searches,
};

/// What was found: the largest loads, what the factors are worth, the most within the limits and
/// what held it back, the other layouts, then the consolidation efficiencies.
pub(crate) fn answer(run: &Run, analysis: &Analysis) -> Vec<String> {
    let mut sentences = layers::sentences(&analysis.layers);
    if run.count(TrialStatus::Done) == 0 {
        sentences.push("This run gives no answer: no trial ended well.".to_owned());
        return sentences;
    }
    let limits = limits::of_run(run);
    sentences.extend(searches::sentences(analysis));
    if analysis.points.is_empty() {
        sentences.extend(limits.map(|limits| format!("The limits: {limits}.")));
        return sentences;
    }
    sentences.extend(caveat(run));
    sentences.extend(worths(&analysis.effects, analysis.workload.unit));
    sentences.extend(best(analysis, limits.as_deref()));
    // What a layout carries at most, its search says better than its points.
    let layouts = &analysis.best.layouts;
    if layouts.len() > 1 && analysis.searches.is_empty() {
        let sentence = |layout| best_of_layout(analysis, layout, limits.is_some());
        sentences.extend(layouts.iter().map(sentence));
    }
    sentences.extend(efficiencies(&analysis.points));
    sentences.extend(baselines::sentences(analysis));
    sentences
}

/// Why the figures mean nothing beyond this run, where the data of a point is too small for them.
fn caveat(run: &Run) -> Option<String> {
    run.header
        .plan
        .study_points()
        .flat_map(|point| &point.groups)
        .find_map(|group| group.database.caveat())
}

/// What every level is worth over all layouts; of many the largest effects alone.
fn worths(effects: &Effects, unit: &str) -> Vec<String> {
    let size = |worth: &Worth| {
        let ratios = worth.compared.iter().filter_map(|compared| compared.effect);
        ratios
            .map(|effect| effect.ratio.ln().abs())
            .fold(0.0, f64::max)
    };
    let mut all: Vec<&Worth> = effects.overall.iter().collect();
    let count = all.len();
    if count > MOST_SENTENCES {
        all.sort_by(|a, b| size(b).total_cmp(&size(a)));
        all.truncate(MOST_SENTENCES);
    }
    let mut sentences: Vec<String> = all.into_iter().map(|effect| worth(effect, unit)).collect();
    if count > MOST_SENTENCES {
        sentences.push(format!(
            "These are the {MOST_SENTENCES} largest of {count} effects; the table has all."
        ));
    }
    sentences
}

/// `stack.tuning = pureflex` against `stock`: +23 % orders/min (18 % to 28 %), better; ...
fn worth(worth: &Worth, unit: &str) -> String {
    if worth
        .compared
        .iter()
        .all(|compared| compared.effect.is_none())
    {
        return format!(
            "{}: no good trials are left that could be compared.",
            name(worth)
        );
    }
    let parts: Vec<String> = worth
        .compared
        .iter()
        .map(|compared| part(compared, unit))
        .collect();
    format!("{}: {}.", name(worth), parts.join("; "))
}

fn part(compared: &Compared, unit: &str) -> String {
    let name = compared.metric.name(unit);
    let Some(effect) = compared.effect else {
        return format!("no {name} to be compared");
    };
    let change = format!("{} %", format::signed(effect.ratio - 1.0));
    let interval = effect.interval.map_or_else(String::new, |(low, high)| {
        format!(
            " ({} to {} %)",
            format::signed(low - 1.0),
            format::signed(high - 1.0)
        )
    });
    match compared.change {
        Change::NoEffectSeen { less_than } => format!(
            "no effect on {name} seen (less than {} %)",
            format::few(100.0 * less_than)
        ),
        Change::Better | Change::Worse if compared.metric == EffectMetric::Throughput => {
            format!("{change} {name}{interval}")
        }
        _ => format!("{change} {name}{interval}, {}", verdict(compared)),
    }
}

/// Every consolidation efficiency; of many the lowest and the highest alone, for who reads forty
/// sentences?
fn efficiencies(points: &[PointSummary]) -> Vec<String> {
    let mut compared: Vec<(f64, String)> = points
        .iter()
        .filter_map(|summary| Some((summary.efficiency?.value, efficiency(points, summary)?)))
        .collect();
    let count = compared.len();
    if count > MOST_SENTENCES {
        compared.sort_by(|a, b| a.0.total_cmp(&b.0));
        compared.drain(1..count - 1);
        let all = format!(
            "These are the lowest and the highest of {count} consolidation efficiencies; the table \
             has all."
        );
        compared.push((f64::NAN, all));
    }
    compared.into_iter().map(|(_, sentence)| sentence).collect()
}

/// The sentence to be read first, and what limited the point that it names.
///
/// Where loads were searched too, it says that it speaks of the points alone.
fn best(analysis: &Analysis, limits: Option<&str>) -> Vec<String> {
    let (highest_was, most_was) = if analysis.searches.is_empty() {
        (
            "The highest throughput was",
            "The most within the limits was",
        )
    } else {
        (
            "Among the points of the study the highest throughput was",
            "Among the points of the study the most within the limits was",
        )
    };
    let Some(highest) = &analysis.best.highest else {
        return Vec::new();
    };
    let sentence = match (limits, &analysis.best.within_limits) {
        (None, _) => format!(
            "{} The study sets no limits.",
            leading(highest_was, highest, analysis)
        ),
        (Some(limits), Some(best)) => {
            let sentence = format!(
                "{} The limits: {limits}.",
                leading(most_was, best, analysis)
            );
            return with_limit(sentence, best, analysis);
        }
        (Some(limits), None) => {
            let broken = |summary: &PointSummary| summary.limits.failed > 0;
            let why = if analysis.points.iter().any(broken) {
                "No point met the limits"
            } else {
                "No point could be judged, with too few operations in the window"
            };
            format!(
                "{why}. The limits: {limits}. {}",
                leading(highest_was, highest, analysis)
            )
        }
    };
    with_limit(sentence, highest, analysis)
}

/// A sentence on a leader, and what limited it.
fn with_limit(sentence: String, leader: &Leader, analysis: &Analysis) -> Vec<String> {
    let limited = analysis.point(leader.point).map(limited_by);
    std::iter::once(sentence).chain(limited).collect()
}

/// Names the point with the highest mean, unless the repeats cannot tell it from the next: then
/// both.
fn leading(words: &str, leader: &Leader, analysis: &Analysis) -> String {
    let carried = analysis
        .point(leader.point)
        .map_or_else(String::new, carried);
    let Some(next) = leader.alike.first().and_then(|id| analysis.point(*id)) else {
        let next = leader.untold.first().and_then(|id| analysis.point(*id));
        let remark = next.map_or_else(String::new, |next| {
            format!(
                " Too few repeats tell whether that is more than with {}.",
                next.point.label
            )
        });
        return format!("{words} {carried}.{remark}");
    };
    let more = match leader.alike.len() - 1 {
        0 => String::new(),
        more => format!(", nor to {more} more"),
    };
    format!(
        "{words} {carried} or {} with {}: no difference can be told between the two{more}.",
        format::or_none(next.per_minute.as_ref(), format::mean),
        next.point.label,
    )
}

/// What held a point back, as far as it was measured: the CPU of its guests, its load, or neither.
fn limited_by(summary: &PointSummary) -> String {
    let capacity = summary.point.capacity_cpus;
    let cores = format::or_none(summary.guest_cores, |cores| {
        let noun = if capacity == 1.0 { "core" } else { "cores" };
        format!("{:.2} of {} {noun}", cores.mean, format::trimmed(capacity))
    });
    let met = format::or_none(summary.demand_met, format::percent);
    let (open, people) = (summary.point.rate_per_s.is_some(), summary.point.clients);
    let units = summary.units;
    match (summary.limited_by, summary.demand_met) {
        (Some(Limit::OfferedLoad), _) if open => format!(
            "What limited it: its arrivals. {met} of the {units} that they asked for were made, and \
             the guests used {cores}: only more arrivals \
             can show how much it carries."
        ),
        (Some(Limit::Cpu), _) => {
            format!("What limited it: the CPU of the guests, which used {cores}.")
        }
        (Some(Limit::OfferedLoad), _) => format!(
            "What limited it: its {people}. They got {met} of what they could ask for with answers \
             in no time, and the guests used {cores}: \
             only more {people} can show how much it carries."
        ),
        _ if open => format!(
            "What limited it is neither the CPU of the guests ({cores}) nor the rate of arrivals \
             ({met} of the {units} that they asked for were \
             made): what is left is waiting, for commits to the disk, for locks, or for CPUs that \
             others held."
        ),
        (_, None) => format!(
            "What limited it is not the CPU of the guests ({cores}), and {people} did not pause: \
             what is left is waiting, for commits to the disk, \
             for pages from it, for locks, or for CPUs that others held."
        ),
        _ => format!(
            "What limited it is neither the CPU of the guests ({cores}) nor the think time of the \
             {people} (they got {met} of what they could \
             ask for): what is left is waiting, for commits to the disk, for locks, or for CPUs \
             that others held."
        ),
    }
}

fn best_of_layout(analysis: &Analysis, best: &LayoutBest, limits: bool) -> String {
    let name = &best.layout;
    let Some(highest) = best.highest.and_then(|id| analysis.point(id)) else {
        return format!("{name}: no good trial.");
    };
    if !limits {
        return format!("{name}: at most {}.", carried(highest));
    }
    match best.within_limits.and_then(|id| analysis.point(id)) {
        Some(best) => format!("{name}: within the limits at most {}.", carried(best)),
        None if highest.limits.failed == 0 => format!("{name}: {}, not judged.", carried(highest)),
        None => format!(
            "{name}: no point met the limits; outside them at most {}.",
            carried(highest)
        ),
    }
}

fn carried(summary: &PointSummary) -> String {
    let orders = format::or_none(summary.per_minute.as_ref(), format::mean);
    format!(
        "{orders} {} with {}{}",
        summary.rate,
        summary.point.label,
        repeats(summary)
    )
}

fn repeats(summary: &PointSummary) -> String {
    summary.per_minute.map_or_else(String::new, |orders| {
        format!(" ({})", format::basis(orders.basis))
    })
}

fn efficiency(points: &[PointSummary], summary: &PointSummary) -> Option<String> {
    let ratio = summary.efficiency?;
    let baseline = points
        .iter()
        .find(|other| Some(other.point.id) == summary.point.baseline)?;
    let orders = |summary: &PointSummary| {
        format::or_none(summary.per_minute, |orders| format::number(orders.mean))
    };
    let judgement = match ratio.interval {
        None => "there are too few repeats for an interval",
        Some((_, high)) if high < 1.0 => "less, with 95 % confidence",
        Some((low, _)) if low > 1.0 => "more, with 95 % confidence",
        Some(_) => "no difference can be told at this number of repeats",
    };
    let interval = ratio.interval.map_or_else(String::new, |(low, high)| {
        format!(
            " (95 % interval {:.1} to {:.1} %)",
            100.0 * low,
            100.0 * high
        )
    });
    let unsaturated = [summary, baseline].iter().all(|side| side.kept_up());
    let hint = match (unsaturated, summary.point.rate_per_s) {
        (true, Some(_)) => {
            " Both kept up with the arrivals, so this compares them at a load that both carried, \
             not at their capacity."
                .to_owned()
        }
        (true, None) => format!(
            " Both answered so fast that the {} set the pace, so this compares them at a load that \
             both carried, not at their capacity.",
            summary.point.clients
        ),
        (false, _) => String::new(),
    };
    Some(format!(
        "Consolidation efficiency: {} carried {}{interval} of the throughput of {}, {} against {} \
         {}: {judgement}.{hint}",
        summary.point.label,
        format::percent(ratio.value),
        baseline.point.label,
        orders(summary),
        orders(baseline),
        summary.rate,
    ))
}
