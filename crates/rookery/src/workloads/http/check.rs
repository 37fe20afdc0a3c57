//! `rookery workload check`: is a workload file right, and what does a site answer to it.

use std::path::PathBuf;

use clap::Args;

use rookery_study::HttpUse;

use super::try_out::TryArgs;
use crate::{
    exit::{Code, Failure},
    output, problems,
    workloads::file,
};

#[derive(Debug, Args)]
pub(crate) struct CheckWorkloadArgs {
    /// Workload file of a web workload
    file: PathBuf,
    #[command(flatten)]
    at: TryArgs,
    /// Print problems, and what was tried, as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &CheckWorkloadArgs) -> Result<Code, Failure> {
    let wanted = match file::parse(&args.file, HttpUse::parse_file)? {
        Ok(wanted) => wanted,
        Err(problems) if args.json => {
            let all: Vec<_> = problems.list().iter().map(problems::as_json).collect();
            output::json(&serde_json::json!({ "problems": all, "tried": null }))?;
            return Ok(Failure::from_problems(problems).code);
        }
        Err(problems) => return Err(Failure::from_problems(problems)),
    };
    let tried = args.at.run(&wanted.workload)?;
    let name = args.file.display().to_string();
    match &tried {
        _ if args.json => {
            output::json(&serde_json::json!({ "problems": [], "tried": tried }))?;
        }
        Some(tried) => tried.print(&name),
        None => output::text(format!("{name}: no problems")),
    }
    Ok(tried.map_or(Code::Done, |tried| tried.code()))
}
