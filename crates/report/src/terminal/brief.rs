//! What a run found in a few lines, for the end of `rookery run`.

use rookery_analysis::{Analysis, Run, points::PointSummary};
use rookery_store::TrialStatus;
use rookery_text::{Zone, hanging};

use super::{plain, trial_counts};
use crate::{
    answer::answer,
    prose::{caveats, limits, wish, words},
};

/// Width of the column of labels.
const LABEL: usize = 10;

/// Title, answer, limits, trust and caveats, in lines of `width`.
pub(crate) fn render(run: &Run, analysis: &Analysis, width: usize, zone: &Zone) -> String {
    let parts = [
        ("answer", without_limits(run, first_answer(run, analysis))),
        ("limits", limits_line(run, analysis)),
        ("wish", wish_line(run, analysis)),
        ("trust", trust_line(run)),
        ("caveats", caveats_line(run, analysis, zone)),
    ];
    let title = hanging("", &plain(&run.header.title), width);
    let lines = parts
        .iter()
        .filter(|(_, text)| !text.is_empty())
        .flat_map(|(label, text)| hanging(&format!("{label:LABEL$}"), &plain(text), width));
    title
        .into_iter()
        .chain(lines)
        .collect::<Vec<_>>()
        .join("\n")
        + "\n"
}

/// The limits have a line of their own.
fn without_limits(run: &Run, answer: String) -> String {
    match limits::of_run(run) {
        Some(limits) => answer.replace(&format!(" The limits: {limits}."), ""),
        None => answer,
    }
}

/// The first sentence of the answer: what the report says first.
pub(crate) fn first_answer(run: &Run, analysis: &Analysis) -> String {
    let first = answer(run, analysis).into_iter().next();
    first.unwrap_or_else(|| "This run gives no answer.".to_owned())
}

/// The limits, and how many points met them: `p95 of every request within 250 ms; met by 3 of 5
/// points, missed by 1, not judged at 1`.
fn limits_line(run: &Run, analysis: &Analysis) -> String {
    if analysis.run.loads_alone {
        return "none: databases were loaded, and no users came".to_owned();
    }
    let Some(limits) = limits::of_run(run) else {
        return "the study sets none".to_owned();
    };
    let points = &analysis.points;
    let count =
        |state: fn(&PointSummary) -> bool| points.iter().filter(|point| state(point)).count();
    let met = count(|point| point.limits.passed > 0 && point.limits.failed == 0);
    let mut text = format!("{limits}; met at {met} of {} points", points.len());
    for (count, state) in [
        (count(|point| point.limits.failed > 0), "missed"),
        (
            count(|point| point.limits.passed + point.limits.failed == 0),
            "not judged",
        ),
    ] {
        if count > 0 {
            text += &format!(", {state} at {count}");
        }
    }
    text
}

/// Where the wish was met; nothing where the study has none.
fn wish_line(run: &Run, analysis: &Analysis) -> String {
    let kept = analysis.wish.as_ref();
    kept.map_or_else(String::new, |kept| wish::kept(run, kept))
}

/// What became of the trials, and whether any was simulated.
fn trust_line(run: &Run) -> String {
    let simulated = if words::simulated(run) {
        "; simulated: nothing was measured"
    } else {
        ""
    };
    let void = match run.count(TrialStatus::Void) {
        0 => "",
        _ => "; void trials are in no average",
    };
    format!("{}{void}{simulated}", trial_counts(run))
}

/// How many caveats there are, and the first.
fn caveats_line(run: &Run, analysis: &Analysis, zone: &Zone) -> String {
    let all = caveats::caveats(run, analysis, zone);
    match all.split_first() {
        None => "none".to_owned(),
        Some((only, [])) => only.clone(),
        Some((first, more)) => format!("{first} (and {} more)", more.len()),
    }
}
