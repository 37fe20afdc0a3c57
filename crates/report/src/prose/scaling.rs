//! How throughput grows, in words.

use rookery_analysis::scaling::{BendKind, Grows, Law, LawName, Scaling};

use super::format;

/// The name of a law in sentences.
pub(crate) fn law_name(law: LawName) -> &'static str {
    match law {
        LawName::Linear => "The straight line",
        LawName::Amdahl => "Amdahl's law",
        LawName::Universal => "The universal scalability law",
        LawName::ClosedQueue => "The closed queue",
    }
}

/// The name of a law in legends.
pub(crate) fn short_law_name(law: LawName) -> &'static str {
    match law {
        LawName::Linear => "linear",
        LawName::Amdahl => "Amdahl",
        LawName::Universal => "USL",
        LawName::ClosedQueue => "closed queue",
    }
}

/// So much of what grows: `1 guest`, `0.25 vCPU`, `4 terminals`.
pub(crate) fn counted(line: &Scaling, n: f64) -> String {
    let unit = if n > 1.0 {
        line.unit
    } else {
        line.unit.trim_end_matches('s')
    };
    format!("{} {unit}", format::load(n))
}

/// Whether it is the clients of a closed loop that grow in number.
pub(crate) fn of_clients(line: &Scaling) -> bool {
    line.grows == Grows::Clients
}

/// What a line says in short: the law, where it bends, how well it predicts.
pub(crate) fn short(line: &Scaling) -> String {
    if !line.is_enough_for_a_law() {
        let mut all = vec![too_few_loads(line)];
        all.extend(ladder(line));
        return all.join(" ");
    }
    let mut all = law(line);
    all.extend(bend(line));
    all.extend(ladder(line));
    all.extend(predicted(line));
    all.extend(doubts_of_chosen(line));
    all.join(" ")
}

/// What a line says, in sentences without its label.
pub(crate) fn sentences(line: &Scaling) -> Vec<String> {
    if !line.is_enough_for_a_law() {
        let mut all = vec![too_few_loads(line)];
        all.extend(ladder(line));
        return all;
    }
    let mut all = law(line);
    all.extend(bend(line));
    all.extend(ceiling(line));
    all.extend(ladder(line));
    all.extend(predicted(line));
    all.extend(line.laws.iter().filter_map(refusal));
    all.extend(doubts_of_chosen(line));
    all.extend(line.doubts.iter().map(|doubt| sentence(&doubt.text)));
    all
}

/// Where the points say all that is known.
fn too_few_loads(line: &Scaling) -> String {
    let loads = format::counted(line.steps.len(), "load");
    format!("{loads} were tried, which is too few for a law: the points stand alone.")
}

fn law(line: &Scaling) -> Vec<String> {
    let Some(chosen) = line.chosen_law() else {
        return vec!["The data support no law.".to_owned()];
    };
    let residuals =
        chosen
            .mean_error
            .zip(chosen.largest_error)
            .map_or_else(String::new, |(mean, largest)| {
                format!(
                    ": it misses trials by {} on average, by {} at most",
                    format::percent(mean),
                    format::percent(largest)
                )
            });
    vec![format!("{} fits best{residuals}.", law_name(chosen.law))]
}

fn bend(line: &Scaling) -> Option<String> {
    let bend = line.bend?;
    let interval = bend.interval.map_or_else(String::new, |(low, high)| {
        format!(
            " (95 % interval {} to {})",
            format::load(low.max(0.0)),
            format::load(high)
        )
    });
    let what = match bend.bend {
        BendKind::Knee => "Queueing sets in at",
        BendKind::Peak => "Throughput peaks at",
    };
    let beyond = if bend.load > line.largest() {
        ", beyond the largest load that was tried"
    } else {
        ""
    };
    Some(format!(
        "{what} {} {}{interval}{beyond}.",
        format::load(bend.load),
        line.unit
    ))
}

