//! Two runs against each other, in words: what changed first, then what else differs, then the
//! numbers.

use rookery_analysis::compare::{
    Comparison, Finding, LeftOut, Metric, NoneSeen, PROPOSED_FOR, Scale, Side, Unsaid, Verdict,
    WhyLeftOut,
};
use rookery_text::Zone;

use super::{format, layers};

/// From this change on the machine itself is spoken of.
const MACHINE_CHANGED: f64 = 0.03;
/// The same for cores that somebody else used.
const OTHERS: f64 = 0.1;

/// `r2 against r1`.
pub(crate) fn title(comparison: &Comparison) -> String {
    format!(
        "{} against {}",
        names(&comparison.new),
        names(&comparison.base)
    )
}

fn names(side: &[Side]) -> String {
    side.iter()
        .map(|run| run.run_id.as_str())
        .collect::<Vec<_>>()
        .join(" + ")
}

/// One line per run.
pub(crate) fn runs(comparison: &Comparison, zone: &Zone) -> Vec<String> {
    let line = |role: &str, run: &Side| {
        let mut line = format!(
            "{role}: run {}, {}; {}; {} done",
            run.run_id,
            zone.to_second(&run.created_at),
            run.title,
            format::counted(run.done, "trial")
        );
        for (count, word) in [(run.void, "void"), (run.failed, "failed")] {
            if count > 0 {
                line += &format!(", {count} {word}");
            }
        }
        if let Some(example) = &run.such_as {
            line += &format!(" ({example})");
        }
        line
    };
    let base = comparison.base.iter().map(|run| line("base", run));
    base.chain(comparison.new.iter().map(|run| line("new", run)))
        .collect()
}

/// What changed, in sentences: the primary comparisons, then single points.
pub(crate) fn answer(comparison: &Comparison) -> Vec<String> {
    let mut all = Vec::new();
    all.extend(layers::sentences(&comparison.layers));
    if comparison.points.is_empty() {
        if !all.is_empty() {
            return all;
        }
        all.push(
            "Nothing can be said: the runs have no point in common that could be compared."
                .to_owned(),
        );
        if comparison.searched_points > 0 {
            all.push(
                "Add loads to the study, in `users` or `rate`: they are points of their own \
                      beside the search."
                    .to_owned(),
            );
        }
        return all;
    }
    let lost: Vec<&str> = comparison
        .points
        .iter()
        .filter(|point| point.lost)
        .map(|point| point.label.as_str())
        .collect();
    if !lost.is_empty() {
        all.push(format!(
            "Worse: guests failed in every new trial of {}.",
            lost.join("; ")
        ));
    }
    let told = |wanted: &dyn Fn(&Verdict) -> bool| -> Vec<String> {
        let found = comparison
            .primary()
            .filter(|finding| wanted(&finding.verdict));
        found
            .map(|finding| format!("{} {}", comparison.name_of(finding.metric), change(finding)))
            .collect()
    };
    let is = |verdict: Verdict| move |own: &Verdict| *own == verdict;
    for (word, found) in [
        ("Worse", told(&is(Verdict::Worse))),
        ("Better", told(&is(Verdict::Better))),
        (
            "No difference seen",
            told(&|verdict| matches!(verdict, Verdict::NoneSeen { .. })),
        ),
        (
            "No difference that matters",
            told(&is(Verdict::NoneThatMatters)),
        ),
    ] {
        if !found.is_empty() {
            all.push(format!("{word}: {}.", found.join(", ")));
        }
    }
    for finding in comparison.primary() {
        if let Verdict::CannotBeSaid { .. } = finding.verdict {
            let size = finding
                .change
                .map_or_else(String::new, |_| format!(" {}", change(finding)));
            all.push(format!(
                "Cannot be said: {}{size}: {}.",
                comparison.name_of(finding.metric),
                why(finding)
            ));
        }
    }
    all.extend(single_points(comparison));
    all
}

