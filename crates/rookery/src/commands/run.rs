//! `rookery run`: from a study file to a report.

use std::{
    collections::BTreeMap,
    env,
    path::{Path, PathBuf},
    sync::OnceLock,
};

use rookery_lab::{Conductor, Event, Summary};
use rookery_store::{Outcome, Store, TrialRow, TrialStatus};
use rookery_study::Purpose;

use crate::{
    cli::{Places, RunArgs},
    commands::{check, report},
    exit::{Code, Failure},
    output,
    progress::Teller,
    signals,
};

pub(crate) fn run(args: &RunArgs) -> Result<Code, Failure> {
    // Without --resume the command line demands one.
    let study = args.study.as_deref().unwrap_or("latest");
    conduct(&args.places, args.quiet, args.json, |conductor| {
        if args.resume {
            resume(conductor, study)
        } else {
            start(conductor, Path::new(study), args)
        }
    })
}

/// Conduct a run as `work` asks for it, tell of it, and report it; its exit code.
pub(crate) fn conduct(
    places: &Places,
    quiet: bool,
    json: bool,
    work: impl FnOnce(&Conductor<'_>) -> Result<Summary, Failure>,
) -> Result<Code, Failure> {
    let stop = signals::stop_flag()?;
    let begun = OnceLock::new();
    let teller = Teller::new(quiet, json);
    let conductor = Conductor {
        runs: places.runs.clone(),
        templates: templates(places.templates.as_deref())?,
        program: env::current_exe().map_err(|error| Failure::new(Code::Internal, format!("cannot find this program itself: {error}")))?,
        stop: &stop,
        listener: &|event| {
            if let Event::RunStarted { directory, .. } = event {
                // Told once, before anything can fail that a resumption could mend.
                let _ = begun.set(directory.clone());
            }
            teller.tell(event);
        },
    };
    let conducted = work(&conductor);
    teller.finish();
    let summary = conducted.map_err(|failure| failure.with_resumption(begun.get()))?;
    let store = report::open(&summary.directory)?;
    let html = summary.directory.join("report.html");
    report::write_html(&store, &html)?;
    if !json {
        if !quiet {
            output::result(report::terminal(&store)?);
        }
        output::result(if quiet {
            html.display().to_string()
        } else {
            format!("report: {}", html.display())
        });
    }
    if signals::came(&stop) && (summary.left > 0 || summary.unfinished) {
        return Err(interrupted(&summary));
    }
    verdict(&store)
}

fn start(conductor: &Conductor<'_>, path: &Path, args: &RunArgs) -> Result<Summary, Failure> {
    let document = check::load(path, args.scale.as_deref())?;
    let plan = check::plan(&document, &args.places.runs)?;
    Ok(conductor.start(path, document.text(), document.study(), &plan)?)
}

/// Resume the named run; a study file stands for its newest run.
fn resume(conductor: &Conductor<'_>, name: &str) -> Result<Summary, Failure> {
    let directory = rookery_lab::find(&conductor.runs, name).or_else(|error| {
        if Path::new(name).is_file() {
            rookery_lab::find_of_study(&conductor.runs, Path::new(name))
        } else {
            Err(error)
        }
    })?;
    Ok(conductor.resume(&directory)?)
}

fn interrupted(summary: &Summary) -> Failure {
    let directory = summary.directory.display();
    Failure::new(
        Code::Interrupted,
        format!(
            "interrupted {}; nothing finished is lost\n  go on with: rookery run --resume {directory}",
            match summary.left {
                0 => "before its searches and repeats had ended".to_owned(),
                left => format!("with {left} trials left"),
            }
        ),
    )
}

/// The exit code of a finished run: every point needs a valid trial, and some trial must have kept QoS.
fn verdict(store: &Store) -> Result<Code, Failure> {
    let failure = |error: rookery_store::StoreError| Failure::new(Code::Store, error);
    let rows = store.trials().map_err(failure)?;
    let plan = store.header().map_err(failure)?.plan;
    let mut points: BTreeMap<u32, Vec<&TrialRow>> = BTreeMap::new();
    // A search goes on where a probe fails.
    for row in rows
        .iter()
        .filter(|row| row.trial.purpose == Purpose::Study || plan.study_points().count() == 0)
    {
        points.entry(row.trial.point).or_default().push(row);
    }
    let without: Vec<&Vec<&TrialRow>> = points
        .values()
        .filter(|rows| rows.iter().all(|row| row.status != TrialStatus::Done))
        .collect();
    if !without.is_empty() {
        let failed = without.iter().any(|rows| rows.iter().any(|row| row.status == TrialStatus::Failed));
        return Ok(if failed { Code::Guest } else { Code::Driver });
    }
    for row in &rows {
        let Some(record) = store.record(row.trial.id).map_err(failure)? else {
            continue;
        };
        let kept = record.verdict.as_ref().is_none_or(|verdict| verdict.passed);
        if record.outcome == Outcome::Done && kept {
            return Ok(Code::Done);
        }
    }
    Ok(Code::QosNeverMet)
}

/// Where templates are kept.
pub(crate) fn templates(named: Option<&Path>) -> Result<PathBuf, Failure> {
    if let Some(named) = named {
        return Ok(named.to_owned());
    }
    let cache = env::var_os("XDG_CACHE_HOME")
        .filter(|value| !value.is_empty())
        .map(PathBuf::from)
        .or_else(|| env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache")));
    cache.map(|cache| cache.join("rookery").join("templates")).ok_or_else(|| {
        Failure::new(
            Code::Host,
            "neither HOME nor XDG_CACHE_HOME says where to keep templates\n  mend: name a directory with --templates DIR",
        )
    })
}