/// What a ladder of clients says without any law.
fn ladder(line: &Scaling) -> Vec<String> {
    let Some(ladder) = &line.ladder else {
        return Vec::new();
    };
    let range = &ladder.linear;
    let interval = match range.interval {
        Some((low, high)) if low != high => format!(
            " (by the intervals of the trials between {} and {})",
            format::load(low),
            format::load(high)
        ),
        _ => String::new(),
    };
    let largest = if range.is_largest {
        ", the largest load that was tried"
    } else {
        ""
    };
    let smallest = line.steps.first().is_some_and(|step| step.load == range.to);
    let linear = if smallest {
        format!(
            "Throughput grows in proportion to no load beyond {}{interval}.",
            counted(line, range.to)
        )
    } else {
        format!(
            "Throughput grows in proportion up to {}{interval}{largest}.",
            counted(line, range.to)
        )
    };
    let failures = match &ladder.first_failures {
        Some(first) => {
            let class = first
                .class
                .as_ref()
                .map_or_else(String::new, |class| format!(", most of them {class}"));
            format!(
                "Failures begin at {}: {} of the requests{class}.",
                counted(line, first.load),
                format::percent(first.share)
            )
        }
        None => "No load had more than 0.1 % of failed requests.".to_owned(),
    };
    let mut all = vec![linear, failures];
    if ladder.classes.len() > 1 {
        let classes: Vec<String> = ladder
            .classes
            .iter()
            .map(|onset| format!("{} from {}", onset.class, counted(line, onset.load)))
            .collect();
        all.push(format!("By class: {}.", classes.join(", ")));
    }
    all
}

fn ceiling(line: &Scaling) -> Option<String> {
    line.ceiling_per_minute.map(|ceiling| {
        format!(
            "No number of {} gets beyond a throughput of {} per minute under this law.",
            line.unit,
            format::number(ceiling)
        )
    })
}

/// How well the held-out largest loads were predicted, beside the naive answer.
fn predicted(line: &Scaling) -> Option<String> {
    let held = line.held_out.as_ref()?;
    let error = line.chosen_law()?.held_out?;
    let loads: Vec<String> = held.loads.iter().map(|load| format::load(*load)).collect();
    let verdict = if held.no_better_than_last_value {
        "it has no predictive value beyond the loads that were tried"
    } else {
        "it predicts better than that"
    };
    Some(format!(
        "Fitted without the largest loads ({}), it predicts them within {} on average ({} at \
         most); carrying the last value forward, the naive baseline, is off by {}: {verdict}.",
        loads.join(", "),
        format::percent(error.mean),
        format::percent(error.largest),
        format::percent(held.last_value.mean)
    ))
}

/// Why a law is refused.
pub(crate) fn refusals(law: &Law) -> String {
    let reasons: Vec<&str> = law
        .findings
        .iter()
        .filter(|finding| finding.refuses)
        .map(|finding| finding.text.as_str())
        .collect();
    reasons.join("; ")
}

fn refusal(law: &Law) -> Option<String> {
    let reasons = refusals(law);
    (!reasons.is_empty()).then(|| format!("{} is refused: {reasons}.", law_name(law.law)))
}

fn doubts_of_chosen(line: &Scaling) -> Vec<String> {
    let findings = line.chosen_law().map_or(&[][..], |law| &law.findings);
    findings
        .iter()
        .filter(|finding| !finding.refuses)
        .map(|finding| format!("Doubt: {}.", finding.text))
        .collect()
}

/// A remark as a sentence of its own.
fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(char::to_uppercase);
    let first: String = first.into_iter().flatten().collect();
    format!("{first}{}.", letters.as_str())
}

#[cfg(test)]
mod tests {
    use super::sentence;

    #[test]
    fn a_remark_begins_with_a_capital_and_ends_with_a_stop() {
        assert_eq!(sentence("loads are few"), "Loads are few.");
        assert_eq!(sentence(""), ".");
    }
}
