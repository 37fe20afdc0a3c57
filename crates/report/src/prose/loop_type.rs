//! How load came, in the words that stand beside every figure of response times.

use rookery_analysis::Run;
use rookery_study::{Arrivals, Course, Measure, OpenLoad, Study, Visit};
use rookery_workload::DelayDistribution;

use super::{format, words};

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
        .filter_map(rookery_study::Point::rate_per_s)
        .collect();
    rates.dedup();
    let rate = match rates[..] {
        [rate] => format!("at {}/s", format::trimmed(rate)),
        _ => "at the rate of each point".to_owned(),
    };
    let spacing = match open.arrivals {
        Arrivals::Poisson => "Poisson",
        Arrivals::Uniform => "uniform",
    };
    let stay = match open.visit {
        Visit::Single => String::new(),
        visit => format!(
            ", {} {} of each visitor on average, think time {think} between them",
            format::trimmed(visit.mean_acts()),
            words::workload(run).unit.plural
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
        "{kind} loop, {spacing} arrivals {rate}{course}{stay}, response times from the intended \
         start"
    )
}

/// Clients whose pauses belong to single operations: `Closed loop of terminals, no pauses`.
fn of_operations(run: &Run, study: &Study) -> String {
    if let Some(open) = study.load.open() {
        return open_loop(run, open, "").replace("arrivals at", "arrivals of operations at");
    }
    let people = words::people(run);
    if same_in_all_variants(run, |study| study.workload.pauses()) {
        format!("Closed loop of {people}, {}", study.workload.pace())
    } else {
        format!("Closed loop of {people}, pauses as the variant says")
    }
}

/// Loop type and think time, as they stand beside every figure of response times; of a simulated
/// run that it is one.
pub(crate) fn loop_type(run: &Run) -> String {
    let words = of_load(run);
    if words::simulated(run) {
        format!("SIMULATED: {}{}", words[..1].to_lowercase(), &words[1..])
    } else {
        words
    }
}

fn of_load(run: &Run) -> String {
    let study = &run.header.study;
    if study.measure == Measure::LoadTime {
        return "Databases are loaded; no users".to_owned();
    }
    if study.workload.think_time().is_none() {
        return of_operations(run, study);
    }
    if study.load.open().is_some()
        && !same_in_all_variants(run, |study| {
            (study.load.open().cloned(), study.workload.think_time())
        })
    {
        return "Open loop, arrivals as the variant says, response times from the intended start"
            .to_owned();
    }
    if !same_in_all_variants(run, |study| study.workload.think_time()) {
        return "Closed loop, think time as the variant says".to_owned();
    }
    let pause = study.workload.think_time();
    let mean = format::seconds(pause.map_or(0.0, |pause| pause.mean.as_secs_f64()));
    let distribution = pause.map(|pause| pause.distribution).unwrap_or_default();
    let think = if distribution == DelayDistribution::default() {
        mean
    } else {
        format!("{mean} ({})", distribution.words())
    };
    if let Some(open) = study.load.open() {
        return open_loop(run, open, &think);
    }
    match pause.map_or(rookery_stats::Pacing::Think, |pause| pause.pacing) {
        rookery_stats::Pacing::Think => {
            format!(
                "Closed loop, think time {think} on average, after each {}",
                words::unit(run)
            )
        }
        rookery_stats::Pacing::Arrivals => {
            "Arrivals on a schedule that does not wait for answers".to_owned()
        }
        rookery_stats::Pacing::Cycle => {
            format!(
                "Closed loop, one {} per user every {think} (cycle time)",
                words::unit(run)
            )
        }
    }
}
