//! `rookery rehearse`: the guests of a study without their users.

use std::{env, fs, path::Path};

use rookery_lab::{Conductor, PlanChanges, Rehearsal};

use crate::{
    cli::RehearseArgs,
    commands::{check, places::templates, run::log_event},
    exit::{Code, Failure},
    logging, networks, output,
    progress::ProgressReporter,
    signals, targets,
};

/// Name of the log of rehearsals, in the directory of the runs.
const LOG_FILE: &str = "rehearsal.log";

pub(crate) fn run(args: &RehearseArgs) -> Result<Code, Failure> {
    let document = check::load(&args.study, args.choice.choices())?;
    let plan = check::plan(&document, &args.places.runs)?;
    networks::refuse_unconfirmed(&plan, &args.confirm_network)?;
    targets::refuse_unconfirmed(&plan, &args.confirm_target)?;
    let stop = signals::stop_flag()?;
    keep_log(&args.places.runs);
    let reporter = ProgressReporter::new(args.json, false);
    let conductor = Conductor {
        runs: args.places.runs.clone(),
        templates: templates(args.places.templates.as_deref())?,
        program: env::current_exe().map_err(|error| {
            Failure::new(
                Code::Internal,
                format!("cannot find this program itself: {error}"),
            )
        })?,
        stop: &stop,
        confirmed: args.confirm_target.clone(),
        changes: PlanChanges::default(),
        labs: rookery_lab::Labs::Here,
        listener: &|event| {
            log_event(event);
            reporter.report(event);
        },
    };
    let width = plan
        .points
        .iter()
        .map(|point| point.label().chars().count())
        .max()
        .unwrap_or_default();
    let mut first = true;
    let mut failed = None;
    let rehearsed = conductor.rehearse(
        &plan,
        args.rounds,
        args.without_database,
        &mut |rehearsal| {
            if args.json {
                failed = failed.take().or_else(|| output::json(&rehearsal).err());
                return;
            }
            if std::mem::take(&mut first) {
                output::text(head(width));
            }
            output::text(row(&rehearsal, width));
        },
    );
    reporter.finish();
    match (rehearsed, failed) {
        (Err(_), _) if signals::came(&stop) => Err(Failure::new(
            Code::Interrupted,
            "interrupted; the guests are removed",
        )),
        (Err(error), _) => Err(error.into()),
        (Ok(()), Some(failure)) => Err(failure),
        (Ok(()), None) => Ok(Code::Done),
    }
}

/// Keep the log beside the runs: the directory of a rehearsal goes with its guests.
fn keep_log(runs: &Path) {
    let kept = fs::create_dir_all(runs)
        .and_then(|()| runs.canonicalize())
        .and_then(|runs| logging::write_to(&runs.join(LOG_FILE)));
    if let Err(error) = kept {
        output::remark(format!("no log is kept in {}: {error}", runs.display()));
    }
}

fn head(width: usize) -> String {
    format!(
        "{:width$}  {:>9}  {:>9}  {:>16}  {:>18}  {:>9}  {:>9}",
        "point",
        "clone, ms",
        "ready, s",
        "CPU each, s",
        "memory each, MiB",
        "page, ms",
        "remove, s"
    )
}

fn row(rehearsal: &Rehearsal, width: usize) -> String {
    format!(
        "{:width$}  {:>9.1}  {:>9.2}  {:>16.2}  {:>18.1}  {:>9.1}  {:>9.2}",
        rehearsal.point,
        rehearsal.clone_ms,
        rehearsal.ready_s,
        rehearsal.cpu_s,
        rehearsal.memory_mib,
        rehearsal.answer_ms,
        rehearsal.removed_s
    )
}
