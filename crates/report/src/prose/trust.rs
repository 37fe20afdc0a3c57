//! How far to trust a report, in words: checks, driver, repeats, searches, fits, prediction.

use rookery_analysis::{
    Analysis, Run,
    cpu_distance::{CpuDistances, DistanceClass},
    cpu_speed::CpuSpeeds,
    estimate::EstimateBasis,
    points::PointSummary,
    scaling::Scaling,
    searches::SearchSummary,
    trust::{CheckKind, Checked, DriverEvidence, Prediction, Repeats},
};
use rookery_store::TrialStatus;
use rookery_study::Over;

use super::{Fact, format, loop_type::loop_type, scaling::short_law_name, words};

/// Name of what is said of scaling laws.
const LAWS: &str = "Scaling laws";
/// Of two CPU speeds no smaller difference is told.
const LEAST_SPREAD: f64 = 1e-4;

/// What and how far, in the order of the page.
pub(crate) fn facts(run: &Run, analysis: &Analysis) -> Vec<Fact> {
    let trust = &analysis.trust;
    let points = &analysis.points;
    let facts = [
        ("Prediction", Some(prediction_line(run, &trust.prediction))),
        ("Trials", Some(trials(run))),
        ("Loop", Some(loop_sentence(run, &trust.checks))),
        ("Driver", trust.driver.as_ref().map(driver_sentence)),
        ("Repeats", repeats_sentence(trust.repeats.as_ref(), points)),
        (
            "CPU speed",
            trust.cpu_speeds.as_ref().map(cpu_speed_sentence),
        ),
        (
            "CPU distance",
            trust.cpu_distances.as_ref().and_then(cpu_distance_sentence),
        ),
        ("Limits", marginal(points)),
        ("Searches", blur(&analysis.searches)),
        (LAWS, laws(&analysis.scaling)),
    ];
    facts
        .into_iter()
        .filter_map(|(name, value)| Some((name.to_owned(), value?)))
        .collect()
}

/// The cover line: how well the run predicts itself, or why that cannot be said.
pub(crate) fn prediction_line(run: &Run, prediction: &Prediction) -> String {
    match prediction {
        Prediction::Tried {
            mean_error,
            largest_error,
            variation,
            beats_last_value,
            ..
        } => {
            let noise = variation.map_or_else(String::new, |variation| {
                format!("; repeats there scatter by {}", format::percent(variation))
            });
            let naive = if *beats_last_value {
                ""
            } else {
                " Carrying the last value forward, the naive baseline, would have done no worse."
            };
            format!(
                "Fitted to the lower loads, the model predicted the throughput of the upper ones \
                 within {} (worst {}{noise}).{naive}",
                format::percent(*mean_error),
                format::percent(*largest_error),
            )
        }
        Prediction::Refused { reason } if run.count(TrialStatus::Done) == 0 => {
            format!("No prediction was tried: {}.", trimmed(reason))
        }
        Prediction::Refused { reason } => words::own(
            run,
            format!(
                "How well a model predicts this system cannot be said: {}.",
                trimmed(reason)
            ),
        ),
    }
}

/// Name of a check, as in a table.
pub(crate) fn check_name(checked: &Checked) -> &'static str {
    match checked.check {
        CheckKind::Driver => "driver: lag, CPU, Little's law, pacing",
        CheckKind::OtherWork => "other work on the host",
        CheckKind::Kernel => "kernel: network, swap, stalls, stolen CPU",
        CheckKind::Mix => "mix of operations",
        CheckKind::Workload => checked.looks_at.unwrap_or("the workload's own checks"),
        CheckKind::Memory => "memory that grows",
        CheckKind::SteadyState => "steady state: MSER-5, drift, halves",
        CheckKind::Freeze => "freezes that a closed load hides",
    }
}

fn trimmed(reason: &str) -> &str {
    reason.trim_end_matches('.')
}

/// What became of the trials: `30 of 36 good, 4 void (11 %), 2 failed`.
fn trials(run: &Run) -> String {
    let all = run.whole_trials().count();
    let mut text = format!(
        "{} of {} good",
        run.count(TrialStatus::Done),
        format::counted(all, "trial")
    );
    let words = [
        (TrialStatus::Void, "void, by its own checks"),
        (TrialStatus::Failed, "failed"),
        (TrialStatus::Running, "unfinished"),
        (TrialStatus::Planned, "not run"),
        (TrialStatus::Skipped, "skipped by the user"),
    ];
    for (status, what) in words {
        match run.count(status) {
            0 => {}
            count => {
                text += &format!(
                    "; {count} {what} ({})",
                    format::percent(count as f64 / all as f64)
                )
            }
        }
    }
    text
}

