//! What was wished of the intervals, where it was met, and what it took.

use rookery_analysis::{
    Run,
    wish::{PilotSummary, WishReached, WishSummary, WishedPoint},
};
use rookery_store::TrialStatus;

use super::{MOST_SENTENCES, format};

/// Points that are named where the wish was missed; the others are counted.
const MOST_NAMED: usize = 3;

/// Half of an interval, without digits that nobody needs: `2 %`, `0.5 %`.
fn share(share: f64) -> String {
    let percent = 100.0 * share;
    let rounded = if percent >= 10.0 {
        percent.round()
    } else {
        (10.0 * percent).round() / 10.0
    };
    format!("{rounded} %")
}

/// The same of one that is too wide, never shown as if it were not.
fn too_wide(half: f64, within: f64) -> String {
    if share(half) == share(within) {
        format!("a little over {}", share(within))
    } else {
        share(half)
    }
}

/// A time that may be long: `45 s`, `30 min`, `2.5 h`.
fn time(seconds: f64) -> String {
    let tenths = |value: f64| (10.0 * value).round() / 10.0;
    match seconds {
        s if s < 120.0 => format::seconds(tenths(s)),
        s if s < 7200.0 => format!("{} min", format::trimmed(tenths(s / 60.0))),
        s => format!("{} h", format::trimmed(tenths(s / 3600.0))),
    }
}

/// `throughput within 2 %, p99 within 5 %`
fn goals(kept: &WishSummary) -> String {
    let goals: Vec<String> = kept
        .goals
        .iter()
        .map(|goal| format!("{} within {}", goal.metric, share(goal.within)))
        .collect();
    goals.join(", ")
}

/// `throughput within 2 %, p99 within 5 %: met at 5 of 6 points; 1 x 1 vCPU, 400 users: p99 within
/// 9 % after the budget of 30 min`
pub(crate) fn kept(run: &Run, kept: &WishSummary) -> String {
    let left = run.count(TrialStatus::Planned) + run.count(TrialStatus::Running);
    words(left == 0, kept)
}

/// The same of a run that is whole, or was interrupted.
fn words(whole: bool, kept: &WishSummary) -> String {
    let wish = goals(kept);
    let count = kept.points.len();
    let points = format::counted(count, "point");
    if kept.met == count {
        let all = if count == 1 { "" } else { "all " };
        return format!("{wish}: met at {all}{points}");
    }
    let after = if whole {
        after(kept)
    } else {
        "so far".to_owned()
    };
    let missed: Vec<&WishedPoint> = kept.points.iter().filter(|point| !point.met).collect();
    let mut parts: Vec<String> = missed
        .iter()
        .take(MOST_NAMED)
        .map(|point| format!("{}: {}", point.label, missed_words(point, kept)))
        .collect();
    if missed.len() > MOST_NAMED {
        parts.push(format!("and {} more", missed.len() - MOST_NAMED));
    }
    format!(
        "{wish}: met at {} of {points}; {} {after}",
        kept.met,
        parts.join("; ")
    )
}

/// What the trials took when nothing more was planned: `after the budget of 30 min, 12 min of it
/// on 4 void or failed trials`. A budget is not said to be spent where it is not.
fn after(kept: &WishSummary) -> String {
    let budget = time(kept.budget_s);
    let mut text = if kept.exhausted {
        format!("after the budget of {budget}")
    } else {
        format!("after {} of the budget of {budget}", time(kept.spent_s))
    };
    if kept.lost > 0 {
        text += &format!(
            ", {} of it on {}",
            time(kept.lost_s),
            format::counted(kept.lost as usize, "void or failed trial")
        );
    }
    text
}

/// What a point missed: `p99 within 9 %`.
fn missed_words(point: &WishedPoint, kept: &WishSummary) -> String {
    let missed = point.reached.iter().zip(&kept.goals);
    let words = missed
        .filter(|(reached, _)| !reached.met)
        .map(|(reached, goal)| match reached.half_width {
            Some(half) => format!("{} within {}", reached.metric, too_wide(half, goal.within)),
            None => format!("{} not known by {}", reached.metric, trials(point)),
        });
    words.collect::<Vec<_>>().join(", ")
}

fn trials(point: &WishedPoint) -> String {
    match point.trials {
        0 => "any good trial".to_owned(),
        1 => "1 good trial".to_owned(),
        count => format!("{count} good trials"),
    }
}

/// The same as a sentence of the answer.
pub(crate) fn sentence(run: &Run, summary: &WishSummary) -> String {
    format!("Wish: {}.", kept(run, summary))
}

/// For the method section: the wish, the times and where they come from, what the trials took.
pub(crate) fn method(run: &Run) -> Option<String> {
    let summary = WishSummary::from_run(run)?;
    let times = match (summary.chosen, summary.settle_s, summary.steady_s) {
        (false, ..) => "settle and window as written".to_owned(),
        (true, Some(settle), Some(steady)) => format!(
            "settle {} and window {} by {}",
            format::seconds(settle),
            format::seconds(steady),
            format::counted(summary.pilots.len(), "pilot"),
        ),
        (true, ..) => "pilots have not chosen the times".to_owned(),
    };
    Some(format!(
        "{}; {times}; {} of {} spent on trials",
        kept(run, &summary),
        time(summary.spent_s),
        time(summary.budget_s)
    ))
}

