//! A workload in a file of its own.

use toml::de::DeTable;

use super::{
    HttpKeys, HttpUse,
    keys::{ContentKeys, StudyKeys},
    refuse_file,
};
use crate::{
    Companion,
    companions::{CompanionText, Companions},
    grammar::{
        Context, HomeOf, Reader, keys,
        kinds::{Choice, Time},
    },
    problem::{Code, Problems},
    workloads::Pace,
};
use rookery_workload::DelayDistribution;

keys! {
    /// The keys of a workload file that a study may say, too; then the study's count.
    SharedKeys {
        /// Mean pause after an operation that says none.
        think_time: Time = Time { min: std::time::Duration::ZERO, max: std::time::Duration::from_secs(3600), example: "250ms" }, Optional("\"0s\"");
        /// How pauses scatter about their mean, where an operation says nothing.
        think_distribution: Choice<DelayDistribution> = Choice::NEW, Optional("\"uniform\"");
    }
}

const NOWHERE: HomeOf = |_, _| None;

/// The keys of the workload file of this name; nothing where it was refused.
pub(super) fn content(
    name: &str,
    study: &mut StudyKeys,
    companions: &Companions,
    context: &mut Context,
) -> Option<ContentKeys> {
    let span = context.spans.nearest("workload.file");
    match companions.get(name) {
        Ok(file) => content_of(file, study, context),
        Err(why) => refuse_file(name, why, span, context),
    }
}

fn content_of(
    file: CompanionText<'_>,
    study: &mut StudyKeys,
    context: &mut Context,
) -> Option<ContentKeys> {
    let says_pause = context.spans.has("workload.think_time");
    let (shared, content) = read(&file, context)?;
    if !says_pause {
        study.think_time = shared.think_time.or(study.think_time);
    }
    study.think_distribution = study.think_distribution.or(shared.think_distribution);
    Some(content)
}

fn read(file: &CompanionText<'_>, context: &mut Context) -> Option<(SharedKeys, ContentKeys)> {
    let (root, errors) = DeTable::parse_recoverable(file.padded);
    for error in &errors {
        let span = error.span().unwrap_or(file.end());
        let help = "a workload file is TOML: `key = value`, and operations as `[[operation]]`";
        context.refuse::<()>(Code::Syntax, span, error.message(), help);
    }
    if !errors.is_empty() {
        return None;
    }
    let before = context.findings.len();
    context
        .spans
        .insert("workload".to_owned(), file.start..file.start);
    let mut reader = Reader::new(
        Some(root.get_ref()),
        "workload",
        file.end(),
        NOWHERE,
        context,
    );
    let shared = SharedKeys::read(&mut reader);
    let content = ContentKeys::read(&mut reader);
    reader.finish();
    if content.operation.is_none() && context.findings.len() == before {
        let help = "add `[[operation]]` with `name = \"home\"` and `path = \"/\"`";
        let message = "the workload file has no operations";
        context.refuse::<()>(Code::MissingKey, file.end(), message, help);
    }
    Some((shared, content))
}

/// Refuses keys of the workload beside a file that has them.
pub(super) fn refuse_beside(reader: &mut Reader<'_, '_, '_>) {
    for key in ContentKeys::keys() {
        if reader.locate(key.name) {
            let span = reader
                .context
                .spans
                .nearest(&format!("workload.{}", key.name));
            let message = format!("`workload.{}` stands beside `file`", key.name);
            let help = "move it into the workload file; a study says only `think_time`, \
                        `think_distribution`, `pacing` and `database` beside it";
            reader
                .context
                .refuse::<()>(Code::Contradiction, span, message, help);
        }
    }
}

impl HttpUse {
    /// Reads a workload file by itself. `file_name` is used in messages; `files` are those that it
    /// names.
    ///
    /// # Errors
    /// All problems of the file at once, each with its line and its help.
    pub fn parse_file(file_name: &str, text: &str, files: &[Companion]) -> Result<Self, Problems> {
        let (source, companions) = Companions::load(file_name, text, files);
        let mut context = Context {
            companions: companions.clone(),
            ..Context::default()
        };
        let nothing = Reader::new(None, "workload", 0..0, NOWHERE, &mut context);
        let mut study = StudyKeys::read(&mut { nothing });
        let file = CompanionText {
            padded: text,
            start: 0,
        };
        let content = content_of(file, &mut study, &mut context);
        let keys = content.map(|content| HttpKeys {
            study,
            content,
            file: Some(String::new()),
            companions: super::CompanionsHandle(companions),
        });
        match keys.and_then(|keys| keys.build(Some(Pace::Think), &mut context)) {
            Some(wanted) if context.findings.is_empty() => Ok(wanted),
            _ => Err(Problems::new(&source, context.findings)),
        }
    }
}
