//! The method section: what was set, what the driver says of itself, what the databases hold, what
//! went wrong.

use rookery_analysis::{Run, TrialData};
use rookery_store::{TrialRecord, TrialStatus};
use rookery_study::{GuestGroup, Over, Point, RepeatGoal};
use rookery_text::Zone;

use super::{Table, table};
use crate::prose::{
    Fact, format, limits,
    loop_type::loop_type,
    wish,
    words::{self, word},
};

fn fact(name: &str, value: impl Into<String>) -> Fact {
    (name.to_owned(), value.into())
}

fn cpu_list(cpus: &[u32]) -> String {
    let cpus: Vec<String> = cpus.iter().map(u32::to_string).collect();
    cpus.join(", ")
}

/// Study and machine.
pub(crate) fn facts(run: &Run, zone: &Zone) -> Vec<Fact> {
    let header = &run.header;
    let (study, plan, host) = (&header.study, &header.plan, &header.host);
    let load = &study.load;
    // The times that pilots chose stand in the plan.
    let times = plan
        .variants
        .first()
        .map_or(load, |variant| &variant.study.load);
    let time = |duration: std::time::Duration| format::seconds(duration.as_secs_f64());
    let versions: Vec<String> = host
        .versions
        .iter()
        .map(|(name, version)| format!("{name} {version}"))
        .collect();
    vec![
        fact(
            "Run",
            format!(
                "{}, begun {}",
                header.run_id,
                zone.to_second(&header.created_at)
            ),
        ),
        fact(
            "Host",
            format!(
                "{}: {}, Linux {}",
                host.hostname, host.cpu_model, host.kernel
            ),
        ),
        fact(
            "CPUs, memory",
            format!(
                "{} CPUs ({}), {} MiB",
                host.facts.cpus.len(),
                cpu_list(&host.facts.cpus),
                host.facts.memory_mib
            ),
        ),
        fact("Software", versions.join(", ")),
        fact("Loop", loop_type(run)),
        fact(
            "Phases",
            format!(
                "ramp-up {}, settle {}, window {}, ramp-down {}; unfinished operations awaited {}",
                load.ramp_up,
                time(times.settle),
                time(times.steady),
                time(load.ramp_down),
                time(load.drain)
            ),
        ),
        fact(
            "Repeats, order",
            match &load.goal {
                Some(RepeatGoal::HalfWidth(target)) => format!(
                    "{} of each point, up to {} for an interval of ± {}; order {}",
                    load.repeats,
                    load.max_repeats,
                    format::percent(*target),
                    word(load.order)
                ),
                Some(RepeatGoal::Wish(_)) => format!(
                    "{} of each point, and as many more as the wish needs and its time allows; \
                     order {}",
                    load.repeats,
                    word(load.order)
                ),
                None => format!("{} of each point, order {}", load.repeats, word(load.order)),
            },
        ),
        fact(
            "Wish",
            wish::method(run).unwrap_or_else(|| "none".to_owned()),
        ),
        fact(
            "Search",
            load.search
                .as_ref()
                .map_or_else(|| "none".to_owned(), search),
        ),
        fact(
            "Seed",
            format!("{} (study); each trial's own below", study.seed),
        ),
        fact(
            "Workload",
            format!(
                "{}: {}",
                word(study.workload.kind()),
                study.workload.describe()
            ),
        ),
        fact(
            "Stack",
            match study.stack.pages() {
                Some(pages) => format!("{}, {} pages", word(study.stack.kind()), word(pages)),
                None => word(study.stack.kind()),
            },
        ),
        fact(
            "Guests",
            format!(
                "{}, {}, pinning {}, on CPUs {}",
                kinds(run),
                study.guest.cpu,
                study.guest.pin.name(),
                cpu_list(&plan.guest_cpus)
            ),
        ),
        fact(
            "Driver",
            format!(
                "{}; request limit {}",
                driver_place(&plan.driver_cpus),
                time(load.timeout)
            ),
        ),
        fact(
            "Limits",
            limits::of_run(run).unwrap_or_else(|| "none".to_owned()),
        ),
    ]
}

/// Where the driver is: it has no CPUs here where other machines have it.
fn driver_place(cpus: &[u32]) -> String {
    if cpus.is_empty() {
        "on other machines, which the notes name".to_owned()
    } else {
        format!("on CPUs {}", cpu_list(cpus))
    }
}

