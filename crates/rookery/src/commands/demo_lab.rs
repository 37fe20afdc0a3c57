//! `rookery demo-lab`: what Rookery answers, on a simulated host.

use std::{
    fs::OpenOptions,
    io::{ErrorKind, Write as _},
    path::Path,
};

use rookery_study::Document;

use crate::{
    cli::{DemoLabArgs, Places},
    commands::{
        check,
        run::{Manner, conduct},
    },
    exit::{Code, Failure},
    output,
};

/// The study, and the name that its runs have.
const STUDY: &str = include_str!("../../../../studies/demo-lab.toml");
const FILE: &str = "demo-lab.toml";

pub(crate) fn run(args: &DemoLabArgs) -> Result<Code, Failure> {
    if let Some(path) = &args.study {
        return hand_out(path);
    }
    let document = Document::parse(FILE, STUDY).map_err(Failure::from_problems)?;
    let plan = check::plan(&document, &args.place.runs)?;
    let places = Places {
        runs: args.place.runs.clone(),
        // Simulated guests are made of nothing: the directory is never looked into.
        templates: Some(args.place.runs.clone()),
    };
    if !args.quiet && !args.json {
        output::remark(
            "simulated: no guest runs and nothing is measured; every number is computed from a \
             queueing model",
        );
    }
    let manner = Manner {
        quiet: args.quiet,
        json: args.json,
        confirmed: &[],
        live: None,
        labs: rookery_lab::Labs::Here,
    };
    conduct(&places, &manner, |conductor| {
        Ok(conductor.start(Path::new(FILE), STUDY, &[], document.study(), &plan)?)
    })
}

/// Print the study, or write it to a file that is not there yet.
fn hand_out(path: &Path) -> Result<Code, Failure> {
    if path == Path::new("-") {
        output::result(STUDY);
        return Ok(Code::Done);
    }
    let file = path.display();
    let failure = |error: std::io::Error| {
        let help = match error.kind() {
            ErrorKind::AlreadyExists => "name another file, or remove this one first",
            _ => "check that the directory exists, is yours and has room",
        };
        Failure::new(
            Code::Usage,
            format!("cannot write the study to {file}: {error}"),
        )
        .help(help)
    };
    let mut out = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(path)
        .map_err(failure)?;
    out.write_all(STUDY.as_bytes()).map_err(failure)?;
    output::remark(format!(
        "the study is in {file}; `rookery run {file}` computes it"
    ));
    Ok(Code::Done)
}
