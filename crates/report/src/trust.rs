//! How far to trust a report: checks, driver, repeats, searches, fits, prediction. Pure.

use rookery_judge::{
    predict::HeldOutError,
    trust::{self, Checked, DriverEvidence, Repeats},
};
use rookery_stats::checks::Matter;
use rookery_store::TrialStatus;

use crate::{
    PointSummary, Run, evidence::Fact, figures::Table, format, scaling::Scaling,
    searches::Searched, words,
};

/// Everything that says how far to trust a run.
#[derive(Clone, Debug)]
pub struct Trust {
    /// The checks by kind.
    pub checks: Vec<Checked>,
    /// The worst of the driver's evidence.
    pub driver: Option<DriverEvidence>,
    /// Repeats of the study's points.
    pub repeats: Option<Repeats>,
    /// The error of predicting the upper loads from the lower ones, or why there is none.
    pub prediction: Result<HeldOutError, String>,
    /// What and how far, in the order of the page.
    pub(crate) facts: Vec<Fact>,
}

/// Name of what is said of scaling laws.
const LAWS: &str = "Scaling laws";

pub(crate) fn of(
    run: &Run,
    points: &[PointSummary],
    searches: &[Searched],
    scaling: &[Scaling],
) -> Trust {
    let mut trust = Trust {
        checks: trust::checks(run),
        driver: trust::driver(run),
        repeats: trust::repeats(run),
        prediction: HeldOutError::of(run),
        facts: Vec::new(),
    };
    let fact = |name: &str, value: Option<String>| value.map(|value| (name.to_owned(), value));
    let facts = [
        fact("Prediction", Some(trust.prediction_line(run))),
        fact("Trials", Some(trials(run))),
        fact("Loop", Some(loop_sentence(run, &trust.checks))),
        fact("Driver", trust.driver.as_ref().map(driver_sentence)),
        fact("Repeats", repeats_sentence(trust.repeats.as_ref(), points)),
        fact("Limits", marginal(points)),
        fact("Searches", blur(searches)),
        fact(LAWS, laws(scaling)),
    ];
    trust.facts.extend(facts.into_iter().flatten());
    trust
}

impl Trust {
    /// The cover line: how well the run predicts itself, or why that cannot be said.
    pub(crate) fn prediction_line(&self, run: &Run) -> String {
        match &self.prediction {
            Ok(error) => {
                let noise = error.variation.map_or_else(String::new, |variation| {
                    format!("; repeats there scatter by {}", format::percent(variation))
                });
                let naive = if error.beats_last_value {
                    ""
                } else {
                    " Carrying the last value forward, the naive baseline, would have done no worse."
                };
                format!(
                    "Fitted to the lower loads, the model predicted the throughput of the upper ones within {} (worst {}{noise}).{naive}",
                    format::percent(error.mape),
                    format::percent(error.largest),
                )
            }
            Err(why) if run.count(TrialStatus::Done) == 0 => {
                format!("No prediction was tried: {}.", trimmed(why))
            }
            Err(why) => words::own(
                run,
                format!(
                    "How well a model predicts this system cannot be said: {}.",
                    trimmed(why)
                ),
            ),
        }
    }

    /// Checks by kind, with how many trials passed.
    pub(crate) fn table(&self) -> Table {
        let heads = [
            "check",
            "passed",
            "warned",
            "at fault",
            "not asked",
            "for example",
        ];
        let row = |checked: &Checked| {
            let example = checked.remarks.iter().min_by_key(|remark| remark.counts);
            vec![
                checked.name().to_owned(),
                checked.passed.to_string(),
                checked.warned.to_string(),
                checked.faulty.to_string(),
                checked.not_asked.to_string(),
                example.map_or_else(String::new, |remark| {
                    format!("trial {}: {}", remark.trial, remark.text)
                }),
            ]
        };
        let measured = |checked: &&Checked| checked.passed + checked.warned + checked.faulty > 0;
        Table {
            label: String::new(),
            heads: heads.map(str::to_owned).to_vec(),
            rows: self.checks.iter().filter(measured).map(row).collect(),
        }
    }
}

fn trimmed(reason: &str) -> &str {
    reason.trim_end_matches('.')
}

