//! `rookery template list`.

use std::{
    fmt::Write as _,
    path::Path,
    time::{Duration, SystemTime},
};

use rookery_guest::{LayerKind, TemplateInfo, short_digest, templates};
use rookery_text::Table;
use serde_json::json;

use super::size;
use crate::{
    cli::TemplateListArgs,
    exit::{Code, Failure},
    output,
};

pub(crate) fn run(args: &TemplateListArgs) -> Result<Code, Failure> {
    let directory = super::directory(&args.place)?;
    let known = templates(&directory).map_err(|error| Failure::from_error(Code::Guest, &error))?;
    if args.json {
        return output::json(&json!({
            "directory": directory,
            "size_mib": known.iter().map(|info| info.size_mib).sum::<f64>(),
            "templates": known.iter().map(as_json).collect::<Vec<_>>(),
        }));
    }
    output::result(text(&known, &directory, SystemTime::now(), output::width()));
    Ok(Code::Done)
}

/// One template for programs.
pub(super) fn as_json(info: &TemplateInfo) -> serde_json::Value {
    json!({
        "digest": info.digest,
        "description": info.description,
        "kind": info.kind,
        "base": info.base,
        "size_mib": info.size_mib,
        "built_at": info.built_at,
        "build_s": info.build_s,
        "versions": info.versions,
        "load": info.load,
        "last_used": info.last_used_at(),
        "used_by": info.used_by,
    })
}

fn text(known: &[TemplateInfo], directory: &Path, now: SystemTime, width: usize) -> String {
    if known.is_empty() {
        return format!("no templates in {}", directory.display());
    }
    let heads = ["digest", "kind", "size", "took", "last used", "on", "what"];
    let rows = known.iter().map(|info| row(info, now).to_vec()).collect();
    let mut text = Table::new(heads.map(str::to_owned).to_vec(), rows).render(width);
    let (count, total) = (known.len(), known.iter().map(|info| info.size_mib).sum());
    let noun = if count == 1 { "template" } else { "templates" };
    let _ = write!(
        text,
        "{count} {noun}, {} in {}",
        size(total),
        directory.display()
    );
    text
}

fn row(info: &TemplateInfo, now: SystemTime) -> [String; 7] {
    let kind = match info.kind {
        Some(LayerKind::Root) => "root",
        Some(LayerKind::Data) => "data",
        Some(LayerKind::Program) => "program",
        Some(LayerKind::Files) => "files",
        None => "?",
    };
    let used = match &info.used_by {
        Some(_) => "now".to_owned(),
        None => now
            .duration_since(info.last_used)
            .map_or_else(|_| "now".to_owned(), age),
    };
    let versions: Vec<String> = info
        .versions
        .iter()
        .map(|(name, version)| format!("{name} {version}"))
        .collect();
    let versions = if versions.is_empty() {
        String::new()
    } else {
        format!(" ({})", versions.join(", "))
    };
    [
        short_digest(&info.digest).to_owned(),
        kind.to_owned(),
        size(info.size_mib),
        format!("{:.1} s", info.build_s),
        used,
        info.base.as_deref().map_or("-", short_digest).to_owned(),
        output::printable(&format!("{}{versions}", info.description)),
    ]
}

/// How long ago, roughly.
fn age(age: Duration) -> String {
    match age.as_secs() {
        0..60 => "just now".to_owned(),
        s @ 60..3600 => format!("{} min ago", s / 60),
        s @ 3600..172_800 => format!("{} h ago", s / 3600),
        s => format!("{} days ago", s / 86400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_stand_below_each_other() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000);
        let root = TemplateInfo {
            digest: "a1".repeat(32),
            description: "lamp root".into(),
            kind: Some(LayerKind::Root),
            base: None,
            size_mib: 281.3,
            built_at: "2026-01-01T00:00:00Z".into(),
            build_s: 31.24,
            versions: [("php".to_owned(), "8.2".to_owned())].into(),
            load: None,
            last_used: now - Duration::from_secs(400_000),
            used_by: None,
        };
        let data = TemplateInfo {
            digest: "b2".repeat(32),
            description: "some \u{1b}[31mdata".into(),
            kind: Some(LayerKind::Data),
            base: Some(root.digest.clone()),
            size_mib: 7.0,
            build_s: 4.0,
            versions: [].into(),
            used_by: Some("a living run uses it".into()),
            ..root.clone()
        };
        insta::assert_snapshot!(text(&[root, data], Path::new("/cache"), now, 100), @"
        digest        kind  size     took    last used   on            what
        ------------  ----  -------  ------  ----------  ------------  -------------------
        a1a1a1a1a1a1  root  281 MiB  31.2 s  4 days ago  -             lamp root (php 8.2)
        b2b2b2b2b2b2  data  7.0 MiB  4.0 s   now         a1a1a1a1a1a1  some �[31mdata
        2 templates, 288 MiB in /cache
        ");
        assert_eq!(
            text(&[], Path::new("/cache"), now, 100),
            "no templates in /cache"
        );
    }

    #[test]
    fn ages_are_rough() {
        let said = [5, 61, 7_300, 172_800].map(|seconds| age(Duration::from_secs(seconds)));
        assert_eq!(said, ["just now", "1 min ago", "2 h ago", "2 days ago"]);
    }
}
