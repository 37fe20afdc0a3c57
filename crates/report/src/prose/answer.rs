//! The answer in words. Every sentence follows from numbers of the run; nothing is said that was
//! not measured.

use rookery_analysis::{
    Analysis, Run,
    best::Leader,
    effects::{Compared, EffectMetric, Effects, Worth},
    layers::Limit,
    points::PointSummary,
};
use rookery_stats::Change;
use rookery_store::TrialStatus;

use super::{
    MOST_SENTENCES, baselines,
    effects::{cannot_say, name, verdict},
    format, layers, limits, loads, searches, splits, tiles, wish,
};

/// The factor of a study that compares layers.
const LAYERS: &str = "guest.kind";

/// What was found: what the workload itself answers, `of_workload`, the largest loads, one big guest
/// against its splits, what the factors are worth, what groups carry together, the highest
/// throughput within the limits and what held it back, then the named baselines and what layers
/// cost. Layers come first where the study varies them. What each layout did is the table beside it.
pub(crate) fn answer(run: &Run, analysis: &Analysis, of_workload: Vec<String>) -> Vec<String> {
    if run.count(TrialStatus::Done) == 0 {
        let none = "This run gives no answer: no trial ended well.".to_owned();
        return std::iter::once(none).chain(wished(run, analysis)).collect();
    }
    let layers = layers::sentences(&analysis.layers);
    let factors = &run.header.plan.factors;
    let (mut sentences, last) = if factors.iter().any(|factor| factor.key == LAYERS) {
        (layers, Vec::new())
    } else {
        (Vec::new(), layers)
    };
    sentences.extend(of_run(run, analysis, of_workload));
    sentences.extend(last);
    qualified(sentences, caveat(run))
}

/// The sentences with a caveat beside the first, which is often all that is read.
fn qualified(mut sentences: Vec<String>, caveat: Option<String>) -> Vec<String> {
    match (sentences.first_mut(), caveat) {
        (Some(first), Some(caveat)) => *first = format!("{first} {caveat}"),
        (None, Some(caveat)) => sentences.push(caveat),
        (_, None) => {}
    }
    sentences
}

/// The answer without the cost of layers.
fn of_run(run: &Run, analysis: &Analysis, of_workload: Vec<String>) -> Vec<String> {
    let mut sentences = Vec::new();
    let limits = limits::of_run(run);
    sentences.extend(searches::sentences(analysis));
    if analysis.points.is_empty() {
        sentences.extend(limits.map(|limits| format!("The limits: {limits}.")));
        sentences.extend(wished(run, analysis));
        return sentences;
    }
    sentences.extend(of_workload);
    sentences.extend(loads::sentences(analysis));
    if !analysis.run.loads_alone {
        sentences.extend(splits::sentences(&analysis.points));
    }
    sentences.extend(worths(&analysis.effects, analysis.workload.unit));
    if analysis.run.loads_alone {
        return sentences;
    }
    sentences.extend(tiles::sentences(analysis));
    let mut said = [
        best(run, analysis, limits.as_deref()),
        baselines::sentences(analysis),
    ];
    // Where no point leads, what a layout is worth against its baseline is the answer.
    if analysis.best.highest.is_none() {
        said.reverse();
    }
    sentences.extend(said.into_iter().flatten());
    sentences.extend(wished(run, analysis));
    sentences
}

