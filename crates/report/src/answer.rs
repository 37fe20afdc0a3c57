//! The answer in words. Every sentence follows from numbers of the run; nothing is said that was not measured.

use rookery_judge::trust::{CheckRemark, Checked};
use rookery_stats::{
    Change, Contrast, Design, Observation, Ratio,
    checks::Matter,
    effect,
    qos::{Limited, Qos, RuleResult},
};
use rookery_store::TrialStatus;

use crate::{
    Effects, Metric, PointSummary, Run,
    effects::Worth,
    format,
    searches::{self, Searched},
};

/// Throughput above this share of what the users could ask for means that the users, not the guests, set the pace.
const UNSATURATED: f64 = 0.9;

/// Arrivals that do not wait are a backlog where fewer of their orders are made.
const KEPT_UP: f64 = 0.98;

/// Guests that use more than this share of the CPU they may use are limited by it.
const SATURATED: f64 = 0.9;

/// More sentences of a kind than this are summed up.
const MOST_SENTENCES: usize = 6;

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

/// What was found: the largest loads, what the factors are worth, the most within the limits and what held it back, the other layouts, then
/// the consolidation efficiencies.
pub(crate) fn answer(
    run: &Run,
    points: &[PointSummary],
    effects: &Effects,
    searched: &[Searched],
) -> Vec<String> {
    if run.count(TrialStatus::Done) == 0 {
        return vec!["This run gives no answer: no trial ended well.".to_owned()];
    }
    let limits = limits(&run.header.study.qos);
    let measured: Vec<&PointSummary> = points
        .iter()
        .filter(|summary| summary.orders_per_minute.is_some())
        .collect();
    let mut sentences = searches::sentences(searched);
    if points.is_empty() {
        sentences.extend(limits.map(|limits| format!("The limits: {limits}.")));
        return sentences;
    }
    sentences.extend(worths(effects));
    sentences.extend(best(&measured, limits.as_deref(), !searched.is_empty()));
    let layouts = &run.header.study.layouts;
    // What a layout carries at most, its search says better than its points.
    for layout in layouts
        .iter()
        .filter(|_| layouts.len() > 1 && searched.is_empty())
    {
        let own = |summary: &&&PointSummary| summary.point.layouts.contains(&layout.name);
        let own: Vec<&PointSummary> = measured.iter().filter(own).copied().collect();
        sentences.push(best_of_layout(&layout.name, &own, limits.is_some()));
    }
    sentences.extend(efficiencies(points));
    sentences
}

/// What every level is worth over all layouts; of many the largest effects alone.
fn worths(effects: &Effects) -> Vec<String> {
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
    let mut sentences: Vec<String> = all.into_iter().map(worth).collect();
    if count > MOST_SENTENCES {
        sentences.push(format!(
            "These are the {MOST_SENTENCES} largest of {count} effects; the table has all."
        ));
    }
    sentences
}

/// `stack.tuning = pureflex` against `stock`: +23 % orders/min (18 % to 28 %), better; ...
fn worth(worth: &Worth) -> String {
    if worth
        .compared
        .iter()
        .all(|compared| compared.effect.is_none())
    {
        return format!(
            "{}: no good trials are left that could be compared.",
            worth.name()
        );
    }
    let parts: Vec<String> = worth.compared.iter().map(part).collect();
    format!("{}: {}.", worth.name(), parts.join("; "))
}

fn part(compared: &crate::Compared) -> String {
    let name = compared.metric.name();
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
        Change::Better | Change::Worse if compared.metric == Metric::Throughput => {
            format!("{change} {name}{interval}")
        }
        _ => format!("{change} {name}{interval}, {}", compared.verdict()),
    }
}

/// Every consolidation efficiency; of many the lowest and the highest alone, for who reads forty sentences?
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
            "These are the lowest and the highest of {count} consolidation efficiencies; the table has all."
        );
        compared.push((f64::NAN, all));
    }
    compared.into_iter().map(|(_, sentence)| sentence).collect()
}