/// The kinds of guests of all variants, each once.
fn kinds(run: &Run) -> String {
    let mut all: Vec<String> = Vec::new();
    for variant in &run.header.plan.variants {
        let kind = word(variant.study.guest.kind());
        if !all.contains(&kind) {
            all.push(kind);
        }
    }
    all.join(", ")
}

/// What is searched, in words.
fn search(asked: &rookery_study::SearchUse) -> String {
    let what = match asked.over {
        Over::Memory => "the least memory of each guest".to_owned(),
        over => format!("the largest number of {}", over.unit()),
    };
    format!(
        "{what} within the limits; resolution {}, up to {} trials, {} of them to confirm",
        format::percent(asked.resolution),
        asked.probes,
        asked.confirm
    )
}

/// Every trial: state, seed, times, the driver's evidence about itself.
pub(crate) fn trials(run: &Run, zone: &Zone) -> Table {
    let heads = [
        "trial",
        "point",
        "what for",
        "repeat",
        "seed",
        "state",
        "attempts",
        "begun",
        words::rate(run),
        "driver CPU",
        "driver µs/request",
        "run-queue wait",
        "lag p99",
        "Little error",
        "healthy after",
        "limits",
    ];
    let rows = run.trials.iter().map(|trial| trial_row(trial, zone));
    let mut table = table(&heads, rows.collect());
    let plan = &run.header.plan;
    if plan.searches.is_empty() && plan.wish.is_none() {
        let purpose = table.heads.iter().position(|head| head == "what for");
        if let Some(column) = purpose {
            table.heads.remove(column);
            table
                .rows
                .iter_mut()
                .for_each(|row| drop(row.remove(column)));
        }
    }
    if !plan.factors.is_empty() || !plan.searches.is_empty() || !run.groups.is_empty() {
        table.heads.insert(2, "what".to_owned());
        for (row, trial) in table.rows.iter_mut().zip(&run.trials) {
            let point = plan
                .points
                .iter()
                .find(|point| point.id == trial.row.trial.point);
            row.insert(
                2,
                point.map_or_else(String::new, rookery_study::Point::label),
            );
        }
    }
    table
}

fn trial_row(trial: &TrialData, zone: &Zone) -> Vec<String> {
    let row = &trial.row;
    let record = trial.record.as_ref();
    let measured = record.and_then(|record| record.measurement.as_ref());
    let driver = measured.map(|measured| &measured.driver);
    vec![
        row.trial.id.to_string(),
        row.trial.point.to_string(),
        row.trial.purpose.name().to_owned(),
        row.trial.repeat.to_string(),
        row.trial.seed.to_string(),
        format::status(row.status).to_owned(),
        row.attempts.to_string(),
        row.started_at
            .as_deref()
            .map_or_else(String::new, |at| zone.to_second(at)),
        format::or_none(measured, |measured| {
            format::number(measured.units_per_minute())
        }),
        format::or_none(driver, |driver| format::percent(driver.cpu_share)),
        format::or_none(driver, |driver| format::number(driver.cpu_us_per_request)),
        format::or_none(driver, |driver| format::percent(driver.run_queue_share)),
        format::or_none(driver, |driver| format::ms(driver.lag_p99_us as f64)),
        format::or_none(driver, |driver| format::percent(driver.little_error)),
        format::or_none(record, |record| format::seconds(record.ready_s)),
        format::or_none(
            record.and_then(|record| record.verdict.as_ref()),
            |verdict| verdict.sentence(),
        ),
    ]
}

fn records(run: &Run) -> impl Iterator<Item = (u32, &TrialRecord)> {
    run.trials
        .iter()
        .filter_map(|trial| Some((trial.row.trial.id, trial.record.as_ref()?)))
}