/// Secondary metrics that changed, and single points that say something else than all points
/// together, where chance is excluded for all of these comparisons.
fn single_points(comparison: &Comparison) -> Vec<String> {
    let mut all = Vec::new();
    for wanted in [Verdict::Worse, Verdict::Better] {
        let secondary = comparison
            .overall
            .iter()
            .filter(|finding| !finding.metric.is_primary() && finding.verdict == wanted);
        let found: Vec<String> = secondary
            .map(|finding| format!("{} {}", comparison.name_of(finding.metric), change(finding)))
            .collect();
        if !found.is_empty() {
            let word = if wanted == Verdict::Worse {
                "worse"
            } else {
                "better"
            };
            all.push(format!("Beside them {word}: {}.", found.join(", ")));
        }
    }
    let tells = |finding: &&Finding| {
        let overall = comparison.of(finding.metric).map(|overall| overall.verdict);
        let changed = matches!(finding.verdict, Verdict::Better | Verdict::Worse);
        finding.metric.is_primary() && changed && overall != Some(finding.verdict)
    };
    for point in &comparison.points {
        let of_metric = |finding: &Finding| {
            format!(
                "{} {} ({})",
                comparison.name_of(finding.metric),
                change(finding),
                verdict(finding)
            )
        };
        let found: Vec<String> = point.findings.iter().filter(tells).map(of_metric).collect();
        if !found.is_empty() {
            all.push(format!("At {}: {}.", point.label, found.join(", ")));
        }
    }
    all
}

/// A value of a metric with its unit.
pub(crate) fn value(metric: Metric, value: Option<f64>) -> String {
    format::or_none(value, |value| match metric {
        Metric::Throughput => format::number(value),
        Metric::Errors => format::percent(value),
        Metric::LoadTime => format::seconds(value),
        _ => format!("{} ms", format::number(value)),
    })
}

/// A share as a change on the scale of its metric, without the unit.
fn signed(metric: Metric, share: f64) -> String {
    match metric.scale() {
        Scale::Ratio => format::signed(share),
        Scale::Share => {
            let text = format!("{:+.2}", 100.0 * share);
            if text.trim_start_matches(['+', '-']) == "0.00" {
                "0.00".to_owned()
            } else {
                text.replace('-', "\u{2212}")
            }
        }
    }
}

fn unit(metric: Metric) -> &'static str {
    match metric.scale() {
        Scale::Ratio => "%",
        Scale::Share => "points",
    }
}

/// A change of a metric with its unit: `−20.0 %`.
pub(crate) fn difference(metric: Metric, share: f64) -> String {
    format!("{} {}", signed(metric, share), unit(metric))
}

/// The change with its interval: `−9.8 % (−11.2 to −8.4)`.
pub(crate) fn change(finding: &Finding) -> String {
    let metric = finding.metric;
    format::or_none(finding.change, |change| {
        let interval = finding.interval.map_or_else(String::new, |(low, high)| {
            format!(" ({} to {})", signed(metric, low), signed(metric, high))
        });
        format!("{}{interval}", difference(metric, change))
    })
}

/// The verdict in a few words, as it stands in tables.
pub(crate) fn verdict(finding: &Finding) -> String {
    match finding.verdict {
        Verdict::Better => "better".to_owned(),
        Verdict::Worse => "worse".to_owned(),
        Verdict::NoneThatMatters => "no difference that matters".to_owned(),
        Verdict::NoneSeen { because: None } => "no difference seen".to_owned(),
        Verdict::NoneSeen {
            because: Some(NoneSeen::PerhapsChance),
        } => "no difference seen: among so many comparisons it may be chance".to_owned(),
        Verdict::NoneSeen {
            because: Some(NoneSeen::Small),
        } => "no difference seen that is larger than what is ignored".to_owned(),
        Verdict::CannotBeSaid { .. } => format!("cannot be said: {}", why(finding)),
    }
}

/// Why something cannot be said; empty for every other verdict.
fn why(finding: &Finding) -> String {
    let Verdict::CannotBeSaid { because } = finding.verdict else {
        return String::new();
    };
    match because {
        Unsaid::NoValue => "a side has no good trial".to_owned(),
        Unsaid::TooFew { repeats } => {
            format!("too few good trials, {repeats} of each point are needed")
        }
        Unsaid::TooScattered { repeats } => {
            let size = match finding.metric.scale() {
                Scale::Ratio => format!("a change of {} %", format::trimmed(100.0 * PROPOSED_FOR)),
                Scale::Share => "a change of 5 points".to_owned(),
            };
            match repeats {
                Some(repeats) => format!(
                    "the trials scatter too much, about {repeats} good repeats would find {size}"
                ),
                None => format!("the trials scatter too much, 1000 repeats would not find {size}"),
            }
        }
    }
}

