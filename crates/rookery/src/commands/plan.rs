//! `rookery plan`: what would run, before anything is touched.

use std::{fs, path::Path};

use rookery_study::{HostFacts, Plan};

use crate::{
    cli::PlanArgs,
    commands::check,
    exit::{Code, Failure},
    output,
};

pub(crate) fn run(args: &PlanArgs) -> Result<Code, Failure> {
    let document = check::load(&args.study, args.choice.choices())?;
    let (plan, problems) = match &args.host {
        Some(file) => {
            let (plan, problems) = Plan::anyway(&document, &described(file)?);
            (plan, problems.map(Failure::from_problems))
        }
        None => check::plan_anyway(&document, &args.places.runs)?,
    };
    if problems.is_none() || args.anyway {
        if args.json {
            output::json(&plan)?;
        } else {
            output::result(rookery_study::render_plan(
                &plan,
                document.study(),
                output::width(),
            ));
        }
    }
    problems.map_or(Ok(Code::Done), Err)
}

/// Longest host file that is read, bytes.
const MAX_HOST_FILE: u64 = 1024 * 1024;

/// The host that a file describes.
fn described(file: &Path) -> Result<HostFacts, Failure> {
    let unreadable = |error: std::io::Error| {
        let words = format!("cannot read the host file {}: {error}", file.display());
        Failure::new(Code::Study, words).help("`rookery host describe > FILE` writes one")
    };
    let length = fs::metadata(file).map_err(unreadable)?.len();
    if length > MAX_HOST_FILE {
        let words = format!("the host file {} has {length} bytes", file.display());
        return Err(Failure::new(Code::Study, words).help("is this another kind of file?"));
    }
    let text = fs::read_to_string(file).map_err(unreadable)?;
    HostFacts::parse(&file.display().to_string(), &text).map_err(Failure::from_problems)
}