/// What became of the trials: `30 of 36 good, 4 void (11 %), 2 failed`.
fn trials(run: &Run) -> String {
    let all = run.trials.len();
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
    if run.header.study.load.open.is_some() {
        return format!(
            "{}: they show in full how long a server stands still.",
            crate::loop_type::loop_type(run)
        );
    }
    let freeze = checks
        .iter()
        .find(|checked| checked.matter == Matter::Freeze);
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
    let people = crate::words::people(run);
    format!(
        "A closed load hides freezes: while a server stands still, its {people} wait and send nothing. {shown}"
    )
}

fn driver_sentence(driver: &DriverEvidence) -> String {
    format!(
        "At worst in a good trial: scheduling lag p99 {}, {} of its CPUs used, Little's law off by {}.",
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
    let adaptive = points
        .iter()
        .filter_map(|summary| summary.orders_per_minute);
    let adaptive = adaptive
        .filter(|orders| matches!(orders.basis, crate::interval::Basis::Adaptive(_)))
        .count();
    let adaptive = if adaptive > 0 {
        "; repeated until the interval was narrow or the budget spent, by a rule stated beforehand (Stein's two stages)"
    } else {
        ""
    };
    let found = match (repeats.variation, repeats.detectable) {
        (Some(variation), Some(change)) => format!(
            " Repeats scatter by {} (coefficient of variation); a difference between two points below {} may well go unseen.",
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

/// Verdicts that chance may have decided.
fn marginal(points: &[PointSummary]) -> Option<String> {
    let judged: usize = points
        .iter()
        .map(|summary| summary.qos.passed + summary.qos.failed)
        .sum();
    let near: usize = points.iter().map(|summary| summary.qos.marginal).sum();
    (judged > 0).then(|| {
        format!(
            "{near} of {} marginal: the bounds of the deciding value lie on both sides of its limit.",
            format::counted(judged, "verdict")
        )
    })
}

/// How noisy the edges are; of many searches the range alone.
fn blur(searches: &[Searched]) -> Option<String> {
    let known: Vec<&Searched> = searches
        .iter()
        .filter(|searched| !searched.found.answer.probes.is_empty())
        .collect();
    let blurs = || known.iter().map(|searched| searched.found.answer.blur);
    let (least, most) = (blurs().reduce(f64::min)?, blurs().reduce(f64::max)?);
    let confirmed = known
        .iter()
        .filter(|searched| searched.found.answer.confirmed)
        .count();
    let range = if known.len() == 1 {
        format::percent(least)
    } else {
        format!("{} to {}", format::percent(least), format::percent(most))
    };
    Some(format!(
        "{confirmed} of {} confirmed by fresh trials. Blur of the edge, from the load that nine of ten trials keep to the one that one of ten keeps: {range} \
         of the load.",
        format::counted(known.len(), "largest load")
    ))
}

fn laws(scaling: &[Scaling]) -> Option<String> {
    let part = |line: &Scaling| {
        let Some((choice, _)) = line.chosen() else {
            return format!("{}: no law", line.label);
        };
        let residuals = choice
            .goodness
            .as_ref()
            .map_or_else(String::new, |goodness| {
                format!(", residuals {}", format::percent(goodness.mape))
            });
        let held_out = choice
            .held_out
            .zip(line.judgement.held_out.as_ref())
            .map_or_else(
                || ", too few loads to hold any out".to_owned(),
                |(error, held)| {
                    format!(
                        ", held-out loads missed by {} (last value {})",
                        format::percent(error.mape),
                        format::percent(held.baselines.last.mape)
                    )
                },
            );
        format!(
            "{}: {}{residuals}{held_out}",
            line.label,
            choice.model.name()
        )
    };
    (!scaling.is_empty()).then(|| {
        format!(
            "{}.",
            scaling.iter().map(part).collect::<Vec<_>>().join("; ")
        )
    })
}

/// The section for a terminal: short lines.
pub(crate) fn lines(run: &Run, trust: &Trust) -> Vec<String> {
    // What the laws say stands above already.
    let told = trust.facts.iter().filter(|(name, _)| name != LAWS);
    let mut lines: Vec<String> = told.map(|(name, text)| format!("{name}: {text}")).collect();
    let checks: Vec<String> = trust
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
                checked.name(),
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
