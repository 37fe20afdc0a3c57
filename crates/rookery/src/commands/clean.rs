//! `rookery clean`: remove what dead runs left.

use rookery_guest::CleanOptions;
use rookery_host::RunId;

use crate::{
    cli::CleanArgs,
    commands::report,
    exit::{Code, Failure},
    output,
};

pub(crate) fn run(args: &CleanArgs) -> Result<Code, Failure> {
    let labels = args
        .run
        .as_deref()
        .map(|name| run_of(args, name))
        .transpose()?
        .map(|run| rookery_lab::labels(&run));
    if args.dry_run {
        return preview(labels.as_deref(), args.json);
    }
    let report = rookery_guest::clean(&CleanOptions { labels })
        .map_err(|error| Failure::from_error(Code::Guest, &error))?;
    if args.json {
        let alive: Vec<String> = report.alive.iter().map(ToString::to_string).collect();
        output::json(
            &serde_json::json!({ "removed": report.removed, "alive": alive, "failed": report.failed }),
        )?;
    } else {
        for removed in &report.removed {
            output::text(format!("removed {removed}"));
        }
        for run in &report.alive {
            output::text(format!("run {run} is alive and was left alone"));
        }
        if report.removed.is_empty() && report.failed.is_empty() {
            output::text("nothing to remove");
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

/// The run that was named; one whose directory is gone by its id.
fn run_of(args: &CleanArgs, name: &str) -> Result<RunId, Failure> {
    let id = match rookery_lab::find(&args.place.runs, name) {
        Ok(directory) => report::open(&directory)?.header()?.run_id,
        Err(_) => name.to_owned(),
    };
    RunId::try_from(id).map_err(|_| {
        Failure::new(
            Code::Usage,
            format!("there is no run {}", output::printable(name)),
        )
        .help("`rookery guests` lists what exists of runs, with their ids")
    })
}

/// What a clean-up would remove.
fn preview(labels: Option<&[RunId]>, as_json: bool) -> Result<Code, Failure> {
    let mut things =
        rookery_guest::inventory().map_err(|error| Failure::from_error(Code::Guest, &error))?;
    things.retain(|thing| !thing.alive && labels.is_none_or(|labels| labels.contains(&thing.run)));
    let lines: Vec<String> = things
        .iter()
        .map(|thing| format!("run {}: {} {}", thing.run.as_str(), thing.what, thing.name))
        .collect();
    if as_json {
        return output::json(&serde_json::json!({ "would_remove": lines }));
    }
    if lines.is_empty() {
        output::text("nothing to remove");
    }
    for line in lines {
        output::text(format!("would remove {line}"));
    }
    Ok(Code::Done)
}