/// The smallest change that would have been found, with its unit.
pub(crate) fn detectable(finding: &Finding) -> String {
    format::or_none(finding.detectable, |share| {
        format!("{} {}", format::few(100.0 * share), unit(finding.metric))
    })
}

/// Caveats: what to know when the numbers are read.
pub(crate) fn caveats(comparison: &Comparison) -> Vec<String> {
    let mut all: Vec<String> = comparison.left_out.iter().map(left_out).collect();
    let without = comparison.points.len() - comparison.overall_points;
    if without > 0 {
        let what = format::counted(without, "point");
        all.push(format!(
            "{what} without a good trial in every run: left out of what is said of all points \
             together."
        ));
    }
    if comparison.searched_points > 0 {
        all.push(format!(
            "{} that searches tried, in all runs together: not compared, because a search measures \
             where its answers lead it.",
            format::counted(comparison.searched_points, "point")
        ));
    }
    all.extend(machine(comparison));
    if comparison.points.is_empty() {
        return all;
    }
    let (base, new) = (comparison.base.len(), comparison.new.len());
    if (base, new) == (1, 1) {
        let how = if comparison.overall_points > 1 {
            "How much the machine differs from one run to the next is inferred from the swings \
             that its points share within a run"
        } else {
            "How much the machine differs from one run to the next cannot be seen in two runs of a \
             single point"
        };
        all.push(format!(
            "{how}. To be sure, run each side three times in turn, and name all runs (--base, \
             --new)."
        ));
    } else if comparison.not_alternating {
        all.push(
            "All runs of one side are older than those of the other: what the machine did \
                  meanwhile looks like a change. Run the sides in turn."
                .to_owned(),
        );
    }
    all.push(format!(
        "Intervals: 95 %, on the logarithm of ratios; one number per trial, trials of a round of \
         repeats not being independent, or one per run where \
         there are three a side. Changes up to {} % are ignored (of errors, {} points). \
         Detectable: found in four of five cases.",
        format::trimmed(100.0 * comparison.ignore),
        format::trimmed(100.0 * rookery_analysis::compare::ERRORS_THAT_MATTER)
    ));
    all
}

fn left_out(left: &LeftOut) -> String {
    let label = &left.label;
    match &left.because {
        WhyLeftOut::OnlyInBase => format!("{label}: in the base alone."),
        WhyLeftOut::OnlyInNew => format!("{label}: in the new run alone."),
        WhyLeftOut::NotInAllRuns => format!("{label}: not in all runs."),
        WhyLeftOut::Incomparable { what, base, new } => {
            format!(
                "{label}: not compared, because the {what} is not the same: {base} against {new}."
            )
        }
    }
}

/// What the runs show of the machine itself.
fn machine(comparison: &Comparison) -> Vec<String> {
    let machine = &comparison.machine;
    let mut all = Vec::new();
    let beyond_chance = machine
        .interval
        .is_none_or(|(low, high)| low > 0.0 || high < 0.0);
    if let Some(change) = machine
        .driver_cpu_per_request
        .filter(|change| beyond_chance && change.abs() >= MACHINE_CHANGED)
    {
        let interval = machine.interval.map_or_else(String::new, |(low, high)| {
            format!(" ({} to {})", format::signed(low), format::signed(high))
        });
        all.push(format!(
            "The driver itself took {} %{interval} CPU for each request, though its work is the \
             same: the machine may have been {} in the new run, whatever \
             was changed.",
            format::signed(change),
            if change > 0.0 { "slower" } else { "faster" }
        ));
    }
    if let (Some(base), Some(new)) = (machine.other_cores_base, machine.other_cores_new)
        && base.max(new) >= OTHERS
    {
        all.push(format!(
            "Somebody else used {} cores of this host during the base and {} during the new run.",
            format::trimmed((base * 100.0).round() / 100.0),
            format::trimmed((new * 100.0).round() / 100.0)
        ));
    }
    all
}
