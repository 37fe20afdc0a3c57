//! `rookery run`: from a study file to a report.

use std::{
    env, fs,
    net::IpAddr,
    path::{Path, PathBuf},
    sync::OnceLock,
};

use rookery_analysis::{
    Run, TrialData,
    search::{self, Found},
};
use rookery_fleet::HostsFile;
use rookery_lab::{Conductor, Event, Labs, RemoteDriver, RemoteLab, Summary};
use rookery_model::search::Ending;
use rookery_store::{Store, TrialStatus};
use rookery_study::{Document, Layout, Measure, Over, Plan, Point};

use crate::{
    cli::{LiveRunArgs, Places, RunArgs},
    commands::{check, fleet, live::LiveRun, places::templates, report},
    exit::{Code, Failure},
    logging, networks, output,
    progress::{ProgressReporter, now},
    signals, studies, study_files, targets,
};

pub(crate) fn run(args: &RunArgs) -> Result<Code, Failure> {
    // Without --resume the command line demands one.
    let study = args.study.as_deref().unwrap_or("latest");
    let named = args.spread.as_deref().or(args.guests.as_deref());
    let lab_hosts = named.map(fleet::hosts).transpose()?;
    let driver_hosts = args.drivers.as_deref().map(fleet::hosts).transpose()?;
    let task = Task::new(study, args)?;
    let guest_hosts = lab_hosts.as_ref().filter(|_| args.guests.is_some());
    let together = task.check_hosts(guest_hosts)?;
    let [at_labs, at_drivers] = fleet::agents(lab_hosts.as_ref(), driver_hosts.as_ref())?;
    let labs: Vec<&dyn RemoteLab> = at_labs.iter().map(|agent| agent as _).collect();
    let mut drivers: Vec<&dyn RemoteDriver> = at_drivers.iter().map(|agent| agent as _).collect();
    // Guests elsewhere are driven from here, unless from other machines again.
    let own = if args.guests.is_some() && drivers.is_empty() {
        fleet::local_drivers(&args.places.runs, together)?
    } else {
        Vec::new()
    };
    drivers.extend(own.iter().map(|driver| driver as &dyn RemoteDriver));
    let labs = match (labs.as_slice(), drivers.as_slice()) {
        ([], []) => Labs::Here,
        ([], drivers) => Labs::DrivenFrom(drivers),
        (labs, drivers) => Labs::Elsewhere { labs, drivers },
    };
    let manner = Manner {
        quiet: args.quiet,
        json: args.json,
        confirmed: &args.confirm_target,
        live: Some(&args.live),
        labs,
    };
    conduct(&args.places, &manner, |conductor| match &task {
        Task::Resume(left) => resume(conductor, left, args),
        Task::Start(path, document) => start(conductor, path, document, args),
    })
}

/// What is to be run.
enum Task {
    /// A study, at this path.
    Start(PathBuf, Box<Document>),
    /// What is left of a run.
    Resume(Box<LeftRun>),
}

/// A run that goes on.
struct LeftRun {
    directory: PathBuf,
    /// The text of the file that stands for it now, if it was named by one.
    study_now: Option<String>,
    plan: Plan,
}

impl Task {
    /// The study or the run that `study` names.
    fn new(study: &str, args: &RunArgs) -> Result<Self, Failure> {
        if args.resume {
            return left_run(study, &args.places.runs).map(|left| Self::Resume(Box::new(left)));
        }
        let path = PathBuf::from(study);
        let document = Box::new(check::load(&path, args.choice.choices())?);
        Ok(Self::Start(path, document))
    }

    /// Whether the hosts that groups of guests name are in this file; on how many hosts a trial is
    /// at most. No host is asked anything.
    fn check_hosts(&self, file: Option<&HostsFile>) -> Result<usize, Failure> {
        let (wanted, most): (Vec<Vec<&str>>, Option<usize>) = match self {
            Self::Start(_, document) => {
                let layouts = &document.study().layouts;
                (
                    layouts.iter().map(Layout::named_hosts).collect(),
                    layouts.iter().map(Layout::most_hosts).max(),
                )
            }
            Self::Resume(left) => {
                let hosts: Vec<Vec<&str>> = left.plan.points.iter().map(Point::hosts).collect();
                let most = hosts.iter().map(Vec::len).max();
                (hosts, most)
            }
        };
        let hosts = file.iter().flat_map(|file| &file.hosts);
        let known: Vec<&str> = hosts.map(|host| &*host.name).collect();
        rookery_lab::check_group_hosts(wanted, &known)?;
        Ok(most.unwrap_or(0).max(1))
    }
}

