//! How load came, in the words that stand beside every figure of response times.

use rookery_judge::Run;
use rookery_study::{Arrivals, Course, OpenLoad, Study, Visit};
use rookery_workload::orderentry::terminal::Pacing as TerminalPacing;

/// Whether all variants agree in something.
fn same_in_all_variants<T: PartialEq>(run: &Run, of: impl Fn(&Study) -> T) -> bool {
    let mut variants = run
        .header
        .plan
        .variants
        .iter()
        .map(|variant| of(&variant.study));
    variants
        .next()
        .is_none_or(|first| variants.all(|other| other == first))
}

/// `Open loop, Poisson arrivals at 200/s, response times from the intended start`.
fn open_loop(run: &Run, open: &OpenLoad, think: &str) -> String {
    let mut rates: Vec<f64> = run
        .header
        .plan
        .study_points()
        .filter_map(|point| point.rate_per_s)
        .collect();
    rates.dedup();
    let rate = match rates[..] {
        [rate] => format!("at {}/s", crate::format::trimmed(rate)),
        _ => "at the rate of each point".to_owned(),
    };
    let spacing = match open.arrivals {
        Arrivals::Poisson => "Poisson",
        Arrivals::Uniform => "uniform",
    };
    let stay = match open.visit {
        Visit::Single => String::new(),
        visit => format!(
            ", {} orders of each visitor on average, think time {think} between them",
            crate::format::trimmed(visit.mean_acts())
        ),
    };
    let kind = if stay.is_empty() {
        "Open"
    } else {
        "Partly open"
    };
    let course = match &open.course {
        Course::Level => String::new(),
        course => format!(" over the window as {course}"),
    };
    format!(
        "{kind} loop, {spacing} arrivals {rate}{course}{stay}, response times from the intended start"
    )
}

/// Terminals of order entry: `Closed loop of terminals without pauses, plain statements`.
fn of_terminals(run: &Run, study: &Study) -> String {
    let of = |study: &Study| {
        study
            .workload
            .orderentry
            .as_ref()
            .map(|wanted| (wanted.pacing, wanted.statements))
    };
    let Some((pacing, statements)) = of(study).filter(|_| same_in_all_variants(run, of)) else {
        return "Terminals with pauses and statements as the variant says".to_owned();
    };
    let statements = format!("{} statements", statements.name());
    if let Some(open) = &study.load.open {
        return format!(
            "{}, {statements}",
            open_loop(run, open, "").replace("arrivals at", "arrivals of transactions at")
        );
    }
    let pauses = match pacing {
        TerminalPacing::Spec => "with keying and think times".to_owned(),
        TerminalPacing::Scaled(factor) => format!(
            "with {} of the keying and think times",
            crate::format::trimmed(factor)
        ),
        TerminalPacing::None | TerminalPacing::Rate(_) => "without pauses".to_owned(),
    };
    format!("Closed loop of terminals {pauses}, {statements}")
}

/// Loop type and think time, as they stand beside every figure of response times; of a simulated run that it is one.
pub(crate) fn loop_type(run: &Run) -> String {
    let words = of_load(run);
    if crate::words::simulated(run) {
        format!("SIMULATED: {}{}", words[..1].to_lowercase(), &words[1..])
    } else {
        words
    }
}

fn of_load(run: &Run) -> String {
    let study = &run.header.study;
    if crate::words::order_entry(run) {
        return of_terminals(run, study);
    }
    if study.load.open.is_some()
        && !same_in_all_variants(run, |study| {
            (study.load.open.clone(), study.workload.think_time)
        })
    {
        return "Open loop, arrivals as the variant says, response times from the intended start"
            .to_owned();
    }
    if !same_in_all_variants(run, |study| {
        (study.workload.think_time, study.workload.pacing)
    }) {
        return "Closed loop, think time as the variant says".to_owned();
    }
    let think = crate::format::seconds(study.workload.think_time.as_secs_f64());
    if let Some(open) = &study.load.open {
        return open_loop(run, open, &think);
    }
    match study.workload.pacing {
        rookery_stats::Pacing::Think => {
            format!("Closed loop, think time {think} on average, after each order")
        }
        rookery_stats::Pacing::Arrivals => {
            "Arrivals on a schedule that does not wait for answers".to_owned()
        }
        rookery_stats::Pacing::Cycle => {
            format!("Closed loop, one order per user every {think} (cycle time)")
        }
    }
}
