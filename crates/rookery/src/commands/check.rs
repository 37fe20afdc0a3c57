//! `rookery check`: is the file right, can this host run it.

use std::{
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
};

use rookery_study::{Choices, Document, Plan, Problem, Problems};

use crate::{
    cli::CheckArgs,
    exit::{Code, Failure, code_of_problems},
    output, studies,
};

use super::companions;

pub(crate) fn run(args: &CheckArgs) -> Result<Code, Failure> {
    let mut all = Vec::new();
    let mut worst = Code::Done;
    for path in &args.studies {
        let problems = match problems_of(path, args)? {
            None => {
                if !args.json {
                    output::text(format!("{}: no problems", path.display()));
                }
                continue;
            }
            Some(problems) => problems,
        };
        if !args.json {
            output::remark(problems.to_string().trim_end());
        }
        // A study that is not right weighs more than a host that is not ready.
        if worst != Code::Study {
            worst = code_of_problems(problems.list());
        }
        all.extend(problems.list().iter().map(as_json));
    }
    if args.json {
        output::json(&all)?;
    }
    Ok(worst)
}

fn problems_of(path: &Path, args: &CheckArgs) -> Result<Option<Problems>, Failure> {
    let document = match parse(path, args.choice.choices())? {
        Ok(document) => document,
        Err(problems) => return Ok(Some(problems)),
    };
    if args.file_only {
        return Ok(None);
    }
    let facts = rookery_lab::host_facts(&PathBuf::from("."))?;
    let templates = super::places::templates(args.templates.as_deref())?;
    let (plan, problems) = Plan::anyway(&document, &facts);
    let host = rookery_lab::check_plan(&plan, &templates).map_err(Failure::from);
    match problems {
        None => host.map(|()| None),
        Some(problems) => {
            // What this host or a server lacks is said with it, not only when all else is mended.
            if let (Err(failure), false) = (host, args.json) {
                output::remark(failure);
            }
            Ok(Some(problems))
        }
    }
}

fn as_json(problem: &Problem) -> serde_json::Value {
    serde_json::json!({
        "file": &*problem.file,
        "line": problem.line,
        "column": problem.column,
        "code": problem.code.as_str(),
        "message": problem.message,
        "help": problem.help,
    })
}

/// Most bytes that are read of a study: more than the grammar takes, so that it can say so, and
/// less than memory.
const MOST_BYTES: u64 = 1 << 20;

fn bytes_of(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(MOST_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Read and parse a study file, as it was chosen.
fn parse(path: &Path, choices: Choices<'_>) -> Result<Result<Document, Problems>, Failure> {
    let bytes = match studies::named_by(path)? {
        Some(study) => study.text.as_bytes().to_vec(),
        None => bytes_of(path).map_err(|error| {
            Failure::new(
                Code::Study,
                format!("cannot read the study {}: {error}", path.display()),
            )
            .help("name an existing file, or a built-in study such as @quick")
        })?,
    };
    let files = companions::of_study(path, &bytes);
    let choices = Choices {
        files: &files,
        ..choices
    };
    Ok(Document::parse_bytes_with(
        &path.display().to_string(),
        &bytes,
        choices,
    ))
}

/// A study that is right, as it was chosen, for commands that go on with it.
pub(crate) fn load(path: &Path, choices: Choices<'_>) -> Result<Document, Failure> {
    parse(path, choices)?.map_err(Failure::from_problems)
}

/// The plan of a study on this host.
pub(crate) fn plan(document: &Document, runs: &Path) -> Result<Plan, Failure> {
    match plan_anyway(document, runs)? {
        (plan, None) => Ok(plan),
        (_, Some(problems)) => Err(problems),
    }
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