/// The sentence to be read first, and what limited the point that it names.
///
/// Where loads were searched too, it says that it speaks of the points alone.
fn best(measured: &[&PointSummary], limits: Option<&str>, searched: bool) -> Vec<String> {
    let (highest_was, most_was) = if searched {
        (
            "Among the points of the study the highest throughput was",
            "Among the points of the study the most within the limits was",
        )
    } else {
        (
            "The highest throughput was",
            "The most within the limits was",
        )
    };
    let Some(highest) = highest(measured) else {
        return Vec::new();
    };
    let Some(limits) = limits else {
        return vec![
            format!(
                "{} The study sets no limits.",
                leading(highest_was, highest, measured)
            ),
            limited_by(highest),
        ];
    };
    let within: Vec<&PointSummary> = measured
        .iter()
        .copied()
        .filter(|summary| summary.qos.held())
        .collect();
    match self::highest(&within) {
        Some(best) => vec![
            format!("{} The limits: {limits}.", leading(most_was, best, &within)),
            limited_by(best),
        ],
        None => {
            let why = if measured.iter().any(|summary| summary.qos.failed > 0) {
                "No point kept the limits"
            } else {
                "No point could be judged, with too few operations in the window"
            };
            vec![
                format!(
                    "{why}. The limits: {limits}. {}",
                    leading(highest_was, highest, measured)
                ),
                limited_by(highest),
            ]
        }
    }
}

/// Names the point with the highest mean, unless the repeats cannot tell it from the next: then both.
fn leading(words: &str, best: &PointSummary, among: &[&PointSummary]) -> String {
    let others: Vec<&PointSummary> = among
        .iter()
        .copied()
        .filter(|other| other.point.id != best.point.id)
        .collect();
    let alike: Vec<&PointSummary> = others
        .iter()
        .copied()
        .filter(|other| differ(best, other) == Some(false))
        .collect();
    let Some(next) = highest(&alike) else {
        let untold = highest(&others).filter(|next| differ(best, next).is_none());
        let remark = untold.map_or_else(String::new, |next| {
            format!(
                " Too few repeats tell whether that is more than with {}.",
                next.point.label()
            )
        });
        return format!("{words} {}.{remark}", carried(best));
    };
    let more = match alike.len() - 1 {
        0 => String::new(),
        more => format!(", nor to {more} more"),
    };
    format!(
        "{words} {} or {} with {}: no difference can be told between the two{more}.",
        carried(best),
        format::or_none(next.orders_per_minute.as_ref(), format::mean),
        next.point.label(),
    )
}

/// Whether the throughputs of two points differ; `None` where the repeats do not tell. Trials of common blocks are compared in pairs.
fn differ(one: &PointSummary, other: &PointSummary) -> Option<bool> {
    let of = |summary: &PointSummary, level: u32| -> Vec<Observation> {
        let trials = summary
            .trial_blocks
            .iter()
            .zip(&summary.trial_orders_per_minute);
        trials
            .map(|(block, value)| Observation {
                block: *block,
                stratum: 0,
                levels: vec![level],
                value: *value,
            })
            .collect()
    };
    let shared = one
        .trial_blocks
        .iter()
        .filter(|block| other.trial_blocks.contains(block))
        .count();
    if shared >= 2 {
        let both: Vec<Observation> = of(other, 0).into_iter().chain(of(one, 1)).collect();
        let contrast = Contrast {
            factor: 0,
            reference: 0,
            level: 1,
        };
        let found = effect(&both, &Design::new([vec![0], vec![1]]), contrast)?;
        return found.interval.map(|_| found.excludes_one());
    }
    let (low, high) =
        Ratio::of(&one.trial_orders_per_minute, &other.trial_orders_per_minute)?.interval?;
    Some(low > 1.0 || high < 1.0)
}

/// Whether all that was asked for was done: the load, not the guests, set the pace.
fn kept_up(summary: &PointSummary) -> bool {
    let enough = if summary.point.rate_per_s.is_some() {
        KEPT_UP
    } else {
        UNSATURATED
    };
    summary.demand_met.is_some_and(|met| met >= enough)
}