/// What the loop type hides, and whether a trial shows it.
pub(crate) fn loop_sentence(run: &Run, checks: &[Checked]) -> String {
    if run.header.study.load.open().is_some() {
        return format!(
            "{}: they show in full how long a server stands still.",
            loop_type(run)
        );
    }
    let freeze = checks
        .iter()
        .find(|checked| checked.check == CheckKind::Freeze);
    let seen = freeze.filter(|checked| checked.warned + checked.faulty > 0);
    let looked = freeze.map_or(0, |checked| {
        checked.passed + checked.warned + checked.faulty
    });
    let shown = match seen {
        Some(checked) => {
            let example = checked.remarks.first().map_or_else(String::new, |remark| {
                format!(" Trial {}: {}.", remark.trial, remark.text)
            });
            format!(
                "{} show one that their percentiles hide.{example}",
                format::counted(checked.warned + checked.faulty, "trial")
            )
        }
        None if looked == 0 => "No trial could be looked at for one.".to_owned(),
        None => format!(
            "No such freeze was seen in {}.",
            format::counted(looked, "trial")
        ),
    };
    let people = words::people(run);
    format!(
        "A closed load hides freezes: while a server stands still, its {people} wait and send \
         nothing. {shown}"
    )
}

fn driver_sentence(driver: &DriverEvidence) -> String {
    format!(
        "At worst in a good trial: scheduling lag p99 {}, {} of its CPUs used, Little's law off by \
         {}.",
        format::ms(driver.lag_p99_us as f64),
        format::percent(driver.cpu_share),
        format::percent(driver.little_error)
    )
}

fn repeats_sentence(repeats: Option<&Repeats>, points: &[PointSummary]) -> Option<String> {
    let repeats = repeats?;
    let counts = if repeats.fewest == repeats.most {
        format!(
            "{} good {} of each point",
            repeats.fewest,
            if repeats.fewest == 1 {
                "trial"
            } else {
                "trials"
            }
        )
    } else {
        format!(
            "{} to {} good trials of each point",
            repeats.fewest, repeats.most
        )
    };
    let adaptive = points.iter().filter_map(|summary| summary.per_minute);
    let adaptive = adaptive
        .filter(|orders| matches!(orders.basis, EstimateBasis::Adaptive { .. }))
        .count();
    let adaptive = if adaptive > 0 {
        "; repeated until the interval was narrow or the budget spent, by a rule stated beforehand \
         (Stein's two stages)"
    } else {
        ""
    };
    let found = match (repeats.variation, repeats.detectable) {
        (Some(variation), Some(change)) => format!(
            " Repeats scatter by {} (coefficient of variation); a difference between two points \
             below {} may well go unseen.",
            format::percent(variation),
            format::percent(change)
        ),
        (Some(variation), None) => format!(
            " Repeats scatter by {}; some points have a single trial.",
            format::percent(variation)
        ),
        _ => " Without repeats no difference between points can be told from chance.".to_owned(),
    };
    Some(format!("{counts}{adaptive}.{found}"))
}

/// By how much the CPUs themselves differed from trial to trial.
pub(crate) fn cpu_speed_sentence(speeds: &CpuSpeeds) -> String {
    // Clocks tell no smaller difference.
    let spread = format::percent(speeds.spread().max(LEAST_SPREAD));
    let count = format::counted(speeds.trials, "good trial");
    let Some(times) = speeds.is_notable().then(|| {
        format!(
            "{} beside trial {}, {} beside trial {}",
            format::ms(speeds.fastest_us),
            speeds.fastest_trial,
            format::ms(speeds.slowest_us),
            speeds.slowest_trial
        )
    }) else {
        return format!(
            "A fixed calculation beside each of {count} took the same time within {spread}."
        );
    };
    format!(
        "The CPUs were not equally fast in all trials: a fixed calculation took {times} ({spread} \
         more). Throughput of trials may differ by as much though nothing of the system did."
    )
}

/// Verdicts that chance may have decided.
fn marginal(points: &[PointSummary]) -> Option<String> {
    let judged: usize = points
        .iter()
        .map(|summary| summary.limits.passed + summary.limits.failed)
        .sum();
    let near: usize = points.iter().map(|summary| summary.limits.marginal).sum();
    (judged > 0).then(|| {
        format!(
            "{near} of {} marginal: the bounds of the deciding value lie on both sides of its \
             limit.",
            format::counted(judged, "verdict")
        )
    })
}

/// How noisy the edges are; of many searches the range alone.
fn blur(searches: &[SearchSummary]) -> Option<String> {
    let known: Vec<&SearchSummary> = searches
        .iter()
        .filter(|searched| searched.probes > 0)
        .collect();
    let blurs = || known.iter().map(|searched| searched.blur);
    let (least, most) = (blurs().reduce(f64::min)?, blurs().reduce(f64::max)?);
    let confirmed = known.iter().filter(|searched| searched.confirmed).count();
    let (noun, what) = match known.iter().any(|searched| searched.over == Over::Memory) {
        true => ("edge", "memory"),
        false => ("largest load", "load"),
    };
    let range = if known.len() == 1 {
        format::percent(least)
    } else {
        format!("{} to {}", format::percent(least), format::percent(most))
    };
    Some(format!(
        "{confirmed} of {} confirmed by fresh trials. Width of the transition, from the {what} \
         that 90 % of trials keep to the one that 10 % keep: {range} of the {what}.",
        format::counted(known.len(), noun)
    ))
}