/// What makes the chosen times doubtful, and how many trials a missed wish would need.
pub(crate) fn caveats(summary: &WishSummary) -> Vec<String> {
    let mut all: Vec<String> = summary.pilots.iter().filter_map(doubt).collect();
    let missed = summary.met < summary.points.len();
    if let (Some(wanted), Some(steady)) = (summary.wanted_s, summary.steady_s)
        && missed
        && wanted > steady + 1.0
    {
        all.push(format!(
            "A window of {} would meet the wish in a single trial; the budget leaves {}.",
            time(wanted.ceil()),
            time(steady)
        ));
    }
    let missed = summary.points.iter().filter_map(more_trials);
    all.extend(missed);
    all.truncate(MOST_SENTENCES);
    all
}

fn doubt(pilot: &PilotSummary) -> Option<String> {
    let (trial, length) = (pilot.trial, format::seconds(pilot.length_s));
    if pilot.steady_from_s.is_none() {
        return Some(format!(
            "The pilot of point {} (trial {trial}) was steady at no time of its {length}: the \
             times that it chose may be too short.",
            pilot.point
        ));
    }
    if pilot.wanted_s.is_none() {
        return Some(format!(
            "The pilot of point {} (trial {trial}) saw too little in {length} to tell how long a \
             window must be.",
            pilot.point
        ));
    }
    (!pilot.independent).then(|| {
        format!(
            "The seconds of the pilot of point {} (trial {trial}) depend on each other for so \
             long that the window that it chose is a guess.",
            pilot.point
        )
    })
}

/// Trials that a missed wish needs by the scatter of the first.
fn more_trials(point: &WishedPoint) -> Option<String> {
    let needed = |reached: &WishReached| reached.needed.filter(|_| !reached.met);
    let needed = point.reached.iter().filter_map(needed).max()?;
    Some(format!(
        "{}: the wish needs about {needed} trials by the scatter of the first; there are {}.",
        point.label, point.trials
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(label: &str, throughput: Option<f64>, p99: Option<f64>) -> WishedPoint {
        let reached = |metric: &str, half_width: Option<f64>, within: f64| WishReached {
            metric: metric.to_owned(),
            half_width,
            needed: half_width.map(|_| 12),
            met: half_width.is_some_and(|half| half <= within),
        };
        let reached = vec![
            reached("throughput", throughput, 0.02),
            reached("p99", p99, 0.05),
        ];
        WishedPoint {
            point: 1,
            label: label.to_owned(),
            trials: 4,
            met: reached.iter().all(|reached| reached.met),
            reached,
        }
    }

    fn summary(points: Vec<WishedPoint>) -> WishSummary {
        let goal = |metric: &str, within| rookery_analysis::wish::WishGoal {
            metric: metric.to_owned(),
            within,
        };
        WishSummary {
            goals: vec![goal("throughput", 0.02), goal("p99", 0.05)],
            budget_s: 1800.0,
            spent_s: 1795.4,
            exhausted: true,
            lost: 0,
            lost_s: 0.0,
            settle_s: Some(15.0),
            steady_s: Some(45.0),
            chosen: true,
            wanted_s: Some(400.0),
            pilots: vec![PilotSummary {
                trial: 1,
                point: 1,
                length_s: 130.0,
                steady_from_s: None,
                wanted_s: None,
                independent: true,
            }],
            met: points.iter().filter(|point| point.met).count(),
            points,
        }
    }

    #[test]
    fn a_wish_is_met_or_said_to_be_missed() {
        let met = summary(vec![point("a", Some(0.01), Some(0.05))]);
        let missed = summary(vec![
            point("a", Some(0.01), Some(0.05)),
            point("b", Some(0.0204), Some(0.0904)),
            point("c", None, None),
        ]);
        let mut void = summary(vec![WishedPoint {
            trials: 0,
            ..point("a", None, None)
        }]);
        (void.lost, void.lost_s) = (4, 720.0);
        let early = WishSummary {
            exhausted: false,
            spent_s: 900.0,
            lost: 1,
            ..void.clone()
        };
        let told = [
            words(true, &met),
            words(true, &missed),
            words(false, &missed),
            words(true, &void),
            words(true, &early),
            caveats(&missed).join("\n"),
        ];
        insta::assert_snapshot!(told.join("\n"), @r"
        throughput within 2 %, p99 within 5 %: met at 1 point
        throughput within 2 %, p99 within 5 %: met at 1 of 3 points; b: throughput within a little over 2 %, p99 within 9 %; c: throughput not known by 4 good trials, p99 not known by 4 good trials after the budget of 30 min
        throughput within 2 %, p99 within 5 %: met at 1 of 3 points; b: throughput within a little over 2 %, p99 within 9 %; c: throughput not known by 4 good trials, p99 not known by 4 good trials so far
        throughput within 2 %, p99 within 5 %: met at 0 of 1 point; a: throughput not known by any good trial, p99 not known by any good trial after the budget of 30 min, 12 min of it on 4 void or failed trials
        throughput within 2 %, p99 within 5 %: met at 0 of 1 point; a: throughput not known by any good trial, p99 not known by any good trial after 15 min of the budget of 30 min, 12 min of it on 1 void or failed trial
        The pilot of point 1 (trial 1) was steady at no time of its 130 s: the times that it chose may be too short.
        A window of 6.7 min would meet the wish in a single trial; the budget leaves 45 s.
        b: the wish needs about 12 trials by the scatter of the first; there are 4.
        ");
    }
}