/// What held a point back, as far as it was measured: the CPU of its guests, its own users, or neither.
fn limited_by(summary: &PointSummary) -> String {
    let capacity = summary.point.capacity_cpus;
    let busy = summary
        .guest_cores
        .map(|cores| cores.mean / capacity)
        .filter(|busy| busy.is_finite());
    let cores = format::or_none(summary.guest_cores, |cores| {
        let noun = if capacity == 1.0 { "core" } else { "cores" };
        format!("{:.2} of {} {noun}", cores.mean, format::trimmed(capacity))
    });
    let met = format::or_none(summary.demand_met, format::percent);
    let (open, people) = (summary.point.rate_per_s.is_some(), summary.point.people());
    match (busy, summary.demand_met) {
        (_, Some(_)) if open && kept_up(summary) => format!(
            "What limited it: its arrivals. {met} of the orders that they asked for were made, and the guests used {cores}: only more arrivals \
             can show how much it carries."
        ),
        (Some(busy), _) if busy >= SATURATED => {
            format!("What limited it: the CPU of the guests, which used {cores}.")
        }
        (_, Some(_)) if kept_up(summary) => format!(
            "What limited it: its {people}. They got {met} of what they could ask for with answers in no time, and the guests used {cores}: \
             only more {people} can show how much it carries."
        ),
        _ if open => format!(
            "What limited it is neither the CPU of the guests ({cores}) nor the rate of arrivals ({met} of the orders that they asked for were \
             made): what is left is waiting, for commits to the disk, for locks, or for CPUs that others held."
        ),
        (_, None) => format!(
            "What limited it is not the CPU of the guests ({cores}), and {people} did not pause: what is left is waiting, for commits to the disk, \
             for pages from it, for locks, or for CPUs that others held."
        ),
        _ => format!(
            "What limited it is neither the CPU of the guests ({cores}) nor the think time of the {people} (they got {met} of what they could \
             ask for): what is left is waiting, for commits to the disk, for locks, or for CPUs that others held."
        ),
    }
}

fn best_of_layout(name: &str, measured: &[&PointSummary], limits: bool) -> String {
    let Some(highest) = highest(measured) else {
        return format!("{name}: no good trial.");
    };
    if !limits {
        return format!("{name}: at most {}.", carried(highest));
    }
    let within: Vec<&PointSummary> = measured
        .iter()
        .copied()
        .filter(|summary| summary.qos.held())
        .collect();
    match self::highest(&within) {
        Some(best) => format!("{name}: within the limits at most {}.", carried(best)),
        None if highest.qos.failed == 0 => format!("{name}: {}, not judged.", carried(highest)),
        None => format!(
            "{name}: no point kept the limits; outside them at most {}.",
            carried(highest)
        ),
    }
}

fn highest<'a>(points: &[&'a PointSummary]) -> Option<&'a PointSummary> {
    let throughput =
        |summary: &PointSummary| summary.orders_per_minute.map_or(0.0, |orders| orders.mean);
    points
        .iter()
        .copied()
        .max_by(|a, b| throughput(a).total_cmp(&throughput(b)))
}

fn carried(summary: &PointSummary) -> String {
    let orders = format::or_none(summary.orders_per_minute.as_ref(), format::mean);
    format!(
        "{orders} orders/min with {}{}",
        summary.point.label(),
        repeats(summary)
    )
}

fn repeats(summary: &PointSummary) -> String {
    summary
        .orders_per_minute
        .map_or_else(String::new, |orders| format!(" ({})", orders.basis.words()))
}