/// What became of the wish; nothing where the study has none.
fn wished(run: &Run, analysis: &Analysis) -> Option<String> {
    let kept = analysis.wish.as_ref()?;
    Some(wish::sentence(run, kept))
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
    if let Some(text) = cannot_say(&effect) {
        return format!("{name}: {text}");
    }
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

/// The highest throughput within the limits, or that these were not reached, and what limited the
/// point that it names.
///
/// Where loads were searched too, it says that it speaks of the points alone.
fn best(run: &Run, analysis: &Analysis, limits: Option<&str>) -> Vec<String> {
    let among = if analysis.searches.is_empty() {
        "Highest throughput"
    } else {
        "Among the points of the study, highest throughput"
    };
    let Some(highest) = &analysis.best.highest else {
        return different_work(analysis, limits).into_iter().collect();
    };
    let (leader, sentence) = match (limits, &analysis.best.within_limits) {
        (None, _) => (
            highest,
            format!(
                "{} The study sets no limits.",
                leading(&format!("{among}:"), highest, analysis)
            ),
        ),
        (Some(limits), Some(best)) => (best, within(among, best, limits, analysis)),
        (Some(limits), None) => {
            let broken = |summary: &PointSummary| summary.limits.failed > 0;
            let why = if analysis.points.iter().any(broken) {
                "No point met the limits"
            } else {
                "No point could be judged, with too few operations in the window"
            };
            let leading = leading(&format!("{among}:"), highest, analysis);
            (highest, format!("{why}. {leading} The limits: {limits}."))
        }
    };
    let limited = analysis
        .point(leader.point)
        .map(|summary| limited_by(run, summary));
    std::iter::once(sentence).chain(limited).collect()
}

/// The highest of each kind of unit where points count different units of work.
fn different_work(analysis: &Analysis, limits: Option<&str>) -> Option<String> {
    let leaders = &analysis.best.of_units;
    let each = leaders.iter().map(|leader| leading("", leader, analysis));
    let limits = limits.map_or_else(String::new, |limits| format!(" The limits: {limits}."));
    (!leaders.is_empty()).then(|| {
        format!(
            "Points count different units of work, so that none has the highest throughput of all; \
             the highest of each:{}{limits}",
            each.collect::<String>()
        )
    })
}

/// The sentence on the best point within the limits. Where no point came near them it says so: then
/// the best is the largest load that was tried, and not the largest that is carried.
fn within(among: &str, best: &Leader, limits: &str, analysis: &Analysis) -> String {
    match limits::not_reached(&analysis.points) {
        None => format!(
            "{} The limits: {limits}.",
            leading(&format!("{among} within the limits:"), best, analysis)
        ),
        Some(nearest) => {
            let point = analysis.point(best.point);
            let advice = point.filter(|point| point.limited_by != Some(Limit::Cpu));
            let advice = advice.map_or_else(String::new, |point| {
                let load = match point.point.rate_per_s {
                    Some(_) => "A higher `rate`".to_owned(),
                    None => format!("More {}", point.point.clients),
                };
                format!(" {load}, or `[load.search]`, would show how much it carries.")
            });
            let leading = leading(&format!("{among} tried:"), best, analysis);
            format!("Limits were not reached: {nearest}. {leading}{advice} The limits: {limits}.")
        }
    }
}

/// Names the point with the highest mean, and the points that the repeats cannot tell from it.
fn leading(words: &str, leader: &Leader, analysis: &Analysis) -> String {
    let carried = analysis
        .point(leader.point)
        .map_or_else(String::new, carried);
    let label = |ids: &[u32]| {
        let next = ids.first().and_then(|id| analysis.point(*id))?;
        let more = match ids.len() - 1 {
            0 => String::new(),
            1 => " and 1 other point".to_owned(),
            more => format!(" and {more} other points"),
        };
        let throughput = format::or_none(next.per_minute.as_ref(), format::mean);
        Some(format!("{} ({throughput}){more}", next.point.label))
    };
    let alike = label(&leader.alike);
    let untold = label(&leader.untold).filter(|_| alike.is_none());
    match (alike, untold) {
        (Some(next), _) => format!("{words} {carried}; not distinguishable from {next}."),
        (_, Some(next)) => {
            format!("{words} {carried}. More repeats are needed to tell whether this beats {next}.")
        }
        (None, None) => format!("{words} {carried}."),
    }
}

/// How a load sets the most that it can ask for.
const AT_ONCE: &str = "if every answer came at once";

/// What held a point back, as far as it was measured: the CPU of its guests, its load, or neither.
fn limited_by(run: &Run, summary: &PointSummary) -> String {
    let capacity = summary.point.capacity_cpus;
    let cores = format::or_none(summary.guest_cores, |cores| {
        let noun = if capacity == 1.0 { "core" } else { "cores" };
        format!("{:.2} of {} {noun}", cores.mean, format::trimmed(capacity))
    });
    let met = format::or_none(summary.demand_met, format::percent);
    let (open, people) = (summary.point.rate_per_s.is_some(), summary.point.clients);
    let units = summary.units;
    let waiting = waiting(run, summary);
    if summary.guest_cores.is_none() {
        return limited_without_cpu(summary, &met);
    }
    match (summary.limited_by, summary.demand_met) {
        (Some(Limit::OfferedLoad), _) if open => format!(
            "What limited it: its arrivals. {met} of the {units} that they asked for were made, and \
             the guests used {cores}."
        ),
        (Some(Limit::Cpu), _) => {
            format!("What limited it: the CPU of the guests, which used {cores}.")
        }
        (Some(Limit::OfferedLoad), _) => format!(
            "What limited it: its {people}. They did {met} of what they would do {AT_ONCE}, and the \
             guests used {cores}."
        ),
        _ if open => format!(
            "What limited it is neither the CPU of the guests ({cores}) nor the rate of arrivals \
             ({met} of the {units} that they asked for were made): {waiting}."
        ),
        // Without pauses there is no bound.
        (_, None) => format!("What limited it is not the CPU of the guests ({cores}): {waiting}."),
        _ => format!(
            "What limited it is neither the CPU of the guests ({cores}) nor the pauses of the \
             {people} (they did {met} of what they would do {AT_ONCE}): {waiting}."
        ),
    }
}

/// The same where nobody saw what CPU time the guests used, as of a system that runs elsewhere.
fn limited_without_cpu(summary: &PointSummary, met: &str) -> String {
    const UNKNOWN: &str = "the CPU time of the guests was not measured.";
    let (people, units) = (summary.point.clients, summary.units);
    let is_load = summary.limited_by == Some(Limit::OfferedLoad);
    match (summary.point.rate_per_s.is_some(), summary.demand_met) {
        (true, _) if is_load => format!(
            "What limited it: its arrivals. {met} of the {units} that they asked for were made."
        ),
        (false, _) if is_load => {
            format!(
                "What limited it: its {people}. They did {met} of what they would do {AT_ONCE}."
            )
        }
        (true, _) => format!(
            "What limited it is not the rate of arrivals ({met} of the {units} that they asked for \
             were made); {UNKNOWN}"
        ),
        (false, Some(_)) => format!(
            "What limited it is not the pauses of the {people} (they did {met} of what they would \
             do {AT_ONCE}); {UNKNOWN}"
        ),
        (false, None) => format!("What limited it is not known: {UNKNOWN}"),
    }
}

/// What is left where neither CPUs nor load limit, as far as counters tell.
fn waiting(run: &Run, summary: &PointSummary) -> String {
    if let Some(cores) = summary.other_cores {
        let cpus = run.header.host.facts.cpus.len();
        return format!(
            "other work used {cores:.2} of the host's {cpus} CPUs meanwhile, so that this may be \
             what it waited for"
        );
    }
    match summary.disk_requests_per_s {
        Some(rate) if rate < 1.0 => {
            "it waited, and not for its disks, which had no requests: for locks, or for pauses of \
             its own"
                .to_owned()
        }
        Some(rate) => format!(
            "it waited, for locks or for its disks, which had {} requests/s",
            format::number(rate)
        ),
        None => "it waited, for locks, for disks or for pauses of its own".to_owned(),
    }
}

fn carried(summary: &PointSummary) -> String {
    let throughput = format::or_none(summary.per_minute.as_ref(), format::mean);
    format!(
        "{throughput} {} with {}{}",
        summary.rate,
        summary.point.label,
        repeats(summary)
    )
}

fn repeats(summary: &PointSummary) -> String {
    summary.per_minute.map_or_else(String::new, |estimate| {
        format!(" ({})", format::basis(estimate.basis))
    })
}
