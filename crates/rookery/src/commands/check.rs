//! `rookery check`: is the file right, can this host run it.

use std::{
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
};

use rookery_host::settings::{Root, irqbalance};
use rookery_study::{Choices, Document, HostFacts, Plan, Problems, host_probes};

use crate::{
    cli::CheckArgs,
    exit::{Code, Failure, code_of_problems},
    output, problems, studies,
    workloads::{self, Tried},
};

pub(crate) fn run(args: &CheckArgs) -> Result<Code, Failure> {
    if !args.file_only {
        warn_of_irqbalance();
    }
    let (mut all, mut tried) = (Vec::new(), Vec::new());
    let mut worst = Code::Done;
    for path in &args.studies {
        let found = check(path, args)?;
        if !args.json {
            found.print(path);
        }
        if let Some(code) = found.code().filter(|_| worst != Code::Study) {
            // A study that is not right weighs more than a host that is not ready.
            worst = code;
        }
        all.extend(found.as_json(path));
        tried.extend(found.tried.iter().map(|tried| tried_as_json(path, tried)));
    }
    if args.json && args.at.is_asked() {
        output::json(&serde_json::json!({ "problems": all, "tried": tried }))?;
    } else if args.json {
        output::json(&all)?;
    }
    Ok(worst)
}

/// What moves interrupts while trials are measured is no reason not to run.
fn warn_of_irqbalance() {
    if irqbalance(&Root::machine()).is_some_and(|found| found.running) {
        output::remark(
            "warning: irqbalance is running and may move interrupts of devices among CPUs during \
             trials; `systemctl stop irqbalance` stops it",
        );
    }
}

fn tried_as_json(path: &Path, tried: &Tried) -> serde_json::Value {
    let mut value = serde_json::json!(tried);
    value["study"] = serde_json::json!(path);
    value
}

/// What is wrong with a study and with this host.
#[derive(Default)]
struct Found {
    file: Option<Problems>,
    /// Each once.
    host: Vec<Failure>,
    /// What a site answered to each of its workloads.
    tried: Vec<Tried>,
}

impl Found {
    fn add_host(&mut self, failure: Failure) {
        let text = failure.to_string();
        if self.host.iter().all(|known| known.to_string() != text) {
            self.host.push(failure);
        }
    }

    fn code(&self) -> Option<Code> {
        let file = self
            .file
            .as_ref()
            .map(|problems| code_of_problems(problems.list()));
        let host = self.host.first().map(|failure| failure.code);
        let tried = self.tried.iter().map(Tried::code);
        file.or(host)
            .or_else(|| tried.into_iter().find(|code| *code != Code::Done))
    }

    fn print(&self, path: &Path) {
        self.host.iter().for_each(output::remark);
        match &self.file {
            Some(problems) => output::remark(problems.to_string().trim_end()),
            None if self.host.is_empty() => {
                output::text(format!("{}: no problems", path.display()));
            }
            None => {}
        }
        let name = path.display().to_string();
        self.tried.iter().for_each(|tried| tried.print(&name));
    }

    fn as_json(&self, path: &Path) -> Vec<serde_json::Value> {
        let host = self.host.iter().flat_map(Failure::fields);
        let mut all: Vec<serde_json::Value> = host
            .map(|fields| {
                serde_json::json!({
                    "file": path,
                    "line": null,
                    "column": null,
                    "code": fields.code,
                    "message": fields.message,
                    "help": fields.help,
                })
            })
            .collect();
        let problems = self.file.iter().flat_map(Problems::list);
        all.extend(problems.map(problems::as_json));
        all
    }
}

fn check(path: &Path, args: &CheckArgs) -> Result<Found, Failure> {
    let bytes = bytes_of_study(path)?;
    let files = studies::companions_of(path, &bytes);
    let choices = Choices {
        files: &files,
        ..args.choice.choices()
    };
    let mut found = Found::default();
    match Document::parse_bytes_with(&path.display().to_string(), &bytes, choices) {
        Ok(document) => {
            if !args.file_only {
                let (problems, host) = check_host(&document, args)?;
                found.file = problems;
                host.into_iter().for_each(|failure| found.add_host(failure));
            }
            found.tried = workloads::try_study(&document, &args.at)?;
        }
        Err(problems) => {
            found.file = Some(problems);
            // What this host lacks is said with it, not only when the file is mended.
            let probes = if args.file_only {
                Vec::new()
            } else {
                host_probes(&bytes, choices.guest)
            };
            for probe in &probes {
                if let (_, Some(failure)) = check_host(probe, args)? {
                    found.add_host(failure);
                }
            }
        }
    }
    Ok(found)
}

/// What of a study this host cannot plan, and what it or a server lacks.
fn check_host(
    document: &Document,
    args: &CheckArgs,
) -> Result<(Option<Problems>, Option<Failure>), Failure> {
    let facts = rookery_lab::host_facts(&PathBuf::from("."))?;
    let templates = super::places::templates(args.templates.as_deref())?;
    let (plan, problems) = Plan::anyway(document, &facts);
    let host = rookery_lab::check_plan(&plan, &templates).map_err(Failure::from);
    Ok((problems, host.err()))
}

/// Most bytes that are read of a study: more than the grammar takes, so that it can say so, and
/// less than memory.
const MOST_BYTES: u64 = 1 << 20;

fn bytes_of(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(MOST_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn bytes_of_study(path: &Path) -> Result<Vec<u8>, Failure> {
    match studies::named_by(path)? {
        Some(study) => Ok(study.text.as_bytes().to_vec()),
        None => bytes_of(path).map_err(|error| {
            Failure::new(
                Code::Study,
                format!("cannot read the study {}: {error}", path.display()),
            )
            .help("name an existing file, or a built-in study such as @quick")
        }),
    }
}

/// A study that is right, as it was chosen, for commands that go on with it.
pub(crate) fn load(path: &Path, choices: Choices<'_>) -> Result<Document, Failure> {
    let bytes = bytes_of_study(path)?;
    let files = studies::companions_of(path, &bytes);
    let choices = Choices {
        files: &files,
        ..choices
    };
    Document::parse_bytes_with(&path.display().to_string(), &bytes, choices)
        .map_err(Failure::from_problems)
}

/// The plan of a study on this host.
pub(crate) fn plan(document: &Document, runs: &Path) -> Result<Plan, Failure> {
    match plan_anyway(document, runs)? {
        (plan, None) => Ok(plan),
        (_, Some(problems)) => Err(problems),
    }
}

/// The plan of a study on another host.
pub(crate) fn plan_for(document: &Document, facts: &HostFacts) -> Result<Plan, Failure> {
    Plan::of(document, facts).map_err(Failure::from_problems)
}

/// The plan of a study, and why this host cannot run it.
pub(crate) fn plan_anyway(
    document: &Document,
    runs: &Path,
) -> Result<(Plan, Option<Failure>), Failure> {
    let facts = rookery_lab::host_facts(runs)?;
    for variant in document.variants() {
        rookery_lab::check_profile(&variant.study)?;
    }
    let (plan, problems) = Plan::anyway(document, &facts);
    Ok((plan, problems.map(Failure::from_problems)))
}
