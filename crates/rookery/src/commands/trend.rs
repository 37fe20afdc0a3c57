//! `rookery trend`: the runs of a study over time.

use std::path::Path;

use rookery_analysis::{
    Run,
    trend::{RunLevels, trends},
};
use rookery_lab::LabError;

use crate::{
    cli::TrendArgs,
    commands::report,
    exit::{Code, Failure},
    output, studies,
};

pub(crate) fn run(args: &TrendArgs) -> Result<Code, Failure> {
    let built_in = studies::named_by(&args.study)?.map(|study| study.file());
    let file = built_in.as_deref().unwrap_or(&args.study);
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let mut levels = Vec::new();
    for directory in rookery_lab::runs(&args.place.runs) {
        match of_study(&directory, &name) {
            Ok(found) => levels.extend(found),
            // One run that cannot be read does not hide the others.
            Err(error) => output::remark(format!(
                "{} is left out: {error}",
                output::printable(&directory.display().to_string())
            )),
        }
    }
    if levels.is_empty() {
        return Err(LabError::NoRun {
            name: name.into_owned(),
            base: args.place.runs.display().to_string(),
        }
        .into());
    }
    let trends = trends(&levels);
    if args.json {
        return output::json(&trends);
    }
    let title = format!("{name}: {} runs", levels.len());
    output::result(rookery_report::trend_terminal(
        &title,
        &trends,
        args.most,
        output::width(),
        &output::zone(),
    ));
    Ok(if trends.is_empty() {
        Code::Nothing
    } else {
        Code::Done
    })
}

/// The run in `directory`, reduced, if it was made from a study file of this name and a trial of it
/// ended.
fn of_study(directory: &Path, name: &str) -> Result<Option<RunLevels>, Failure> {
    let store = report::open(directory)?;
    if store.header()?.study_file != name {
        return Ok(None);
    }
    Ok(Some(RunLevels::from_run(&Run::read(&store)?)))
}