/// What guests hold against what their users were told, one row for each kind of record.
pub(crate) fn audits(run: &Run) -> Table {
    let mut rows = Vec::new();
    for (trial, record) in records(run) {
        for audit in &record.audits {
            for row in &audit.rows {
                rows.push(vec![
                    trial.to_string(),
                    audit.guest.clone(),
                    row.proof.what.clone(),
                    format::or_none(row.found, |found| found.to_string()),
                    row.proof.acknowledged.to_string(),
                    row.proof.unanswered.to_string(),
                    if audit.killed { "yes" } else { "no" }.to_owned(),
                    if audit.consistent {
                        "consistent"
                    } else {
                        "NOT CONSISTENT"
                    }
                    .to_owned(),
                    audit.detail.clone(),
                ]);
            }
        }
    }
    let heads = [
        "trial",
        "guest",
        "records",
        "in the server",
        "acknowledged",
        "unanswered",
        "killed",
        "verdict",
        "detail",
    ];
    table(&heads, rows)
}

/// Failures by class, with the first example.
pub(crate) fn errors(run: &Run) -> Table {
    let mut rows = Vec::new();
    for (trial, record) in records(run) {
        for guest in record
            .measurement
            .iter()
            .flat_map(|measured| &measured.guests)
        {
            for tally in &guest.errors {
                let example = tally.examples.first();
                rows.push(vec![
                    trial.to_string(),
                    guest.guest.clone(),
                    tally.class.name().to_owned(),
                    tally.sub_class.clone(),
                    tally.count.to_string(),
                    example.map_or_else(String::new, |example| {
                        format!(
                            "{} at {} s: {}",
                            example.operation,
                            format::trimmed(example.at_s),
                            example.detail
                        )
                    }),
                ]);
            }
        }
    }
    table(
        &[
            "trial",
            "guest",
            "class",
            "sub-class",
            "count",
            "first example",
        ],
        rows,
    )
}

/// What the groups of a point have, once where it is the same in all.
fn of_groups(point: &Point, words: fn(&GuestGroup) -> String) -> String {
    let mut all: Vec<String> = point.groups.iter().map(words).collect();
    all.dedup();
    all.join(" | ")
}

/// Points of the study with what the plan gave them; those that searches tried stand in the tables
/// of the searches.
pub(crate) fn points(run: &Run) -> Table {
    let rows = run.header.plan.study_points().map(|point| {
        vec![
            point.id.to_string(),
            point.label(),
            point.layouts.join(", "),
            of_groups(point, |group| group.memory_mib.to_string()),
            of_groups(point, |group| group.database.to_string()),
            point
                .each_guest()
                .map(|guest| cpu_list(guest.cpus()))
                .collect::<Vec<_>>()
                .join(" | "),
            format::trimmed(point.capacity_cpus),
            point
                .baseline
                .map_or_else(|| "none".to_owned(), |baseline| baseline.to_string()),
        ]
    });
    let heads = [
        "point",
        "what",
        "layouts",
        "memory of each guest, MiB",
        "database of each guest",
        "CPUs of each guest",
        "capacity, CPUs",
        "baseline point",
    ];
    table(&heads, rows.collect())
}

/// A trial that did not end well, or a log worth keeping.
#[derive(Clone, Debug, serde::Serialize)]
pub(crate) struct Trouble {
    pub(crate) title: String,
    pub(crate) reasons: Vec<String>,
    pub(crate) logs: Vec<(String, String)>,
}

/// Void and failed trials with their reasons and the guests' logs.
pub(crate) fn troubles(run: &Run) -> Vec<Trouble> {
    let ended_badly = run
        .trials
        .iter()
        .filter(|trial| matches!(trial.row.status, TrialStatus::Void | TrialStatus::Failed));
    ended_badly
        .map(|trial| {
            let record = trial.record.as_ref();
            let mut reasons: Vec<String> =
                trial.row.reasons.iter().map(ToString::to_string).collect();
            let aborted = record.and_then(|record| record.measurement.as_ref()?.aborted.clone());
            reasons.extend(aborted.map(|reason| format!("load ended early: {reason}")));
            Trouble {
                title: format!("{}, {}", trial.label(), format::status(trial.row.status)),
                reasons,
                logs: record.map_or_else(Vec::new, |record| {
                    record
                        .logs
                        .iter()
                        .map(|log| (log.guest.clone(), log.text.clone()))
                        .collect()
                }),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_driver_without_cpus_here_is_elsewhere() {
        assert_eq!(driver_place(&[2, 3]), "on CPUs 2, 3");
        assert!(driver_place(&[]).starts_with("on other machines"));
    }
}
