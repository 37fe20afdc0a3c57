//! `rookery plan`: what would run, before anything is touched.

use crate::{
    cli::PlanArgs,
    commands::check,
    exit::{Code, Failure},
    output,
};

pub(crate) fn run(args: &PlanArgs) -> Result<Code, Failure> {
    let document = check::load(&args.study, args.choice.choices())?;
    let (plan, problems) = check::plan_anyway(&document, &args.places.runs)?;
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
