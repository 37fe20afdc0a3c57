//! A workload in a file of its own.

use std::time::Duration;

use toml::de::DeTable;

use super::{CompanionsHandle, refuse_file};
use crate::{
    Companion,
    companions::{CompanionText, Companions},
    grammar::{
        Context, HomeOf, KeyInfo, Reader, keys,
        kinds::{Choice, Time},
    },
    problem::{Code, Problems},
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

/// The keys of a workload that stand in a workload file.
pub(in crate::workloads) trait Content: Sized {
    /// What a first operation may be, for help.
    const FIRST: &'static str;
    /// The keys that a study may say beside a workload file.
    const BESIDE: &'static str;

    fn keys() -> Vec<KeyInfo>;

    fn read(reader: &mut Reader<'_, '_, '_>) -> Self;

    fn has_operations(&self) -> bool;
}

/// Reads a workload file by itself. `file_name` is used in messages; `files` are those that it
/// names. `study` are the keys of a study that says nothing, `pauses` what they say of pauses;
/// `build` makes a workload of them and of the file's.
///
/// # Errors
/// All problems of the file at once.
pub(in crate::workloads) fn parse_alone<K, C: Content, U>(
    (file_name, text, files): (&str, &str, &[Companion]),
    study: fn(&mut Reader<'_, '_, '_>) -> K,
    pauses: for<'k> fn(&'k mut K) -> Pauses<'k>,
    build: impl FnOnce(K, C, CompanionsHandle, &mut Context) -> Option<U>,
) -> Result<U, Problems> {
    let (source, companions) = Companions::load(file_name, text, files);
    let mut context = Context {
        companions: companions.clone(),
        ..Context::default()
    };
    let mut keys = {
        let mut nothing = Reader::new(None, "workload", 0..0, NOWHERE, &mut context);
        study(&mut nothing)
    };
    let file = CompanionText {
        padded: text,
        start: 0,
        place: None,
    };
    let content = content_of(file, pauses(&mut keys), &mut context);
    let wanted = content
        .and_then(|content| build(keys, content, CompanionsHandle(companions), &mut context));
    match wanted {
        Some(wanted) if context.findings.is_empty() => Ok(wanted),
        _ => Err(Problems::new(&source, context.findings)),
    }
}

/// What a study says of pauses; a workload file may say it, too.
pub(in crate::workloads) struct Pauses<'s> {
    pub(in crate::workloads) think_time: &'s mut Option<Duration>,
    pub(in crate::workloads) distribution: &'s mut Option<DelayDistribution>,
}

pub(in crate::workloads) const NOWHERE: HomeOf = |_, _| None;

/// The keys of the workload file of this name; nothing where it was refused.
pub(in crate::workloads) fn content<C: Content>(
    name: &str,
    study: Pauses<'_>,
    companions: &Companions,
    context: &mut Context,
) -> Option<C> {
    let span = context.spans.nearest("workload.file");
    match companions.get(name) {
        Ok(file) => content_of(file, study, context),
        Err(why) => refuse_file(name, why, span, context),
    }
}

pub(in crate::workloads) fn content_of<C: Content>(
    file: CompanionText<'_>,
    study: Pauses<'_>,
    context: &mut Context,
) -> Option<C> {
    let says_pause = context.spans.has("workload.think_time");
    let (shared, content) = read::<C>(&file, context)?;
    if !says_pause {
        *study.think_time = shared.think_time.or(*study.think_time);
    }
    *study.distribution = study.distribution.or(shared.think_distribution);
    Some(content)
}

fn read<C: Content>(file: &CompanionText<'_>, context: &mut Context) -> Option<(SharedKeys, C)> {
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
    let content = C::read(&mut reader);
    reader.finish();
    if !content.has_operations() && context.findings.len() == before {
        let help = format!("add `[[operation]]` with {}", C::FIRST);
        let message = "the workload file has no operations";
        context.refuse::<()>(Code::MissingKey, file.end(), message, help);
    }
    Some((shared, content))
}

/// Refuses keys of the workload beside a file that has them.
pub(in crate::workloads) fn refuse_beside<C: Content>(reader: &mut Reader<'_, '_, '_>) {
    for key in C::keys() {
        if reader.locate(key.name) {
            let span = reader
                .context
                .spans
                .nearest(&format!("workload.{}", key.name));
            let message = format!("`workload.{}` stands beside `file`", key.name);
            let help = format!(
                "move it into the workload file; a study says only {} beside it",
                C::BESIDE
            );
            reader
                .context
                .refuse::<()>(Code::Contradiction, span, message, help);
        }
    }
}
