//! `rookery guests`: what exists of all runs.

use rookery_text::Table;

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
        output::text("no guests, and nothing left of any run");
        return Ok(Code::Done);
    }
    let rows = things.iter().map(|thing| {
        let state = if thing.alive { "alive" } else { "dead" };
        [thing.run.as_str(), state, thing.what, &thing.name]
            .map(str::to_owned)
            .to_vec()
    });
    let heads = ["run", "state", "what", "name"].map(str::to_owned).to_vec();
    output::result(Table::new(heads, rows.collect()).render(output::width()));
    if things.iter().any(|thing| !thing.alive) {
        output::remark("`rookery clean` removes what dead runs left");
    }
    Ok(Code::Done)
}
