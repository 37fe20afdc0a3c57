//! `rookery guests`: what exists of all runs.

use crate::{
    cli::GuestsArgs,
    exit::{Code, Failure},
    output,
};

pub(crate) fn run(args: &GuestsArgs) -> Result<Code, Failure> {
    let things =
        rookery_guest::inventory().map_err(|error| Failure::from_error(Code::Guest, &error))?;
    if args.json {
        let things: Vec<serde_json::Value> = things
            .iter()
            .map(|thing| serde_json::json!({ "run": thing.run, "what": thing.what, "name": thing.name, "alive": thing.alive }))
            .collect();
        return output::json(&things);
    }
    if things.is_empty() {
        output::result("no guests, and nothing left of any run");
        return Ok(Code::Done);
    }
    for thing in &things {
        let life = if thing.alive { "alive" } else { "dead" };
        output::result(format!(
            "{:10} {life:5} {:17} {}",
            thing.run.as_str(),
            thing.what,
            thing.name
        ));
    }
    if things.iter().any(|thing| !thing.alive) {
        output::remark("`rookery clean` removes what dead runs left");
    }
    Ok(Code::Done)
}
