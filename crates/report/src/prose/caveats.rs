//! Caveats: what did not hold, and what to know when the answer is read.

use rookery_analysis::{
    Analysis, Run, TrialData,
    points::PointSummary,
    trust::{CheckKind, CheckRemark, Checked},
};
use rookery_store::TrialStatus;
use rookery_text::Zone;

use super::{MOST_SENTENCES, format, limits, searches, settings, trust, wish};

/// One line for each point of which something is to be said; from a certain number on the rest is
/// counted.
fn summed_up(
    points: &[PointSummary],
    what: impl Fn(&PointSummary) -> Option<String>,
) -> Vec<String> {
    let said: Vec<String> = points
        .iter()
        .filter_map(|summary| Some(format!("{}: {}.", summary.point.label, what(summary)?)))
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
        .map(|summary| summary.point.label.clone())
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
pub(crate) fn caveats(run: &Run, analysis: &Analysis, zone: &Zone) -> Vec<String> {
    let points = &analysis.points;
    let (others, checks): (Vec<&Checked>, Vec<&Checked>) = analysis
        .trust
        .checks
        .iter()
        .partition(|checked| checked.check == CheckKind::OtherWork);
    // What took the host's CPUs away bends every number below.
    let mut all = warned(&others);
    all.extend(searches::caveats(&analysis.searches));
    all.extend(summed_up(points, |summary| {
        summary.worst_broken.as_ref().map(|broken| {
            format!(
                "limits {}; worst: {}",
                format::limits(&summary.limits),
                limits::broken(broken)
            )
        })
    }));
    all.extend(
        analysis
            .wish
            .as_ref()
            .map(wish::caveats)
            .unwrap_or_default(),
    );
    all.extend(single_trials(points));
    all.extend(summed_up(points, |summary| {
        (summary.done == 0).then(|| match summary.void + summary.failed {
            attempts @ 2.. => {
                format!("no good trial in {attempts} attempts, so nothing is said of it")
            }
            _ => "no good trial, so nothing is said of it".to_owned(),
        })
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
        (
            TrialStatus::Skipped,
            "skipped: the user took points out of the plan; the notes say which",
        ),
    ];
    for (status, meaning) in counts {
        match run.count(status) {
            0 => {}
            count => all.push(format!(
                "{} {meaning}{}{}.",
                format::counted(count, "trial"),
                again(run, status),
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
    all.extend(remarks.map(|note| format!("{}: {}.", zone.to_second(&note.at), note.text)));
    all.extend(warned(&checks));
    let speeds = analysis.trust.cpu_speeds.as_ref();
    all.extend(
        speeds
            .filter(|speeds| speeds.is_notable())
            .map(trust::cpu_speed_sentence),
    );
    let distances = analysis.trust.cpu_distances.as_ref();
    all.extend(distances.and_then(trust::cpu_distance_sentence));
    all.extend(moving_interrupts(run));
    all.extend(audit_caveats(run));
    all.extend(settings::caveat(run));
    all.extend(marginal_caveat(run));
    all
}

/// Interrupts of devices that did not stay where they were.
fn moving_interrupts(run: &Run) -> Option<String> {
    let mut software = run.header.host.versions.iter();
    let (name, _) = software.find(|(name, state)| name == "irqbalance" && state == "runs")?;
    Some(format!(
        "{name} ran on the host when the run began: interrupts of devices may have moved among \
         CPUs during trials."
    ))
}

/// How many void trials were run again, and how many of these ended well.
fn again(run: &Run, status: TrialStatus) -> String {
    let void = run
        .whole_trials()
        .filter(|trial| trial.row.status == status);
    let later = |void: &TrialData| {
        let attempts = run.whole_trials().filter(|other| {
            other.row.trial.id > void.row.trial.id && other.row.trial.is_attempt_of(&void.row.trial)
        });
        attempts.map(|trial| trial.row.status).collect::<Vec<_>>()
    };
    let tried: Vec<Vec<TrialStatus>> = void
        .map(later)
        .filter(|attempts| !attempts.is_empty())
        .collect();
    if status != TrialStatus::Void || tried.is_empty() {
        return String::new();
    }
    let well = tried
        .iter()
        .filter(|attempts| attempts.contains(&TrialStatus::Done))
        .count();
    format!(
        "; {} run again, {well} of them well in the end",
        tried.len()
    )
}

/// The first reason of the first trial that stands so.
fn example(run: &Run, status: TrialStatus) -> String {
    let mut trials = run
        .whole_trials()
        .filter(|trial| trial.row.status == status);
    let first = trials.find_map(|trial| Some((trial.row.trial.id, trial.row.reasons.first()?)));
    first.map_or_else(String::new, |(id, reason)| {
        format!(". Trial {id}: {}", reason.text.trim_end_matches('.'))
    })
}

/// What the checks remark on good trials, though it does not void them: each matter once, with all
/// remarks on its first trial as an example.
fn warned(checks: &[&Checked]) -> Vec<String> {
    let told = checks.iter().filter_map(|checked| {
        let good: Vec<&CheckRemark> = checked
            .remarks
            .iter()
            .filter(|remark| remark.counts)
            .collect();
        let first = good.first()?.trial;
        let mut trials: Vec<u32> = good.iter().map(|remark| remark.trial).collect();
        trials.dedup();
        let mut texts: Vec<&str> = Vec::new();
        for remark in good.iter().filter(|remark| remark.trial == first) {
            // Groups of a trial have the host in common.
            if !texts.contains(&remark.text.as_str()) {
                texts.push(&remark.text);
            }
        }
        let count = format::counted(trials.len(), "good trial");
        let what = match checked.check {
            CheckKind::Driver => format!("The load generator warns of itself in {count}"),
            CheckKind::OtherWork => format!("Other work went on in {count}"),
            CheckKind::Kernel => {
                format!("The kernel's counters remark on {count}")
            }
            CheckKind::Mix => format!("The mix was not quite what was asked for in {count}"),
            CheckKind::Workload => format!("The workload's own checks remark on {count}"),
            CheckKind::Memory => format!("Memory grew within the window in {count}"),
            CheckKind::SteadyState => format!("The steady state is in doubt in {count}"),
            CheckKind::Freeze => format!("Percentiles of the closed load hide a freeze in {count}"),
        };
        Some(format!(
            "{what} (none serious enough to discard them). Trial {first}: {}.",
            texts.join("; ")
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
            let disagreeing = audit.rows.iter().find(|row| !row.agrees());
            let what = match disagreeing.and_then(|row| Some((row, row.found?))) {
                Some((row, found)) => format!(
                    "{found} {} in the server against {} acknowledged",
                    row.proof.what, row.proof.acknowledged
                ),
                None => audit.detail.clone(),
            };
            format!(
                "Trial {}, guest {}: {what}.",
                trial.row.trial.id, audit.guest
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