fn efficiency(points: &[PointSummary], summary: &PointSummary) -> Option<String> {
    let ratio = summary.efficiency?;
    let baseline = points
        .iter()
        .find(|other| Some(other.point.id) == summary.point.baseline)?;
    let orders = |summary: &PointSummary| {
        format::or_none(summary.orders_per_minute, |orders| {
            format::number(orders.mean)
        })
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
    let unsaturated = [summary, baseline].iter().all(|side| kept_up(side));
    let hint = match (unsaturated, summary.point.rate_per_s) {
        (true, Some(_)) => {
            " Both kept up with the arrivals, so this compares them at a load that both carried, not at their capacity.".to_owned()
        }
        (true, None) => format!(
            " Both answered so fast that the {} set the pace, so this compares them at a load that both carried, not at their capacity.",
            summary.point.people()
        ),
        (false, _) => String::new(),
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

/// One line for each point of which something is to be said; from a certain number on the rest is counted.
fn summed_up(
    points: &[PointSummary],
    what: impl Fn(&PointSummary) -> Option<String>,
) -> Vec<String> {
    let said: Vec<String> = points
        .iter()
        .filter_map(|summary| Some(format!("{}: {}.", summary.point.label(), what(summary)?)))
        .collect();
    match said.len().saturating_sub(MOST_SENTENCES) {
        0 => said,
        more => {
            let counted =
                format!("The same is to be said of {more} more; the tables have them all.");
            said.into_iter()
                .take(MOST_SENTENCES)
                .chain([counted])
                .collect()
        }
    }
}

/// Points whose intervals lie within one trial.
fn single_trials(points: &[PointSummary]) -> Option<String> {
    let single: Vec<String> = points
        .iter()
        .filter(|summary| summary.done == 1)
        .map(|summary| summary.point.label())
        .collect();
    let what = match single.len() {
        0 => return None,
        1 => format!("{} rests on a single good trial", single[0]),
        count if count == points.len() => "Every point rests on a single good trial".to_owned(),
        count => format!("{count} points rest on a single good trial each"),
    };
    Some(format!(
        "{what}: intervals within a trial say nothing of how trials differ."
    ))
}

/// What did not hold, and what must be known.
pub(crate) fn caveats(
    run: &Run,
    points: &[PointSummary],
    searched: &[Searched],
    checks: &[Checked],
) -> Vec<String> {
    let mut all = searches::caveats(searched);
    all.extend(summed_up(points, |summary| {
        summary
            .broken
            .as_ref()
            .map(|broken| format!("limits {}; worst: {broken}", summary.qos.words()))
    }));
    all.extend(single_trials(points));
    all.extend(summed_up(points, |summary| {
        (summary.done == 0).then(|| "no good trial, so nothing is said of it".to_owned())
    }));
    let counts = [
        (
            TrialStatus::Void,
            "void: own checks failed; kept with the reason, in no average",
        ),
        (TrialStatus::Failed, "failed: kept with the reason"),
        (TrialStatus::Running, "unfinished: begun, and never ended"),
        (
            TrialStatus::Planned,
            "not run: this report is of a part of the study",
        ),
    ];
    for (status, meaning) in counts {
        match run.count(status) {
            0 => {}
            count => all.push(format!(
                "{} {meaning}{}.",
                format::counted(count, "trial"),
                example(run, status)
            )),
        }
    }
    let interrupted = run
        .attempts
        .iter()
        .filter(|attempt| attempt.end.as_deref() == Some("interrupted"))
        .count();
    if interrupted > 0 {
        all.push(format!(
            "The run was interrupted: {} broken off, of which nothing counts.",
            format::counted(interrupted, "attempt")
        ));
    }
    let of_interruption = |text: &str| text.contains("was interrupted");
    let remarks = run.notes.iter().filter(|note| !of_interruption(&note.text));
    all.extend(remarks.map(|note| format!("{}: {}.", note.at, note.text)));
    all.extend(warned(checks));
    all.extend(audit_caveats(run));
    all.extend(crate::settings::caveat(run));
    all.extend(marginal_caveat(run));
    all
}

/// The first reason of the first trial that stands so.
fn example(run: &Run, status: TrialStatus) -> String {
    let mut trials = run.trials.iter().filter(|trial| trial.row.status == status);
    let first = trials.find_map(|trial| Some((trial.row.trial.id, trial.row.reasons.first()?)));
    first.map_or_else(String::new, |(id, reason)| {
        format!(". Trial {id}: {}", reason.trim_end_matches('.'))
    })
}

/// What the checks remark on good trials, though it does not void them: each matter once, with its first remark as an example.
fn warned(checks: &[Checked]) -> Vec<String> {
    let told = checks.iter().filter_map(|checked| {
        let good: Vec<&CheckRemark> = checked
            .remarks
            .iter()
            .filter(|remark| remark.counts)
            .collect();
        let first = good.first()?;
        let count = format::counted(good.len(), "good trial");
        let what = match checked.matter {
            Matter::Driver => format!("The driver remarks on itself in {count}"),
            Matter::Mix => format!("The mix was not quite what was asked for in {count}"),
            Matter::Transactions => {
                format!("Transactions were not quite what they should be in {count}")
            }
            Matter::Memory => format!("Memory grew within the window in {count}"),
            Matter::SteadyState => format!("The steady state is in doubt in {count}"),
            Matter::Freeze => format!("Percentiles of the closed load hide a freeze in {count}"),
        };
        Some(format!(
            "{what}, though nothing is void by it. Trial {}: {}.",
            first.trial, first.text
        ))
    });
    told.collect()
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
                trial.row.trial.id,
                audit.guest,
                audit.orders_in_database,
                audit.orders_acknowledged
            )
        })
        .collect()
}

fn marginal_caveat(run: &Run) -> Option<String> {
    let verdicts = run
        .trials
        .iter()
        .filter_map(|trial| trial.valid()?.0.verdict.as_ref());
    let near = verdicts
        .filter(|verdict| verdict.passed || verdict.failed())
        .filter(|verdict| verdict.binding_rule().is_some_and(|rule| rule.marginal))
        .count();
    (near > 0).then(|| {
        format!(
            "In {} the deciding value lies so near its limit that chance may have decided.",
            format::counted(near, "trial")
        )
    })
}
