//! `rookery clean`: remove what dead runs left.

use rookery_guest::CleanOptions;

use crate::{
    cli::CleanArgs,
    exit::{Code, Failure},
    output,
};

pub(crate) fn run(args: &CleanArgs) -> Result<Code, Failure> {
    let report = rookery_guest::clean(&CleanOptions::default())
        .map_err(|error| Failure::from_error(Code::Guest, &error))?;
    if args.json {
        let alive: Vec<String> = report.alive.iter().map(ToString::to_string).collect();
        output::json(
            &serde_json::json!({ "removed": report.removed, "alive": alive, "failed": report.failed }),
        )?;
    } else {
        for removed in &report.removed {
            output::result(format!("removed {removed}"));
        }
        for run in &report.alive {
            output::result(format!("run {run} is alive and was left alone"));
        }
        if report.removed.is_empty() && report.failed.is_empty() {
            output::result("nothing to remove");
        }
        for failed in &report.failed {
            output::remark(format!("error: not removed: {failed}"));
        }
    }
    Ok(if report.failed.is_empty() {
        Code::Done
    } else {
        Code::Guest
    })
}