fn laws(scaling: &[Scaling]) -> Option<String> {
    let parts: Vec<String> = scaling.iter().map(law).collect();
    (!parts.is_empty()).then(|| format!("{}.", parts.join("; ")))
}

fn law(line: &Scaling) -> String {
    let Some(chosen) = line.chosen_law() else {
        return format!("{}: no law", line.label);
    };
    let residuals = chosen.mean_error.map_or_else(String::new, |error| {
        format!(", residuals {}", format::percent(error))
    });
    let held_out = chosen.held_out.zip(line.held_out.as_ref()).map_or_else(
        || ", too few loads to hold any out".to_owned(),
        |(error, held)| {
            format!(
                ", held-out loads missed by {} (last value {})",
                format::percent(error.mean),
                format::percent(held.last_value.mean)
            )
        },
    );
    format!(
        "{}: {}{residuals}{held_out}",
        line.label,
        short_law_name(chosen.law)
    )
}

/// How far apart the CPUs of driver and guests were, where that was not the same in all trials.
pub(crate) fn cpu_distance_sentence(distances: &CpuDistances) -> Option<String> {
    let of_class = |class: &DistanceClass| {
        let [least, most] = [class.least_ns, class.most_ns].map(|ns| format!("{ns:.0}"));
        let span = if least == most {
            least
        } else {
            format!("{least} to {most}")
        };
        let trials = format::counted(class.trials.len(), "trial");
        format!("{span} ns after {trials}")
    };
    let classes: Vec<String> = distances.classes.iter().map(of_class).collect();
    distances.is_notable().then(|| {
        format!(
            "The CPUs of driver and guests were not equally far apart in all trials: a cache line \
             went from one to the other and back in {}. Throughput may differ by it though nothing \
             of the system did.",
            classes.join(", ")
        )
    })
}

/// The section for a terminal: short lines.
pub(crate) fn lines(run: &Run, analysis: &Analysis) -> Vec<String> {
    // What the laws say stands above already.
    let facts = facts(run, analysis);
    let shown = facts.iter().filter(|(name, _)| name != LAWS);
    let mut lines: Vec<String> = shown
        .map(|(name, text)| format!("{name}: {text}"))
        .collect();
    let checks: Vec<String> = analysis
        .trust
        .checks
        .iter()
        .filter(|checked| checked.warned + checked.faulty > 0)
        .map(|checked| {
            let counts = [(checked.warned, "warned"), (checked.faulty, "at fault")];
            let counts = counts
                .iter()
                .filter(|(count, _)| *count > 0)
                .map(|(count, what)| format!("{count} {what}"));
            format!(
                "{} ({})",
                check_name(checked),
                counts.collect::<Vec<_>>().join(", ")
            )
        })
        .collect();
    lines.push(if checks.is_empty() {
        format!(
            "Checks: nothing to remark in {}.",
            words::measured_trials(run)
        )
    } else {
        format!("Checks: {}; all others passed.", checks.join("; "))
    });
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpus_that_were_not_equally_far_apart_are_told_with_their_trials() {
        let class = |least_ns, most_ns, trials: &[u32]| DistanceClass {
            least_ns,
            most_ns,
            trials: trials.to_vec(),
        };
        let sentence = |classes| cpu_distance_sentence(&CpuDistances { classes });
        let near = class(62.0, 81.4, &[1, 4]);
        let both = sentence(vec![near.clone(), class(431.0, 431.0, &[2])]);
        insta::assert_snapshot!(both.expect("two classes"), @"The CPUs of driver and guests were not equally far apart in all trials: a cache line went from one to the other and back in 62 to 81 ns after 2 trials, 431 ns after 1 trial. Throughput may differ by it though nothing of the system did.");
        assert_eq!(sentence(vec![near]), None);
    }

    #[test]
    fn cpus_that_were_not_equally_fast_are_told_with_their_trials() {
        let speeds = |slowest_us| CpuSpeeds {
            trials: 6,
            fastest_trial: 2,
            fastest_us: 310.0,
            slowest_trial: 5,
            slowest_us,
        };
        insta::assert_snapshot!(cpu_speed_sentence(&speeds(372.0)), @"The CPUs were not equally fast in all trials: a fixed calculation took 310 µs beside trial 2, 372 µs beside trial 5 (20.0 % more). Throughput of trials may differ by as much though nothing of the system did.");
        insta::assert_snapshot!(cpu_speed_sentence(&speeds(313.0)), @"A fixed calculation beside each of 6 good trials took the same time within 0.97 %.");
    }
}
