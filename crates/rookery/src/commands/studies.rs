//! `rookery studies`: the studies that are built into the program.

use rookery_text::hanging;
use serde_json::json;

use crate::{
    cli::StudiesArgs,
    exit::{Code, Failure},
    output,
    studies::{self, BuiltIn},
};

pub(crate) fn run(args: &StudiesArgs) -> Result<Code, Failure> {
    if let Some(name) = &args.study {
        output::result(studies::find(name)?.text);
        return Ok(Code::Done);
    }
    let all = studies::all();
    if args.json {
        let all: Vec<_> = all
            .iter()
            .map(|study| json!({ "name": study.name, "title": title(study) }))
            .collect();
        return output::json(&all);
    }
    let width = all.iter().map(|study| study.name.len()).max().unwrap_or(0);
    for study in &all {
        let label = format!("@{:width$}  ", study.name);
        output::result(hanging(&label, &title(study), output::width()).join("\n"));
    }
    output::remark(
        "`rookery run @quick` runs one of them; `rookery studies quick > my.toml` makes a copy to \
         change",
    );
    Ok(Code::Done)
}

/// What a study is about, in its own words.
fn title(study: &BuiltIn) -> String {
    study
        .document()
        .map_or_else(|_| String::new(), |document| document.study().title.clone())
}
