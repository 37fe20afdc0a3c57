//! `rookery template remove`.

use std::time::Duration;

use rookery_guest::{TemplateChoice, TemplateRemoval, remove_templates, short_digest};
use serde_json::json;

use super::{list::as_json, size};
use crate::{
    cli::TemplateRemoveArgs,
    exit::{Code, Failure},
    output,
};

pub(crate) fn run(args: &TemplateRemoveArgs) -> Result<Code, Failure> {
    let choice = match args.unused {
        Some(days) => TemplateChoice::UnusedFor(Duration::from_secs(u64::from(days) * 86400)),
        None if args.all => TemplateChoice::All,
        None => TemplateChoice::Digests(args.digests.clone()),
    };
    let directory = super::directory(&args.place)?;
    let removal = remove_templates(&directory, &choice, args.with_dependents)
        .map_err(|error| Failure::from_error(Code::Guest, &error))?;
    if args.json {
        let kept = removal.kept.iter();
        output::json(&json!({
            "removed": removal.removed.iter().map(as_json).collect::<Vec<_>>(),
            "kept": kept.map(|(info, reason)| json!({ "template": as_json(info), "reason": reason })).collect::<Vec<_>>(),
        }))?;
    } else {
        tell(&removal);
    }
    Ok(if removal.kept.is_empty() {
        Code::Done
    } else {
        Code::Guest
    })
}

fn tell(removal: &TemplateRemoval) {
    for info in &removal.removed {
        let what = output::printable(&info.description);
        output::result(format!(
            "removed {}  {:>8}  {what}",
            short_digest(&info.digest),
            size(info.size_mib)
        ));
    }
    for (info, reason) in &removal.kept {
        let what = output::printable(&info.description);
        output::remark(format!(
            "error: not removed: {} ({what}): {reason}",
            short_digest(&info.digest)
        ));
    }
    if removal.removed.is_empty() && removal.kept.is_empty() {
        output::result("nothing to remove");
    } else if !removal.removed.is_empty() {
        output::result(format!(
            "{} freed",
            size(removal.removed.iter().map(|info| info.size_mib).sum())
        ));
    }
}