/// How a run is conducted.
pub(crate) struct Manner<'a> {
    /// Nothing but errors and the path of the report is printed.
    pub(crate) quiet: bool,
    /// Events are printed as JSON.
    pub(crate) json: bool,
    /// Addresses of other machines that the user allowed to be loaded.
    pub(crate) confirmed: &'a [IpAddr],
    /// The page beside the run, where it was asked for.
    pub(crate) live: Option<&'a LiveRunArgs>,
    /// Where trials are performed.
    pub(crate) labs: Labs<'a>,
}

/// Conduct a run as `work` asks for it, tell of it, and report it; its exit code.
pub(crate) fn conduct(
    places: &Places,
    manner: &Manner<'_>,
    work: impl FnOnce(&Conductor<'_>) -> Result<Summary, Failure>,
) -> Result<Code, Failure> {
    let Manner {
        quiet,
        json,
        confirmed,
        live,
        labs,
    } = *manner;
    let stop = signals::stop_flag()?;
    let begun = OnceLock::new();
    let live = LiveRun::start(live, &places.runs, &stop, json)?;
    let reporter = ProgressReporter::new(quiet, json);
    let conductor = Conductor {
        runs: places.runs.clone(),
        templates: templates(places.templates.as_deref())?,
        program: env::current_exe().map_err(|error| {
            Failure::new(
                Code::Internal,
                format!("cannot find this program itself: {error}"),
            )
        })?,
        stop: &stop,
        confirmed: confirmed.to_vec(),
        changes: live.changes(),
        labs,
        listener: &|event| {
            if let Event::RunStarted { run, directory, .. } = event {
                signals::guests_of(run);
                keep_log(Path::new(directory));
                // Set once, before anything can fail after which the run can be resumed.
                let _ = begun.set(directory.clone());
            }
            log_event(event);
            reporter.report(event);
            live.hear(event);
        },
    };
    let conducted = work(&conductor);
    reporter.finish();
    let summary = conducted.map_err(|failure| failure.with_resumption(begun.get()))?;
    let store = report::open(&summary.directory)?;
    let html = summary.directory.join("report.html");
    report::write_html(&store, &summary.directory, &html)?;
    if json {
        let line = serde_json::json!({
            "event": "report", "at": now(), "answer": report::answer(&store)?, "report": html,
        });
        output::result(line);
    } else if quiet {
        output::result(html.display());
    } else {
        output::text(report::brief(&store, &html)?);
    }
    if signals::came(&stop) && (summary.left > 0 || summary.unfinished) {
        return Err(interrupted(&summary));
    }
    verdict(&store)
}

/// Keep the log in the run's directory. A run without a log is still worth more than none.
fn keep_log(directory: &Path) {
    let path = directory.join(logging::FILE);
    if let Err(error) = logging::write_to(&path) {
        output::remark(format!("no log is kept in {}: {error}", path.display()));
    }
}

/// Log an event of the lab as programs read it.
pub(crate) fn log_event(event: &Event) {
    if let Ok(text) = serde_json::to_string(event) {
        tracing::debug!("{text}");
    }
}

fn start(
    conductor: &Conductor<'_>,
    path: &Path,
    document: &Document,
    args: &RunArgs,
) -> Result<Summary, Failure> {
    let plan = match conductor.labs {
        Labs::Here | Labs::DrivenFrom(_) | Labs::PartOf { .. } => {
            check::plan(document, &args.places.runs)?
        }
        Labs::Elsewhere { labs, .. } => check::plan_for(document, &fleet::facts(labs)?)?,
    };
    networks::refuse_unconfirmed(&plan, &args.confirm_network)?;
    targets::refuse_unconfirmed(&plan, &args.confirm_target)?;
    let built_in = studies::named_by(path)?.map(|study| study.file());
    let read_from = built_in.is_none().then_some(path);
    let files = study_files::of_study(document, &plan, read_from);
    let path = built_in.as_deref().unwrap_or(path);
    let (text, study) = (document.text(), document.study());
    Ok(conductor.start(path, text, &files, study, &plan)?)
}

/// The named run; a study file stands for its newest run.
fn left_run(name: &str, runs: &Path) -> Result<LeftRun, Failure> {
    let built_in = studies::named_by(Path::new(name))?;
    let (directory, study_now) = match built_in {
        Some(study) => (
            rookery_lab::find_of_study(runs, &study.file())?,
            Some(study.text.to_owned()),
        ),
        None => match rookery_lab::find(runs, name) {
            Ok(directory) => (directory, None),
            Err(_) if Path::new(name).is_file() => (
                rookery_lab::find_of_study(runs, Path::new(name))?,
                // What cannot be read as text is no study, and has changed for certain.
                Some(fs::read_to_string(name).unwrap_or_default()),
            ),
            Err(error) => return Err(error.into()),
        },
    };
    let store = report::open(&directory)?;
    study_files::refuse_changed(&store.files()?)?;
    let plan = store.header()?.plan;
    Ok(LeftRun {
        directory,
        study_now,
        plan,
    })
}

fn resume(conductor: &Conductor<'_>, left: &LeftRun, args: &RunArgs) -> Result<Summary, Failure> {
    networks::refuse_unconfirmed(&left.plan, &args.confirm_network)?;
    targets::refuse_unconfirmed(&left.plan, &args.confirm_target)?;
    Ok(conductor.resume(&left.directory, left.study_now.as_deref())?)
}

fn interrupted(summary: &Summary) -> Failure {
    let directory = summary.directory.display();
    Failure::new(
        Code::Interrupted,
        format!(
            "interrupted {}; nothing finished is lost\n  go on with: rookery run --resume \
             {directory}",
            match summary.left {
                0 => "before its searches and repeats had ended".to_owned(),
                left => format!("with {left} trials left"),
            }
        ),
    )
}

/// The points whose trials broke the limits to a search, also those whose guests died of it.
fn broken_points(run: &Run, found: &Found) -> Vec<u32> {
    let broken = found.tried.iter().filter(|tried| {
        let outcome = &tried.outcome;
        outcome.passed() == Some(false)
    });
    let numbers: Vec<u32> = broken.map(|tried| tried.trial).collect();
    let trials = run.trials.iter().map(|trial| &trial.row.trial);
    trials
        .filter(|trial| numbers.contains(&trial.id))
        .map(|trial| trial.point)
        .collect()
}

/// The exit code of a finished run: every point of the study needs a valid trial, no search may
/// have been stopped by the driver, and some trial must have kept QoS. Guests that die of too
/// little memory are an answer where memory is searched.
fn verdict(store: &Store) -> Result<Code, Failure> {
    let run = Run::read(store)?;
    let status = |point: u32, status: TrialStatus| {
        run.trials
            .iter()
            .any(|trial| trial.row.trial.point == point && trial.row.status == status)
    };
    let plan = &run.header.plan;
    let searches = plan
        .searches
        .iter()
        .map(|search| search::found(plan, search, &run.trials))
        .collect::<Result<Vec<Found>, _>>()
        .map_err(|error| Failure::from_error(Code::Store, &error))?;
    let too_little_memory: Vec<u32> = searches
        .iter()
        .filter(|found| found.search.over == Over::Memory)
        .flat_map(|found| broken_points(&run, found))
        .collect();
    let without: Vec<u32> = plan
        .study_points()
        .map(|point| point.id)
        .filter(|id| !status(*id, TrialStatus::Done) && !too_little_memory.contains(id))
        .collect();
    if !without.is_empty() {
        let failed = without.iter().any(|id| status(*id, TrialStatus::Failed));
        return Ok(if failed { Code::Guest } else { Code::Driver });
    }
    if run.header.study.measure == Measure::LoadTime {
        return Ok(Code::Done);
    }
    let stopped = |found: &Found| matches!(found.answer.ending, Ending::Invalid { .. });
    if searches.iter().any(stopped) {
        return Ok(Code::Driver);
    }
    let kept = |trial: &TrialData| {
        let record = trial.valid().map(|(record, _)| record);
        record.is_some_and(|record| record.verdict.as_ref().is_none_or(|verdict| verdict.passed))
    };
    Ok(if run.trials.iter().any(kept) {
        Code::Done
    } else {
        Code::QosNeverMet
    })
}
