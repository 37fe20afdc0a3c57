//! `rookery plan`: what would run, before anything is touched.

use crate::{
    cli::PlanArgs,
    commands::check,
    exit::{Code, Failure},
    output,
};

pub(crate) fn run(args: &PlanArgs) -> Result<Code, Failure> {
    let document = check::load(&args.study)?;
    let plan = check::plan(&document, &args.places.runs)?;
    if args.json {
        return output::json(&plan);
    }
    output::result(rookery_study::render_plan(&plan, document.study()));
    Ok(Code::Done)
}
