//! A web workload in a file of its own.

use super::{
    HttpKeys, HttpUse,
    keys::{ContentKeys, StudyKeys},
};
use crate::{
    Companion,
    companions::{CompanionText, Companions},
    grammar::{Context, KeyInfo, Reader},
    problem::Problems,
    workloads::{
        Pace,
        data_driven::{
            CompanionsHandle,
            file::{Content, NOWHERE, Pauses, content_of},
        },
    },
};

impl Content for ContentKeys {
    const FIRST: &'static str = "`name = \"home\"` and `path = \"/\"`";
    const BESIDE: &'static str = "`think_time`, `think_distribution`, `pacing` and `database`";

    fn keys() -> Vec<KeyInfo> {
        Self::keys()
    }

    fn read(reader: &mut Reader<'_, '_, '_>) -> Self {
        Self::read(reader)
    }

    fn has_operations(&self) -> bool {
        self.operation.is_some()
    }
}

impl StudyKeys {
    /// What it says of pauses.
    pub(super) fn pauses(&mut self) -> Pauses<'_> {
        Pauses {
            think_time: &mut self.think_time,
            distribution: &mut self.think_distribution,
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
        let pauses = study.pauses();
        let content = content_of(file, pauses, &mut context);
        let keys = content.map(|content| HttpKeys {
            study,
            content,
            file: Some(String::new()),
            companions: CompanionsHandle(companions),
        });
        match keys.and_then(|keys| keys.build(Some(Pace::Think), &mut context)) {
            Some(wanted) if context.findings.is_empty() => Ok(wanted),
            _ => Err(Problems::new(&source, context.findings)),
        }
    }
}
